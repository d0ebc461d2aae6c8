// SPDX-License-Identifier: GPL-2.0-or-later
//! Real-time tasks take CPUs from the policy, which hears of it.

use cell::Status;
use kernel::Options;
use workload::plan::{Inst, Policy};

use crate::common::{MS, calls, for_ms, free, group, hogs, plan, run_for, sleep_for, traced};

/// So many hogs on two CPUs, of which a real-time task takes one every 12 ms, nine times: what the policy is told.
fn told(policy: &str, count: u32) -> Vec<String> {
    let program = vec![run_for(2 * MS), sleep_for(10 * MS), Inst::Jump { to: 0 }];
    let mut higher = group("higher", 1, program);
    higher.policy = Policy::Fifo(50);
    let mut groups = vec![higher];
    if count > 0 {
        groups.insert(0, hogs(count));
    }
    let plan = plan(groups, for_ms(100));
    let (outcome, text) = traced(&free(2), plan, policy, Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    calls(&text).into_iter().map(String::from).collect()
}

fn of_the_cpu(calls: &[String]) -> Vec<&str> {
    let calls = calls.iter().map(String::as_str);
    calls.filter(|op| op.starts_with("cpu_")).collect()
}

#[test]
fn a_cpu_is_released_once_and_acquired_when_it_comes_back() {
    let calls = told("released", 6);
    assert_eq!(of_the_cpu(&calls), ["cpu_release", "cpu_acquire"].repeat(9));
    // Three hogs a CPU: of them, the one that ran and those that waited come back, and go to the other CPU's queue.
    let first = calls.iter().position(|op| *op == "cpu_release").unwrap();
    assert_eq!(calls[first + 1..first + 4], ["enqueue"; 3]);
}

#[test]
fn a_policy_may_want_to_hear_of_the_one_alone() {
    assert_eq!(of_the_cpu(&told("bfs", 6)), ["cpu_release"; 9]);
}

#[test]
fn an_idle_cpu_is_not_released() {
    assert!(of_the_cpu(&told("released", 0)).is_empty());
}
