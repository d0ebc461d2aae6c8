// SPDX-License-Identifier: GPL-2.0-or-later
//! A call that does not return at once, as a simulated world answers it.

use workload::interpreter::{Interpreter, Step, Stop, World};
use workload::plan::{Draw, Inst, Value};

use crate::fake::{Did, Fake, element, fixed, number, plan, queue, show};

#[test]
fn a_task_that_waits_tries_the_same_instruction_again() {
    let plan = plan(vec![
        Inst::Recv { queue: queue(0, 2) },
        Inst::Lock {
            lock: 1,
            index: number(0),
        },
    ]);
    let interpreter = Interpreter::new(&plan, 0);
    let mut fake = Fake::new(&plan, 0);
    fake.stops = [Some(Stop::Before), Some(Stop::Before)].into();
    assert!(!fake.registers().begun());
    for _ in 0..2 {
        assert_eq!(interpreter.step(&mut fake), Step::Paused);
        assert!(fake.registers().begun());
    }
    assert_eq!(interpreter.step(&mut fake), Step::Next);
    assert!(!fake.registers().begun());
    assert_eq!(interpreter.step(&mut fake), Step::Next);
    assert_eq!(interpreter.step(&mut fake), Step::Exited);
    // The system call is entered once, however often it waits.
    let receive = Did::Receive(element(0, 2));
    assert_eq!(
        fake.did,
        [
            Did::EnterKernel,
            receive.clone(),
            receive.clone(),
            receive,
            Did::Lock(element(1, 0)),
        ]
    );
}

#[test]
fn a_local_is_set_when_the_call_is_done() {
    let plan = plan(vec![
        Inst::Set {
            local: 1,
            value: number(-1),
        },
        Inst::WaitAny { sem: 1, into: 1 },
        show(Value::Local(1)),
    ]);
    let mut fake = Fake::new(&plan, 0);
    fake.stops = [Some(Stop::Before)].into();
    fake.finish(&plan).unwrap();
    assert_eq!(
        fake.did,
        [Did::WaitAny(1), Did::WaitAny(1), Did::Count(0, 2)]
    );
}

#[test]
fn a_task_that_works_or_sleeps_goes_on_with_the_next_instruction() {
    let plan = plan(vec![
        Inst::Run { ns: fixed(5) },
        Inst::Sleep { ns: fixed(6) },
        Inst::Yield,
    ]);
    let interpreter = Interpreter::new(&plan, 0);
    let mut fake = Fake::new(&plan, 0);
    fake.stops = vec![Some(Stop::After); 3].into();
    for _ in 0..3 {
        assert_eq!(interpreter.step(&mut fake), Step::Paused);
    }
    assert_eq!(interpreter.step(&mut fake), Step::Exited);
    assert_eq!(fake.calls(), [Did::Run(5), Did::SleepUntil(11), Did::Yield]);
}

#[test]
fn a_call_that_fails_ends_the_program() {
    let plan = plan(vec![Inst::Reap, Inst::Yield]);
    let mut fake = Fake::new(&plan, 0);
    fake.stops = [Some(Stop::Failed("no child".to_string()))].into();
    assert_eq!(fake.finish(&plan), Err("no child".to_string()));
}

#[test]
fn a_jump_is_told_from_other_instructions() {
    let plan = plan(vec![
        Inst::JumpLess {
            left: number(1),
            right: number(0),
            to: 0,
        },
        Inst::Jump { to: 2 },
    ]);
    let interpreter = Interpreter::new(&plan, 0);
    let mut fake = Fake::new(&plan, 0);
    let steps = [(); 3].map(|()| interpreter.step(&mut fake));
    assert_eq!(steps, [Step::Next, Step::Jumped, Step::Exited]);
}

#[test]
fn a_burst_that_comes_next_is_taken_with_its_draw() {
    let drawn = Draw::Uniform(1, 1_000_000);
    let plan = plan(vec![
        Inst::Yield,
        Inst::Jump { to: 3 },
        Inst::Yield,
        Inst::Run { ns: drawn.clone() },
        Inst::Run { ns: drawn.clone() },
        Inst::Jump { to: 0 },
    ]);
    let interpreter = Interpreter::new(&plan, 0);
    let mut fake = Fake::new(&plan, 2);
    let mut stream = plan.stream(0, 2);
    let [first, second] = [(); 2].map(|()| stream.draw(&drawn, 2, &[]));
    assert_eq!(interpreter.take_burst(fake.registers()), None);
    assert_eq!(interpreter.step(&mut fake), Step::Next);
    assert_eq!(interpreter.take_burst(fake.registers()), Some((first, 2)));
    assert_eq!(interpreter.take_burst(fake.registers()), Some((second, 1)));
    // Behind the next jump is something else: the jump is still to be made.
    assert_eq!(interpreter.take_burst(fake.registers()), None);
    assert_eq!(interpreter.step(&mut fake), Step::Jumped);
    assert_eq!(interpreter.step(&mut fake), Step::Next);
}
