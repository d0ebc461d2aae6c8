// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of control groups: policies that keep them pass, and one that does not is told to the nanosecond.

use std::collections::BTreeMap;

use cell::Status;
use kernel::{Bounds, Change, Execution, Hotplug, Options, Outcome, Release};
use workload::plan::{Cgroup, CpuMax, Group, Inst, Plan};

use crate::common::{MS, for_ms, free, group, hogs, plan, policy_path, simulate, sleep_for};

/// The policies with which `schedlab check` is proved.
fn of_check(name: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/check/policies");
    format!("{root}/{name}.bpf.c")
}

/// No run is so long.
const NEVER_NS: u64 = 1 << 60;

const KEEPS: &str = "limits/keeps";
const LAST_GOES_ON: &str = "bugs/limit_last_goes_on";
const PARENT_IGNORED: &str = "limits/parent_ignored";

fn limited(name: &str, parent: Option<u32>, quota_us: u64, period_us: u64) -> Cgroup {
    let max = CpuMax {
        quota_us: Some(quota_us),
        period_us,
        burst_us: 0,
    };
    Cgroup {
        name: name.to_string(),
        parent,
        weight: None,
        max: Some(max),
        cpus: Vec::new(),
    }
}

fn hogs_in(cgroup: u32, count: u32) -> Group {
    Group {
        cgroup: Some(cgroup),
        ..hogs(count)
    }
}

fn watched(cpus: u32, plan: Plan, policy: &str, hotplug: Vec<Hotplug>) -> Outcome {
    let bounds = Bounds {
        limits: true,
        idle_ns: NEVER_NS,
        lost_ns: NEVER_NS,
        ..Bounds::default()
    };
    let options = Options {
        strict: true,
        bounds,
        hotplug,
        ..Options::default()
    };
    simulate(&free(cpus), plan, policy, options)
}

fn kept(outcome: &Outcome) {
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
}

/// Two hogs on two CPUs, 5 ms in every 50.
fn two_hogs(ms: u64) -> Plan {
    let mut plan = plan(vec![hogs_in(0, 2)], for_ms(ms));
    plan.cgroups = vec![limited("g", None, 5_000, 50_000)];
    plan
}

#[test]
fn a_group_that_gets_more_is_told_to_the_nanosecond() {
    let outcome = watched(2, two_hogs(1_000), &of_check(LAST_GOES_ON), Vec::new());
    assert_eq!((outcome.status, outcome.by), (Status::Failed, "cpu limit"));
    // 2 × t is more than t / 10, 10 ms and two ticks of each CPU, 16 ms, at the fourth tick of 4 ms.
    let told = "check failed: cpu limit: control group 0 ran for 32000000 ns in 16000000 ns, and 5000 us in every \
                50000 us allow 11600000 ns and 16000000 ns of overrun at 16000000 ns, event ";
    assert!(outcome.reason.starts_with(told), "{}", outcome.reason);
}

#[test]
fn a_policy_that_keeps_limits_passes() {
    for policy in [of_check(KEEPS), "bfs".to_string()] {
        kept(&watched(2, two_hogs(3_000), &policy, Vec::new()));
    }
}

#[test]
fn each_of_nested_limits_is_looked_at() {
    let nested = |above_us, below_us| {
        let mut plan = plan(vec![hogs_in(1, 1)], for_ms(2_000));
        plan.cgroups = vec![
            limited("above", None, above_us, 50_000),
            limited("below", Some(0), below_us, 50_000),
        ];
        plan
    };
    let ignored = of_check(PARENT_IGNORED);
    let found = watched(1, nested(5_000, 20_000), &ignored, Vec::new());
    assert_eq!(found.by, "cpu limit", "{}", found.reason);
    assert!(found.reason.contains("control group 0 ran"));
    kept(&watched(1, nested(20_000, 5_000), &ignored, Vec::new()));
    for policy in [of_check(KEEPS), "bfs".to_string()] {
        kept(&watched(1, nested(5_000, 20_000), &policy, Vec::new()));
        kept(&watched(1, nested(20_000, 5_000), &policy, Vec::new()));
    }
}

/// The hogs of `two_hogs` and a task that does this over and over.
fn disturbed(program: Vec<Inst>) -> Plan {
    let mut plan = two_hogs(2_000);
    plan.cgroups.push(limited("other", None, 40_000, 50_000));
    let program = [program, vec![Inst::Jump { to: 0 }]].concat();
    plan.groups.push(group("boss", 1, program));
    plan
}

#[test]
fn who_moves_between_groups_is_held_to_both_limits() {
    let to = |cgroup| Inst::CgroupOf {
        group: 0,
        index: workload::plan::Value::Const(0),
        cgroup,
    };
    // In the group for 1 ms of every 2, and never for a whole tick.
    let moves = || {
        disturbed(vec![
            sleep_for(MS + MS / 10),
            to(None),
            sleep_for(MS),
            to(Some(0)),
        ])
    };
    for policy in [of_check(KEEPS), "bfs".to_string()] {
        kept(&watched(2, moves(), &policy, Vec::new()));
    }
}

#[test]
fn a_cpu_that_goes_takes_no_limit_with_it() {
    let hotplug: Vec<Hotplug> = [(7, Change::Offline), (400, Change::Online)]
        .map(|(ms, change)| Hotplug {
            at_ns: ms * 1_000_000,
            cpu: 1,
            change,
        })
        .into();
    for policy in [of_check(KEEPS), "bfs".to_string()] {
        kept(&watched(2, two_hogs(1_000), &policy, hotplug.clone()));
    }
    let found = watched(2, two_hogs(1_000), &of_check(LAST_GOES_ON), hotplug);
    assert_eq!(found.by, "cpu limit", "{}", found.reason);
}

#[test]
fn a_policy_whose_callback_can_do_nothing_keeps_no_limit() {
    let keeps = |policy: &str, rules: Option<&str>| {
        let program = kernel::load(
            &policy_path(policy),
            Execution::default(),
            Release::default(),
        );
        let rules = rules.map(|rules| ("rules".to_string(), rules.to_string()));
        let tunables: BTreeMap<String, String> = rules.into_iter().collect();
        program.unwrap().keeps_limits(&tunables).unwrap()
    };
    assert!(keeps("bfs", None));
    assert!(keeps("bfs", Some("modern")));
    for rules in ["232", "311", "424"] {
        assert!(!keeps("bfs", Some(rules)));
    }
    assert!(!keeps("vtime", None));
    assert!(keeps(&of_check(KEEPS), None));
}
