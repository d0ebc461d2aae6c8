// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that stop their tick for a task that runs as long as it likes (`nohz_full`).

use cell::Status;
use kernel::Options;
use machine::{Machine, RtGuard};
use workload::plan::{Group, Policy};

use crate::common::{MS, for_ms, free, group, hogs, plan, run_for, sleep_for, traced};

fn without_tick() -> Machine {
    let mut machine = free(2);
    machine.nohz_full = vec![1];
    machine
}

/// Ticks that the policy hears of in 400 ms, which are 100 ticks a CPU.
fn ticks(machine: &Machine, mut tasks: Vec<Group>, policy: &str, cpu: u32) -> usize {
    for task in &mut tasks {
        task.cpus = vec![cpu];
    }
    let plan = plan(tasks, for_ms(400));
    let (outcome, text) = traced(machine, plan, policy, Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    text.matches("scx_call: op=tick").count()
}

#[test]
fn a_task_with_an_infinite_slice_is_not_interrupted() {
    let ticks = |machine: &Machine, cpu| ticks(machine, vec![hogs(1)], "unbounded", cpu);
    assert!(ticks(&without_tick(), 0) >= 99);
    assert!(ticks(&free(2), 1) >= 99);
    assert_eq!(ticks(&without_tick(), 1), 0);
}

#[test]
fn a_finite_slice_needs_the_tick() {
    let found = ticks(&without_tick(), vec![hogs(1)], "unbounded:rules=finite", 1);
    assert!(found >= 99, "{found}");
}

/// One of real time has the CPU for the first 300 ms, without a tick. Nobody protects the other from it.
#[test]
fn the_tick_comes_back_for_another_task() {
    let mut higher = group("higher", 1, vec![run_for(300 * MS), sleep_for(1_000 * MS)]);
    higher.policy = Policy::Fifo(10);
    let tasks = vec![hogs(1), higher];
    let mut machine = without_tick();
    machine.rt_guard = RtGuard::None;
    let found = ticks(&machine, tasks, "unbounded:rules=finite", 1);
    // The last 100 ms, when the hog has the CPU.
    assert!((24..=26).contains(&found), "{found}");
}
