// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's order of things: callbacks, slices, ticks, kicks, affinity, nice, fork and exit.

use std::collections::BTreeMap;

use cell::Status;
use kernel::{Execution, Options, Release};
use workload::plan::{End, Group, Inst, Policy, QueueArray, QueueKind, QueueRef, Start, Value};

use crate::common::{
    MS, calls, for_ms, free, group, hogs, plan, policy_path, run, run_for, simulate, sleep_for,
    switches, traced, tracing,
};

fn every(groups: Vec<workload::plan::Group>, end: End, cpus: u32) -> (kernel::Outcome, String) {
    traced(&free(cpus), plan(groups, end), "every", Options::default())
}

#[test]
fn the_life_of_a_task() {
    let (outcome, text) = every(
        vec![group("a", 1, vec![run_for(MS), sleep_for(MS), run_for(MS)])],
        End::All,
        1,
    );
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert_eq!(
        calls(&text).join(" "),
        "init init_task enable set_weight update_idle \
         runnable enqueue dispatch dequeue update_idle running \
         stopping quiescent dispatch update_idle \
         runnable enqueue dispatch dequeue update_idle running \
         stopping quiescent dispatch update_idle disable exit_task exit"
            .replace("         ", "")
    );
}

#[test]
fn tasks_are_in_the_kernels_states() {
    let steps = vec![run_for(MS), sleep_for(MS), run_for(MS)];
    let outcome = run(
        &free(1),
        plan(vec![group("a", 2, steps)], End::All),
        "states",
    );
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
}

#[test]
fn select_cpu_is_for_tasks_with_a_choice() {
    let two = every(vec![group("a", 1, vec![run_for(MS)])], End::All, 2).1;
    assert_eq!(
        calls(&two).iter().filter(|op| **op == "select_cpu").count(),
        1
    );
    let mut pinned = group("a", 1, vec![run_for(MS)]);
    pinned.cpus = vec![1];
    let text = every(vec![pinned], End::All, 2).1;
    assert_eq!(
        calls(&text)
            .iter()
            .filter(|op| **op == "select_cpu")
            .count(),
        0
    );
}

#[test]
fn slices_end_at_ticks() {
    // Slices of 5 ms, ticks of 4 ms: 8 ms each, in turn.
    let (_, text) = every(vec![hogs(2)], for_ms(41), 1);
    let times: Vec<(u64, String)> = switches(&text, 0)
        .into_iter()
        .map(|(ns, who)| (ns / 1_000_000, who))
        .collect();
    let expected: Vec<(u64, String)> = (0..6)
        .map(|turn| (turn * 8, format!("hog-{}", 1_000 + turn % 2)))
        .collect();
    assert_eq!(times, expected);
    let switch: Vec<&str> = calls(&text)
        .into_iter()
        .skip_while(|op| *op != "tick")
        .take(8)
        .collect();
    assert_eq!(
        switch,
        [
            "tick", "tick", "dispatch", "dequeue", "stopping", "enqueue", "running", "tick"
        ]
    );
}

#[test]
fn a_task_alone_keeps_its_cpu_without_callbacks() {
    let (_, text) = every(vec![hogs(1)], for_ms(100), 1);
    let rest: Vec<&str> = calls(&text)
        .into_iter()
        .skip_while(|op| *op != "running")
        .skip(1)
        .filter(|op| *op != "tick" && *op != "dispatch")
        .collect();
    assert_eq!(rest, ["disable", "exit_task", "exit"]);
    assert_eq!(switches(&text, 0).len(), 1);
}

#[test]
fn yield_gives_way() {
    let yielder = group("y", 2, vec![run_for(MS), Inst::Yield, run_for(MS)]);
    let (outcome, text) = every(vec![yielder], End::All, 1);
    assert_eq!(outcome.metrics["switches_involuntary"], 2.0);
    let order: Vec<String> = switches(&text, 0).into_iter().map(|(_, who)| who).collect();
    assert_eq!(order, ["y-1000", "y-1001", "y-1000", "y-1001", "swapper-0"]);
}

#[test]
fn attribute_changes_of_a_running_task() {
    let changes = |inst: Inst| {
        let (outcome, text) = every(
            vec![group("a", 1, vec![run_for(MS), inst, run_for(MS)])],
            End::All,
            2,
        );
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        calls(&text)
            .into_iter()
            .skip_while(|op| *op != "running")
            .skip(1)
            .map(str::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        changes(Inst::Nice { nice: Value::Const(5) }),
        "stopping quiescent set_weight runnable running stopping quiescent dispatch update_idle disable \
         exit_task exit"
            .replace("         ", "")
    );
    // Off the CPU it may not use any more: the stopper switches it out and wakes it elsewhere.
    assert_eq!(
        changes(Inst::Affinity { cpus: vec![1] }),
        "stopping quiescent set_cpumask runnable running stopping quiescent runnable enqueue dispatch \
         update_idle dispatch dequeue update_idle running stopping quiescent dispatch update_idle disable \
         exit_task exit"
            .replace("         ", "")
    );
    assert_eq!(
        changes(Inst::SetPolicy {
            policy: Policy::Fifo(10)
        }),
        "stopping quiescent disable dispatch update_idle exit_task exit"
    );
}

#[test]
fn migration_disabled() {
    let program = |between: Vec<Inst>| {
        let mut program = vec![run_for(MS), Inst::MigrateDisable];
        program.extend(between);
        program.extend([Inst::MigrateEnable, run_for(MS)]);
        program
    };
    let heard = |between| {
        let (outcome, text) = every(vec![group("a", 1, program(between))], End::All, 2);
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        let heard = calls(&text).into_iter().skip_while(|op| *op != "running");
        heard
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let leaves = " stopping quiescent dispatch update_idle disable exit_task exit";
    // Who is not switched out meanwhile is not heard of.
    assert_eq!(heard(vec![run_for(MS)]), leaves.trim_start());
    // Confined when it enters the scheduler, woken without a choice of CPUs and past the policy, and free at the
    // section's end.
    assert_eq!(
        heard(vec![sleep_for(MS)]),
        "stopping quiescent set_cpumask runnable running stopping quiescent dispatch update_idle \
         runnable update_idle running stopping quiescent set_cpumask runnable running"
            .replace("         ", "")
            + leaves
    );
}

#[test]
fn a_task_with_migration_disabled_waits_for_its_cpu() {
    // Four tasks on two CPUs: whoever waits goes where a turn ends first, but not in its section.
    let kept = vec![
        Inst::MigrateDisable,
        run_for(30 * MS),
        Inst::MigrateEnable,
        run_for(30 * MS),
    ];
    let plan = plan(
        vec![hogs(3), group("kept", 1, [kept.clone(), kept].concat())],
        for_ms(600),
    );
    let (outcome, text) = traced(&free(2), plan, "vtime", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let mut turns: Vec<(u64, u64, u32)> = Vec::new();
    for cpu in 0..2 {
        let switches = switches(&text, cpu);
        let pairs = switches.windows(2);
        let kept = pairs.filter(|pair| pair[0].1.starts_with("kept"));
        turns.extend(kept.map(|pair| (pair[0].0, pair[1].0, cpu)));
    }
    turns.sort_unstable();
    // CPUs by what the task has done before: 30 ms with migration disabled, 30 ms without, and so again.
    let (mut done_ns, part_ns) = (0, 30 * MS as u64);
    let mut by_part: Vec<Vec<u32>> = vec![Vec::new(); 4];
    for (from_ns, to_ns, cpu) in turns {
        let parts = done_ns / part_ns..(done_ns + to_ns - from_ns).div_ceil(part_ns);
        for part in parts {
            by_part[part as usize].push(cpu);
        }
        done_ns += to_ns - from_ns;
    }
    for part in &mut by_part {
        part.dedup();
    }
    assert_eq!((by_part[0].len(), by_part[2].len()), (1, 1), "{by_part:?}");
    assert!(by_part[1].len() + by_part[3].len() > 2, "{by_part:?}");
}

#[test]
fn fork_exit_reap() {
    let mut child = group("child", 1, vec![run_for(MS), Inst::Exit]);
    child.start = Start::Fork;
    let fork = Inst::Fork {
        group: 1,
        index: Value::Const(0),
    };
    let parent = group(
        "parent",
        1,
        vec![
            fork.clone(),
            Inst::Reap,
            fork,
            Inst::Reap,
            Inst::Alive { into: 0 },
        ],
    );
    let (outcome, text) = every(vec![parent, child], End::All, 1);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert_eq!(outcome.metrics["cpu_s"], 0.002);
    let calls = calls(&text);
    for op in ["init_task", "enable", "exit_task", "disable"] {
        assert_eq!(calls.iter().filter(|call| **call == op).count(), 3, "{op}");
    }
    let broken = group("parent", 1, vec![Inst::Reap]);
    let outcome = every(vec![broken], End::All, 1).0;
    assert_eq!(
        (outcome.status, outcome.reason.as_str()),
        (Status::Failed, "parent[1000] reaps and has no child")
    );
}

#[test]
fn a_forked_thread_belongs_to_the_process_of_who_forks_it() {
    let forks = |group| Inst::Fork {
        group,
        index: Value::Const(0),
    };
    let forked = |name, threads, program| {
        let mut group = group(name, 1, program);
        group.start = Start::Fork;
        group.threads = threads;
        group
    };
    let late = |threads| forked("late", threads, vec![sleep_for(2 * MS)]);
    // The child ends at once. What it started ends 2 ms later, and a process has not ended before its threads.
    let reaped_ms = |threads| {
        let parent = group(
            "parent",
            1,
            vec![forks(1), Inst::Reap, forks(1), Inst::Reap],
        );
        let child = forked("child", false, vec![forks(2)]);
        let outcome = every(vec![parent, child, late(threads)], End::Group(0), 1).0;
        (outcome.reason, outcome.metrics["elapsed_s"] * 1e3)
    };
    let again = "child[1001] forks late[0], which still lives";
    assert_eq!(reaped_ms(false).0, again);
    assert_eq!(reaped_ms(true), (String::new(), 4.0));
    // A thread is nobody's child, and its process can be forked again only when it has ended, too.
    let refused = |parent, child| {
        let parent = group("parent", 1, parent);
        every(vec![parent, child, late(true)], End::All, 1).0.reason
    };
    let thread = forked("child", true, vec![forks(2)]);
    assert_eq!(
        refused(vec![forks(1), Inst::Reap], thread),
        "parent[1000] reaps and has no child"
    );
    let child = forked("child", false, vec![forks(2)]);
    assert_eq!(
        refused(vec![forks(1), sleep_for(MS), forks(1)], child),
        "parent[1000] forks child[0], which still lives"
    );
}

/// When the second of two sleepers ran: it wakes after 1 ms on a CPU that a hog uses.
fn second_runs_at_ms(mode: &str) -> u64 {
    let program = kernel::load(
        &policy_path("kicks"),
        Execution::default(),
        Release::default(),
    )
    .unwrap();
    let tunables = BTreeMap::from([("mode".to_string(), mode.to_string())]);
    let sleeper = group("late", 1, vec![sleep_for(MS), run_for(MS)]);
    let outcome = kernel::simulate(
        &free(1),
        plan(vec![sleeper, hogs(1)], End::Group(0)),
        &program,
        "kicks",
        &tunables,
        Options::default(),
    )
    .unwrap();
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    outcome.distributions["wakeup_latency_us"].max_ns() / 1_000_000
}

#[test]
fn kicks() {
    // Nothing, a plain kick (slice left) and a kick for idle CPUs leave the hog its 20 ms.
    assert_eq!(second_runs_at_ms("none"), 19);
    assert_eq!(second_runs_at_ms("plain"), 19);
    assert_eq!(second_runs_at_ms("idle"), 19);
    assert_eq!(second_runs_at_ms("preempt"), 0);
    assert_eq!(second_runs_at_ms("wait"), 0);
}

#[test]
fn a_kick_that_waits_lasts_until_the_other_cpu_has_rescheduled() {
    // Who wakes another works for 2 ms. Its CPU kicks CPU 0, which an interrupt takes 7 us to.
    let done_ns = |mode: &str| {
        let (sem, index) = (0, Value::Const(0));
        let post = Inst::Post {
            sem,
            index: index.clone(),
        };
        let wait = Inst::Wait { sem, index };
        let pinned = |name: &str, cpu, program| Group {
            cpus: vec![cpu],
            ..group(name, 1, program)
        };
        let wakes = vec![run_for(MS), post, run_for(MS)];
        let groups = vec![
            pinned("woken", 0, vec![wait]),
            pinned("hog", 0, hogs(1).program),
            pinned("wakes", 1, wakes),
        ];
        let mut load = plan(groups, for_ms(5));
        load.semaphores.push((1, 0));
        let mut machine = free(2);
        machine.costs.ipi_ns = [7_000; 5];
        let program = kernel::load(
            &policy_path("kicks"),
            Execution::default(),
            Release::default(),
        )
        .unwrap();
        let mode = BTreeMap::from([("mode".to_string(), mode.to_string())]);
        let (options, text) = tracing(Options::default());
        kernel::simulate(&machine, load, &program, "kicks", &mode, options).unwrap();
        let text = text();
        let seen = switches(&text, 1);
        let from = seen
            .iter()
            .position(|(_, who)| who.starts_with("wakes"))
            .unwrap();
        seen[from + 1].0 - seen[from].0
    };
    assert_eq!(done_ns("preempt"), 2_000_000);
    assert_eq!(done_ns("wait"), 2_007_000);
}

#[test]
fn a_policy_may_keep_who_waits_and_have_the_kernel_look_for_an_idle_cpu() {
    let jobs = plan(vec![group("job", 3, vec![run_for(100 * MS)])], End::All);
    let outcome = run(&free(3), jobs, "keeps");
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert_eq!(outcome.metrics["elapsed_s"], 0.1);
}

#[test]
fn who_is_sent_to_a_cpu_waits_there_beside_an_idle_one() {
    let all = Inst::Affinity { cpus: Vec::new() };
    let on = |cpu, group| Group {
        cpus: vec![cpu],
        ..group
    };
    let program = vec![run_for(MS), all, sleep_for(MS), run_for(MS)];
    let load = plan(
        vec![on(1, hogs(1)), on(0, group("sent", 1, program))],
        for_ms(30),
    );
    let (outcome, text) = traced(&free(2), load, "sends", Options::default());
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let ran_ms = |cpu| -> Vec<u64> {
        (switches(&text, cpu).into_iter())
            .filter(|(_, who)| who.starts_with("sent"))
            .map(|(ns, _)| ns / 1_000_000)
            .collect()
    };
    // Woken at 2 ms where it was, it runs when the hog's 20 ms are over.
    assert_eq!(ran_ms(0), [0]);
    assert_eq!(ran_ms(1), [20]);
}

#[test]
fn who_has_slice_left_goes_on_before_the_others_of_its_cpu() {
    let above = group("above", 1, vec![sleep_for(5 * MS), run_for(3 * MS)]);
    let above = Group {
        policy: Policy::Fifo(1),
        ..above
    };
    let load = plan(vec![hogs(2), above], for_ms(30));
    let (_, text) = traced(&free(1), load, "wastes", Options::default());
    let seen = switches(&text, 0);
    let at = seen
        .iter()
        .rposition(|(_, who)| who.starts_with("above"))
        .unwrap();
    assert_eq!(seen[at].0, 5 * MS as u64);
    assert_eq!(seen[at - 1].1, seen[at + 1].1);
}

#[test]
fn nothing_to_come_is_a_deadlock() {
    let mut plan = plan(
        vec![group(
            "a",
            1,
            vec![Inst::Wait {
                sem: 0,
                index: Value::Const(0),
            }],
        )],
        End::All,
    );
    plan.semaphores.push((1, 0));
    // The watchdog keeps looking; the run is cut by its event limit.
    let options = Options {
        max_events: 1_000,
        ..Options::default()
    };
    let outcome = crate::common::simulate(&free(1), plan, "fifo", options);
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(
        outcome.reason,
        "every task is blocked and nothing is to come"
    );
}

#[test]
fn a_program_without_time_is_an_error() {
    let outcome = run(
        &free(1),
        plan(vec![group("a", 1, vec![Inst::Jump { to: 0 }])], End::All),
        "fifo",
    );
    assert_eq!(
        outcome.reason,
        "a[1000] takes 1000000 instructions without using time"
    );
}

#[test]
fn what_waits_in_a_queue_comes_back_to_the_policy_that_asks() {
    let load = plan(vec![hogs(4)], for_ms(2_000));
    let options = Options::default();
    let (outcome, text) = traced(&free(1), load, "requeues", options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let called = |name: &str| calls(&text).iter().filter(|op| **op == name).count();
    // Every stop is one enqueue; each sixteenth dispatch takes back the three that wait.
    let came_back = called("enqueue") - 4 - called("stopping");
    let dispatches = called("dispatch");
    assert!(dispatches >= 32, "{dispatches}");
    assert!(
        came_back >= dispatches / 16 * 2,
        "{came_back} of {dispatches}"
    );
}

#[test]
fn a_cpu_runs_the_task_before_until_it_has_switched() {
    let load = plan(vec![hogs(3)], for_ms(200));
    let outcome = run(&free(2), load, "currents");
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    assert!(outcome.switches > 6, "{}", outcome.switches);
}

#[test]
fn a_text_at_no_address_is_empty() {
    let load = plan(vec![group("a", 1, vec![run_for(MS)])], End::All);
    let outcome = run(&free(1), load, "prints");
    assert_eq!(outcome.reason, "scx_bpf_error (<> <> <a>)");
}

/// As under Linux 7.2 in an exact guest: the one hog has 2.01 s of 2, and 0.33 s where it waits for a kick.
#[test]
fn a_last_task_in_its_cpus_own_queue_runs_on_and_in_another_waits_for_a_kick() {
    let cpu_s = |policy: &str| {
        let outcome = simulate(
            &free(1),
            plan(vec![hogs(1)], for_ms(2_000)),
            policy,
            Options::default(),
        );
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        outcome.metrics["cpu_s"]
    };
    assert_eq!(cpu_s("last:rules=local"), 2.0);
    assert!(cpu_s("last:rules=shared") < 0.1);
}

/// Who runs in turn where a sender wakes who preempts it, and a third task has waited for longer than the sender.
fn turns_after_a_message(kind: QueueKind, built_in: bool) -> Vec<String> {
    let queue = QueueRef {
        array: 0,
        index: Value::Const(0),
    };
    let recv = Inst::Recv {
        queue: queue.clone(),
    };
    let send = Inst::Send {
        queue,
        bytes: Value::Const(1),
    };
    let receiver = Group {
        nice: -1,
        ..group("receiver", 1, vec![recv, run_for(MS)])
    };
    let groups = vec![
        receiver,
        group("sender", 1, vec![run_for(MS), send, run_for(MS)]),
        group("third", 1, vec![run_for(MS)]),
    ];
    let mut load = plan(groups, End::All);
    load.queues.push(QueueArray {
        name: "queue".to_string(),
        kind,
        count: 1,
        capacity_bytes: 65_536,
        message_bytes: 1,
        stamped: false,
        back_of: None,
    });
    let options = Options {
        built_in,
        ..Options::default()
    };
    let (outcome, text) = traced(&free(1), load, "readers", options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    let name = |(_, who): (u64, String)| who.split('-').next().unwrap().to_string();
    switches(&text, 0).into_iter().map(name).collect()
}

#[test]
fn who_is_preempted_while_it_wakes_another_over_a_socket_is_a_reader_of_rcu() {
    let (goes_on, waits) = (
        [
            "receiver", "sender", "receiver", "sender", "third", "swapper",
        ],
        [
            "receiver", "sender", "receiver", "third", "sender", "swapper",
        ],
    );
    assert_eq!(turns_after_a_message(QueueKind::Socket, false), goes_on);
    assert_eq!(turns_after_a_message(QueueKind::Tcp, false), goes_on);
    assert_eq!(turns_after_a_message(QueueKind::Pipe, false), waits);
    // The system call is over before what is built in takes the CPU.
    assert_eq!(turns_after_a_message(QueueKind::Socket, true), waits);
}
