// SPDX-License-Identifier: GPL-2.0-or-later
//! Insertions for immediate execution: a task is on its CPU at once, or back with the policy.

use cell::Status;
use kernel::Options;

use crate::common::{MS, for_ms, free, hogs, plan, run, sleepers, traced};

#[test]
fn a_task_that_finds_its_cpu_idle_runs() {
    let plan = plan(vec![sleepers(1, MS, MS)], for_ms(100));
    let (outcome, text) = traced(&free(1), plan, "insists", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let enqueues = text.matches("scx_call: op=enqueue").count();
    // Once for each wake-up.
    assert_eq!(enqueues, 50);
}

/// As Linux 7.2 does in a guest, with the same words.
#[test]
fn whoever_insists_on_a_busy_cpu_is_thrown_out() {
    let outcome = run(&free(2), plan(vec![hogs(2)], for_ms(100)), "insists");
    assert_eq!(outcome.status, Status::Ejected);
    let reason = "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times";
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
}

#[test]
fn a_queue_runs_nobody_at_once() {
    let plan = plan(vec![hogs(1)], for_ms(100));
    let outcome = run(&free(1), plan, "insists:rules=queue");
    assert_eq!(outcome.status, Status::Ejected);
    let reason = "SCX_ENQ_IMMED on a non-local DSQ 0x0";
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
}
