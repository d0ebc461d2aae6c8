// SPDX-License-Identifier: GPL-2.0-or-later
//! What costs add, to the nanosecond.

use cell::Status;
use kernel::Options;
use machine::{Costs, IdleState};
use workload::plan::{End, Inst, Plan, QueueArray, QueueKind, QueueRef, Value};

use crate::common::{
    MS, free, group, machine_of, no_costs, plan, run, run_for, shape, simulate, sleep_for,
    sleepers, traced,
};

fn elapsed_ns(machine: &machine::Machine, plan: workload::plan::Plan) -> u64 {
    let outcome = run(machine, plan, "fifo");
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    (outcome.metrics["elapsed_s"] * 1e9).round() as u64
}

fn one(program: Vec<Inst>) -> workload::plan::Plan {
    plan(vec![group("a", 1, program)], End::All)
}

#[test]
fn without_costs_work_takes_its_time() {
    assert_eq!(elapsed_ns(&free(1), one(vec![run_for(12_345)])), 12_345);
    assert_eq!(
        elapsed_ns(&free(1), one(vec![run_for(10), sleep_for(20), run_for(30)])),
        60
    );
}

#[test]
fn a_timer_takes_cpu_time_of_the_sleep_and_does_not_lengthen_it() {
    let mut machine = free(1);
    machine.costs.timer_ns = 7;
    let program = || one(vec![sleep_for(20_000), run_for(10_000), sleep_for(20_000)]);
    let outcome = run(&machine, program(), "fifo");
    assert_eq!(outcome.metrics["cpu_s"], 10_014.0 / 1e9);
    assert_eq!(elapsed_ns(&machine, program()), 50_000);
    // One that is over while it is set is no sleep.
    machine.costs.timer_ns = 20_000;
    assert_eq!(
        run(&machine, program(), "fifo").metrics["switches_voluntary"],
        0.0
    );
}

#[test]
fn each_cost_is_added_where_it_arises() {
    let cost = |change: &dyn Fn(&mut Costs)| {
        let mut costs = no_costs();
        change(&mut costs);
        elapsed_ns(
            &machine_of(shape(1, 1, 1, 1), costs),
            one(vec![run_for(10_000), sleep_for(20_000), run_for(10_000)]),
        ) - 40_000
    };
    // In twice; the switches to idle do not delay anybody.
    assert_eq!(cost(&|costs| costs.switch_ns = 7), 14);
    assert_eq!(cost(&|costs| costs.wakeup_ns = 7), 14);
    assert_eq!(cost(&|costs| costs.ext_switch_ns = 7), 14);
    assert_eq!(cost(&|costs| costs.ext_wakeup_ns = 7), 14);
    assert_eq!(cost(&|costs| costs.idle_exit_ns = 7), 14);
    // The sleep is not long enough for the last of the deeper states.
    let states = [(9, 1_000), (11, 19_000), (13, 21_000)];
    let states = states.map(|(exit_ns, residency_ns)| IdleState {
        exit_ns,
        residency_ns,
    });
    let sleeps = |costs: &mut Costs| costs.idle_states = states.to_vec();
    assert_eq!(cost(&sleeps), 11);
    assert_eq!(cost(&|costs| costs.timer_slack_ns = 7), 7);
    assert_eq!(cost(&|costs| costs.syscall_ns = 7), 7);
    assert_eq!(cost(&|costs| costs.exit_ns = 7), 7);
    // The first KiB come from the last-level cache; nobody evicts them during the sleep.
    let footprint = |change: &dyn Fn(&mut Costs), tasks: u32| {
        let mut costs = no_costs();
        change(&mut costs);
        let mut group = group(
            "a",
            tasks,
            vec![run_for(10_000), sleep_for(1), run_for(10_000)],
        );
        group.footprint_kib = 8;
        elapsed_ns(
            &machine_of(shape(1, 1, 1, 1), costs),
            plan(vec![group], End::All),
        )
    };
    assert_eq!(
        footprint(&|costs| costs.refill_kib_ns = [1, 2, 3, 4, 5], 1),
        20_001 + 8 * 3
    );
    // Two in turn evict each other: at each return all 8 KiB at 1 ns.
    assert_eq!(
        footprint(&|costs| costs.refill_kib_ns = [1, 2, 3, 4, 5], 2),
        40_000 + 2 * 8 * 3 + 2 * 8
    );
}

#[test]
fn what_a_program_computes_takes_its_own_time() {
    let next = || Inst::Set {
        local: 0,
        value: Value::Add(Box::new((Value::Local(0), Value::Const(1)))),
    };
    let again = |to| Inst::JumpLess {
        left: Value::Local(0),
        right: Value::Const(3),
        to,
    };
    let mut costs = no_costs();
    costs.program_step_ns = 7;
    let machine = machine_of(shape(1, 1, 1, 1), costs);
    // A sum is three terms, a comparison with a number one, and each instruction is a step of its own.
    let once = one(vec![next(), run_for(10_000)]);
    assert_eq!(elapsed_ns(&machine, once), 10_000 + 7 * (4 + 1));
    let loops = one(vec![
        next(),
        run_for(10_000),
        again(0),
        Inst::Jump { to: 4 },
    ]);
    assert_eq!(
        elapsed_ns(&machine, loops),
        3 * 10_000 + 7 * (3 * (4 + 1 + 2) + 1)
    );
    // Before a sleep the steps are over; who is woken does not take them again.
    let mut waits = group(
        "waits",
        1,
        vec![
            next(),
            Inst::Wait {
                sem: 0,
                index: Value::Const(0),
            },
        ],
    );
    waits.locals = 1;
    let posts = group(
        "posts",
        1,
        vec![
            run_for(1_000),
            Inst::Post {
                sem: 0,
                index: Value::Const(0),
            },
        ],
    );
    let mut load = plan(vec![waits, posts], End::All);
    load.semaphores.push((1, 0));
    assert_eq!(elapsed_ns(&machine, load), 1_000 + 7 * (4 + 1 + 1 + 1));
}

/// What a policy's code adds to two bursts, loaded and built in.
fn code_ns(change: &dyn Fn(&mut Costs)) -> [u64; 2] {
    let mut costs = no_costs();
    change(&mut costs);
    let machine = machine_of(shape(1, 1, 1, 1), costs);
    [false, true].map(|built_in| {
        let options = Options {
            built_in,
            ..Options::default()
        };
        let program = vec![run_for(10_000), sleep_for(20_000), run_for(10_000)];
        let outcome = simulate(&machine, one(program), "vtime", options);
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        (outcome.metrics["elapsed_s"] * 1e9).round() as u64 - 40_000
    })
}

#[test]
fn what_is_built_in_pays_for_its_instructions_alone() {
    assert_eq!(code_ns(&|costs| costs.ext_switch_ns = 7), [14, 0]);
    assert_eq!(code_ns(&|costs| costs.ext_wakeup_ns = 7), [14, 0]);
    // Both run the same instructions, and only one of them crosses a boundary.
    let [loaded, built_in] = code_ns(&|costs| costs.policy_instruction_ps = 1_000);
    assert!(0 < built_in && built_in < loaded, "{built_in} {loaded}");
}

/// One task sleeps and another has waited: what a policy's clocks say until that one runs.
fn clocks(built_in: bool) -> String {
    let mut costs = no_costs();
    costs.switch_ns = 1_000;
    let machine = machine_of(shape(1, 1, 1, 1), costs);
    let sleeper = group("sleeper", 1, vec![run_for(10_000), sleep_for(50_000)]);
    let waiter = group("waiter", 1, vec![run_for(10_000)]);
    let options = Options {
        built_in,
        ..Options::default()
    };
    simulate(
        &machine,
        plan(vec![sleeper, waiter], End::All),
        "clocks",
        options,
    )
    .reason
}

#[test]
fn a_switch_reads_the_clock_once_and_dispatch_makes_that_reading_void() {
    // Of 1,000 ns 62 % pass until the policy is asked for the next task, and 25 % until that one is told to run.
    let told = clocks(false);
    assert!(
        told.contains("ktime +620 dispatch +620 running +250"),
        "{told}"
    );
    // What is built in reads its run queue's clock throughout.
    let told = clocks(true);
    assert!(told.contains("ktime +0 dispatch +0 running +0"), "{told}");
}

#[test]
fn a_reschedule_that_a_wake_up_asked_for_keeps_its_clock() {
    let mut costs = no_costs();
    costs.wakeup_ns = 1_000;
    let machine = machine_of(shape(1, 1, 1, 1), costs);
    let wakes_ns = |program: Vec<Inst>, others: Vec<workload::plan::Group>| {
        let groups = std::iter::once(group("a", 1, program)).chain(others);
        let outcome = run(&machine, plan(groups.collect(), End::All), "fifo");
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        (outcome.metrics["cpu_s"] * 1e9).round() as u64
    };
    // The kernel reads the clock after 56 % of a wake-up; from there on the time of an idle CPU is the task's.
    let twice = vec![run_for(10_000), sleep_for(20_000), run_for(10_000)];
    assert_eq!(wakes_ns(twice.clone(), vec![]), 20_000 + 2 * 440);
    // Beside one that runs on a wake-up is all that one's time: of three here the first meets an idle CPU.
    let hog = group("hog", 1, vec![run_for(50_000)]);
    assert_eq!(wakes_ns(twice, vec![hog]), 70_000 + 440 + 2 * 1_000);
}

/// Messages are sent on CPU 0, and received on `reader` after something else.
fn sent_and_received(
    kind: QueueKind,
    messages: usize,
    bytes: u32,
    reader: u32,
    before: Inst,
) -> Plan {
    let queue = QueueRef {
        array: 0,
        index: Value::Const(0),
    };
    let send = Inst::Send {
        queue: queue.clone(),
        bytes: Value::Const(bytes.into()),
    };
    let mut sender = group("sender", 1, vec![send; messages]);
    let recv = Inst::Recv { queue };
    let mut receiver = group("receiver", 1, [vec![before], vec![recv; messages]].concat());
    (sender.cpus, receiver.cpus) = (vec![0], vec![reader]);
    let mut plan = plan(vec![sender, receiver], End::All);
    plan.queues.push(QueueArray {
        name: "queue".to_string(),
        kind,
        count: 1,
        capacity_bytes: 65_536,
        message_bytes: bytes,
        stamped: false,
        back_of: None,
    });
    plan
}

/// Three messages of 1 KiB are sent on CPU 0, then received on `reader`: what fetching them adds.
fn fetch_ns(kind: QueueKind, reader: u32, change: &dyn Fn(&mut Costs)) -> u64 {
    let mut costs = no_costs();
    costs.refill_kib_ns = [1_000, 2_000, 3_000, 4_000, 5_000];
    change(&mut costs);
    let plan = sent_and_received(kind, 3, 1_024, reader, sleep_for(1_000_000));
    elapsed_ns(&machine_of(shape(2, 1, 1, 2), costs), plan) - 1_000_000
}

#[test]
fn messages_are_fetched_from_where_they_are() {
    let pipe = |reader, change: &dyn Fn(&mut Costs)| fetch_ns(QueueKind::Pipe, reader, change);
    // In the core's own caches; in those of another socket.
    assert_eq!(pipe(0, &|_| ()), 0);
    assert_eq!(pipe(1, &|_| ()), 0);
    assert_eq!(pipe(2, &|_| ()), 3 * 5_000);
    // The first was pushed out by the two after it: to the shared cache, or, where that is small as well, to memory.
    assert_eq!(pipe(0, &|costs| costs.private_cache_kib = 2), 1_000);
    assert_eq!(pipe(0, &|costs| costs.llc_kib = 2), 5_000);
    // Sender and receiver close both ends as they exit.
    assert_eq!(pipe(0, &|costs| costs.close_ns = 7), 2 * 2 * 7);
    // A socket's head: 576 bytes, four times as dear.
    assert_eq!(
        fetch_ns(QueueKind::Socket, 0, &|costs| costs.private_cache_kib = 0),
        3 * (1_024 + 4 * 576) * 1_000 / 1_024
    );
}

#[test]
fn a_message_is_there_when_it_has_been_sent() {
    let costs = Costs {
        tcp_ns: 1_000_000,
        ..no_costs()
    };
    let plan = sent_and_received(QueueKind::Tcp, 1, 1, 1, run_for(1_000_000));
    // Of both ends' 2 ms the sender has 1.6, and 0.34 of them come after the wake-up. The receiver looks before that.
    let there_ns = 1_600_000 - 340_000;
    assert_eq!(
        elapsed_ns(&machine_of(shape(2, 1, 1, 1), costs), plan),
        there_ns + 400_000
    );
}

#[test]
fn a_tick_in_a_system_call_comes_before_the_wake_up_that_the_call_makes() {
    let costs = Costs {
        socket_ns: 2_000_000,
        syscall_ns: 1_000_000,
        ..no_costs()
    };
    let machine = machine_of(shape(1, 1, 1, 1), costs);
    // The receiver waits after 1 ms, then the sender works, and takes 1 ms to enter the kernel. Of both ends' 4 ms over a
    // socket it has 2.32, of which 0.48 come after the wake-up. The tick is at 4 ms.
    let tick_is_first = |kind, works_ns: i64| {
        let mut plan = sent_and_received(kind, 1, 1, 0, run_for(0));
        plan.groups.reverse();
        plan.groups[1].program.insert(0, run_for(works_ns));
        let (outcome, text) = traced(&machine, plan, "unbounded", Options::default());
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        let (before, _) = text
            .rsplit_once("sched_wakeup: comm=receiver")
            .expect("it is woken");
        before.contains("op=tick")
    };
    assert!(!tick_is_first(QueueKind::Pipe, 1_900_000));
    assert!(tick_is_first(QueueKind::Pipe, 2_100_000));
    assert!(!tick_is_first(QueueKind::Socket, 100_000));
    assert!(tick_is_first(QueueKind::Socket, 200_000));
    assert!(tick_is_first(QueueKind::Socket, 1_900_000));
    assert!(tick_is_first(QueueKind::Socket, 2_900_000));
}

#[test]
fn ticks_cost_time_on_busy_cpus() {
    let costs = Costs {
        tick_ns: 1_000,
        ..no_costs()
    };
    // 24 ms of work: ticks at 4, 8, … 24 ms, the last because the ticks before took time.
    assert_eq!(
        elapsed_ns(
            &machine_of(shape(1, 1, 1, 1), costs),
            one(vec![run_for(24 * MS)])
        ),
        24_006_000
    );
}

#[test]
fn siblings_share_a_core() {
    let smt = |pct| {
        machine_of(
            shape(1, 1, 1, 2),
            Costs {
                smt_speed_pct: pct,
                ..no_costs()
            },
        )
    };
    let jobs = |works: &[i64]| {
        plan(
            works
                .iter()
                .map(|work| group("job", 1, vec![run_for(*work)]))
                .collect(),
            End::All,
        )
    };
    // Both busy all the time: each at 60 %.
    assert_eq!(elapsed_ns(&smt(60), jobs(&[6_000, 6_000])), 10_000);
    // 6 µs of work takes 10 µs beside the other, which by then has done 6 of 12 and does the rest alone.
    assert_eq!(elapsed_ns(&smt(60), jobs(&[6_000, 12_000])), 16_000);
    assert_eq!(elapsed_ns(&smt(100), jobs(&[6_000, 12_000])), 12_000);
    assert_eq!(elapsed_ns(&smt(50), jobs(&[5_000])), 5_000);
}

#[test]
fn capacity_is_speed() {
    let mut machine = free(1);
    machine.topology.cpus[0].capacity = 512;
    assert_eq!(elapsed_ns(&machine, one(vec![run_for(1_000)])), 2_000);
}

#[test]
fn a_cpu_that_idles_beside_a_queue_is_counted() {
    let work = |pinned: bool| {
        let mut group = group("a", 2, vec![run_for(10 * MS)]);
        if pinned {
            group.program.insert(0, Inst::Affinity { cpus: vec![0] });
        }
        let outcome = run(&free(2), plan(vec![group], End::All), "vtime");
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
        assert!(!outcome.metrics.contains_key("disk_wait_s"));
        (
            outcome.metrics["elapsed_s"],
            outcome.metrics["idle_while_waiting_pct"],
        )
    };
    assert_eq!(work(false), (0.010, 0.0));
    // While one runs, the other waits beside an idle CPU; then nobody does.
    let (elapsed_s, wasted_pct) = work(true);
    assert_eq!(elapsed_s, 0.020);
    assert!((49.9..=100.0).contains(&wasted_pct), "{wasted_pct}");
}

#[test]
fn copies_forks_and_disks() {
    let mut costs = no_costs();
    costs.copy_kib_ns = 10;
    let machine = machine_of(shape(1, 1, 1, 1), costs);
    let disk = |sync| Inst::Disk {
        bytes: Value::Const(2_048),
        write: true,
        sync,
    };
    assert_eq!(elapsed_ns(&machine, one(vec![disk(false), run_for(1)])), 21);
    // 2 KiB at 225 MB/s.
    assert_eq!(
        elapsed_ns(&machine, one(vec![disk(true), run_for(1)])),
        21 + 9_102
    );
    let slow = machine_of(
        shape(1, 1, 2, 1),
        Costs {
            disk_request_ns: 50_000,
            disk_kib_ns: 1_000,
            disk_cpu_kib_ns: 300,
            ..no_costs()
        },
    );
    // The kernel's work, the way to the disk and its own time; the second waits for the first only there.
    let both = plan(vec![group("writer", 2, vec![disk(true)])], End::All);
    assert_eq!(
        elapsed_ns(&slow, one(vec![disk(true)])),
        600 + 50_000 + 2_000
    );
    assert_eq!(elapsed_ns(&slow, both.clone()), 600 + 50_000 + 4_000);
    let metrics = run(&slow, both, "vtime").metrics;
    assert_eq!(metrics["cpu_s"], 1_200e-9);
    assert_eq!(metrics["disk_wait_s"], 106_000e-9);
    assert_eq!(metrics["idle_while_waiting_pct"], 0.0);
    // A memory of 4 KiB takes the first two requests as fast as the way there; the third waits until it fits.
    let mut cached = slow;
    cached.costs.disk_cache_kib = 4;
    cached.costs.disk_link_kib_ns = 100;
    let writes = |count| one(vec![disk(true); count]);
    let way_ns = 600 + 50_000;
    assert_eq!(elapsed_ns(&cached, writes(1)), way_ns + 200);
    cached.costs.disk_kib_ns = 1_000_000;
    assert_eq!(elapsed_ns(&cached, writes(2)), 2 * (way_ns + 200));
    assert_eq!(elapsed_ns(&cached, writes(3)), way_ns + 2_000_000);
    let forks = machine_of(
        shape(1, 1, 1, 1),
        Costs {
            fork_ns: 500,
            exec_ns: 70,
            ..no_costs()
        },
    );
    let mut child = group("child", 1, vec![Inst::Exec, run_for(1)]);
    child.start = workload::plan::Start::Fork;
    let parent = group(
        "parent",
        1,
        vec![
            Inst::Fork {
                group: 1,
                index: Value::Const(0),
            },
            Inst::Reap,
        ],
    );
    assert_eq!(
        elapsed_ns(&forks, plan(vec![parent, child.clone()], End::All)),
        571
    );
    // Twice: to start it, and to end it.
    let threads = machine_of(
        shape(1, 1, 1, 1),
        Costs {
            fork_ns: 500,
            exit_ns: 500,
            thread_ns: 7,
            ..no_costs()
        },
    );
    child.program = vec![run_for(1_000)];
    child.threads = true;
    let starts = group(
        "starts",
        1,
        vec![Inst::Fork {
            group: 1,
            index: Value::Const(0),
        }],
    );
    assert_eq!(
        elapsed_ns(&threads, plan(vec![starts, child], End::All)),
        7 + 500 + 1_000 + 7
    );
}

#[test]
fn a_contended_queue_lock_costs_more_than_a_free_one() {
    let busy = |cpus: u32, hold: u64| {
        let costs = Costs {
            lock_hold_ns: hold,
            ..no_costs()
        };
        let outcome = run(
            &machine_of(shape(1, 1, cpus, 1), costs),
            plan(
                vec![sleepers(4 * cpus, 50_000, 10_000)],
                crate::common::for_ms(50),
            ),
            "vtime",
        );
        outcome.metrics["switches_voluntary"] / f64::from(cpus)
    };
    let alone = busy(2, 1_000);
    let many = busy(64, 1_000);
    // One queue, one lock of 1 µs: 64 CPUs cannot switch more than a million times a second in all.
    assert!(many < alone * 0.6, "{many} against {alone}");
    assert!((busy(64, 0) / busy(2, 0) - 1.0).abs() < 0.05);
}
