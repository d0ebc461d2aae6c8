// SPDX-License-Identifier: GPL-2.0-or-later
//! The policies of `schedulers/`, against a kernel that is written down as the simulator's is.

use std::path::Path;

use bpf::btf::{Builder, TypeId};
use bpf::image::{Image, MemberValue};
use bpf::{Environment, link};

use crate::fixture::compile;

const POLICIES: [&str; 9] = [
    "bfs", "cfs", "eevdf", "fifo", "mlfq", "o1", "rr", "sd", "vtime",
];

/// C's types by the words that the tables below use.
struct Types {
    builder: Builder,
    task: TypeId,
    cpumask: TypeId,
    iterator: TypeId,
    cgroup: TypeId,
}

impl Types {
    fn of(&mut self, word: &str) -> TypeId {
        if let Some(word) = word.strip_suffix(" *") {
            let of = self.of(word);
            return self.builder.pointer(of);
        }
        if let Some(word) = word.strip_prefix("const ") {
            let of = self.of(word);
            return self.builder.constant(of);
        }
        match word {
            "void" => Builder::VOID,
            "bool" => self.builder.bool(),
            "char" => self.builder.char(),
            "u8" => self.builder.int("unsigned char", 1, false),
            "u16" => self.builder.int("unsigned short", 2, false),
            "u32" => self.builder.int("unsigned int", 4, false),
            "u64" => self.builder.int("unsigned long long", 8, false),
            "s32" => self.builder.int("int", 4, true),
            "s64" => self.builder.int("long long", 8, true),
            "task" => self.task,
            "cpumask" => self.cpumask,
            "it" => self.iterator,
            "cgroup" => self.cgroup,
            other => self.builder.forward(other),
        }
    }

    /// Members with the bytes that each begins at.
    fn structure(&mut self, name: &str, bytes: u32, members: &[(&str, &str, u32)]) -> TypeId {
        let id = self.builder.structure(name, bytes);
        for (member, word, offset) in members {
            let of = self.of(word);
            self.builder.member(id, member, of, offset * 8);
        }
        id
    }

    fn prototype(&mut self, result: &str, parameters: &[&str]) -> TypeId {
        let result = self.of(result);
        let parameters: Vec<_> = parameters.iter().map(|word| ("", self.of(word))).collect();
        self.builder.prototype(result, &parameters)
    }
}

/// Name, what it returns, what it takes.
const KFUNCS: &[(&str, &str, &[&str])] = &[
    ("scx_bpf_create_dsq", "s32", &["u64", "s32"]),
    (
        "scx_bpf_select_cpu_dfl",
        "s32",
        &["task *", "s32", "u64", "bool *"],
    ),
    ("scx_bpf_kick_cpu", "void", &["s32", "u64"]),
    ("scx_bpf_reenqueue_local", "u32", &[]),
    ("scx_bpf_dsq_nr_queued", "s32", &["u64"]),
    ("scx_bpf_destroy_dsq", "void", &["u64"]),
    ("bpf_iter_scx_dsq_new", "s32", &["it *", "u64", "u64"]),
    ("bpf_iter_scx_dsq_next", "task *", &["it *"]),
    ("bpf_iter_scx_dsq_destroy", "void", &["it *"]),
    ("bpf_iter_num_new", "s32", &["it *", "s32", "s32"]),
    ("bpf_iter_num_next", "s32 *", &["it *"]),
    ("bpf_iter_num_destroy", "void", &["it *"]),
    (
        "scx_bpf_exit_bstr",
        "void",
        &["s64", "char *", "u64 *", "u32"],
    ),
    ("scx_bpf_error_bstr", "void", &["char *", "u64 *", "u32"]),
    ("scx_bpf_nr_cpu_ids", "u32", &[]),
    ("scx_bpf_get_possible_cpumask", "const cpumask *", &[]),
    ("scx_bpf_get_online_cpumask", "const cpumask *", &[]),
    ("scx_bpf_put_cpumask", "void", &["const cpumask *"]),
    ("scx_bpf_get_idle_cpumask", "const cpumask *", &[]),
    ("scx_bpf_get_idle_smtmask", "const cpumask *", &[]),
    ("scx_bpf_put_idle_cpumask", "void", &["const cpumask *"]),
    ("scx_bpf_test_and_clear_cpu_idle", "bool", &["s32"]),
    ("scx_bpf_pick_idle_cpu", "s32", &["const cpumask *", "u64"]),
    ("scx_bpf_pick_any_cpu", "s32", &["const cpumask *", "u64"]),
    ("scx_bpf_task_running", "bool", &["const task *"]),
    ("scx_bpf_task_cpu", "s32", &["const task *"]),
    ("bpf_task_from_pid", "task *", &["s32"]),
    ("bpf_task_release", "void", &["task *"]),
    ("bpf_cpumask_test_cpu", "bool", &["u32", "const cpumask *"]),
    ("bpf_cpumask_first", "u32", &["const cpumask *"]),
    ("bpf_cpumask_weight", "u32", &["const cpumask *"]),
    ("bpf_cpumask_empty", "bool", &["const cpumask *"]),
    (
        "bpf_cpumask_intersects",
        "bool",
        &["const cpumask *", "const cpumask *"],
    ),
    ("bpf_cpumask_any_distribute", "u32", &["const cpumask *"]),
    (
        "bpf_cpumask_any_and_distribute",
        "u32",
        &["const cpumask *", "const cpumask *"],
    ),
    ("bpf_rcu_read_lock", "void", &[]),
    ("bpf_rcu_read_unlock", "void", &[]),
    (
        "scx_bpf_dsq_insert",
        "void",
        &["task *", "u64", "u64", "u64"],
    ),
    (
        "scx_bpf_dsq_insert_vtime",
        "void",
        &["task *", "u64", "u64", "u64", "u64"],
    ),
    ("scx_bpf_dsq_move_to_local", "bool", &["u64"]),
    ("scx_bpf_dsq_move_set_slice", "void", &["it *", "u64"]),
    ("scx_bpf_dsq_move_set_vtime", "void", &["it *", "u64"]),
    (
        "scx_bpf_dsq_move",
        "bool",
        &["it *", "task *", "u64", "u64"],
    ),
    (
        "scx_bpf_dsq_move_vtime",
        "bool",
        &["it *", "task *", "u64", "u64"],
    ),
    ("scx_bpf_now", "u64", &[]),
];

/// Callbacks by what they return and take.
const CALLBACKS: &[(&str, &str, &[&str])] = &[
    ("select_cpu", "s32", &["task *", "s32", "u64"]),
    ("enqueue", "void", &["task *", "u64"]),
    ("dequeue", "void", &["task *", "u64"]),
    ("dispatch", "void", &["s32", "task *"]),
    ("tick", "void", &["task *"]),
    ("runnable", "void", &["task *", "u64"]),
    ("running", "void", &["task *"]),
    ("stopping", "void", &["task *", "bool"]),
    ("quiescent", "void", &["task *", "u64"]),
    ("yield", "bool", &["task *", "task *"]),
    ("set_weight", "void", &["task *", "u32"]),
    ("set_cpumask", "void", &["task *", "const cpumask *"]),
    ("update_idle", "void", &["s32", "bool"]),
    ("init_task", "s32", &["task *", "args *"]),
    ("exit_task", "void", &["task *", "args *"]),
    ("enable", "void", &["task *"]),
    ("disable", "void", &["task *"]),
    ("cpu_online", "void", &["s32"]),
    ("cpu_offline", "void", &["s32"]),
    ("cpu_acquire", "void", &["s32", "args *"]),
    ("cpu_release", "void", &["s32", "args *"]),
    ("cgroup_init", "s32", &["cgroup *", "args *"]),
    ("cgroup_exit", "void", &["cgroup *"]),
    ("cgroup_move", "void", &["task *", "cgroup *", "cgroup *"]),
    ("init", "s32", &[]),
    ("exit", "void", &["info *"]),
];

/// The task and what it is made of; members that are not numbers have their own types.
fn add_task(types: &mut Types) {
    let word = types.of("u64");
    let words = types.builder.array(word, 16);
    types.builder.member(types.cpumask, "bits", words, 0);
    let letter = types.of("char");
    let comm = types.builder.array(letter, 16);
    let entity = types.structure(
        "sched_entity",
        24,
        &[
            ("custom_slice", "u8", 0),
            ("slice", "u64", 8),
            ("sum_exec_runtime", "u64", 16),
        ],
    );
    let scx = types.structure(
        "sched_ext_entity",
        32,
        &[
            ("weight", "u32", 0),
            ("flags", "u32", 4),
            ("slice", "u64", 16),
            ("dsq_vtime", "u64", 24),
        ],
    );
    for (name, of, offset) in [
        ("flags", "u32", 4),
        ("prio", "s32", 8),
        ("static_prio", "s32", 12),
        ("rt_priority", "u32", 16),
        ("policy", "u32", 160),
        ("nr_cpus_allowed", "s32", 164),
        ("cpus_ptr", "const cpumask *", 168),
        ("migration_disabled", "u16", 176),
        ("mm", "mm_struct *", 184),
        ("exit_state", "s32", 192),
        ("pid", "s32", 196),
        ("tgid", "s32", 200),
        ("real_parent", "task *", 208),
    ] {
        let of = types.of(of);
        types.builder.member(types.task, name, of, offset * 8);
    }
    types.builder.member(types.task, "se", entity, 64 * 8);
    types.builder.member(types.task, "scx", scx, 96 * 8);
    types.builder.member(types.task, "comm", comm, 224 * 8);
}

/// A control group, its number and what leads to those above it.
fn add_cgroup(types: &mut Types) {
    let node = types.structure("kernfs_node", 16, &[("id", "u64", 8)]);
    let of_node = types.builder.pointer(node);
    let state = types.builder.structure("cgroup_subsys_state", 16);
    for (name, of, offset) in [("cgroup", types.cgroup, 0), ("parent", state, 8)] {
        let of = types.builder.pointer(of);
        types.builder.member(state, name, of, offset * 8);
    }
    let cgroup = types.cgroup;
    types.builder.member(cgroup, "self", state, 0);
    types.builder.member(cgroup, "kn", of_node, 16 * 8);
}

fn add_arguments_and_flags(types: &mut Types) {
    types.structure(
        "scx_init_task_args",
        16,
        &[("fork", "bool", 0), ("cgroup", "cgroup *", 8)],
    );
    types.structure("scx_cgroup_init_args", 4, &[("weight", "u32", 0)]);
    types.structure("scx_cpu_release_args", 16, &[("task", "task *", 8)]);
    types.structure("scx_exit_task_args", 1, &[("cancelled", "bool", 0)]);
    let builder = &mut types.builder;
    let kind = builder.enumeration(
        "scx_exit_kind",
        &[("SCX_EXIT_NONE", 0), ("SCX_EXIT_DONE", 1)],
    );
    builder.enumeration64(
        "scx_enq_flags",
        &[
            ("SCX_ENQ_WAKEUP", 1),
            ("SCX_ENQ_HEAD", 16),
            ("SCX_ENQ_PREEMPT", 1 << 32),
            ("SCX_ENQ_REENQ", 1 << 40),
            ("SCX_ENQ_LAST", 1 << 41),
        ],
    );
    builder.enumeration64(
        "scx_deq_flags",
        &[("SCX_DEQ_SLEEP", 1), ("SCX_DEQ_CORE_SCHED_EXEC", 1 << 32)],
    );
    builder.enumeration(
        "scx_wake_flags",
        &[
            ("SCX_WAKE_FORK", 4),
            ("SCX_WAKE_TTWU", 8),
            ("SCX_WAKE_SYNC", 16),
        ],
    );
    let info = types.structure(
        "scx_exit_info",
        40,
        &[
            ("exit_code", "s64", 8),
            ("reason", "const char *", 16),
            ("msg", "char *", 24),
            ("dump", "char *", 32),
        ],
    );
    types.builder.member(info, "kind", kind, 0);
}

fn add_ops(types: &mut Types) {
    let ops = types.structure(
        "sched_ext_ops",
        512,
        &[
            ("dispatch_max_batch", "u32", 208),
            ("flags", "u64", 216),
            ("timeout_ms", "u32", 224),
            ("exit_dump_len", "u32", 228),
            ("hotplug_seq", "u64", 232),
        ],
    );
    for (place, (name, result, parameters)) in (0..).zip(CALLBACKS) {
        let prototype = types.prototype(result, parameters);
        let pointer = types.builder.pointer(prototype);
        types.builder.member(ops, name, pointer, place * 64);
    }
    let letter = types.of("char");
    let name = types.builder.array(letter, 128);
    types.builder.member(ops, "name", name, 240 * 8);
}

/// Like a 6.14: newer than the first names of kfuncs, older than the last.
fn kernel() -> Environment {
    let mut builder = Builder::new();
    let mut types = Types {
        task: builder.structure("task_struct", 512),
        cpumask: builder.structure("cpumask", 128),
        iterator: builder.structure("bpf_iter", 48),
        cgroup: builder.structure("cgroup", 24),
        builder,
    };
    add_task(&mut types);
    add_cgroup(&mut types);
    add_arguments_and_flags(&mut types);
    add_ops(&mut types);
    for (name, result, parameters) in KFUNCS {
        let prototype = types.prototype(result, parameters);
        types.builder.function(name, prototype);
    }
    Environment {
        btf: types.builder.build(),
        helpers: (1..212).collect(),
        map_kinds: [1, 2, 6, 29].into(),
        ..Environment::default()
    }
}

fn object(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("schedulers").join(name);
    let include = |path: &Path| format!("-I{}", path.display());
    compile(
        &folder.join(format!("scx_{name}.bpf.c")),
        "v3",
        &[&include(&root.join("include")), &include(&folder)],
    )
}

fn linked(name: &str, kernel: &Environment) -> Image {
    link(&object(name), kernel).unwrap_or_else(|error| panic!("{name}:\n{error}"))
}

#[test]
fn all_nine_link() {
    let kernel = kernel();
    for name in POLICIES {
        let image = linked(name, &kernel);
        let [ops] = &image.struct_ops[..] else {
            panic!("{name}: {} structures", image.struct_ops.len());
        };
        assert_eq!(
            (ops.kind.as_str(), image.license.as_str()),
            ("sched_ext_ops", "GPL")
        );
        let member = |wanted| {
            let found = ops.members.iter().find(|member| member.name == wanted);
            &found.unwrap_or_else(|| panic!("{name}: no {wanted}")).value
        };
        let MemberValue::Function {
            function,
            sleepable,
        } = *member("init")
        else {
            panic!("{name}: init is no function");
        };
        assert!(sleepable && image.functions[function as usize].name == format!("{name}_init"));
        let MemberValue::Bytes(text) = member("name") else {
            panic!("{name}: its name is no text");
        };
        assert!(text.starts_with(name.as_bytes()), "{name}");
    }
}
