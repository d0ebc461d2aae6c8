// SPDX-License-Identifier: GPL-2.0-or-later
//! Control flow, locals and draws, and what each instruction asks of its world.

use workload::interpreter::Element;
use workload::plan::{Draw, Inst, Policy, QueueRef, Since, Value};

use crate::fake::{Did, Fake, element, fixed, number, plan, queue, run, show};

fn set(local: u8, value: Value) -> Inst {
    Inst::Set { local, value }
}

fn sum(a: Value, b: Value) -> Value {
    Value::Add(Box::new((a, b)))
}

#[test]
fn a_loop_runs_as_often_as_its_condition_holds() {
    let fake = run(vec![
        set(0, number(2)),
        show(Value::Local(0)),
        set(0, sum(Value::Local(0), number(1))),
        Inst::JumpLess {
            left: Value::Local(0),
            right: number(5),
            to: 1,
        },
        show(number(-1)),
    ]);
    assert_eq!(fake.counts(), [2, 3, 4, -1]);
}

#[test]
fn a_jump_passes_over_what_is_between() {
    let fake = run(vec![
        Inst::Jump { to: 2 },
        show(number(1)),
        show(number(2)),
        Inst::JumpLess {
            left: number(0),
            right: number(0),
            to: 0,
        },
        show(number(3)),
    ]);
    assert_eq!(fake.counts(), [2, 3]);
}

#[test]
fn a_program_ends_with_exit_or_behind_its_last_instruction() {
    let fake = run(vec![show(number(1)), Inst::Exit, show(number(2))]);
    assert_eq!(fake.counts(), [1]);
    assert_eq!(run(Vec::new()).did, []);
}

#[test]
fn locals_begin_at_zero_and_one_that_does_not_exist_stays_there() {
    let fake = run(vec![
        show(Value::Local(3)),
        set(4, number(9)),
        show(Value::Local(4)),
        show(Value::Me),
    ]);
    assert_eq!(fake.counts(), [0, 0, 1]);
}

#[test]
fn draws_use_the_stream_in_program_order_and_fixed_values_leave_it_alone() {
    let draws = [
        Draw::Uniform(1, 1_000_000),
        Draw::Exponential { mean: 1_000 },
        Draw::Table(vec![(5, 1), (7, 3), (9, 2)]),
        Draw::Uniform(1, 1_000_000),
    ];
    let plan = plan(vec![
        Inst::Run {
            ns: draws[0].clone(),
        },
        Inst::Run { ns: fixed(10) },
        Inst::Sleep {
            ns: draws[1].clone(),
        },
        Inst::Draw {
            value: Draw::Fixed(Value::Me),
            into: 0,
        },
        Inst::Draw {
            value: draws[2].clone(),
            into: 0,
        },
        show(Value::Local(0)),
        Inst::Run {
            ns: draws[3].clone(),
        },
    ]);
    let mut fake = Fake::new(&plan, 3);
    fake.finish(&plan).unwrap();
    let mut stream = plan.stream(0, 3);
    let [first, slept, shown, last] = draws.map(|draw| stream.draw(&draw, 3, &[]));
    assert_eq!(
        fake.calls(),
        [
            Did::Run(first),
            Did::Run(10),
            Did::SleepUntil(first + 10 + slept),
            Did::Count(0, shown.cast_signed()),
            Did::Run(last),
        ]
    );
}

#[test]
fn no_burst_is_negative() {
    assert_eq!(run(vec![Inst::Run { ns: fixed(-5) }]).did, [Did::Run(0)]);
}

#[test]
fn each_system_call_enters_the_kernel_and_asks_for_its_own_thing() {
    let me = || Value::Me;
    let mine = || QueueRef {
        array: 1,
        index: Value::Me,
    };
    let system_calls = [
        (Inst::Yield, Did::Yield),
        (
            Inst::Send {
                queue: mine(),
                bytes: sum(me(), number(7)),
            },
            Did::Send(element(1, 1), 8, 40),
        ),
        (Inst::Recv { queue: mine() }, Did::Receive(element(1, 1))),
        (
            Inst::Poll {
                first: mine(),
                count: number(3),
                into: 0,
            },
            Did::Poll(element(1, 1), 3),
        ),
        (
            Inst::Disk {
                bytes: number(4_096),
                write: true,
                sync: false,
            },
            Did::Disk(4_096, true, false),
        ),
        (
            Inst::Discard {
                bytes: number(4_096),
            },
            Did::Discard(4_096),
        ),
        (Inst::Reap, Did::Reap),
        (Inst::Nice { nice: number(-30) }, Did::Nice(-20)),
        (Inst::Nice { nice: me() }, Did::Nice(1)),
        (
            Inst::SetPolicy {
                policy: Policy::Fifo(3),
            },
            Did::Policy(Policy::Fifo(3)),
        ),
        (
            Inst::NiceOf {
                group: 0,
                index: me(),
                nice: number(20),
            },
            Did::NiceOf(element(0, 1), 19),
        ),
        (
            Inst::SetPolicyOf {
                group: 0,
                index: me(),
                policy: Policy::Batch,
            },
            Did::PolicyOf(element(0, 1), Policy::Batch),
        ),
        (
            Inst::Affinity { cpus: vec![0, 2] },
            Did::Affinity(vec![0, 2]),
        ),
        (
            Inst::Confine {
                group: 0,
                index: me(),
                cpus: vec![3],
            },
            Did::Confine(element(0, 1), vec![3]),
        ),
    ];
    for (inst, did) in system_calls {
        assert_eq!(asked(&inst), [Did::EnterKernel, did], "{inst:?}");
    }
}

#[test]
fn control_groups_are_changed_by_system_calls() {
    let me = || Value::Me;
    let system_calls = [
        (Inst::Cgroup { cgroup: Some(4) }, Did::Cgroup(Some(4))),
        (Inst::Cgroup { cgroup: None }, Did::Cgroup(None)),
        (
            Inst::CgroupOf {
                group: 0,
                index: me(),
                cgroup: Some(4),
            },
            Did::CgroupOf(element(0, 1), Some(4)),
        ),
        (
            Inst::CgroupWeight {
                cgroup: 1,
                weight: number(0),
            },
            Did::CgroupWeight(1, 1),
        ),
        (
            Inst::CgroupMax {
                cgroup: 1,
                quota_us: Some(number(7)),
                period_us: Some(number(2_000_000)),
                burst_us: Some(number(1_001)),
            },
            Did::CgroupMax(1, Some(1_000), Some(1_000_000), Some(1_000)),
        ),
        (
            Inst::CgroupMax {
                cgroup: 1,
                quota_us: None,
                period_us: None,
                burst_us: None,
            },
            Did::CgroupMax(1, None, None, None),
        ),
        (
            Inst::CgroupCpus {
                cgroup: 2,
                cpus: vec![1],
            },
            Did::CgroupCpus(2, vec![1]),
        ),
        (Inst::MakeCgroup { cgroup: 2 }, Did::MakeCgroup(2)),
        (Inst::RemoveCgroup { cgroup: 2 }, Did::RemoveCgroup(2)),
    ];
    for (inst, did) in system_calls {
        assert_eq!(asked(&inst), [Did::EnterKernel, did], "{inst:?}");
    }
}

#[test]
fn variables_and_memory_are_no_system_calls() {
    let (me, at) = (|| Value::Me, element(1, 1));
    let cases = [
        (
            Inst::Add {
                variable: 1,
                index: me(),
                by: number(-2),
                into: 0,
            },
            Did::Add(at, -2),
        ),
        (
            Inst::Store {
                variable: 1,
                index: me(),
                value: number(5),
            },
            Did::Store(at, 5),
        ),
        (
            Inst::Fill {
                bytes: number(-1),
                buffer_bytes: 64,
            },
            Did::Fill(0, 64),
        ),
    ];
    for (inst, did) in cases {
        assert_eq!(asked(&inst), [did], "{inst:?}");
    }
}

/// The sum that the world answers with is in the local.
#[test]
fn a_sum_goes_into_its_local() {
    let add = Inst::Add {
        variable: 1,
        index: Value::Me,
        by: number(-2),
        into: 0,
    };
    let count = Inst::Count {
        metric: 0,
        by: Value::Local(0),
    };
    assert_eq!(run(vec![add, count, Inst::Exit]).counts(), [9]);
}

#[test]
fn each_other_instruction_asks_for_its_own_thing() {
    let (me, at) = (|| Value::Me, element(1, 1));
    let others = [
        (
            Inst::Lock {
                lock: 1,
                index: me(),
            },
            Did::Lock(at),
        ),
        (
            Inst::Spin {
                lock: 1,
                index: me(),
            },
            Did::Spin(at),
        ),
        (
            Inst::Unlock {
                lock: 1,
                index: me(),
            },
            Did::Unlock(at),
        ),
        (
            Inst::Wait {
                sem: 1,
                index: me(),
            },
            Did::Wait(at),
        ),
        (Inst::WaitAny { sem: 1, into: 0 }, Did::WaitAny(1)),
        (
            Inst::Post {
                sem: 1,
                index: me(),
            },
            Did::Post(at, 40),
        ),
        (
            Inst::Await {
                condition: 1,
                index: me(),
                releases: None,
            },
            Did::Await(at, None),
        ),
        (
            Inst::Await {
                condition: 1,
                index: me(),
                releases: Some((1, number(2))),
            },
            Did::Await(at, Some(element(1, 2))),
        ),
        (
            Inst::Signal {
                condition: 1,
                index: me(),
                all: true,
            },
            Did::Signal(at, true),
        ),
        (
            Inst::Fork {
                group: 0,
                index: sum(me(), number(6)),
            },
            Did::Fork(element(0, 7)),
        ),
        (Inst::Exec, Did::Exec),
        (Inst::Alive { into: 0 }, Did::HasChild),
        (
            Inst::Count {
                metric: 1,
                by: me(),
            },
            Did::Count(1, 1),
        ),
        (
            Inst::Log {
                metric: 1,
                since: Since::Stamp,
                per: number(2),
            },
            Did::Log(1, 0),
        ),
    ];
    for (inst, did) in others {
        assert_eq!(asked(&inst), [did], "{inst:?}");
    }
}

/// By the instruction itself, of a task with index 1 whose last stamp was at 40 ns.
fn asked(inst: &Inst) -> Vec<Did> {
    let mut fake = run(vec![Inst::Run { ns: fixed(40) }, Inst::Stamp, inst.clone()]);
    assert_eq!(fake.did.remove(0), Did::Run(40));
    fake.did
}

#[test]
fn what_a_world_answers_goes_into_a_local() {
    let asks = [
        (
            Inst::Poll {
                first: queue(0, 1),
                count: number(3),
                into: 2,
            },
            2,
        ),
        (Inst::WaitAny { sem: 1, into: 2 }, 2),
        (Inst::Alive { into: 2 }, 1),
        (Inst::Cpu { into: 2 }, 6),
    ];
    for (inst, answer) in asks {
        let fake = run(vec![
            set(2, number(-1)),
            inst.clone(),
            show(Value::Local(2)),
        ]);
        assert_eq!(fake.counts(), [answer], "{inst:?}");
    }
}

#[test]
fn an_index_outside_its_array_fails() {
    let cases = [
        (
            Inst::Send {
                queue: queue(1, 4),
                bytes: number(1),
            },
            "queue 4 of 4",
        ),
        (
            Inst::Recv {
                queue: queue(0, -1),
            },
            "queue -1 of 4",
        ),
        (poll(4, 1), "queue 4 of 4"),
        (poll(0, 5), "queue 4 of 4"),
        (poll(3, 2), "queue 4 of 4"),
        (poll(3, i64::MAX), "queue 9223372036854775806 of 4"),
        // Nothing to wait for.
        (poll(2, 0), "queue 1 of 4"),
        (
            Inst::Lock {
                lock: 1,
                index: number(3),
            },
            "lock 3 of 3",
        ),
        (
            Inst::Wait {
                sem: 1,
                index: number(3),
            },
            "semaphore 3 of 3",
        ),
        (
            Inst::Signal {
                condition: 0,
                index: number(1),
                all: false,
            },
            "condition 1 of 1",
        ),
        (
            Inst::Await {
                condition: 1,
                index: number(0),
                releases: Some((0, number(1))),
            },
            "lock 1 of 1",
        ),
        (
            Inst::Fork {
                group: 0,
                index: number(8),
            },
            "task 8 of 8",
        ),
    ];
    for (inst, message) in cases {
        let plan = plan(vec![inst]);
        let mut fake = Fake::new(&plan, 0);
        assert_eq!(fake.finish(&plan), Err(message.to_string()));
        assert_eq!(fake.did, [], "{message}");
    }
    let last: Element = element(0, 3);
    assert_eq!(run(vec![poll(3, 1)]).calls(), [Did::Poll(last, 1)]);
}

fn poll(first: i64, count: i64) -> Inst {
    Inst::Poll {
        first: queue(0, first),
        count: number(count),
        into: 0,
    }
}
