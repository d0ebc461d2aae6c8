// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that a runner starts: when they are born, whom the start signal wakes in which order, and what is measured.

use cell::Status;
use kernel::{Options, Outcome};
use machine::Machine;
use workload::plan::{End, Inst, Plan, Policy, Since, Start, Value};

use crate::common::{
    MS, for_ms, free, group, plan, run, run_for, sleep_for, sleepers, time_ns, traced,
};

const FORK_NS: u64 = 100_000;
const TASK_NS: u64 = 40_000;

fn with_runner(cpus: u32) -> Machine {
    let mut machine = free(cpus);
    machine.costs.fork_ns = FORK_NS;
    machine.costs.runner_task_ns = TASK_NS;
    machine
}

fn ok(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    outcome
}

/// The times of a trace's lines with this text, and their tasks.
fn lines(trace: &str, what: &str) -> Vec<(u64, String)> {
    let of = |line: &str| {
        let name = line.split_once(" comm=").map_or("", |(_, rest)| rest);
        let name = name.split_whitespace().next().unwrap_or("");
        (time_ns(line), name.to_string())
    };
    let lines = trace.lines().filter(|line| line.contains(what));
    lines.map(of).collect()
}

fn workers(count: u32) -> Plan {
    plan(
        vec![group("worker", count, vec![run_for(5 * MS)])],
        End::All,
    )
}

#[test]
fn tasks_are_born_one_after_the_other() {
    let (outcome, trace) = traced(&with_runner(8), workers(3), "fifo", Options::default());
    ok(outcome);
    let born = lines(&trace, "sched_wakeup_new");
    let after: Vec<u64> = born.iter().map(|(ns, _)| ns - born[0].0).collect();
    // The first is the guardian.
    assert_eq!(after, [0, FORK_NS, 2 * FORK_NS, 3 * FORK_NS]);
}

#[test]
fn nothing_before_the_start_signal_is_measured() {
    let without = ok(run(&free(1), workers(3), "fifo"));
    let with = ok(run(&with_runner(1), workers(3), "fifo"));
    for metric in ["elapsed_s", "cpu_s", "switches_voluntary", "migrations"] {
        assert_eq!(with.metrics[metric], without.metrics[metric], "{metric}");
    }
    let waits = |outcome: &Outcome| outcome.distributions["waiting_us"].count();
    assert_eq!(waits(&with), waits(&without));
}

#[test]
fn the_runner_does_not_count_as_a_task_that_lives() {
    let deciding = plan(
        vec![
            group("short", 1, vec![run_for(2 * MS)]),
            group("long", 1, vec![run_for(1_000 * MS)]),
        ],
        End::Group(0),
    );
    let metrics = ok(run(&with_runner(2), deciding, "fifo")).metrics;
    assert_eq!(metrics["elapsed_s"], 0.002);
}

#[test]
fn time_counts_from_the_start_signal() {
    let since_start = Inst::Log {
        metric: 0,
        since: Since::Start,
        per: Value::Const(1),
    };
    let until = Inst::Until {
        ns: Value::Const(20 * MS),
    };
    let mut timed = plan(
        vec![group(
            "timed",
            1,
            vec![until, since_start, sleep_for(1_000 * MS)],
        )],
        for_ms(50),
    );
    timed.distributions.push("since_us".to_string());
    let outcome = ok(run(&with_runner(1), timed, "fifo"));
    assert_eq!(outcome.metrics["elapsed_s"], 0.05);
    let since = &outcome.distributions["since_us"];
    assert!((19_900_000..=20_100_000).contains(&since.quantile_ns(0.5)));
}

#[test]
fn what_preempts_the_runner_begins_before_the_next_is_woken() {
    // Under BFS who slept keeps its deadline, and the runner has used up slices while it forked.
    let order = |built_in| {
        let options = Options {
            built_in,
            ..Options::default()
        };
        let mut machine = with_runner(1);
        machine.costs.fork_ns = 10_000_000;
        let (outcome, trace) = traced(&machine, workers(3), "bfs:rules=424", options);
        ok(outcome);
        let start = lines(&trace, "tracing_mark_write: start")[0].0;
        // The runner itself is woken at the start, too.
        let woken = lines(&trace, "sched_wakeup:").into_iter();
        let woken = woken.filter(|(ns, name)| *ns >= start && name == "worker");
        let woken: Vec<u64> = woken.map(|(ns, _)| ns - start).collect();
        woken
    };
    // Nothing costs anything here, so that who is woken at once is so at the start signal itself.
    assert_eq!(order(true), [0, 0, 0]);
    let one_by_one = order(false);
    assert_eq!(one_by_one[0], 0);
    assert!(one_by_one[2] > 0, "{one_by_one:?}");
}

#[test]
fn the_tick_preempts_a_built_in_runner_between_two_wake_ups() {
    let options = Options {
        built_in: true,
        ..Options::default()
    };
    let mut machine = with_runner(1);
    machine.costs.fork_ns = 10_000_000;
    machine.costs.wakeup_ns = 100_000;
    let (outcome, trace) = traced(&machine, workers(100), "bfs:rules=424", options);
    ok(outcome);
    let start = lines(&trace, "tracing_mark_write: start")[0].0;
    let after = |(ns, name): &(u64, String)| *ns >= start && name == "worker";
    let woken: Vec<(u64, String)> = lines(&trace, "sched_wakeup:");
    let woken: Vec<u64> = woken.into_iter().filter(after).map(|(ns, _)| ns).collect();
    let tick = start.next_multiple_of(4_000_000);
    // The wake-up that the tick meets is finished; the next comes when the runner has its CPU back, a slice later.
    let before = woken.iter().filter(|ns| **ns < tick + 100_000).count();
    assert_eq!(before as u64, (tick - start).div_ceil(100_000));
    assert!(woken[before] > tick + 3 * MS as u64, "{woken:?}");
}

/// BFS 424 kicks an idle CPU first, and lets a parent step back for its child if there is none.
#[test]
fn the_cpu_that_loaded_the_policy_stays_marked_idle() {
    let preempted = |built_in| {
        let options = Options {
            built_in,
            ..Options::default()
        };
        let (outcome, trace) = traced(&with_runner(1), workers(3), "bfs:rules=424", options);
        ok(outcome);
        let before_start = trace.split("tracing_mark_write: start").next().unwrap();
        let steps_back = "prev_comm=schedlab-host prev_pid=1003 prev_prio=120 prev_state=R+";
        before_start.matches(steps_back).count()
    };
    assert_eq!(preempted(false), 0);
    // Nothing was loaded, so that the mark is right: the runner steps back for the guardian and for each task.
    assert_eq!(preempted(true), 4);
}

#[test]
fn a_workload_that_waits_for_ever_is_told() {
    let mut stuck = plan(
        vec![group(
            "stuck",
            1,
            vec![Inst::Wait {
                sem: 0,
                index: Value::Const(0),
            }],
        )],
        End::All,
    );
    stuck.semaphores.push((1, 0));
    let outcome = run(&with_runner(1), stuck, "fifo");
    assert_eq!(outcome.status, Status::Failed);
    assert!(
        outcome.reason.contains("every task is blocked"),
        "{}",
        outcome.reason
    );
}

#[test]
fn every_task_begins_and_the_first_of_a_process_touches_its_memory() {
    const BEGIN: u64 = 2_500;
    const TOUCH: u64 = 700;
    let mut machine = with_runner(1);
    machine.costs.runner_begin_ns = BEGIN;
    machine.costs.runner_touch_ns = TOUCH;
    let elapsed_s = |workers: Plan| ok(run(&machine, workers, "fifo")).metrics["elapsed_s"];
    let processes = elapsed_s(workers(3));
    assert_eq!(
        processes,
        (3 * (5 * MS as u64 + BEGIN + TOUCH)) as f64 / 1e9
    );
    let mut threads = workers(3);
    threads.groups[0].threads = true;
    let expected_ns = 3 * (5 * MS as u64 + BEGIN) + TOUCH;
    assert_eq!(elapsed_s(threads), expected_ns as f64 / 1e9);
}

/// The costs of an end, in nanoseconds.
const ACCOUNT: u64 = 100_000;
const EXIT: u64 = 300_000;
const REAP: u64 = 50_000;

fn with_ends(cpus: u32) -> Machine {
    let mut machine = with_runner(cpus);
    machine.costs.runner_account_ns = ACCOUNT;
    machine.costs.exit_ns = EXIT;
    machine.costs.runner_reap_ns = REAP;
    machine
}

#[test]
fn a_task_is_measured_up_to_its_accounts_and_the_run_lasts_until_it_is_reaped() {
    let metrics = ok(run(&with_ends(1), workers(3), "fifo")).metrics;
    let each_ns = 5 * MS as u64 + ACCOUNT;
    assert_eq!(metrics["cpu_s"], (3 * each_ns) as f64 / 1e9);
    let elapsed_ns = 3 * (each_ns + EXIT + REAP);
    assert_eq!(metrics["elapsed_s"], elapsed_ns as f64 / 1e9);
}

#[test]
fn who_exits_wakes_the_runner() {
    let (outcome, trace) = traced(&with_ends(2), workers(1), "fifo", Options::default());
    ok(outcome);
    let start = lines(&trace, "tracing_mark_write: start")[0].0;
    let woken = lines(&trace, "sched_wakeup:");
    let last = woken.last().unwrap();
    let exits = start + 5 * MS as u64 + ACCOUNT + EXIT;
    assert_eq!(*last, (exits, "schedlab-host".to_string()));
}

#[test]
fn a_deciding_group_ends_with_its_programs() {
    let deciding = plan(
        vec![
            group("short", 1, vec![run_for(2 * MS)]),
            group("long", 1, vec![run_for(1_000 * MS)]),
        ],
        End::Group(0),
    );
    let metrics = ok(run(&with_ends(2), deciding, "fifo")).metrics;
    assert_eq!(metrics["elapsed_s"], 0.002);
}

/// How often a task sleeps that does so every millisecond, beside one that forks once or execs.
fn sleeps_beside(first: Inst, machine: &Machine) -> f64 {
    let mut child = group("child", 1, vec![run_for(MS)]);
    child.start = Start::Fork;
    let forks = group("forks", 1, vec![first, run_for(MS)]);
    let plan = plan(vec![sleepers(1, MS / 100, MS), forks, child], for_ms(60));
    let options = Options {
        built_in: true,
        ..Options::default()
    };
    let outcome = ok(traced(machine, plan, "bfs:rules=424", options).0);
    outcome.metrics["switches_voluntary"]
}

#[test]
fn a_fork_and_an_exec_can_be_preempted_where_there_is_a_runner() {
    let fork = Inst::Fork {
        group: 2,
        index: Value::Const(0),
    };
    for first in [fork, Inst::Exec] {
        let mut machine = free(1);
        machine.costs.fork_ns = 20_000_000;
        machine.costs.exec_ns = 20_000_000;
        let without = sleeps_beside(first.clone(), &machine);
        machine.costs.runner_task_ns = TASK_NS;
        let with = sleeps_beside(first.clone(), &machine);
        // The 20 ms of the call have some 20 of them.
        assert!(with > without + 15.0, "{first:?}: {with}, {without}");
    }
}

#[test]
fn a_task_sets_its_nice_value_and_policy_before_it_waits() {
    let mut nicer = group("nicer", 1, vec![run_for(5 * MS)]);
    nicer.nice = 5;
    let mut real_time = group("rt", 1, vec![run_for(5 * MS)]);
    real_time.policy = Policy::Fifo(10);
    let both = plan(vec![nicer, real_time], End::All);
    let (outcome, trace) = traced(&with_runner(1), both, "fifo", Options::default());
    ok(outcome);
    let priority = |line: &str| {
        let rest = line.split_once("prio=").unwrap().1;
        rest.split_whitespace().next().unwrap().to_string()
    };
    for (name, own) in [("comm=nicer ", "125"), ("comm=rt ", "89")] {
        let wakeups = trace
            .lines()
            .filter(|line| line.contains("sched_wakeup") && line.contains(name));
        let priorities: Vec<String> = wakeups.map(priority).collect();
        assert_eq!(priorities, ["120", own], "{name}");
    }
}
