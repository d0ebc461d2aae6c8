// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs of a task are changed from outside: what the policy hears at that moment, and where the task runs from then on.

use cell::Status;
use kernel::Options;
use workload::plan::{Group, Inst, Policy, Value};

use crate::common::{
    MS, OUTSIDE_NS, ahead, calls, for_ms, free, group, heard_of_outside, plan, run_for, sleep_for,
    switches, traced,
};

fn heard(groups: Vec<Group>, cpus: &[u32]) -> (String, String) {
    let confine = Inst::Confine {
        group: 0,
        index: Value::Const(0),
        cpus: cpus.to_vec(),
    };
    heard_of_outside(groups, confine)
}

fn confined(cpus: &[u32], program: Vec<Inst>) -> Group {
    Group {
        cpus: cpus.to_vec(),
        ..group("kept", 1, program)
    }
}

fn after(text: &str, cpu: u32) -> Vec<String> {
    let later = switches(text, cpu).into_iter();
    let later = later.filter(|(ns, who)| *ns >= OUTSIDE_NS as u64 && who.starts_with("kept"));
    later.map(|(_, who)| who).collect()
}

#[test]
fn a_sleeper() {
    let program = vec![sleep_for(5 * MS), run_for(MS), sleep_for(100 * MS)];
    let (heard, text) = heard(vec![confined(&[0], program)], &[1]);
    assert_eq!(heard, "set_cpumask");
    assert_eq!(after(&text, 0).len(), 0);
    assert_eq!(after(&text, 1).len(), 1);
}

#[test]
fn a_task_that_runs_elsewhere_and_may_stay() {
    let (heard, text) = heard(vec![confined(&[0], vec![run_for(20 * MS)])], &[0, 1]);
    assert_eq!(heard, "stopping quiescent set_cpumask runnable running");
    assert_eq!(after(&text, 1).len(), 0);
}

#[test]
fn a_task_that_runs_elsewhere_and_must_go() {
    let (heard, text) = heard(vec![confined(&[0], vec![run_for(20 * MS)])], &[1]);
    // The stopper takes it off its CPU.
    assert_eq!(
        heard,
        "stopping quiescent set_cpumask runnable running stopping quiescent runnable enqueue"
    );
    assert_eq!(after(&text, 0).len(), 0);
    assert_eq!(after(&text, 1).len(), 1);
}

#[test]
fn a_task_that_waits_and_may_stay() {
    let first = vec![confined(&[0], vec![run_for(20 * MS)]), ahead()];
    // Nobody runs yet that would be put back: it began first, so that it runs.
    assert_eq!(
        heard(first, &[0, 1]).0,
        "stopping quiescent set_cpumask runnable running"
    );
    let program = vec![sleep_for(MS), run_for(20 * MS)];
    let (heard, _) = heard_of_waiting(program, &[0, 1]);
    assert_eq!(heard, "dequeue quiescent set_cpumask runnable enqueue");
}

#[test]
fn who_may_use_these_cpus_already_is_left_alone() {
    let programs = [
        vec![run_for(20 * MS)],
        vec![sleep_for(MS), run_for(20 * MS)],
        vec![sleep_for(100 * MS)],
    ];
    for program in programs {
        assert_eq!(heard_of_waiting(program.clone(), &[0]).0, "");
        // CPU 9 is not there.
        assert_eq!(heard_of_waiting(program, &[0, 9]).0, "");
    }
    let anywhere = || confined(&[], vec![run_for(20 * MS)]);
    assert_eq!(heard(vec![anywhere()], &[0, 1]).0, "");
    // So it is with itself.
    let to = |cpus: &[u32]| {
        let itself = Inst::Affinity {
            cpus: cpus.to_vec(),
        };
        let kept = confined(&[0], vec![run_for(MS), itself, run_for(MS)]);
        let (outcome, text) = traced(
            &free(2),
            plan(vec![kept], for_ms(5)),
            "every",
            Options::default(),
        );
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        calls(&text).contains(&"set_cpumask")
    };
    assert!(!to(&[0]) && to(&[0, 1]));
}

fn heard_of_waiting(program: Vec<Inst>, cpus: &[u32]) -> (String, String) {
    heard(vec![confined(&[0], program), ahead()], cpus)
}

#[test]
fn a_task_that_waits_and_must_go() {
    let program = vec![sleep_for(MS), run_for(20 * MS)];
    let (heard, text) = heard_of_waiting(program, &[1]);
    // It is put back where it was before it is moved: the policy gets it on a CPU outside of its mask.
    assert_eq!(
        heard,
        "dequeue quiescent set_cpumask runnable enqueue dequeue quiescent runnable enqueue"
    );
    assert_eq!(after(&text, 0).len(), 0);
    assert_eq!(after(&text, 1).len(), 1);
}

#[test]
fn a_task_with_migration_disabled_goes_at_the_sections_end() {
    let section = vec![
        Inst::MigrateDisable,
        run_for(10 * MS),
        Inst::MigrateEnable,
        run_for(10 * MS),
    ];
    let (heard, text) = heard(vec![confined(&[0], section)], &[1]);
    assert_eq!(heard, "stopping quiescent set_cpumask runnable running");
    let there = switches(&text, 1).into_iter();
    let mut there = there.filter(|(_, who)| who.starts_with("kept"));
    assert_eq!(there.next().unwrap().0, 10 * MS as u64);
}

#[test]
fn a_real_time_task_that_waits() {
    let mut late = confined(&[0], vec![sleep_for(MS), run_for(20 * MS)]);
    late.policy = Policy::Fifo(10);
    let mut first = ahead();
    (first.policy, first.count) = (Policy::Fifo(10), 1);
    let (heard, text) = heard(vec![late, first], &[1]);
    assert_eq!(heard, "");
    assert_eq!(after(&text, 1).len(), 1);
}

#[test]
fn a_task_that_does_not_live_is_left_alone() {
    let (heard, _) = heard(vec![confined(&[0], vec![run_for(MS)])], &[1]);
    assert_eq!(heard, "");
}
