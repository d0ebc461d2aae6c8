// SPDX-License-Identifier: GPL-2.0-or-later
//! What ends a run before its time, where it says that was, and what had been executed.

use std::sync::OnceLock;

use bpf::host::FaultKind;
use bpf::image::{Function, Image, Line};
use bpf::op::{Atomic, Callee, Condition, Op, Operand, Value, Width, function_value};

use crate::world::{Executors, Outcome, World};
use crate::write::{
    FORBIDDEN, LOOP, REFUSE, add, atomic, branch, call, function, image, imm, jump, load, mov,
    outside, set, store,
};

const ENDLESS: u32 = 0;
const COUNTED: u32 = 1;
const RECURSIVE: u32 = 2;
const MISSING: u32 = 3;
const REFUSED: u32 = 4;
const REFUSED_BELOW: u32 = 5;
const NULL_STORE: u32 = 6;
const NULL_ATOMIC: u32 = 7;
const FORBIDDEN_LOAD: u32 = 8;
const FORBIDDEN_STORE: u32 = 9;
const CONSTANT_STORE: u32 = 10;
const BELOW_STACK: u32 = 11;
const OVER_DATA: u32 = 12;
const REFUSED_IN_CALLBACK: u32 = 13;
const DEEP: u32 = 14;
const ENDLESS_CALLBACK: u32 = 15;
const NOTHING: u32 = 16;
const RECURSIVE_BY_CONTEXT: u32 = 17;
const CALLS_BACK_BELOW: u32 = 18;
const OVER_STACK: u32 = 19;

fn tested() -> &'static (Image, Executors) {
    static TESTED: OnceLock<(Image, Executors)> = OnceLock::new();
    TESTED.get_or_init(|| {
        let mut image = image([ends(), accesses(), callbacks()].concat());
        image.functions[NULL_STORE as usize].lines = [(0, 10), (2, 12), (3, 13)]
            .map(|(op, line)| Line { op, file: 0, line })
            .to_vec();
        let executors = Executors::new(&image);
        (image, executors)
    })
}

/// Functions that end in a fault, or might.
fn ends() -> Vec<Function> {
    let missing = Op::Call(Callee::Missing);
    vec![
        function("endless", vec![set(0, 0), add(0, 1), jump(1)]),
        function(
            "counted",
            vec![
                mov(6, 1),
                set(0, 0),
                add(0, 2),
                add(6, -1),
                branch(Condition::Ne, 6, 0, 2),
                Op::Exit,
            ],
        ),
        function(
            "recursive",
            vec![
                branch(Condition::Eq, 1, 0, 4),
                add(1, -1),
                call(RECURSIVE),
                add(0, 1),
                Op::Exit,
            ],
        ),
        function("missing", vec![set(0, 1), missing, Op::Exit]),
        function(
            "refused",
            vec![set(1, 9), outside(REFUSE), set(0, 2), Op::Exit],
        ),
        function("refused_below", vec![call(REFUSED), set(0, 2), Op::Exit]),
    ]
}

fn accesses() -> Vec<Function> {
    let through_null = |op| vec![set(0, 1), set(2, 16), op, set(0, 2), Op::Exit];
    let forbidden = |op| vec![outside(FORBIDDEN), op, set(0, 2), Op::Exit];
    vec![
        function(
            "null_store",
            through_null(store(Width::Word, 2, 8, Operand::Imm(1))),
        ),
        function(
            "null_atomic",
            through_null(atomic(Atomic::Cmpxchg, Width::Double, 2, 0, 8)),
        ),
        function("forbidden_load", forbidden(load(Width::Half, 3, 0, 6))),
        function(
            "forbidden_store",
            forbidden(store(Width::Byte, 0, 5, Operand::Imm(1))),
        ),
        function(
            "constant_store",
            vec![
                imm(2, Value::Data(60)),
                load(Width::Word, 0, 2, 0),
                store(Width::Word, 2, 0, Operand::Imm(1)),
                Op::Exit,
            ],
        ),
        function(
            "below_stack",
            vec![load(Width::Double, 0, 10, -516), Op::Exit],
        ),
        function(
            "over_data",
            vec![
                imm(2, Value::Data(248)),
                load(Width::Double, 0, 2, 4),
                Op::Exit,
            ],
        ),
    ]
}

fn callbacks() -> Vec<Function> {
    vec![
        function(
            "refused_in_callback",
            vec![
                set(1, 3),
                set(2, function_value(REFUSED) as i32),
                outside(LOOP),
                set(0, 2),
                Op::Exit,
            ],
        ),
        function(
            "deep",
            vec![
                mov(3, 2),
                set(2, function_value(RECURSIVE_BY_CONTEXT) as i32),
                outside(LOOP),
                Op::Exit,
            ],
        ),
        function(
            "endless_callback",
            vec![
                imm(1, Value::Const(1 << 60)),
                set(2, function_value(NOTHING) as i32),
                outside(LOOP),
                Op::Exit,
            ],
        ),
        function("nothing", vec![set(0, 0), Op::Exit]),
        function(
            "recursive_by_context",
            vec![mov(1, 2), call(RECURSIVE), Op::Exit],
        ),
        function(
            "calls_back_below",
            vec![
                branch(Condition::Eq, 1, 0, 4),
                add(1, -1),
                call(CALLS_BACK_BELOW),
                Op::Exit,
                set(1, 1),
                set(2, function_value(NOTHING) as i32),
                outside(LOOP),
                Op::Exit,
            ],
        ),
        function("over_stack", vec![load(Width::Double, 0, 10, -4), Op::Exit]),
    ]
}

fn run(checked: bool, limit: u64, function: u32, args: [u64; 5]) -> Outcome {
    tested()
        .1
        .call(&mut World::new(), checked, limit, function, args)
        .unwrap()
}

/// The same with and without checks.
fn always(limit: u64, function: u32, args: [u64; 5]) -> Outcome {
    let outcome = run(false, limit, function, args);
    assert_eq!(run(true, limit, function, args), outcome);
    outcome
}

fn place(outcome: &Outcome) -> (FaultKind, u32, u32) {
    let (kind, function, op, _, _) = outcome.fault.unwrap();
    (kind, function, op)
}

#[test]
fn an_endless_loop_reaches_the_limit() {
    let outcome = always(1000, ENDLESS, [0; 5]);
    assert_eq!(place(&outcome), (FaultKind::Limit, ENDLESS, 2));
    // One before the loop, two in each turn: the first jump that is past the limit.
    assert_eq!((outcome.result, outcome.executed), (0, 1001));
}

#[test]
fn the_limit_itself_is_allowed() {
    let needed = 2 + 3 * 10 + 1;
    for limit in [needed - 1, needed, needed + 1] {
        let outcome = always(limit, COUNTED, [10, 0, 0, 0, 0]);
        assert_eq!((outcome.fault, outcome.result), (None, 20));
        assert_eq!(outcome.executed, needed);
    }
    // The last jump backwards is the ninth.
    let outcome = always(2 + 3 * 9 - 1, COUNTED, [10, 0, 0, 0, 0]);
    assert_eq!(place(&outcome), (FaultKind::Limit, COUNTED, 4));
}

#[test]
fn callbacks_reach_the_limit_where_they_begin() {
    let outcome = always(1000, ENDLESS_CALLBACK, [0; 5]);
    assert_eq!(place(&outcome), (FaultKind::Limit, NOTHING, 0));
    assert_eq!(outcome.executed, 1001);
}

#[test]
fn frames_are_eight() {
    let outcome = always(u64::MAX, RECURSIVE, [7, 0, 0, 0, 0]);
    assert_eq!((outcome.fault, outcome.result), (None, 7));
    let outcome = always(u64::MAX, RECURSIVE, [8, 0, 0, 0, 0]);
    assert_eq!(place(&outcome), (FaultKind::Depth, RECURSIVE, 2));
    assert_eq!(outcome.executed, 8 * 3);
}

#[test]
fn a_callback_is_a_frame() {
    // The caller, its callback, and the recursive one below.
    let outcome = always(u64::MAX, DEEP, [1, 5, 0, 0, 0]);
    assert_eq!((outcome.fault, outcome.result), (None, 1));
    let outcome = always(u64::MAX, DEEP, [1, 6, 0, 0, 0]);
    assert_eq!(place(&outcome), (FaultKind::Depth, RECURSIVE, 2));
}

#[test]
fn a_callback_may_be_the_frame_too_many() {
    let outcome = always(u64::MAX, CALLS_BACK_BELOW, [6, 0, 0, 0, 0]);
    assert_eq!((outcome.fault, outcome.result), (None, 1));
    let outcome = always(u64::MAX, CALLS_BACK_BELOW, [7, 0, 0, 0, 0]);
    assert_eq!(place(&outcome), (FaultKind::Depth, NOTHING, 0));
}

#[test]
fn a_call_of_what_is_missing_is_a_fault() {
    let outcome = always(u64::MAX, MISSING, [0; 5]);
    assert_eq!(place(&outcome), (FaultKind::Missing, MISSING, 1));
    assert_eq!(outcome.executed, 2);
}

#[test]
fn a_refusal_says_where_it_was() {
    for (function, executed) in [(REFUSED, 2), (REFUSED_BELOW, 3), (REFUSED_IN_CALLBACK, 5)] {
        let outcome = always(u64::MAX, function, [0; 5]);
        assert_eq!(outcome.fault, Some((FaultKind::Outside, REFUSED, 1, 3, 9)));
        assert_eq!((outcome.result, outcome.executed), (0, executed));
    }
}

#[test]
fn stores_through_null_are_faults() {
    let outcome = always(u64::MAX, NULL_STORE, [0; 5]);
    assert_eq!(
        outcome.fault,
        Some((FaultKind::Access, NULL_STORE, 2, 4, 24))
    );
    // The operation that failed counts, those behind it do not.
    assert_eq!(outcome.executed, 3);
    let outcome = always(u64::MAX, NULL_ATOMIC, [0; 5]);
    assert_eq!(
        outcome.fault,
        Some((FaultKind::Access, NULL_ATOMIC, 2, 8, 24))
    );
}

#[test]
fn a_fault_is_told_in_words() {
    let mut world = World::new();
    let (image, executors) = tested();
    world.call(&executors.native, false, u64::MAX, NULL_STORE, [0; 5]);
    assert_eq!(
        image.describe_fault(&world.host),
        "null_store (a.bpf.c:12): an access of 4 bytes at 0x18, which is NULL with an offset"
    );
    world.call(&executors.native, false, 10, ENDLESS, [0; 5]);
    assert_eq!(
        image.describe_fault(&world.host),
        "endless (operation 2): more than 10 operations executed: an endless loop?"
    );
}

#[test]
fn a_host_with_a_fault_executes_nothing() {
    let mut world = World::new();
    let executors = &tested().1;
    for executor in [&executors.interpreter, &executors.native] {
        world.call(executor, false, u64::MAX, NULL_STORE, [0; 5]);
        // SAFETY: the world is still attached.
        let result = unsafe { executor.call(&raw mut world.host, COUNTED, [1, 0, 0, 0, 0]) };
        assert_eq!((result, world.host.executed), (0, 3));
    }
}

#[test]
fn accesses_are_asked_about() {
    let mut world = World::new();
    let forbidden = world.forbidden_address();
    let mut run = |function| {
        tested()
            .1
            .call(&mut world, true, u64::MAX, function, [0; 5])
            .unwrap()
            .fault
    };
    let access = FaultKind::Access;
    assert_eq!(
        run(FORBIDDEN_LOAD),
        Some((access, FORBIDDEN_LOAD, 1, 2, forbidden + 6))
    );
    assert_eq!(
        run(FORBIDDEN_STORE),
        Some((access, FORBIDDEN_STORE, 1, 1, forbidden + 5))
    );
    let (_, function, op, bytes, _) = run(CONSTANT_STORE).unwrap();
    assert_eq!((function, op, bytes), (CONSTANT_STORE, 2, 4));
    let (_, function, op, bytes, _) = run(OVER_DATA).unwrap();
    assert_eq!((function, op, bytes), (OVER_DATA, 1, 8));
}

#[test]
fn nothing_lies_around_the_stack() {
    // Stacks are where each executor has them: the addresses differ.
    let executors = &tested().1;
    for executor in [&executors.interpreter, &executors.paranoid] {
        for function in [BELOW_STACK, OVER_STACK] {
            let outcome = World::new().call(executor, true, u64::MAX, function, [0; 5]);
            assert_eq!(place(&outcome), (FaultKind::Access, function, 0));
        }
    }
}
