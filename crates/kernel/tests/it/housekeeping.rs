// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's own thread: when it has work, and whom that disturbs.

use cell::Status;
use kernel::{Options, Outcome};
use machine::Machine;
use workload::plan::{End, Plan};

use crate::common::{MS, for_ms, free, group, hogs, plan, run_for, sleep_for, time_ns, traced};

const TICK_NS: u64 = 4_000_000;

/// With regular work every so many milliseconds; starting tasks takes next to nothing.
fn with_kthread(period_ms: u64) -> Machine {
    let mut machine = free(1);
    machine.costs.runner_task_ns = 1;
    machine.costs.kthread_ns = 10_000;
    machine.costs.kthread_period_ns = period_ms * 1_000_000;
    machine
}

fn traced_ok(machine: &Machine, plan: Plan) -> (Outcome, String) {
    let (outcome, trace) = traced(machine, plan, "rr", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    (outcome, trace)
}

/// The times of the lines with all these words.
fn times_ns(trace: &str, words: &[&str]) -> Vec<u64> {
    let has = |line: &&str| words.iter().all(|word| line.contains(word));
    trace.lines().filter(has).map(time_ns).collect()
}

/// At which ticks the kernel's thread took the CPU.
fn ticks_at_work(trace: &str) -> Vec<u64> {
    let times = times_ns(trace, &["sched_switch", "next_comm=kthread"]);
    let at_tick = |ns: &u64| ns % TICK_NS < 1_000;
    assert!(times.iter().all(at_tick), "{times:?}");
    times.iter().map(|ns| ns / TICK_NS).collect()
}

#[test]
fn regular_work_comes_at_the_first_tick_after_its_period() {
    let (_, trace) = traced_ok(&with_kthread(10), plan(vec![hogs(1)], for_ms(45)));
    // Due at 10, 20, 30, 40 ms; ticks come every 4.
    assert_eq!(ticks_at_work(&trace), [3, 5, 8, 10]);
}

#[test]
fn a_machine_without_a_runner_has_no_such_thread() {
    let mut machine = with_kthread(10);
    machine.costs.runner_task_ns = 0;
    let (_, trace) = traced_ok(&machine, plan(vec![hogs(1)], for_ms(45)));
    assert!(ticks_at_work(&trace).is_empty());
}

#[test]
fn what_is_due_while_the_cpu_idles_disturbs_nobody() {
    let at_work = |sleep_ms| {
        let late = group("late", 1, vec![sleep_for(sleep_ms * MS), run_for(12 * MS)]);
        let (_, trace) = traced_ok(&with_kthread(40), plan(vec![late], End::All));
        ticks_at_work(&trace)
    };
    assert!(at_work(42).is_empty());
    assert_eq!(at_work(32), [10]);
}

#[test]
fn whom_it_disturbs_is_preempted_and_does_not_pay() {
    let (outcome, _) = traced_ok(&with_kthread(10), plan(vec![hogs(1)], for_ms(45)));
    assert_eq!(outcome.metrics["switches_involuntary"], 4.0);
    let lost_s = outcome.metrics["elapsed_s"] - outcome.metrics["cpu_s"];
    assert!((lost_s - 4.0 * 10e-6).abs() < 1e-9, "{lost_s}");
}

/// The ticks after these exits that a grace period takes, two each, if it begins with none under way.
fn grace_periods(exits: &[u64]) -> Vec<u64> {
    let mut ticks: Vec<u64> = Vec::new();
    let mut ahead: u64 = 0; // the tick at which the next may begin
    for exit in exits {
        let next = exit / TICK_NS + 1;
        if next > ahead.saturating_sub(2) || ticks.is_empty() {
            let begins = next.max(ahead);
            ticks.extend([begins, begins + 1]);
            ahead = begins + 2;
        }
    }
    ticks
}

#[test]
fn an_exit_takes_two_ticks_and_those_meanwhile_wait_for_the_next() {
    for works_ms in [[5, 90], [1, 90], [5, 6], [3, 3]] {
        let ends = works_ms.map(|ms| group("ends", 1, vec![run_for(ms * MS)]));
        let last = group("last", 1, vec![run_for(40 * MS)]);
        let groups = ends.into_iter().chain([last]).collect();
        let (_, trace) = traced_ok(&with_kthread(0), plan(groups, End::All));
        let exits = times_ns(&trace, &["sched_process_exit", "comm=ends"]);
        assert_eq!(ticks_at_work(&trace), grace_periods(&exits), "{works_ms:?}");
    }
}
