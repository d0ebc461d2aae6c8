// SPDX-License-Identifier: GPL-2.0-or-later
//! Real-time tasks above ext tasks.

use cell::Status;
use kernel::{Options, RtGuard};
use workload::plan::{End, Group, Policy};

use crate::common::{
    MS, for_ms, free, group, hogs, plan, run_for, simulate, sleep_for, switches, traced,
};

fn rt(name: &str, policy: Policy, group: Group) -> Group {
    Group {
        name: name.to_string(),
        policy,
        ..group
    }
}

fn guarded(guard: RtGuard) -> Options {
    Options {
        rt_guard: Some(guard),
        ..Options::default()
    }
}

#[test]
fn a_waking_real_time_task_preempts_at_once() {
    let urgent = rt(
        "urgent",
        Policy::Fifo(50),
        group("", 1, vec![sleep_for(10 * MS), run_for(MS)]),
    );
    let (outcome, text) = traced(
        &free(1),
        plan(vec![urgent, hogs(1)], for_ms(30)),
        "vtime",
        guarded(RtGuard::None),
    );
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let order: Vec<(u64, String)> = switches(&text, 0)
        .into_iter()
        .map(|(ns, who)| (ns / 1_000_000, who))
        .collect();
    // The hog had slice left: it comes back from the head of its CPU's queue.
    assert_eq!(
        order
            .iter()
            .map(|(ms, who)| (*ms, who.as_str()))
            .collect::<Vec<_>>(),
        [
            (0, "urgent-1000"),
            (0, "hog-1001"),
            (10, "urgent-1000"),
            (11, "hog-1001")
        ]
    );
}

#[test]
fn fifo_runs_to_the_end_and_round_robin_takes_turns() {
    let jobs = |policy| rt("job", policy, group("", 2, vec![run_for(250 * MS)]));
    let turns = |policy| {
        let (_, text) = traced(
            &free(1),
            plan(vec![jobs(policy)], End::All),
            "vtime",
            guarded(RtGuard::None),
        );
        switches(&text, 0)
            .into_iter()
            .map(|(ns, who)| (ns / 1_000_000, who))
            .collect::<Vec<_>>()
    };
    let fifo = turns(Policy::Fifo(1));
    assert_eq!(
        fifo.iter().map(|(ms, _)| *ms).collect::<Vec<_>>(),
        [0, 250, 500]
    );
    let rr = turns(Policy::Rr(1));
    assert_eq!(
        rr.iter().map(|(ms, _)| *ms).collect::<Vec<_>>(),
        [0, 100, 200, 300, 400, 450, 500]
    );
}

#[test]
fn higher_priority_first() {
    let low = rt("low", Policy::Fifo(10), group("", 1, vec![run_for(5 * MS)]));
    let high = rt(
        "high",
        Policy::Fifo(20),
        group("", 1, vec![sleep_for(MS), run_for(5 * MS)]),
    );
    let (_, text) = traced(
        &free(1),
        plan(vec![low, high], End::All),
        "vtime",
        guarded(RtGuard::None),
    );
    let order: Vec<String> = switches(&text, 0).into_iter().map(|(_, who)| who).collect();
    assert_eq!(
        order,
        [
            "low-1000",
            "high-1001",
            "low-1000",
            "high-1001",
            "low-1000",
            "swapper-0"
        ]
        .into_iter()
        .skip_while(|who| *who != order[0])
        .collect::<Vec<_>>()
    );
}

#[test]
fn waking_real_time_tasks_spread() {
    let jobs = rt(
        "job",
        Policy::Fifo(10),
        group("", 2, vec![sleep_for(MS), run_for(50 * MS)]),
    );
    let outcome = simulate(
        &free(2),
        plan(vec![jobs], End::All),
        "vtime",
        guarded(RtGuard::None),
    );
    assert_eq!(outcome.metrics["elapsed_s"], 0.051);
}

fn ordinary_share(guard: RtGuard) -> f64 {
    let fifo = rt("rt", Policy::Fifo(1), hogs(1));
    let ordinary = group(
        "ordinary",
        1,
        vec![
            run_for(MS),
            workload::plan::Inst::Count {
                metric: 0,
                by: workload::plan::Value::Const(1),
            },
            workload::plan::Inst::Jump { to: 0 },
        ],
    );
    let mut plan = plan(vec![fifo, ordinary], for_ms(20_000));
    plan.counters.push("rounds".to_string());
    let outcome = simulate(&free(1), plan, "vtime", guarded(guard));
    outcome.metrics["rounds"] / 20_000.0
}

#[test]
fn a_guard_leaves_ordinary_tasks_five_percent() {
    assert_eq!(ordinary_share(RtGuard::None), 0.0);
    for guard in [RtGuard::Throttle, RtGuard::ExtServer] {
        let share = ordinary_share(guard);
        assert!((0.045..=0.055).contains(&share), "{guard:?}: {share}");
    }
}
