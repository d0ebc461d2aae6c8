// SPDX-License-Identifier: GPL-2.0-or-later
//! Control groups: what a policy hears of them and when, and whom cpusets let run where. Guests run the same workloads
//! (`tests/vm_policies/test_groups.py`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use cell::Status;
use kernel::{Options, Outcome};
use machine::Machine;
use workload::Workload;
use workload::plan::{Cgroup, CpuMax, Group, Inst, Plan, Start, Value};

use crate::common::{MS, calls, for_ms, free, group, plan, run, run_for, sleep_for, traced};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vm_policies")
}

/// A workload that guests run too.
fn workload(name: &str, params: &[(&str, &str)], cpus: u32) -> Plan {
    let workload = Workload::read(&folder().join(format!("{name}.toml"))).unwrap();
    let params: BTreeMap<String, String> = (params.iter())
        .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
        .collect();
    let load = workload.least_load(cpus).unwrap();
    workload.plan(load, &params, cpus, 1).unwrap()
}

fn with_runner(cpus: u32) -> Machine {
    let mut machine = free(cpus);
    machine.costs.fork_ns = 100_000;
    machine.costs.runner_task_ns = 40_000;
    machine
}

fn ok(outcome: &Outcome) {
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
}

fn said(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.split_once("bpf_trace_printk: "))
        .map(|(_, said)| said)
        .collect()
}

fn named(name: &str, parent: Option<u32>, weight: u32, cpus: &[u32]) -> Cgroup {
    Cgroup {
        name: name.to_string(),
        parent,
        weight: Some(weight),
        max: None,
        cpus: cpus.to_vec(),
    }
}

#[test]
fn a_policy_hears_what_a_kernel_tells_it() {
    let (outcome, text) = traced(
        &with_runner(2),
        workload("told", &[], 2),
        "tells",
        Options::default(),
    );
    ok(&outcome);
    let is_birth = |line: &&&str| line.starts_with("task ");
    let all = said(&text);
    let heard: Vec<&str> = all
        .iter()
        .copied()
        .filter(|line| !is_birth(&line))
        .collect();
    let expected = std::fs::read_to_string(folder().join("told.txt")).unwrap();
    let expected: Vec<&str> = expected
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(heard, expected);
    // The runner starts all where it is itself, and a thread is born where its process has moved.
    let born: Vec<&str> = all.iter().copied().filter(|line| is_birth(&line)).collect();
    let expected = [
        "task schedlab-host in 100",
        "task schedlab-host in 100",
        "task mover in 100",
        "task choosy in 100",
        "task pair in 100",
        "task pair in 300",
        "task boss in 100",
    ];
    assert_eq!(born, expected);
}

#[test]
fn without_a_runner_tasks_are_in_their_groups_when_a_policy_is_loaded() {
    let child = Group {
        start: Start::Fork,
        ..group("child", 1, vec![run_for(MS)])
    };
    let other = Group {
        start: Start::Fork,
        cgroup: Some(1),
        ..group("other", 1, vec![run_for(MS)])
    };
    let fork = |group| Inst::Fork {
        group,
        index: Value::Const(0),
    };
    let first = Group {
        cgroup: Some(0),
        ..group(
            "first",
            1,
            vec![run_for(MS), fork(1), fork(2), run_for(5 * MS)],
        )
    };
    let mut plan = plan(vec![first, child, other], for_ms(20));
    plan.cgroups = vec![named("a", None, 200, &[]), named("b", None, 300, &[])];
    let (outcome, text) = traced(&free(1), plan, "tells", Options::default());
    ok(&outcome);
    let heard = said(&text);
    let heard: Vec<&str> = (heard.into_iter())
        .filter(|line| !line.starts_with("limit") && !line.starts_with("exit"))
        .collect();
    let expected = [
        "init 0: 100",
        "init 1: 100",
        "init 2: 200",
        "init 2: 300",
        "task first in 200",
        // Born where their parent is; the second moves itself before it does anything else.
        "task child in 200",
        "task other in 200",
        "prep other 200 to 300",
        "move other 200 to 300",
    ];
    assert_eq!(heard, expected);
}

#[test]
fn a_policy_that_refuses_a_move_hears_whose_are_off() {
    let threads = |name: &str| Group {
        threads: true,
        cgroup: Some(0),
        ..group(name, 2, vec![sleep_for(50 * MS)])
    };
    let change = Inst::CgroupOf {
        group: 0,
        index: Value::Const(1),
        cgroup: Some(1),
    };
    let boss = group("boss", 1, vec![sleep_for(MS), change, sleep_for(5 * MS)]);
    let moved = |name: &str| {
        let mut plan = plan(vec![threads(name), boss.clone()], for_ms(20));
        plan.cgroups = vec![named("a", None, 200, &[]), named("b", None, 300, &[])];
        let (outcome, text) = traced(&free(1), plan, "tells", Options::default());
        let said = said(&text);
        let about = |line: &&str| line.contains(name) && !line.starts_with("task");
        let said: Vec<String> = said.into_iter().filter(about).map(str::to_owned).collect();
        (outcome, said)
    };
    let (outcome, said) = moved("free");
    ok(&outcome);
    let expected = [
        "prep free 200 to 300",
        "prep free 200 to 300",
        "move free 200 to 300",
        "move free 200 to 300",
    ];
    assert_eq!(said, expected);
    let (outcome, said) = moved("barred");
    assert_eq!(outcome.status, Status::Failed);
    let reason =
        "moves barred[1001] to b: the policy does not let it into its control group (error 1)";
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
    assert_eq!(said, ["prep barred 200 to 300"]);
    // The first thread has been let in when the second is not.
    let (outcome, said) = moved("later");
    assert_eq!(outcome.status, Status::Failed, "{}", outcome.reason);
    let expected = [
        "prep later 200 to 300",
        "prep later 200 to 300",
        "cancel later 200 to 300",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_group_that_the_policy_does_not_accept_is_not_made() {
    let made = |times: u32| {
        let mut program = vec![sleep_for(MS)];
        for _ in 0..times {
            program.push(Inst::RemoveCgroup { cgroup: 0 });
            program.push(Inst::MakeCgroup { cgroup: 0 });
        }
        let boss = group("boss", 1, [program, vec![run_for(MS)]].concat());
        let mut plan = plan(vec![boss], for_ms(20));
        plan.cgroups = vec![named("a", None, 200, &[])];
        run(&free(1), plan, "counts")
    };
    // The root, the run's own and the plan's are three already.
    ok(&made(2));
    let refused = made(3);
    assert_eq!(refused.status, Status::Failed);
    let reason = "makes a: the policy does not accept it (error 16)";
    assert!(refused.reason.contains(reason), "{}", refused.reason);
}

#[test]
fn a_limit_below_the_burst_that_stays_is_an_error() {
    let limited = |burst_us: Option<i64>, gone: bool| {
        let change = Inst::CgroupMax {
            cgroup: 0,
            quota_us: Some(Value::Const(2_000)),
            period_us: None,
            burst_us: burst_us.map(Value::Const),
        };
        let first = if gone {
            Inst::RemoveCgroup { cgroup: 0 }
        } else {
            run_for(MS)
        };
        let boss = group("boss", 1, vec![sleep_for(MS), first, change, run_for(MS)]);
        let mut plan = plan(vec![boss], for_ms(20));
        let max = CpuMax {
            quota_us: Some(20_000),
            period_us: 100_000,
            burst_us: 3_000,
        };
        let named = named("a", None, 200, &[]);
        plan.cgroups = vec![Cgroup {
            max: Some(max),
            ..named
        }];
        traced(&free(1), plan, "tells", Options::default())
    };
    let (outcome, _) = limited(None, false);
    assert_eq!(outcome.status, Status::Failed);
    let reason = "limits a: its burst of 3000 µs is more";
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
    let (outcome, text) = limited(Some(1_000), false);
    ok(&outcome);
    let limits = |line: &&str| line.starts_with("limit ") && !line.contains("limit -1");
    let heard: Vec<&str> = said(&text).into_iter().filter(limits).collect();
    let expected = [
        "limit 20000 of 100000, burst 3000",
        "limit of 200",
        "limit 20000 of 100000, burst 0",
        "limit of 200",
        "limit 2000 of 100000, burst 0",
        "limit of 200",
        "limit 2000 of 100000, burst 1000",
    ];
    assert_eq!(heard, expected);
    // Nobody is told of what is not there.
    let (outcome, text) = limited(None, true);
    ok(&outcome);
    let heard: Vec<&str> = said(&text).into_iter().filter(limits).collect();
    assert_eq!(heard, expected[..1]);
}

#[test]
fn a_group_with_tasks_in_it_stays() {
    let dies = Group {
        cgroup: Some(0),
        ..group("dies", 1, vec![run_for(2 * MS)])
    };
    let change = |inst: Inst| vec![sleep_for(MS), inst];
    let boss = group(
        "boss",
        1,
        [
            change(Inst::RemoveCgroup { cgroup: 0 }),
            change(Inst::CgroupWeight {
                cgroup: 0,
                weight: Value::Const(500),
            }),
            vec![sleep_for(5 * MS)],
            change(Inst::RemoveCgroup { cgroup: 0 }),
            change(Inst::CgroupWeight {
                cgroup: 0,
                weight: Value::Const(600),
            }),
            vec![run_for(MS)],
        ]
        .concat(),
    );
    let mut plan = plan(vec![dies, boss], for_ms(20));
    plan.cgroups = vec![named("a", None, 200, &[])];
    let (outcome, text) = traced(&free(2), plan, "tells", Options::default());
    ok(&outcome);
    let heard = said(&text);
    let heard: Vec<&str> = (heard.into_iter())
        .filter(|line| line.starts_with("weight") || line.starts_with("exit"))
        .collect();
    assert_eq!(heard[..2], ["weight 2: 200 to 500", "exit 2: 200"]);
    assert_eq!(heard[2..], ["exit 1: 100", "exit 0: 100"]);
}

#[test]
fn who_moves_is_off_its_run_queue_meanwhile() {
    let change = Inst::CgroupOf {
        group: 0,
        index: Value::Const(0),
        cgroup: Some(1),
    };
    let heard = |of: Vec<Inst>, more: Vec<Group>| {
        let moved = Group {
            cgroup: Some(0),
            cpus: vec![0],
            ..group("moved", 1, of)
        };
        let boss = Group {
            cpus: vec![1],
            ..group(
                "boss",
                1,
                vec![sleep_for(2_500_000), change.clone(), sleep_for(50 * MS)],
            )
        };
        let mut plan = plan([vec![moved, boss], more].concat(), for_ms(20));
        plan.cgroups = vec![named("a", None, 200, &[]), named("b", None, 300, &[])];
        let (outcome, text) = traced(&free(2), plan, "grouped", Options::default());
        ok(&outcome);
        let all = calls(&text);
        let prep = all.iter().position(|op| *op == "cgroup_prep_move").unwrap();
        all[prep..].join(" ")
    };
    let runs = heard(vec![run_for(20 * MS)], Vec::new());
    let expected = "cgroup_prep_move stopping quiescent cgroup_move runnable running ";
    assert!(runs.starts_with(expected), "{runs}");
    let ahead = Group {
        cpus: vec![0],
        ..group("ahead", 2, vec![run_for(50 * MS)])
    };
    let waits = heard(vec![sleep_for(MS), run_for(20 * MS)], vec![ahead]);
    let expected = "cgroup_prep_move dequeue quiescent cgroup_move runnable enqueue ";
    assert!(waits.starts_with(expected), "{waits}");
    let sleeps = heard(vec![sleep_for(50 * MS)], Vec::new());
    let expected = "cgroup_prep_move cgroup_move stopping ";
    assert!(sleeps.starts_with(expected), "{sleeps}");
}

#[test]
fn groups_share_the_cpus_by_their_weights() {
    let shares = |cpus, params: &[(&str, &str)]| {
        let outcome = run(&free(cpus), workload("shares", params, cpus), "shares");
        ok(&outcome);
        let (little, much) = ("frames_shown", "throughput_per_s");
        outcome.metrics[much] * outcome.metrics["elapsed_s"] / outcome.metrics[little]
    };
    for cpus in [1, 4] {
        let ratio = shares(cpus, &[]);
        assert!((2.9..3.1).contains(&ratio), "{cpus} CPUs: {ratio}");
    }
    let ratio = shares(1, &[("less", "300")]);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    // Who does not look at groups lets all tasks share alike.
    let outcome = run(&free(1), workload("shares", &[], 1), "fifo");
    let ratio = outcome.metrics["throughput_per_s"] * 3.0 / outcome.metrics["frames_shown"];
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn a_cpuset_that_becomes_smaller_moves_who_runs_in_it() {
    for policy in ["every", "bfs", "cfs", "eevdf"] {
        let outcome = run(&with_runner(2), workload("shrink", &[], 2), policy);
        ok(&outcome);
        let metrics = &outcome.metrics;
        assert!(metrics["frames_shown"] > 1_000.0, "{policy}: {metrics:?}");
        assert!(
            metrics["throughput_per_s"] > 1_000.0,
            "{policy}: {metrics:?}"
        );
        let outside = metrics.get("dropped_frames").copied().unwrap_or(0.0);
        assert_eq!(outside, 0.0, "{policy}");
    }
}

#[test]
fn with_nothing_but_cpus_schedulers_see_one_group() {
    let outcome = |cpus: &[u32], own: &[u32]| {
        let confined = Group {
            cgroup: Some(0),
            cpus: own.to_vec(),
            ..group(
                "kept",
                1,
                vec![
                    run_for(MS),
                    Inst::Affinity { cpus: own.to_vec() },
                    run_for(MS),
                ],
            )
        };
        let mut plan = plan(vec![confined], for_ms(20));
        plan.cgroups = vec![Cgroup {
            weight: None,
            ..named("a", None, 100, cpus)
        }];
        traced(&free(2), plan, "tells", Options::default())
    };
    let (shown, text) = outcome(&[1], &[0, 1]);
    ok(&shown);
    let init: Vec<&str> = said(&text)
        .into_iter()
        .filter(|line| line.starts_with("init"))
        .collect();
    assert_eq!(init, ["init 0: 100"]);
    let (refused, _) = outcome(&[1], &[0]);
    assert_eq!(refused.status, Status::Failed);
    let reason = "kept[1000]: its control group has none of its CPUs";
    assert!(refused.reason.contains(reason), "{}", refused.reason);
}
