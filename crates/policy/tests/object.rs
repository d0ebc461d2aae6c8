// SPDX-License-Identifier: GPL-2.0-or-later
//! Building policies from small sources written here, and what their objects say.

use std::path::{Path, PathBuf};

use policy::topology::Place;
use policy::{Object, Source, TopologyGlobals};

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

fn build(dir: &Path, text: &str) -> anyhow::Result<Object> {
    let out = dir.join("t.bpf.o");
    policy::build(&Source::find(&write(dir, text))?, &[], &out)?;
    Object::open("t", &out)
}

#[test]
fn an_object_describes_its_tunables_and_counters() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = build(dir.path(), POLICY).unwrap().manifest;
    assert_eq!(
        manifest.tunables[0].expected(),
        "a number from 1000 to 1000000 us"
    );
    assert_eq!(manifest.tunables[1].default_text(), "new");
    assert_eq!(manifest.stats[0].name, "seen");
}

#[test]
fn assignments_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = build(dir.path(), POLICY).unwrap().manifest;
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
fn an_unknown_kfunc_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let text = POLICY.replace("counter += ", "scx_bpf_cpuperf_set(0, 1); counter += ");
    let error = build(dir.path(), &text).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "scx_t.bpf.c: scx_bpf_cpuperf_set is not in the frozen sched_ext subset (include/scx.h)"
        ),
        "{error}"
    );
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

const WRITTEN_FOR_SCX: &str = r#"
#include <scx/common.bpf.h>
char _license[] SEC("license") = "GPL";
UEI_DEFINE(uei);
enum { NSEC_PER_USEC = 1000ULL };
const volatile u64 slice_us = 5000;
const volatile bool is_fast = true;
const volatile s32 offset = -3;
const volatile u32 nr_cpus = 1;
const volatile u32 table[2] = { 1, 2 };
static u64 counter;
void BPF_STRUCT_OPS(t_enqueue, struct task_struct *p, u64 enq_flags)
{
	counter += nr_cpus + offset + table[is_fast];
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, slice_us * NSEC_PER_USEC, enq_flags);
}
void BPF_STRUCT_OPS(t_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}
SCX_OPS_DEFINE(t_ops, .enqueue = (void *)t_enqueue, .exit = (void *)t_exit, .name = "t");
"#;

#[test]
fn constants_of_a_policy_that_describes_nothing_are_set_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = build(dir.path(), WRITTEN_FOR_SCX).unwrap().manifest;
    assert_eq!(manifest.tunables, []);
    let found: Vec<_> = (manifest.constants.iter())
        .map(|one| (one.name.as_str(), one.kind.as_str(), one.default))
        .collect();
    assert_eq!(
        found,
        [
            ("is_fast", "bool", 1),
            ("offset", "s32", -3),
            ("slice_us", "u64", 5000)
        ]
    );
    assert_eq!(manifest.setting("t", "is_fast", "false").unwrap().value, 0);
    assert_eq!(manifest.setting("t", "offset", "-9").unwrap().value, -9);
    let error = |name, value| manifest.setting("t", name, value).unwrap_err().to_string();
    assert_eq!(
        error("is_fast", "2"),
        "t:is_fast=2: expected a number from 0 to 1"
    );
    assert_eq!(
        error("nr_cpus", "2"),
        "t: unknown tunable 'nr_cpus'; it has is_fast, offset, slice_us"
    );
    // What describes itself has what it describes.
    let manifest = build(dir.path(), POLICY).unwrap().manifest;
    assert_eq!(manifest.constants, []);
}

#[test]
fn a_name_that_our_headers_leave_out_is_said_with_the_page_that_tells_how() {
    let dir = tempfile::tempdir().unwrap();
    for (line, name) in [
        (
            "counter += p->vtime_gamma;",
            "no member named 'vtime_gamma'",
        ),
        ("counter += scx_bpf_frobnicate();", "'scx_bpf_frobnicate'"),
        ("counter += SCX_FROB;", "undeclared identifier 'SCX_FROB'"),
        ("struct frob frob;", "incomplete type 'struct frob'"),
        ("\n#include <lib/frob.h>\n", "'lib/frob.h' file not found"),
    ] {
        let text =
            WRITTEN_FOR_SCX.replace("counter += nr_cpus", &format!("{line} counter += nr_cpus"));
        let error = build(dir.path(), &text).unwrap_err().to_string();
        let place = error.contains("scx_t.bpf.c:14:") || error.contains("scx_t.bpf.c:15:");
        let page = error.ends_with("docs/policies.md, \"Written against scx's headers\"");
        assert!(
            place && page && error.contains(name) && !error.contains('\n'),
            "{error}"
        );
    }
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

#[test]
fn objects_are_found_inside_of_programs() {
    let dir = tempfile::tempdir().unwrap();
    let elf = build(dir.path(), POLICY).unwrap().elf;
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut program = own[..4_096].to_vec();
    program.extend(b"\x7fELF\x02\x01 and no more");
    program.extend(&elf);
    program.extend([0; 99]);
    assert_eq!(policy::embedded::schedulers(&program), [&*elf]);
    program.extend(&elf);
    assert_eq!(policy::embedded::schedulers(&program).len(), 2);
    let cut = &elf[..elf.len() - 1];
    assert!(
        policy::embedded::schedulers(cut).is_empty(),
        "a part of one is none"
    );
}

#[test]
fn headers_of_others_are_found_before_ours() {
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(
        theirs.join("theirs.h"),
        "#include <scx.h>\n#define SLICE 5\n",
    )
    .unwrap();
    let text = POLICY.replace(
        "#include <scx.h>",
        "#include <theirs.h>\n_Static_assert(SLICE == 5, \"\");",
    );
    let source = Source::find(&write(dir.path(), &text)).unwrap();
    let out = dir.path().join("t.bpf.o");
    let error = policy::build(&source, &[], &out).unwrap_err().to_string();
    assert!(error.contains("'theirs.h' file not found"), "{error}");
    policy::build(&source, std::slice::from_ref(&theirs), &out).unwrap();
    // Theirs is taken where both have one.
    std::fs::write(theirs.join("scx.h"), "#error theirs\n").unwrap();
    assert!(policy::build(&source, &[theirs], &out).is_err());
}
