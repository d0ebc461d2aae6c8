// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go and come.

use cell::Status;
use kernel::{Hotplug, Options};
use workload::plan::End;

use crate::common::{
    MS, calls, for_ms, free, group, hogs, plan, run_for, simulate, sleepers, traced,
};

fn script(events: &[(u64, u32, bool)]) -> Options {
    Options {
        hotplug: events
            .iter()
            .map(|(ms, cpu, online)| Hotplug {
                at_ns: ms * 1_000_000,
                cpu: *cpu,
                online: *online,
            })
            .collect(),
        strict: true,
        ..Options::default()
    }
}

#[test]
fn work_goes_on_elsewhere() {
    let jobs = plan(vec![group("job", 2, vec![run_for(100 * MS)])], End::All);
    let outcome = simulate(&free(2), jobs, "every", script(&[(50, 1, false)]));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    // 50 ms together, then 100 ms of work for one CPU.
    assert_eq!(outcome.metrics["elapsed_s"], 0.15);
}

#[test]
fn a_cpu_that_comes_back_is_used() {
    let jobs = plan(vec![group("job", 2, vec![run_for(100 * MS)])], End::All);
    let options = script(&[(50, 1, false), (70, 1, true)]);
    let outcome = simulate(&free(2), jobs, "vtime", options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert!(
        outcome.metrics["elapsed_s"] <= 0.12,
        "{}",
        outcome.metrics["elapsed_s"]
    );
}

#[test]
fn a_policy_with_callbacks_hears_of_it_and_one_without_is_loaded_anew() {
    let load = || plan(vec![hogs(3), sleepers(3, MS, MS)], for_ms(300));
    let options = || script(&[(100, 0, false), (200, 0, true)]);
    let (outcome, text) = traced(&free(3), load(), "every", options());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let calls_of = |text: &str, op: &str| calls(text).iter().filter(|call| **call == op).count();
    assert_eq!(
        (
            calls_of(&text, "cpu_offline"),
            calls_of(&text, "cpu_online")
        ),
        (1, 1)
    );
    assert_eq!(calls_of(&text, "init"), 1);
    let (outcome, text) = traced(&free(3), load(), "vtime", options());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert_eq!(calls_of(&text, "init"), 3);
}
