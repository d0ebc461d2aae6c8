// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls that a translated policy answers from memory, without coming back here. Each has a twin in [`super::helpers`]
//! or [`super::kfuncs`], which the interpreter uses: traces of both are compared by tests.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::offset_of;

use bpf::image::{Image, Outside};
use bpf::{Inline, Options};

use super::execution::Execution;
use super::maps::Handle;
use super::shown::TaskStruct;
use super::world::{MOST_LOOPS, World};

/// Helpers by number, with their function in `inlines.c`.
const HELPERS: &[(u32, &str)] = &[
    (LOOKUP, "inline_lookup"),
    (5, "inline_ktime"),
    (8, "inline_this_cpu"),
    (THIS_CPU_PTR, "inline_this_cpu_ptr"),
    (TASK_STORAGE_GET, "inline_task_storage"),
    (158, "inline_current"),
    (LOOKUP_PERCPU, "inline_lookup_percpu"),
];

const LOOKUP: u32 = 1;
const THIS_CPU_PTR: u32 = 154;
const LOOKUP_PERCPU: u32 = 195;
const TASK_STORAGE_GET: u32 = 156;

const KFUNCS: &[(&str, &str)] = &[
    ("scx_bpf_now", "inline_now"),
    ("scx_bpf_nr_cpu_ids", "inline_nr_cpu_ids"),
    ("scx_bpf_get_possible_cpumask", "inline_possible"),
    ("scx_bpf_get_online_cpumask", "inline_online"),
    ("scx_bpf_put_cpumask", "inline_nothing"),
    ("scx_bpf_get_idle_cpumask", "inline_idle"),
    ("scx_bpf_get_idle_smtmask", "inline_idle_smt"),
    ("scx_bpf_put_idle_cpumask", "inline_nothing"),
    ("bpf_task_release", "inline_nothing"),
    ("bpf_rcu_read_lock", "inline_nothing"),
    ("bpf_rcu_read_unlock", "inline_nothing"),
    ("bpf_cpumask_test_cpu", "inline_test_cpu"),
    ("bpf_iter_num_new", "inline_num_new"),
    ("bpf_iter_num_next", "inline_num_next"),
    ("bpf_iter_num_destroy", "inline_num_destroy"),
];

/// Those that do not pay where they leave the work to the model.
const PAY_THEMSELVES: &[(&str, u32)] = &[
    ("lookup", LOOKUP),
    ("lookup_percpu", LOOKUP_PERCPU),
    ("task_storage_get", TASK_STORAGE_GET),
    ("this_cpu_ptr", THIS_CPU_PTR),
];

/// How an image is translated for the model, with the prices of what it calls, in its order.
pub fn options(image: &Image, prices: &[u64], execution: Execution) -> Options {
    let mut prelude = prelude(image, prices);
    let mut inlines = BTreeMap::new();
    for (index, (outside, price)) in image.outside.iter().zip(prices).enumerate() {
        let Some(inline) = function(outside) else {
            continue;
        };
        let mut function = inline.to_owned();
        if !pays_itself(outside) {
            function = format!("paid_{index}");
            let _ = write!(
                prelude,
                "\nINLINE {function}(ARGUMENTS)\n{{\n\tPAY({price});\n\treturn {inline}(h, r1, r2, r3, r4, r5);\n}}\n"
            );
        }
        let quiet = true;
        inlines.insert(outside.clone(), Inline { function, quiet });
    }
    Options {
        paranoid: execution != Execution::Translated,
        counted: execution == Execution::Counted,
        prelude,
        inlines,
    }
}

fn pays_itself(outside: &Outside) -> bool {
    PAY_THEMSELVES
        .iter()
        .any(|(_, number)| *outside == Outside::Helper(*number))
}

fn function(outside: &Outside) -> Option<&'static str> {
    match outside {
        Outside::Helper(number) => HELPERS
            .iter()
            .find(|(known, _)| known == number)
            .map(|(_, function)| *function),
        Outside::Kfunc(name) => KFUNCS
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, function)| *function),
    }
}

fn prelude(image: &Image, prices: &[u64]) -> String {
    let mut text = String::new();
    let mut define = |name: &str, value: u64| {
        let _ = writeln!(text, "#define {name} {value}");
    };
    macro_rules! places {
        ($prefix:literal, $of:ty: $($field:ident)*) => {
            $(define(concat!($prefix, "_", stringify!($field)), offset_of!($of, $field) as u64);)*
        };
    }
    places!("WORLD", World: now_ns ktime_ns cpu nr_cpu_ids current idle idle_smt online possible outside has_per_cpu_objects);
    places!("HANDLE", Handle: values entries stride cpu_stride);
    places!("TASK", TaskStruct: storage_map storage);
    define("MOST_LOOPS", MOST_LOOPS.into());
    for (name, number) in PAY_THEMSELVES {
        let helper = Outside::Helper(*number);
        let index = image.outside.iter().position(|outside| *outside == helper);
        // What is never called is compiled all the same.
        let price = index.map_or(0, |index| prices[index]);
        define(&format!("OUTSIDE_{name}"), index.unwrap_or(0) as u64);
        define(&format!("PRICE_{name}"), price);
    }
    text + include_str!("inlines.c")
}
