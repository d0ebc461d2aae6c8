// SPDX-License-Identifier: GPL-2.0-or-later
//! Wake-ups that are left to the CPU on which the task is to run (`TTWU_QUEUE`).

use cell::Status;
use kernel::{Change, Hotplug, Options, Outcome};
use machine::Machine;
use workload::plan::{Group, Inst, Plan, Policy, Value};

use crate::common::{
    MS, for_ms, group, hogs, machine_of, no_costs, plan, run_for, shape, sleep_for, switches,
    time_ns, traced,
};

/// An interrupt takes so long to another CPU.
const IPI_NS: u64 = 7_000;
/// When the waker, which has CPU 0, wakes the sleeper.
const WAKES_NS: u64 = 2 * MS as u64;

/// Two CPUs that share a cache, or do not.
fn machine(llcs: u32) -> Machine {
    let mut machine = machine_of(shape(1, llcs, 2 / llcs, 1), no_costs());
    machine.costs.ipi_ns = [IPI_NS; 5];
    machine
}

fn pinned(cpu: u32, group: Group) -> Group {
    Group {
        cpus: vec![cpu],
        ..group
    }
}

fn posts() -> Inst {
    Inst::Post {
        sem: 0,
        index: Value::Const(0),
    }
}

fn sleeper() -> Group {
    let waits = Inst::Wait {
        sem: 0,
        index: Value::Const(0),
    };
    pinned(
        1,
        group("sleeper", 1, vec![waits, run_for(MS), sleep_for(100 * MS)]),
    )
}

fn waker(after: Vec<Inst>) -> Group {
    let mut program = vec![run_for(WAKES_NS as i64), posts()];
    program.extend(after);
    program.push(run_for(2 * MS));
    pinned(0, group("waker", 1, program))
}

fn woken(groups: Vec<Group>) -> Plan {
    let mut plan = plan(groups, for_ms(6));
    plan.semaphores.push((1, 0));
    plan
}

fn wakes(
    machine: &Machine,
    groups: Vec<Group>,
    policy: &str,
    options: Options,
) -> (Outcome, String) {
    let (outcome, text) = traced(machine, woken(groups), policy, options);
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.reason);
    (outcome, text)
}

/// On which CPU, and when, the policy is asked for the task after it was woken.
fn enqueued(text: &str) -> (String, u64) {
    let asked = |line: &&str| line.contains("op=enqueue") && time_ns(line) >= WAKES_NS;
    let line = text.lines().find(asked).unwrap();
    let cpu = line.split(['[', ']']).nth(1).unwrap();
    (cpu.to_owned(), time_ns(line))
}

/// When the sleeper is switched to after it was woken, on a CPU.
fn runs_ns(text: &str, cpu: u32) -> Option<u64> {
    let runs = switches(text, cpu).into_iter();
    let mut own = runs.filter(|(ns, who)| *ns >= WAKES_NS && who.starts_with("sleeper"));
    own.next().map(|(ns, _)| ns)
}

#[test]
fn the_policy_is_asked_on_the_idle_cpu_where_it_allows_that() {
    let groups = || vec![sleeper(), waker(vec![])];
    let asked = |policy| enqueued(&wakes(&machine(1), groups(), policy, Options::default()).1);
    assert_eq!(asked("every"), ("000".to_owned(), WAKES_NS));
    assert_eq!(asked("hands"), ("001".to_owned(), WAKES_NS + IPI_NS));
    let without = Machine {
        ttwu_queue: false,
        ..machine(1)
    };
    let (_, text) = wakes(&without, groups(), "hands", Options::default());
    assert_eq!(enqueued(&text), ("000".to_owned(), WAKES_NS));
}

#[test]
fn a_busy_cpu_is_left_wakeups_of_other_caches_only() {
    let groups = || vec![sleeper(), waker(vec![]), pinned(1, hogs(1))];
    let asked = |llcs| {
        let (_, text) = wakes(&machine(llcs), groups(), "hands", Options::default());
        enqueued(&text)
    };
    assert_eq!(asked(1), ("000".to_owned(), WAKES_NS));
    assert_eq!(asked(2), ("001".to_owned(), WAKES_NS + IPI_NS));
}

/// It is no reason to reschedule: the hog keeps its slice.
#[test]
fn who_runs_there_goes_on() {
    let groups = vec![sleeper(), waker(vec![]), pinned(1, hogs(1))];
    let (_, text) = wakes(&machine(2), groups, "hands", Options::default());
    let seen = switches(&text, 1);
    assert!(seen.iter().all(|(ns, _)| *ns < WAKES_NS), "{seen:?}");
}

#[test]
fn a_built_in_scheduler_leaves_its_wakeups() {
    let options = Options {
        built_in: true,
        ..Options::default()
    };
    let groups = vec![sleeper(), waker(vec![])];
    let (_, text) = wakes(&machine(1), groups, "every", options);
    assert_eq!(enqueued(&text), ("001".to_owned(), WAKES_NS + IPI_NS));
}

/// To it, a CPU with a wake-up in its list is not idle. sched_ext's marks say nothing of that list.
#[test]
fn a_built_in_scheduler_sees_whom_a_wakeup_is_left_to() {
    let cpus = |built_in| {
        let options = Options {
            built_in,
            ..Options::default()
        };
        let two = Group {
            count: 2,
            cpus: Vec::new(),
            ..sleeper()
        };
        let three = machine_of(shape(1, 1, 3, 1), machine(1).costs);
        let groups = vec![two, waker(vec![posts()])];
        let (_, text) = wakes(&three, groups, "looks", options);
        let runs = |cpu: &u32| runs_ns(&text, *cpu).is_some();
        (0..3).filter(runs).collect::<Vec<_>>()
    };
    assert_eq!(cpus(true), [1, 2]);
    assert_eq!(cpus(false), [1]);
}

/// The account of a task starts at its wake-up, or at its switch where that is left to the CPU.
#[test]
fn a_task_is_charged_from_when_it_is_enqueued() {
    let served_ns = |ttwu_queue| {
        let machine = Machine {
            ttwu_queue,
            ..machine(1)
        };
        let groups = vec![sleeper(), waker(vec![])];
        let (outcome, _) = wakes(&machine, groups, "hands", Options::default());
        outcome.metrics["cpu_s"]
    };
    let less = served_ns(false) - served_ns(true);
    assert!((less - IPI_NS as f64 / 1e9).abs() < 1e-9, "{less}");
}

/// The flag is for the policy's own tasks.
#[test]
fn real_time_tasks_are_left_whatever_the_policy() {
    let urgent = Group {
        policy: Policy::Fifo(10),
        ..sleeper()
    };
    let (_, text) = wakes(
        &machine(1),
        vec![urgent, waker(vec![])],
        "every",
        Options::default(),
    );
    assert_eq!(runs_ns(&text, 1), Some(WAKES_NS + IPI_NS));
}

/// The first asks the CPU with an interrupt, in which it takes both.
#[test]
fn one_interrupt_serves_all_that_are_in_the_list() {
    let two = Group {
        count: 2,
        ..sleeper()
    };
    let (_, text) = wakes(
        &machine(1),
        vec![two, waker(vec![posts()])],
        "hands",
        Options::default(),
    );
    let asked = text.lines().filter(|line| line.contains("op=enqueue"));
    let times: Vec<u64> = asked.map(time_ns).filter(|ns| *ns >= WAKES_NS).collect();
    assert_eq!(times[..2], [WAKES_NS + IPI_NS; 2]);
}

/// Who may no longer run there when the interrupt comes goes elsewhere.
#[test]
fn a_task_that_has_to_leave_meanwhile_runs_elsewhere() {
    let confine = Inst::Confine {
        group: 0,
        index: Value::Const(0),
        cpus: vec![0],
    };
    let groups = vec![sleeper(), waker(vec![confine, sleep_for(3 * MS)])];
    let (_, text) = wakes(&machine(1), groups, "hands", Options::default());
    let runs = |cpu| runs_ns(&text, cpu).is_some();
    assert!(runs(0) && !runs(1), "{text}");
}

/// The CPU goes offline before the interrupt comes.
#[test]
fn a_cpu_that_goes_leaves_no_wakeup_behind() {
    let options = Options {
        hotplug: vec![Hotplug {
            at_ns: WAKES_NS + IPI_NS / 2,
            cpu: 1,
            change: Change::Offline,
        }],
        ..Options::default()
    };
    let free_to_go = Group {
        cpus: Vec::new(),
        ..sleeper()
    };
    let groups = vec![free_to_go, waker(vec![sleep_for(3 * MS)])];
    let (_, text) = wakes(&machine(1), groups, "hands", options);
    assert!(runs_ns(&text, 0).is_some(), "{text}");
}
