// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that take turns on one clock.

use cell::Status;
use kernel::Options;
use machine::Machine;
use workload::plan::{End, Group, Inst, Plan, Value};

use crate::common::{MS, free, group, plan, run_for, sleep_for, switches, time_ns, traced};

fn one_clock() -> Machine {
    Machine {
        one_clock: true,
        ..free(2)
    }
}

fn pinned(cpu: u32, group: Group) -> Group {
    Group {
        cpus: vec![cpu],
        ..group
    }
}

fn trace(machine: &Machine, plan: Plan) -> String {
    let (outcome, text) = traced(machine, plan, "vtime", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    text
}

fn ended_ms(text: &str, name: &str) -> f64 {
    let ends = |line: &&str| line.contains("sched_process_exit") && line.contains(name);
    time_ns(text.lines().find(ends).unwrap()) as f64 / MS as f64
}

/// At a tick the first CPU sets its timer before those of all others, and loses its turn. So does the other where its
/// timer expires earlier, in 15 of 32 ticks, and each has 2 ms of 4. Else it has half of the time until the next tick,
/// and of the rest each has half: 1 ms for the first, 3 for the other. That is 63 % for the other.
#[test]
fn two_busy_cpus_share_the_time_between_ticks_unevenly() {
    let work = |cpu, name| pinned(cpu, group(name, 1, vec![run_for(300 * MS)]));
    let tasks = || vec![work(0, "first"), work(1, "second")];
    let text = trace(&one_clock(), plan(tasks(), End::All));
    let (first_ms, second_ms) = (ended_ms(&text, "first"), ended_ms(&text, "second"));
    assert!((first_ms - 600.0).abs() < 0.01, "{first_ms}");
    assert!((second_ms - 474.0).abs() < 8.0, "{second_ms}");
    let text = trace(&free(2), plan(tasks(), End::All));
    assert_eq!(ended_ms(&text, "first"), 300.0);
    assert_eq!(ended_ms(&text, "second"), 300.0);
}

/// The kernel's account of a task goes on while its CPU waits for its turn.
#[test]
fn a_task_is_charged_for_the_turns_of_others() {
    let work = |cpu, name| pinned(cpu, group(name, 1, vec![run_for(300 * MS)]));
    let tasks = vec![work(0, "first"), work(1, "second")];
    let (outcome, _) = traced(
        &one_clock(),
        plan(tasks, End::All),
        "vtime",
        Options::default(),
    );
    // The second ends after some 474 ms, the first after 600.
    let used_s = outcome.metrics["cpu_s"];
    assert!((used_s - 1.074).abs() < 0.008, "{used_s}");
}

#[test]
fn who_is_alone_keeps_the_clock() {
    let program = vec![
        run_for(5 * MS),
        sleep_for(3 * MS),
        run_for(9 * MS),
        sleep_for(MS),
        run_for(MS),
    ];
    let tasks = || vec![pinned(1, group("alone", 3, program.clone()))];
    let (alone, all) = (one_clock(), free(2));
    assert_eq!(
        trace(&alone, plan(tasks(), End::All)),
        trace(&all, plan(tasks(), End::All))
    );
}

/// The waker's turn lasts for half of the 4 ms until its tick; it has used 1.5 ms of that.
#[test]
fn an_interrupt_to_an_idle_cpu_waits_for_that_cpus_turn() {
    let zero = Value::Const(0);
    let wakes = vec![
        sleep_for(8 * MS),
        run_for(3 * MS / 2),
        Inst::Post {
            sem: 0,
            index: zero.clone(),
        },
        run_for(5 * MS),
    ];
    let sleeps = vec![
        Inst::Wait {
            sem: 0,
            index: zero,
        },
        run_for(MS),
    ];
    let tasks = || {
        vec![
            pinned(0, group("wakes", 1, wakes.clone())),
            pinned(1, group("sleeps", 1, sleeps.clone())),
        ]
    };
    let woken_us = |machine: &Machine| {
        let mut plan = plan(tasks(), End::All);
        plan.semaphores.push((1, 0));
        let text = trace(machine, plan);
        let runs = switches(&text, 1);
        let last = runs
            .iter()
            .rposition(|(_, name)| name.starts_with("sleeps"));
        // Its first switch has the clock of the wake-up: its end tells when it came to run.
        let (at_ns, _) = &runs[last.unwrap() + 1];
        (at_ns - 10_500_000) / 1_000
    };
    assert_eq!(woken_us(&free(2)), 0);
    assert_eq!(woken_us(&one_clock()), 500);
}
