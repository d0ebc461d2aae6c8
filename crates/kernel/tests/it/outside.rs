// SPDX-License-Identifier: GPL-2.0-or-later
//! Nice level and policy of a task are changed from outside: what the policy hears at that moment, and who runs then.

use cell::Status;
use kernel::Options;
use workload::plan::{Group, Inst, Policy, Value};

use crate::common::{
    MS, OUTSIDE_NS, ahead, calls, for_ms, free, group, heard_of_outside, hogs, plan, run_for,
    sleep_for, switches, traced,
};

fn renice(nice: i64) -> Inst {
    Inst::NiceOf {
        group: 0,
        index: Value::Const(0),
        nice: Value::Const(nice),
    }
}

fn make(policy: Policy) -> Inst {
    Inst::SetPolicyOf {
        group: 0,
        index: Value::Const(0),
        policy,
    }
}

fn changed(program: Vec<Inst>) -> Group {
    Group {
        cpus: vec![0],
        ..group("changed", 1, program)
    }
}

fn sleeper() -> Group {
    changed(vec![sleep_for(5 * MS), run_for(MS)])
}

fn runner() -> Group {
    changed(vec![run_for(20 * MS)])
}

/// Woken after others have begun.
fn waiter() -> Group {
    changed(vec![sleep_for(MS), run_for(20 * MS)])
}

/// One real-time task that keeps CPU 0.
fn urgent() -> Group {
    Group {
        policy: Policy::Fifo(10),
        cpus: vec![0],
        ..hogs(1)
    }
}

fn as_fifo(prio: u8, of: Group) -> Group {
    Group {
        policy: Policy::Fifo(prio),
        ..of
    }
}

/// Who is switched to on CPU 0 at the moment of the change, or next.
fn next(text: &str) -> String {
    let later = switches(text, 0).into_iter();
    let mut later = later.filter(|(ns, _)| *ns >= OUTSIDE_NS as u64);
    let (at_ns, who) = later.next().unwrap();
    let name = who.split('-').next().unwrap();
    let name = name.split('[').next().unwrap();
    format!("{name} after {} us", (at_ns - OUTSIDE_NS as u64) / 1_000)
}

#[test]
fn a_level_is_told_wherever_the_task_is() {
    let heard = |groups, nice| heard_of_outside(groups, renice(nice)).0;
    assert_eq!(heard(vec![sleeper()], 5), "set_weight");
    assert_eq!(
        heard(vec![runner()], 5),
        "stopping quiescent set_weight runnable running"
    );
    assert_eq!(
        heard(vec![waiter(), ahead()], 5),
        "dequeue quiescent set_weight runnable enqueue"
    );
}

#[test]
fn a_real_time_task_keeps_its_place_whatever_its_level() {
    let (heard, _) = heard_of_outside(vec![as_fifo(5, waiter()), urgent()], renice(5));
    assert_eq!(heard, "");
}

#[test]
fn a_policy_of_the_same_class_is_a_weight() {
    let heard = |groups, policy| heard_of_outside(groups, make(policy)).0;
    assert_eq!(heard(vec![sleeper()], Policy::Idle), "set_weight");
    assert_eq!(
        heard(vec![runner()], Policy::Batch),
        "stopping quiescent set_weight runnable running"
    );
    assert_eq!(
        heard(vec![waiter(), ahead()], Policy::Batch),
        "dequeue quiescent set_weight runnable enqueue"
    );
}

#[test]
fn who_waits_and_becomes_real_time_preempts() {
    let (heard, text) = heard_of_outside(vec![waiter(), ahead()], make(Policy::Fifo(1)));
    assert_eq!(heard, "dequeue quiescent disable");
    assert_eq!(next(&text), "changed after 0 us");
}

#[test]
fn who_runs_and_becomes_real_time_runs_on() {
    let (heard, text) = heard_of_outside(vec![runner(), ahead()], make(Policy::Fifo(1)));
    assert_eq!(heard, "stopping quiescent disable");
    assert_eq!(next(&text), "hog after 17500 us");
}

#[test]
fn who_waits_as_a_real_time_task_and_becomes_ordinary_goes_to_the_policy() {
    let groups = vec![as_fifo(5, waiter()), urgent()];
    let (heard, _) = heard_of_outside(groups, make(Policy::Other));
    assert_eq!(heard, "enable set_weight set_cpumask runnable enqueue");
}

#[test]
fn who_runs_as_a_real_time_task_and_becomes_ordinary_gives_way() {
    let groups = vec![as_fifo(50, runner()), urgent()];
    let (heard, text) = heard_of_outside(groups, make(Policy::Other));
    assert_eq!(heard, "enable set_weight set_cpumask runnable running");
    assert_eq!(next(&text), "hog after 0 us");
}

#[test]
fn a_real_time_task_that_waits_goes_by_its_new_priority() {
    let preempts = |prio| {
        let groups = vec![as_fifo(5, waiter()), urgent()];
        let (heard, text) = heard_of_outside(groups, make(Policy::Fifo(prio)));
        assert_eq!(heard, "");
        let later = switches(&text, 0).into_iter();
        later
            .filter(|(ns, who)| *ns == OUTSIDE_NS as u64 && who.starts_with("changed"))
            .count()
            == 1
    };
    assert!(preempts(11));
    assert!(!preempts(10));
    assert!(!preempts(1));
}

/// What the policy hears of one that runs, waits or sleeps.
fn heard_of_all(of: impl Fn(Group) -> Group, change: &Inst) -> [String; 3] {
    [runner(), waiter(), sleeper()]
        .map(|task| heard_of_outside(vec![of(task), ahead()], change.clone()).0)
}

#[test]
fn who_is_so_already_is_left_alone() {
    let nothing = [const { String::new() }; 3];
    let nice = |task: Group| Group { nice: 5, ..task };
    assert_eq!(heard_of_all(nice, &renice(5)), nothing);
    assert_ne!(heard_of_all(nice, &renice(6)), nothing);
    let idle = |task: Group| Group {
        policy: Policy::Idle,
        ..task
    };
    assert_eq!(heard_of_all(idle, &make(Policy::Idle)), nothing);
    // Of an ordinary one, the slice that is not asked for counts as another.
    assert_ne!(heard_of_all(|task| task, &make(Policy::Other)), nothing);
}

#[test]
fn a_real_time_task_that_gets_its_priority_again_stays_where_it_is() {
    let equals = |prio| {
        let group = as_fifo(5, waiter());
        let (_, text) =
            heard_of_outside(vec![group, as_fifo(5, urgent())], make(Policy::Fifo(prio)));
        text.matches("rt_enqueue: comm=changed").count()
    };
    assert_eq!(equals(6) - equals(5), 1);
}

#[test]
fn a_task_changes_nothing_of_itself_that_is_so_already() {
    let changes = |change: Inst| {
        let program = vec![run_for(MS), change, run_for(MS)];
        let plan = plan(vec![changed(program)], for_ms(5));
        let (outcome, text) = traced(&free(1), plan, "every", Options::default());
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        // Once at its end.
        calls(&text).iter().filter(|op| **op == "stopping").count() > 1
    };
    let nice = |nice| Inst::Nice {
        nice: Value::Const(nice),
    };
    assert!(!changes(nice(0)) && changes(nice(1)));
}
