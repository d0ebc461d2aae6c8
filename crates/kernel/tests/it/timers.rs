// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers of tasks within their slack: each may wait so long for another timer's interrupt.

use cell::Status;
use kernel::Options;
use machine::Machine;
use workload::plan::{End, Group, Policy};

use crate::common::{MS, free, group, hogs, plan, run_for, sleep_for, time_ns, traced};

const US: i64 = 1_000;

fn with_slack(cpus: u32) -> Machine {
    let mut machine = free(cpus);
    machine.costs.timer_slack_ns = 50_000;
    machine
}

fn sleeps(name: &str, us: i64) -> Group {
    group(name, 1, vec![sleep_for(us * US), run_for(1)])
}

/// When the task of this name was woken, after it began, in microseconds.
fn woken_us(machine: &Machine, groups: Vec<Group>, end: End, names: &[&str]) -> Vec<u64> {
    let (outcome, trace) = traced(machine, plan(groups, end), "fifo", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let last = |name: &&str| {
        let word = format!("comm={name} ");
        let is = |line: &&str| line.contains("sched_wakeup:") && line.contains(&word);
        trace.lines().rfind(is).map(time_ns).unwrap() / 1_000
    };
    names.iter().map(last).collect()
}

#[test]
fn who_is_due_expires_with_another() {
    let tasks = vec![
        sleeps("a", 10_000),
        sleeps("b", 10_030),
        sleeps("c", 10_060),
    ];
    let names = ["a", "b", "c"];
    assert_eq!(
        woken_us(&with_slack(1), tasks.clone(), End::All, &names),
        [10_050, 10_050, 10_110]
    );
    // Each on a CPU of its own has its own interrupts.
    assert_eq!(
        woken_us(&with_slack(3), tasks, End::All, &names),
        [10_050, 10_080, 10_110]
    );
}

#[test]
fn the_tick_of_a_busy_cpu_is_an_interrupt_of_timers() {
    let tasks = vec![sleeps("a", 7_980), sleeps("b", 8_020), hogs(1)];
    let end = End::After { ns: 12_000_000 };
    assert_eq!(
        woken_us(&with_slack(1), tasks, end, &["a", "b"]),
        [8_000, 8_070]
    );
}

#[test]
fn real_time_tasks_have_no_slack_and_take_others_with_them() {
    let mut real_time = sleeps("rt", 10_020);
    real_time.policy = Policy::Fifo(1);
    let tasks = vec![sleeps("a", 10_000), sleeps("b", 10_030), real_time];
    assert_eq!(
        woken_us(&with_slack(1), tasks, End::All, &["a", "b", "rt"]),
        [10_020, 10_080, 10_020]
    );
}

#[test]
fn who_sleeps_again_has_a_timer_of_its_own() {
    let twice = group(
        "twice",
        1,
        vec![
            sleep_for(10 * MS),
            run_for(1),
            sleep_for(20 * US),
            run_for(1),
        ],
    );
    // Woken with the first at 10,050 µs, due 20 µs and a nanosecond later, and 50 µs of slack.
    assert_eq!(
        woken_us(
            &with_slack(1),
            vec![sleeps("a", 9_990), twice],
            End::All,
            &["twice"]
        ),
        [10_040 + 20 + 50]
    );
}
