// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies with planted bugs: each is caught, and says what is wrong.

use std::collections::BTreeMap;

use cell::Status;
use kernel::{Execution, Options, Release};

use crate::common::{
    MS, for_ms, free, group, hogs, plan, policy_path, run, run_for, simulate, sleepers,
};

fn strict() -> Options {
    Options {
        strict: true,
        ..Options::default()
    }
}

#[test]
fn a_lost_task_is_named_by_the_watchdog() {
    let outcome = run(
        &free(2),
        plan(vec![sleepers(4, MS, MS)], for_ms(20_000)),
        "loses",
    );
    assert_eq!(outcome.status, Status::Ejected);
    assert!(
        outcome
            .reason
            .starts_with("runnable task stall (sleeper[100"),
        "{}",
        outcome.reason
    );
    assert!(
        outcome.reason.ends_with("held by the policy)"),
        "{}",
        outcome.reason
    );
}

#[test]
fn a_lost_task_fails_a_strict_run_before_the_watchdog() {
    let outcome = simulate(
        &free(2),
        plan(vec![sleepers(4, MS, MS)], for_ms(20_000)),
        "loses",
        strict(),
    );
    assert_eq!(outcome.status, Status::Failed);
    assert!(
        outcome.reason.contains("lost task: task"),
        "{}",
        outcome.reason
    );
    assert!(outcome.reason.contains(", event "), "{}", outcome.reason);
}

#[test]
fn a_wrong_cpu_ejects() {
    let mut group = sleepers(2, MS, MS);
    group.cpus = vec![1];
    let outcome = run(&free(2), plan(vec![group], for_ms(1_000)), "affinity");
    assert_eq!(outcome.status, Status::Ejected);
    assert_eq!(
        outcome.reason,
        "SCX_DSQ_LOCAL[_ON] target CPU 0 not allowed for sleeper[1000]"
    );
}

#[test]
fn starvation_ends_in_the_watchdog() {
    let outcome = run(&free(1), plan(vec![hogs(3)], for_ms(60_000)), "starves");
    assert_eq!(outcome.status, Status::Ejected);
    // Looked for twice in every 30 s.
    assert!(
        outcome.reason.contains("failed to run for 45.000s"),
        "{}",
        outcome.reason
    );
    let strictly = simulate(
        &free(1),
        plan(vec![hogs(3)], for_ms(60_000)),
        "starves",
        strict(),
    );
    assert_eq!(strictly.status, Status::Failed);
    assert!(
        strictly.reason.contains("starvation: task"),
        "{}",
        strictly.reason
    );
}

#[test]
fn a_double_insert_ejects() {
    let outcome = run(&free(1), plan(vec![hogs(2)], for_ms(100)), "twice");
    assert_eq!(outcome.reason, "hog[1000] already direct-dispatched");
}

#[test]
fn one_queue_has_one_order() {
    let outcome = run(&free(1), plan(vec![hogs(4)], for_ms(100)), "mixed");
    assert_eq!(
        outcome.reason,
        "DSQ ID 0x0000000000000007 already had PRIQ-enqueued tasks"
    );
}

#[test]
fn an_idle_cpu_beside_a_queue_is_a_remark_and_strictly_a_failure() {
    let programs = || {
        plan(
            vec![group("job", 2, vec![run_for(100 * MS)])],
            workload::plan::End::All,
        )
    };
    let outcome = run(&free(2), programs(), "wastes");
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(outcome.remarks.len(), 1);
    assert!(
        outcome.remarks[0].starts_with("work conservation: "),
        "{:?}",
        outcome.remarks
    );
    let strictly = simulate(&free(2), programs(), "wastes", strict());
    assert!(
        strictly.reason.contains("work conservation"),
        "{}",
        strictly.reason
    );
}

#[test]
fn an_access_that_the_verifier_would_refuse_is_a_fault_with_file_and_line() {
    let file = policy_path("strays");
    let source = std::fs::read_to_string(&file).unwrap();
    let tunables = |how: &str| BTreeMap::from([("how".to_owned(), how.to_owned())]);
    for execution in [Execution::Paranoid, Execution::Interpreted] {
        let program = kernel::load(&file, execution, Release::default()).unwrap();
        for (how, bytes) in [
            ("array", 8),
            ("constant", 8),
            ("task", 4),
            ("null", 8),
            ("page", 8),
        ] {
            let plan = plan(vec![hogs(2)], for_ms(100));
            let outcome = kernel::simulate(
                &free(1),
                plan,
                &program,
                "strays",
                &tunables(how),
                Options::default(),
            )
            .unwrap();
            assert_eq!((outcome.status, outcome.by), (Status::Failed, "fault"));
            let head = format!("void {how}(struct task_struct *p)");
            let line = source.lines().position(|line| line.contains(&head));
            // Its only statement is two lines further, and lines count from 1.
            let place = format!("strays: {how} ({}:{}): ", file.display(), line.unwrap() + 3);
            let what = outcome
                .reason
                .strip_prefix(&place)
                .unwrap_or_else(|| panic!("{execution}, {how}: {}, not {place}", outcome.reason));
            let expected = if how == "null" {
                "an access of 8 bytes at 0x10, which is NULL with an offset".to_owned()
            } else {
                format!("an access of {bytes} bytes to memory that it may not touch so")
            };
            assert_eq!(what, expected, "{execution}, {how}");
        }
    }
}

#[test]
fn a_fault_names_scheduler_callback_file_and_line_in_every_execution() {
    let file = policy_path("slips");
    let source = std::fs::read_to_string(&file).unwrap();
    let line_of = |text: &str| {
        let found = source.lines().position(|line| line.contains(text));
        found.unwrap() + 1
    };
    for execution in Execution::ALL {
        let program = kernel::load(&file, execution, Release::default()).unwrap();
        let run = |how: &str| {
            let options = Options {
                max_callback_operations: 100_000,
                ..Options::default()
            };
            kernel::simulate(
                &free(1),
                plan(vec![hogs(2)], for_ms(100)),
                &program,
                "slips",
                &BTreeMap::from([("how".to_owned(), how.to_owned())]),
                options,
            )
            .unwrap()
        };
        for (how, text, by, what) in [
            (
                "null",
                "*value = 7;",
                "fault",
                "an access of 8 bytes at 0x0, which is NULL with an offset",
            ),
            (
                "loop",
                "while (round)",
                "endless loop",
                "more than 100000 operations executed: an endless loop?",
            ),
        ] {
            let outcome = run(how);
            assert_eq!((outcome.status, outcome.by), (Status::Failed, by));
            let place = format!(
                "slips: slips_enqueue ({}:{})",
                file.display(),
                line_of(text)
            );
            assert_eq!(outcome.reason, format!("{place}: {what}"), "{execution}");
        }
        // In BPF x / 0 is 0 and x % 0 is x, and a member of a kernel object that is NULL reads as 0.
        assert_eq!(run("divide").status, Status::Ok, "{execution}");
    }
}

#[test]
fn a_spin_lock_is_taken_once_and_given_back() {
    for execution in Execution::ALL {
        let program = kernel::load(&policy_path("locks"), execution, Release::default()).unwrap();
        for (how, place) in [
            ("twice", "twice"),
            ("free", "free"),
            ("kept", "locks_enqueue"),
        ] {
            let outcome = kernel::simulate(
                &free(1),
                plan(vec![hogs(2)], for_ms(100)),
                &program,
                "locks",
                &BTreeMap::from([("how".to_owned(), how.to_owned())]),
                Options::default(),
            )
            .unwrap();
            assert_eq!((outcome.status, outcome.by), (Status::Failed, "fault"));
            let what = "a spin lock taken again, given back though free, or still held at the end";
            assert!(
                outcome.reason.starts_with(&format!("locks: {place} ("))
                    && outcome.reason.ends_with(&format!("): {what}")),
                "{execution}, {how}: {}",
                outcome.reason
            );
        }
    }
}

#[test]
fn a_policy_may_end_itself() {
    let outcome = run(&free(1), plan(vec![hogs(1)], for_ms(100)), "leaves");
    assert_eq!(outcome.status, Status::Ejected);
    assert_eq!(
        outcome.reason,
        "unregistered from BPF (exit code 0x17: after 1 tasks)"
    );
}
