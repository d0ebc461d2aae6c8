// SPDX-License-Identifier: GPL-2.0-or-later
//! Building and loading policies from small sources written here.

use std::path::{Path, PathBuf};

use policy::topology::Place;
use policy::{Manifest, Native, Source, Target, TopologyGlobals};

const POLICY: &str = r#"
#include <scx.h>
TUNABLE(u64, slice_us, 6000, 1000, 1000000, "us", "how long a task may run");
CHOICE(rules, 1, "old,new", "which rules");
STAT(seen, "tasks seen");
static u64 counter = 7;
void BPF_STRUCT_OPS(t_enqueue, struct task_struct *p, u64 enq_flags)
{
	counter += slice_us + rules;
	stat_seen[0] += counter;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice_us * 1000, enq_flags);
}
SCX_OPS_DEFINE(t_ops, .enqueue = (void *)t_enqueue, .name = "t");
"#;

fn write(dir: &Path, text: &str) -> PathBuf {
    let file = dir.join("scx_t.bpf.c");
    std::fs::write(&file, text).unwrap();
    file
}

fn build(dir: &Path, text: &str) -> anyhow::Result<PathBuf> {
    let out = dir.join("t.so");
    policy::build(&Source::find(&write(dir, text))?, Target::Native, &out)?;
    Ok(out)
}

#[test]
fn both_builds_describe_the_same_tunables() {
    let dir = tempfile::tempdir().unwrap();
    let native = Native::open("t", &build(dir.path(), POLICY).unwrap()).unwrap();
    let object = dir.path().join("t.o");
    let source = Source::find(&dir.path().join("scx_t.bpf.c")).unwrap();
    policy::build(&source, Target::Bpf, &object).unwrap();
    let kernel = Manifest::of_elf(&std::fs::read(object).unwrap()).unwrap();
    assert_eq!(native.manifest, kernel);
    assert_eq!(
        kernel.tunables[0].expected(),
        "a number from 1000 to 1000000 us"
    );
    assert_eq!(kernel.tunables[1].default_text(), "new");
    assert_eq!(kernel.stats[0].name, "seen");
}

#[test]
fn assignments_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Native::open("t", &build(dir.path(), POLICY).unwrap())
        .unwrap()
        .manifest;
    assert_eq!(manifest.setting("t", "rules", "old").unwrap().value, 0);
    assert_eq!(
        manifest.setting("t", "slice_us", "2_000").unwrap().value,
        2000
    );
    let error = |name, value| manifest.setting("t", name, value).unwrap_err().to_string();
    assert_eq!(
        error("slice", "1"),
        "t: unknown tunable 'slice'; it has slice_us, rules"
    );
    assert_eq!(
        error("slice_us", "5"),
        "t:slice_us=5: expected a number from 1000 to 1000000 us"
    );
    assert_eq!(
        error("rules", "newest"),
        "t:rules=newest: expected one of old, new"
    );
}

#[test]
fn copies_share_nothing_and_reset_restores_everything() {
    use policy::abi::{SchedExtOps, ScxHost, TaskStruct};
    unsafe extern "C" fn insert(
        _: *mut std::ffi::c_void,
        _: *mut TaskStruct,
        _: u64,
        _: u64,
        _: u64,
    ) {
    }
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), POLICY).unwrap();
    let (mut one, two) = (
        Native::open("t", &file).unwrap(),
        Native::open("t", &file).unwrap(),
    );
    let topology = TopologyGlobals::new(
        &[Place {
            node: 0,
            llc: 0,
            core: 0,
        }],
        250,
    )
    .unwrap();
    let run = |native: &mut Native, slice: Option<&str>| {
        // SAFETY: all zero but for the one function that the policy calls.
        let mut host: Box<ScxHost> = unsafe {
            let mut host = Box::<ScxHost>::new_uninit();
            host.as_mut_ptr().write_bytes(0, 1);
            (&raw mut (*host.as_mut_ptr()).dsq_insert).write(insert);
            host.assume_init()
        };
        native.reset();
        native.set_topology(&topology).unwrap();
        if let Some(slice) = slice {
            let setting = native.manifest.setting("t", "slice_us", slice).unwrap();
            native.set(&setting).unwrap();
        }
        // SAFETY: the host outlives the calls below.
        unsafe { native.set_host(&raw mut *host) }.unwrap();
        let SchedExtOps { enqueue, .. } = native.ops().unwrap();
        // SAFETY: the policy does not look at the task.
        unsafe { enqueue.unwrap()(std::ptr::null_mut(), 0) };
        native.stat("seen").unwrap()
    };
    assert_eq!(run(&mut one, None), 7 + 6000 + 1);
    assert_eq!(run(&mut one, Some("1000")), 7 + 1000 + 1);
    assert_eq!(run(&mut one, None), 7 + 6000 + 1);
    assert_eq!(two.stat("seen").unwrap(), 0);
}

#[test]
fn an_unknown_kfunc_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    for declaration in ["", "void scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym;"] {
        let text = POLICY.replace("static u64", &format!("{declaration}\nstatic u64"));
        let text = text.replace("counter += ", "scx_bpf_cpuperf_set(0, 1); counter += ");
        let error = build(dir.path(), &text).unwrap_err().to_string();
        assert!(error.ends_with("scx_t.bpf.c: scx_bpf_cpuperf_set is not in the frozen sched_ext subset (include/native/scx.h)"), "{error}");
    }
}

#[test]
fn a_policy_that_does_not_compile_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let error = build(dir.path(), &POLICY.replace("counter += ", "countr += "))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("scx_t.bpf.c:9:") && error.contains("'countr'") && !error.contains('\n'),
        "{error}"
    );
}

#[test]
fn topology_numbers_are_dense_and_siblings_go_round() {
    let place = |node, llc, core| Place { node, llc, core };
    let cpus = [
        place(0, 5, 0),
        place(0, 5, 1),
        place(1, 9, 0),
        place(1, 9, 1),
        place(0, 5, 0),
        place(0, 5, 1),
        place(1, 9, 0),
        place(1, 9, 1),
    ];
    let globals = TopologyGlobals::new(&cpus, 1000).unwrap();
    assert_eq!(
        (globals.nr_cpus, globals.nr_llcs, globals.nr_nodes),
        (8, 2, 2)
    );
    assert_eq!(globals.cpu_llc, [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(globals.cpu_core, [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(globals.cpu_sibling, [4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!(globals.cpu_by_llc, [0, 1, 4, 5, 2, 3, 6, 7]);
    assert_eq!(globals.llc_first, [0, 4, 8]);
    assert!(TopologyGlobals::new(&[], 250).is_err());
}
