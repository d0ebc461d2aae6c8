// SPDX-License-Identifier: GPL-2.0-or-later
//! Control groups in workload files: what they become in a plan, and every message about a bad one.

use std::collections::BTreeMap;

use workload::Workload;
use workload::plan::{Cgroup, Controllers, CpuMax, Inst, Plan, Value};

const GOOD: &str = r#"name = "w"
title = "t"
source = "s"
load = "n"
loads = [1, 2]
[params]
n = { default = 2, min = 1, max = 9000, about = "a" }
where = { default = "app.slice", choices = ["app.slice", "batch"], about = "a" }
[end]
after_s = 1
[[cgroup]]
name = "app.slice"
parent = "user.slice"
weight = "100 * n"
[[cgroup]]
name = "batch"
max_us = 20_000
burst_us = 5_000
cpus = [1, 0]
[[cgroup]]
name = "user.slice"
max_us = "max"
period_us = 50_000
[[task]]
name = "a"
cgroup = "where"
program = [
    { run_us = 1 },
    { cgroup = "batch" },
    { cgroup = "/" },
    { cgroup = "app.slice", of = "b[1]" },
]
[[task]]
name = "b"
count = 2
cgroup = "batch"
program = [
    { sleep_ms = 1 },
    { weight = "me + 1", of = "user.slice" },
    { max_us = "max", of = "batch", period_us = 5000 },
    { max_us = 2000, of = "batch", burst_us = 2000 },
    { cpuset = [1], of = "batch" },
    { remove_cgroup = "batch" },
    { make_cgroup = "where" },
]
[metrics]
promises = ["elapsed_s"]
"#;

fn plan_of(text: &str, load: i64) -> Plan {
    let workload = Workload::from_toml(text, "w.toml").unwrap();
    workload.plan(load, &BTreeMap::new(), 4, 1).unwrap()
}

#[test]
fn groups_are_in_the_order_in_which_they_are_made() {
    let plan = plan_of(GOOD, 3);
    let group = |name: &str, parent| Cgroup {
        name: name.to_string(),
        parent,
        weight: None,
        max: None,
        cpus: Vec::new(),
    };
    let max = |quota_us, period_us, burst_us| {
        Some(CpuMax {
            quota_us,
            period_us,
            burst_us,
        })
    };
    let expected = [
        Cgroup {
            max: max(Some(20_000), 100_000, 5_000),
            cpus: vec![0, 1],
            ..group("batch", None)
        },
        Cgroup {
            max: max(None, 50_000, 0),
            ..group("user.slice", None)
        },
        Cgroup {
            weight: Some(300),
            ..group("app.slice", Some(1))
        },
    ];
    assert_eq!(plan.cgroups, expected);
    let begin: Vec<_> = plan.groups.iter().map(|group| group.cgroup).collect();
    assert_eq!(begin, [Some(2), Some(0)]);
    let moves = [
        Inst::Cgroup { cgroup: Some(0) },
        Inst::Cgroup { cgroup: None },
        Inst::CgroupOf {
            group: 1,
            index: Value::Const(1),
            cgroup: Some(2),
        },
    ];
    assert_eq!(plan.groups[0].program[1..4], moves);
    let changes = [
        Inst::CgroupWeight {
            cgroup: 1,
            weight: Value::Add(Box::new((Value::Me, Value::Const(1)))),
        },
        Inst::CgroupMax {
            cgroup: 0,
            quota_us: None,
            period_us: Some(Value::Const(5_000)),
            burst_us: None,
        },
        Inst::CgroupMax {
            cgroup: 0,
            quota_us: Some(Value::Const(2_000)),
            period_us: None,
            burst_us: Some(Value::Const(2_000)),
        },
        Inst::CgroupCpus {
            cgroup: 0,
            cpus: vec![1],
        },
    ];
    assert_eq!(plan.groups[1].program[1..5], changes);
    let come_and_go = [
        Inst::RemoveCgroup { cgroup: 0 },
        Inst::MakeCgroup { cgroup: 2 },
    ];
    assert_eq!(plan.groups[1].program[5..7], come_and_go);
}

#[test]
fn controllers_are_those_that_the_groups_need() {
    let controllers = |groups: &str, more: &str| {
        let text = format!(
            "name = \"w\"\ntitle = \"t\"\nsource = \"s\"\nload = \"n\"\nloads = [1]\n[params]\n\
             n = {{ default = 1, min = 1, max = 2, about = \"a\" }}\n{groups}\n[[task]]\nname = \"a\"\n\
             program = [{{ run_us = 1 }}{more}]\n[metrics]\npromises = [\"elapsed_s\"]\n"
        );
        let Controllers { cpu, cpuset } = plan_of(&text, 1).controllers();
        (cpu, cpuset)
    };
    let named = "[[cgroup]]\nname = \"g\"\n";
    assert_eq!(controllers("", ""), (false, false));
    assert_eq!(controllers(named, ""), (true, false));
    let with = |keys: &str, more: &str| controllers(&format!("{named}{keys}"), more);
    assert_eq!(with("cpus = [0]", ""), (false, true));
    assert_eq!(with("cpus = [0]\nweight = 100", ""), (true, true));
    assert_eq!(with("cpus = [0]\nmax_us = \"max\"", ""), (true, true));
    assert_eq!(with("", ", { cpuset = [0], of = \"g\" }"), (false, true));
    let weight = ", { weight = 5, of = \"g\" }";
    assert_eq!(with("cpus = [0]", weight), (true, true));
}

/// What to change in the good file, into what, and the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "name = \"batch\"",
        "name = \"batch\"\nshares = 1",
        "17: cgroup[1].shares: unknown key, expected one of name, parent, weight, period_us, burst_us, max_us, cpus",
    ),
    (
        "name = \"batch\"",
        "name = \"user.slice\"",
        "21: cgroup[2].name: expected a new name, user.slice is taken",
    ),
    (
        "name = \"batch\"",
        "name = \"Batch\"",
        "16: cgroup[1].name: expected a name of a-z, 0-9, _, - and full stops, beginning with a letter or digit, found \"Batch\"",
    ),
    (
        "name = \"batch\"",
        "name = \"cpu.max\"",
        "16: cgroup[1].name: expected a name that no file of the kernel's in such a folder has, found \"cpu.max\"",
    ),
    (
        "parent = \"user.slice\"",
        "parent = \"user\"",
        "13: cgroup[0].parent: unknown cgroup user, expected one of app.slice, batch, user.slice",
    ),
    (
        "name = \"user.slice\"",
        "name = \"user.slice\"\nparent = \"app.slice\"",
        "13: cgroup[0].parent: expected parents that end at a cgroup without one, app.slice is in a circle",
    ),
    (
        "parent = \"user.slice\"",
        "parent = \"app.slice\"",
        "13: cgroup[0].parent: expected parents that end at a cgroup without one, app.slice is in a circle",
    ),
    (
        "weight = \"100 * n\"",
        "weight = 0",
        "14: cgroup[0].weight: expected 1 to 10000, found 0",
    ),
    (
        "max_us = 20_000",
        "max_us = 999",
        "17: cgroup[1].max_us: expected 1000 to 1099511627776, found 999",
    ),
    (
        "max_us = 20_000",
        "period_us = 20_000",
        "17: cgroup[1].period_us: expected max_us beside it",
    ),
    (
        "burst_us = 5_000",
        "burst_us = 20_001",
        "18: cgroup[1].burst_us: expected 0 to 20000, found 20001",
    ),
    (
        "max_us = 20_000\nburst_us = 5_000",
        "burst_us = 5_000",
        "17: cgroup[1].burst_us: expected max_us beside it",
    ),
    (
        "period_us = 50_000",
        "burst_us = 5_000",
        "23: cgroup[2].burst_us: expected a limit beside it, not \"max\"",
    ),
    (
        "burst_us = 2000 }",
        "burst_us = 2001 }",
        "41: task[1].program[3].burst_us: expected 0 to 2000, found 2001",
    ),
    (
        "{ max_us = \"max\", of = \"batch\", period_us = 5000 }",
        "{ max_us = \"max\", of = \"batch\", burst_us = 5000 }",
        "40: task[1].program[2].burst_us: expected a limit beside it, not \"max\"",
    ),
    (
        "period_us = 50_000",
        "period_us = 1_000_001",
        "23: cgroup[2].period_us: expected 1000 to 1000000, found 1000001",
    ),
    (
        "cpus = [1, 0]",
        "cpus = []",
        "19: cgroup[1].cpus: expected at least one CPU, found none",
    ),
    (
        "cgroup = \"where\"",
        "cgroup = \"bach\"",
        "26: task[0].cgroup: unknown cgroup bach, did you mean batch?",
    ),
    (
        "cgroup = \"where\"",
        "cgroup = \"user.slice\"",
        "26: task[0].cgroup: expected a cgroup that is no other's parent, user.slice is one",
    ),
    (
        "cgroup = \"where\"",
        "cgroup = \"batch\"\nkernel = true",
        "26: task[0].cgroup: expected no thread of the kernel's beside it: those stay in the first group",
    ),
    (
        "cgroup = \"batch\"\nprogram",
        "cgroup = \"batch\"\nthreads = true\nstart = \"fork\"\nprogram",
        "36: task[1].cgroup: expected processes beside it: a thread is where its process is",
    ),
    (
        "{ cgroup = \"batch\" }",
        "{ cgroup = \"user.slice\" }",
        "29: task[0].program[1].cgroup: expected a cgroup that is no other's parent, user.slice is one",
    ),
    (
        "{ cgroup = \"batch\" }",
        "{ migrate_disable = [{ run_us = 1 }, { cgroup = \"batch\" }] }",
        "29: task[0].program[1].migrate_disable: cgroup is not allowed while migration is disabled",
    ),
    (
        "of = \"b[1]\"",
        "of = \"b[2]\"",
        "31: task[0].program[3].of: expected an index from 0 to 1, found 2",
    ),
    (
        "{ weight = \"me + 1\", of = \"user.slice\" }",
        "{ weight = 10_001, of = \"user.slice\" }",
        "39: task[1].program[1].weight: expected 1 to 10000, found 10001",
    ),
    (
        "{ weight = \"me + 1\", of = \"user.slice\" }",
        "{ weight = 5 }",
        "39: task[1].program[1].of: expected this key, found none",
    ),
    (
        "{ remove_cgroup = \"batch\" }",
        "{ remove_cgroup = \"user.slice\" }",
        "43: task[1].program[5].remove_cgroup: expected a cgroup that is no other's parent, user.slice is one",
    ),
    (
        "{ make_cgroup = \"where\" }",
        "{ make_cgroup = \"here\" }",
        "44: task[1].program[6].make_cgroup: unknown cgroup here, expected one of batch, user.slice, app.slice",
    ),
    (
        "{ max_us = 2000, of = \"batch\", burst_us",
        "{ max_us = 2000, of = \"a\", burst_us",
        "41: task[1].program[3].of: unknown cgroup a, expected one of batch, user.slice, app.slice",
    ),
    (
        "{ cpuset = [1], of = \"batch\" }",
        "{ cpuset = [], of = \"batch\" }",
        "42: task[1].program[4].cpuset: expected at least one CPU, found none",
    ),
    (
        "{ cpuset = [1], of = \"batch\" }",
        "{ cpuset = [1], of = \"batch\", all = true }",
        "42: task[1].program[4].all: unknown key, expected one of cpuset, of",
    ),
    (
        "[metrics]",
        "[command]\nrun = \"true\"\ntools = {}\n[metrics]",
        "11: cgroup: expected no command beside it: an application is put into no group",
    ),
];

#[test]
fn a_mistake_is_one_line() {
    let (mut said, mut all) = (Vec::new(), Vec::new());
    for (from, to, expected) in MISTAKES {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        said.push(
            Workload::from_toml(&text, "w.toml")
                .unwrap_err()
                .to_string(),
        );
        all.push(format!("w.toml:{expected}"));
    }
    assert_eq!(said, all);
}
