// SPDX-License-Identifier: GPL-2.0-or-later
//! Spinning, waiting for any, timers that do not skip, and what a task reads of time and place.

use cell::Status;
use kernel::{Options, Outcome};
use workload::plan::{End, Group, Inst, Plan, Since, Value};

use crate::common::{MS, for_ms, free, group, hogs, plan, run, run_for, simulate, sleep_for};

const ZERO: Value = Value::Const(0);

fn lock() -> Inst {
    Inst::Lock {
        lock: 0,
        index: ZERO,
    }
}

fn spin() -> Inst {
    Inst::Spin {
        lock: 0,
        index: ZERO,
    }
}

fn unlock() -> Inst {
    Inst::Unlock {
        lock: 0,
        index: ZERO,
    }
}

fn with_lock(groups: Vec<Group>, end: End) -> Plan {
    let mut plan = plan(groups, end);
    plan.locks.push(1);
    plan
}

fn ok(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    outcome
}

#[test]
fn who_spins_uses_its_cpu_until_the_lock_is_free() {
    let holder = group("holder", 1, vec![lock(), sleep_for(50 * MS), unlock()]);
    let waiter = |wait| {
        group(
            "waiter",
            1,
            vec![sleep_for(10 * MS), wait, run_for(5 * MS), unlock()],
        )
    };
    let cpu_s = |wait| {
        let plan = with_lock(vec![holder.clone(), waiter(wait)], End::All);
        let metrics = ok(run(&free(2), plan, "vtime")).metrics;
        (metrics["elapsed_s"], metrics["cpu_s"])
    };
    assert_eq!(cpu_s(lock()), (0.055, 0.005));
    assert_eq!(cpu_s(spin()), (0.055, 0.045));
}

#[test]
fn a_spinner_that_is_preempted_goes_on_spinning() {
    // Two spinners on one CPU while the lock is held on the other: both get it, one after the other.
    let mut holder = group("holder", 1, vec![lock(), run_for(100 * MS), unlock()]);
    holder.cpus = vec![0];
    let mut spinners = group(
        "spinner",
        2,
        vec![sleep_for(MS), spin(), run_for(3 * MS), unlock()],
    );
    spinners.cpus = vec![1];
    let plan = with_lock(vec![holder, spinners], End::All);
    let metrics = ok(run(&free(2), plan, "vtime")).metrics;
    // Whoever is switched in finds the lock free, or spins out its slice while the other has it.
    assert!(
        metrics["cpu_s"] >= 0.199 && metrics["elapsed_s"] <= 0.15,
        "{metrics:?}"
    );
}

#[test]
fn a_preempted_holder_makes_spinners_wait_for_it() {
    // On one CPU the spinner burns its slice before the holder can go on.
    let tasks = group("task", 3, vec![spin(), run_for(30 * MS), unlock()]);
    let plan = with_lock(vec![tasks], End::All);
    let metrics = ok(run(&free(1), plan, "vtime")).metrics;
    assert!(metrics["elapsed_s"] > 0.12, "{metrics:?}");
}

#[test]
fn any_semaphore_of_an_array_wakes_and_brings_its_stamp() {
    let asker = group(
        "asker",
        3,
        vec![
            Inst::Stamp,
            sleep_for(2 * MS),
            Inst::Post {
                sem: 0,
                index: Value::Me,
            },
            Inst::Wait {
                sem: 1,
                index: Value::Me,
            },
            Inst::Log {
                metric: 0,
                since: Since::Message,
                per: Value::Const(1),
            },
            Inst::Jump { to: 0 },
        ],
    );
    let answerer = group(
        "answerer",
        1,
        vec![
            Inst::WaitAny { sem: 0, into: 0 },
            Inst::Log {
                metric: 1,
                since: Since::Message,
                per: Value::Const(2),
            },
            Inst::Stamp,
            run_for(MS),
            Inst::Post {
                sem: 1,
                index: Value::Local(0),
            },
            Inst::Jump { to: 0 },
        ],
    );
    let mut plan = plan(vec![asker, answerer], for_ms(1_000));
    plan.semaphores = vec![(3, 0), (3, 0)];
    plan.distributions = vec!["turnaround_us".into(), "work_us".into()];
    let outcome = ok(run(&free(4), plan, "vtime"));
    let [answers, questions] =
        ["turnaround_us", "work_us"].map(|name| outcome.distributions[name].to_buckets());
    // Each answer takes 1 ms of work, stamped before it; each question lay 2 ms or more, halved.
    assert_eq!((answers.min_ns, answers.max_ns), (1_000_000, 1_000_000));
    assert!(
        questions.min_ns >= 1_000_000 && questions.count > 900,
        "{questions:?}"
    );
}

#[test]
fn timers_in_their_turn_make_up_for_lost_time() {
    let timer = |skip| Inst::Timer {
        period_ns: Value::Const(10 * MS),
        skip,
    };
    let log = Inst::Log {
        metric: 0,
        since: Since::Due,
        per: Value::Const(1),
    };
    let late = |skip| {
        let program = vec![
            timer(skip),
            run_for(35 * MS),
            timer(skip),
            log.clone(),
            timer(skip),
            log.clone(),
        ];
        let mut plan = plan(vec![group("timer", 1, program)], End::All);
        plan.distributions.push("lateness_us".into());
        let outcome = ok(run(&free(1), plan, "vtime"));
        let late = outcome.distributions["lateness_us"].to_buckets();
        (
            outcome.metrics["elapsed_s"],
            late.min_ns / 1_000_000,
            late.max_ns / 1_000_000,
        )
    };
    // Woken at 10 ms and busy until 45: the next multiples are 50 and 60, or 20 and 30 at once.
    assert_eq!(late(true), (0.06, 0, 0));
    assert_eq!(late(false), (0.045, 15, 25));
}

#[test]
fn a_sleep_of_no_time_is_due_at_once() {
    let late = Inst::Log {
        metric: 0,
        since: Since::Due,
        per: Value::Const(1),
    };
    let mut program = vec![sleep_for(MS)];
    for _ in 0..3 {
        program.extend([run_for(1_000 * MS), sleep_for(0), late.clone()]);
    }
    let mut plan = plan(vec![group("a", 1, program)], End::All);
    plan.distributions.push("lateness_us".to_string());
    let outcome = ok(run(&free(1), plan, "vtime"));
    // Counted from an earlier sleep, it would hold up to 3 s of work.
    let late = &outcome.distributions["lateness_us"];
    assert_eq!((late.count(), late.max_ns()), (3, 0));
}

#[test]
fn elapsed_time_and_cpu_are_locals() {
    let program = vec![
        Inst::Stamp,
        run_for(7 * MS + 999),
        Inst::Elapsed {
            since: Since::Stamp,
            unit_ns: 1_000,
            into: 1,
        },
        Inst::Count {
            metric: 0,
            by: Value::Local(1),
        },
        Inst::Cpu { into: 2 },
        Inst::Count {
            metric: 1,
            by: Value::Local(2),
        },
    ];
    let mut one = group("one", 1, program);
    one.cpus = vec![2];
    let mut plan = plan(vec![one, hogs(1)], End::Group(0));
    plan.counters = vec!["us".into(), "cpu".into()];
    let metrics = ok(simulate(&free(3), plan, "vtime", Options::default())).metrics;
    assert_eq!((metrics["us"], metrics["cpu"]), (7_000.0, 2.0));
}
