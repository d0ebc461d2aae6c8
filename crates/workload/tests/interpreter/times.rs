// SPDX-License-Identifier: GPL-2.0-or-later
//! Sleeps, timers and their due times; stamps, and what is logged since.

use workload::plan::{Inst, Since, Value};

use crate::fake::{Did, Fake, fixed, number, plan, queue, run, show};

fn run_for(ns: i64) -> Inst {
    Inst::Run { ns: fixed(ns) }
}

fn sleep_for(ns: i64) -> Inst {
    Inst::Sleep { ns: fixed(ns) }
}

fn timer(period_ns: i64, skip: bool) -> Inst {
    Inst::Timer {
        period_ns: number(period_ns),
        skip,
    }
}

fn until(ns: i64) -> Inst {
    Inst::Until { ns: number(ns) }
}

fn log(since: Since) -> Inst {
    Inst::Log {
        metric: 0,
        since,
        per: number(1),
    }
}

/// When each sleep was due.
fn dues(fake: &Fake) -> Vec<u64> {
    let due = |did: &Did| match did {
        Did::SleepUntil(due_ns) => Some(*due_ns),
        _ => None,
    };
    fake.did.iter().filter_map(due).collect()
}

#[test]
fn a_sleep_is_due_so_long_from_now() {
    let fake = run(vec![run_for(100), sleep_for(30), run_for(5), sleep_for(1)]);
    assert_eq!(dues(&fake), [130, 136]);
    // A duration that no clock reaches does not wrap around.
    assert_eq!(dues(&run(vec![run_for(1), sleep_for(i64::MAX)])), [1 << 63]);
}

#[test]
fn a_sleep_of_no_time_is_due_at_once() {
    let mut program = vec![sleep_for(1_000)];
    for _ in 0..3 {
        program.extend([run_for(3_000), sleep_for(0), log(Since::Due)]);
    }
    let fake = run(program);
    assert_eq!(dues(&fake), [1_000, 4_000, 7_000, 10_000]);
    assert_eq!(fake.logs(), [0, 0, 0]);
}

#[test]
fn a_timer_is_due_at_multiples_of_its_period_from_its_first_use() {
    let turn = || [timer(10, true), run_for(4)];
    let mut program = vec![run_for(3)];
    program.extend((0..4).flat_map(|_| turn()));
    let plan = plan(program);
    let mut fake = Fake::new(&plan, 0);
    // However late the task wakes, the next due time is not.
    fake.late_ns = 2;
    fake.finish(&plan).unwrap();
    assert_eq!(dues(&fake), [13, 23, 33, 43]);
}

#[test]
fn a_timer_that_skips_leaves_out_what_is_over() {
    let fake = run(vec![
        run_for(3),
        timer(10, true),
        timer(10, true),
        // From 23 to 47.
        run_for(24),
        timer(10, true),
        // From 53 to 63, which is due at that moment and over.
        run_for(10),
        timer(10, true),
    ]);
    assert_eq!(dues(&fake), [13, 23, 53, 73]);
}

#[test]
fn a_timer_that_does_not_skip_catches_up() {
    let late = || [timer(10, false), log(Since::Due)];
    let mut program = vec![run_for(3), timer(10, false), timer(10, false), run_for(24)];
    program.extend((0..4).flat_map(|_| late()));
    let fake = run(program);
    assert_eq!(dues(&fake), [13, 23, 33, 43, 53, 63]);
    // It came at 47, and at once again; then it is on time.
    assert_eq!(fake.logs(), [14, 4, 0, 0]);
}

#[test]
fn a_timer_counts_from_its_last_due_time_whatever_its_period_was() {
    let fake = run(vec![
        timer(10, true),
        timer(7, true),
        sleep_for(1),
        timer(100, true),
    ]);
    assert_eq!(dues(&fake), [10, 17, 18, 117]);
}

#[test]
fn a_period_is_at_least_a_nanosecond() {
    assert_eq!(dues(&run(vec![run_for(5), timer(0, true)])), [6]);
    assert_eq!(dues(&run(vec![run_for(5), timer(-3, false)])), [6]);
}

#[test]
fn until_counts_from_the_start_signal() {
    let plan = plan(vec![
        run_for(1),
        until(50),
        log(Since::Due),
        log(Since::Start),
        until(20),
        log(Since::Due),
        until(-5),
        log(Since::Due),
    ]);
    let mut fake = Fake::new(&plan, 0);
    fake.now_ns = 1_000;
    fake.start_ns = 1_000;
    fake.late_ns = 3;
    fake.finish(&plan).unwrap();
    assert_eq!(dues(&fake), [1_050, 1_020, 1_000]);
    assert_eq!(fake.logs(), [3, 53, 33, 53]);
}

#[test]
fn lateness_counts_from_the_due_time() {
    let plan = plan(vec![
        sleep_for(10),
        log(Since::Due),
        run_for(5),
        log(Since::Due),
    ]);
    let mut fake = Fake::new(&plan, 0);
    fake.late_ns = 2;
    fake.finish(&plan).unwrap();
    assert_eq!(fake.logs(), [2, 7]);
}

#[test]
fn a_log_is_divided_and_rounded_down() {
    let per = |per| Inst::Log {
        metric: 0,
        since: Since::Stamp,
        per: number(per),
    };
    let fake = run(vec![Inst::Stamp, run_for(20), per(3), per(0), per(-2)]);
    assert_eq!(fake.logs(), [6, 20, 20]);
}

#[test]
fn a_message_brings_its_stamp_where_the_queue_carries_stamps() {
    let plan = plan(vec![
        run_for(100),
        Inst::Recv { queue: queue(1, 0) },
        log(Since::Message),
        Inst::Recv { queue: queue(0, 0) },
        log(Since::Message),
        Inst::Recv { queue: queue(1, 0) },
        log(Since::Message),
    ]);
    let mut fake = Fake::new(&plan, 0);
    fake.stamp_ns = 70;
    fake.finish(&plan).unwrap();
    assert_eq!(fake.logs(), [100, 30, 30]);
}

#[test]
fn a_post_brings_its_stamp() {
    let wait = Inst::Wait {
        sem: 0,
        index: number(0),
    };
    for inst in [wait, Inst::WaitAny { sem: 1, into: 0 }] {
        let plan = plan(vec![run_for(100), inst, log(Since::Message)]);
        let mut fake = Fake::new(&plan, 0);
        fake.stamp_ns = 60;
        fake.finish(&plan).unwrap();
        assert_eq!(fake.logs(), [40]);
    }
}

#[test]
fn what_is_still_to_come_was_no_time_ago() {
    let plan = plan(vec![Inst::Recv { queue: queue(0, 0) }, log(Since::Message)]);
    let mut fake = Fake::new(&plan, 0);
    fake.stamp_ns = 5;
    fake.finish(&plan).unwrap();
    assert_eq!(fake.logs(), [0]);
}

#[test]
fn elapsed_counts_whole_units() {
    let fake = run(vec![
        run_for(10),
        Inst::Stamp,
        run_for(2_999),
        Inst::Elapsed {
            since: Since::Stamp,
            unit_ns: 1_000,
            into: 1,
        },
        show(Value::Local(1)),
    ]);
    assert_eq!(fake.counts(), [2]);
}
