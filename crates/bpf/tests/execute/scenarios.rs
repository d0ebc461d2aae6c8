// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads through NULL, loops, arenas, callbacks: what a program sees that has no fault.

use std::sync::OnceLock;

use bpf::image::Image;
use bpf::op::{Alu, Atomic, Condition, MAY_GOTO_LIMIT, Op, Operand, Value, Width, function_value};

use crate::world::{ARENA_USER, Executors, Outcome, World};
use crate::write::{
    EXECUTED, LOOP, MIX, add, alu, atomic, branch, call, function, image, imm, jump, load, mov,
    outside, set, store,
};

const NULL_LOADS: u32 = 0;
const MAY_GOTO: u32 = 1;
const ARENA: u32 = 2;
const CALLBACK: u32 = 3;
const LOOPS: u32 = 4;
const SUBPROGRAM: u32 = 5;
const CALLS: u32 = 6;
const VALUES: u32 = 7;
const CLOBBERED: u32 = 8;
const NESTED_MAY_GOTO: u32 = 9;
const UNREACHED: u32 = 10;
const WORDS: u32 = 11;

fn tested() -> &'static (Image, Executors) {
    static TESTED: OnceLock<(Image, Executors)> = OnceLock::new();
    TESTED.get_or_init(|| {
        let image = image(vec![
            function("null_loads", null_loads()),
            function("may_goto", may_goto()),
            function("arena", arena()),
            function("callback", callback()),
            function("loops", loops()),
            function("subprogram", subprogram()),
            function("calls", calls()),
            function("values", values()),
            function("clobbered", clobbered()),
            function("nested_may_goto", nested_may_goto()),
            function("unreached", unreached()),
            function("words", words()),
        ]);
        let executors = Executors::new(&image);
        (image, executors)
    })
}

fn run(function: u32, args: [u64; 5]) -> Outcome {
    let mut world = World::new();
    let executors = &tested().1;
    let unchecked = executors
        .call(&mut world, false, u64::MAX, function, args)
        .unwrap();
    let checked = executors
        .call(&mut world, true, u64::MAX, function, args)
        .unwrap();
    assert_eq!(unchecked, checked);
    assert_eq!(unchecked.fault, None);
    unchecked
}

/// `r1` is the pointer: every load through it is added up.
fn null_loads() -> Vec<Op> {
    let mut ops = vec![set(6, 0)];
    for (width, off) in [
        (Width::Byte, 0),
        (Width::Half, 2),
        (Width::Word, 4),
        (Width::Double, 8),
        (Width::Double, 32767),
    ] {
        ops.push(set(2, -1));
        ops.push(load(width, 2, 1, off));
        ops.push(alu(Alu::Add, 6, Operand::Reg(2)));
    }
    ops.push(Op::Load {
        width: Width::Word,
        signed: true,
        dst: 2,
        src: 1,
        off: 4,
    });
    ops.push(alu(Alu::Add, 6, Operand::Reg(2)));
    ops.push(set(2, -1));
    ops.push(atomic(Atomic::LoadAcquire, Width::Double, 2, 1, 8));
    ops.push(alu(Alu::Add, 6, Operand::Reg(2)));
    ops.push(mov(0, 6));
    ops.push(Op::Exit);
    ops
}

#[test]
fn loads_through_null_give_0() {
    for pointer in [0, 1, 8, 4095] {
        let outcome = run(NULL_LOADS, [pointer, 0, 0, 0, 0]);
        assert_eq!((outcome.result, outcome.executed), (0, 23));
    }
}

/// Counts in `r0` how often `may_goto` is passed.
fn may_goto() -> Vec<Op> {
    vec![
        set(0, 0),
        Op::MayGoto { target: 4 },
        add(0, 1),
        jump(1),
        Op::Exit,
    ]
}

#[test]
fn may_goto_ends_a_loop() {
    let outcome = run(MAY_GOTO, [0; 5]);
    assert_eq!(outcome.result, MAY_GOTO_LIMIT);
    assert_eq!(outcome.executed, 3 * MAY_GOTO_LIMIT + 3);
}

/// Two `may_goto` have one count, which begins again with every call.
fn nested_may_goto() -> Vec<Op> {
    vec![
        set(0, 0),
        Op::MayGoto { target: 5 },
        add(0, 1),
        Op::MayGoto { target: 5 },
        jump(1),
        Op::Exit,
    ]
}

#[test]
fn may_gotos_of_a_function_share_their_count() {
    assert_eq!(run(NESTED_MAY_GOTO, [0; 5]).result, MAY_GOTO_LIMIT / 2);
}

/// A value in the arena through its user address, and both casts of `r1`.
fn arena() -> Vec<Op> {
    let cast = |to_user, dst, src| Op::ArenaCast { to_user, dst, src };
    vec![
        imm(6, Value::Arena(64)),
        cast(false, 7, 6),
        store(Width::Word, 7, 4, Operand::Imm(0x1234)),
        load(Width::Word, 0, 7, 4),
        cast(true, 8, 7),
        imm(9, Value::Data(64)),
        store(Width::Double, 9, 0, Operand::Reg(8)),
        cast(true, 8, 1),
        store(Width::Double, 9, 8, Operand::Reg(8)),
        cast(false, 8, 1),
        imm(2, Value::Arena(0)),
        cast(false, 2, 2),
        alu(Alu::Sub, 8, Operand::Reg(2)),
        store(Width::Double, 9, 16, Operand::Reg(8)),
        Op::Exit,
    ]
}

#[test]
fn arena_pointers_change_sides() {
    let words = |outcome: &Outcome| {
        [64, 72, 80].map(|at| u64::from_le_bytes(outcome.data[at..at + 8].try_into().unwrap()))
    };
    let outcome = run(ARENA, [ARENA_USER + 0x42, 0, 0, 0, 0]);
    assert_eq!(outcome.result, 0x1234);
    assert_eq!(outcome.arena[68..72], 0x1234u32.to_le_bytes());
    assert_eq!(words(&outcome), [ARENA_USER + 64, ARENA_USER + 0x42, 0x42]);
    // Only the low word counts, and where that is 0, to user space there is none.
    let outcome = run(ARENA, [0x7000_0000_0042, 0, 0, 0, 0]);
    assert_eq!(words(&outcome), [ARENA_USER + 64, ARENA_USER + 0x42, 0x42]);
    let outcome = run(ARENA, [ARENA_USER, 0, 0, 0, 0]);
    assert_eq!(words(&outcome), [ARENA_USER + 64, 0, 0]);
}

#[test]
fn no_arena_pointer_stays_none() {
    let outcome = run(ARENA, [0; 5]);
    let word = |at: usize| u64::from_le_bytes(outcome.data[at..at + 8].try_into().unwrap());
    assert_eq!(word(72), 0);
    // NULL, less the arena's beginning.
    assert_eq!(word(80) as u32, 0);
    assert_ne!(word(80), 0);
}

/// Adds the index to what `r2` points to: the caller's stack.
fn callback() -> Vec<Op> {
    vec![
        load(Width::Double, 3, 2, 0),
        alu(Alu::Add, 3, Operand::Reg(1)),
        store(Width::Double, 2, 0, Operand::Reg(3)),
        set(0, 0),
        branch(Condition::Ne, 1, 6, 6),
        set(0, 1),
        Op::Exit,
    ]
}

fn loops() -> Vec<Op> {
    vec![
        store(Width::Double, 10, -8, Operand::Imm(100)),
        set(2, function_value(CALLBACK) as i32),
        mov(3, 10),
        add(3, -8),
        outside(LOOP),
        load(Width::Double, 6, 10, -8),
        outside(EXECUTED),
        alu(Alu::Lsh, 0, Operand::Imm(32)),
        alu(Alu::Or, 0, Operand::Reg(6)),
        Op::Exit,
    ]
}

#[test]
fn a_helper_that_calls_back_counts() {
    let outcome = run(LOOPS, [5, 0, 0, 0, 0]);
    // Five turns of six operations, the first seven of the caller, then three.
    assert_eq!(outcome.result, ((7 + 5 * 6) << 32) + 110);
    assert_eq!(outcome.executed, 7 + 5 * 6 + 3);
    // The seventh turn ends the loop, with an operation more.
    let outcome = run(LOOPS, [50, 0, 0, 0, 0]);
    assert_eq!(outcome.result, ((7 + 7 * 6 + 1) << 32) + 121);
}

/// Spoils what it may, and has a stack of its own.
fn subprogram() -> Vec<Op> {
    let mut ops: Vec<Op> = (6..10).map(|reg| set(reg, 0x55)).collect();
    ops.push(load(Width::Double, 0, 10, -8));
    ops.push(store(Width::Double, 10, -8, Operand::Imm(-1)));
    ops.push(alu(Alu::Add, 0, Operand::Reg(1)));
    ops.push(Op::Exit);
    ops
}

fn calls() -> Vec<Op> {
    vec![
        store(Width::Double, 10, -8, Operand::Imm(3)),
        set(6, 1),
        set(9, 2),
        set(1, 40),
        call(SUBPROGRAM),
        alu(Alu::Add, 0, Operand::Reg(6)),
        alu(Alu::Add, 0, Operand::Reg(9)),
        load(Width::Double, 2, 10, -8),
        alu(Alu::Add, 0, Operand::Reg(2)),
        alu(Alu::Add, 0, Operand::Reg(1)),
        Op::Exit,
    ]
}

#[test]
fn a_function_keeps_its_registers_and_stack_over_a_call() {
    let outcome = run(CALLS, [0; 5]);
    assert_eq!((outcome.result, outcome.executed), (40 + 1 + 2 + 3, 11 + 8));
}

fn clobbered() -> Vec<Op> {
    vec![
        outside(MIX),
        alu(Alu::Or, 1, Operand::Reg(2)),
        alu(Alu::Or, 1, Operand::Reg(3)),
        alu(Alu::Or, 1, Operand::Reg(4)),
        alu(Alu::Or, 1, Operand::Reg(5)),
        imm(9, Value::Data(64)),
        store(Width::Double, 9, 0, Operand::Reg(1)),
        Op::Exit,
    ]
}

#[test]
fn a_helper_has_the_arguments_and_leaves_none() {
    let outcome = run(CLOBBERED, [1, 10, 100, 1000, 10000]);
    // 1 + 3 * 10 + 5 * 100 + 7 * 1000 + 11 * 10000, and the count, which began with 245.
    assert_eq!(outcome.result, 117_531 + 246);
    assert_eq!(outcome.data[64..72], [0; 8]);
}

/// Each kind of 64-bit immediate, less what it is relative to.
fn values() -> Vec<Op> {
    vec![
        imm(9, Value::Data(64)),
        imm(2, Value::Const(0x1122_3344_5566_7788)),
        store(Width::Double, 9, 0, Operand::Reg(2)),
        imm(2, Value::Data(200)),
        alu(Alu::Sub, 2, Operand::Reg(9)),
        store(Width::Double, 9, 8, Operand::Reg(2)),
        imm(2, Value::Map(1)),
        imm(3, Value::Map(0)),
        alu(Alu::Sub, 2, Operand::Reg(3)),
        store(Width::Double, 9, 16, Operand::Reg(2)),
        imm(2, Value::Variable(1)),
        load(Width::Double, 2, 2, 0),
        store(Width::Double, 9, 24, Operand::Reg(2)),
        imm(2, Value::Function(CALLBACK)),
        store(Width::Double, 9, 32, Operand::Reg(2)),
        imm(2, Value::Arena(12)),
        store(Width::Double, 9, 40, Operand::Reg(2)),
        Op::Exit,
    ]
}

#[test]
fn immediates_stand_for_places() {
    let outcome = run(VALUES, [0; 5]);
    let words: Vec<u64> = outcome.data[64..112]
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let function = u64::from(CALLBACK) + 1;
    assert_eq!(
        words,
        [0x1122_3344_5566_7788, 136, 64, 7, function, ARENA_USER + 12]
    );
}

/// Code that nothing leads to is no obstacle.
fn unreached() -> Vec<Op> {
    vec![
        set(0, 5),
        jump(4),
        set(0, 6),
        Op::Call(bpf::op::Callee::Missing),
        Op::Exit,
        jump(2),
    ]
}

#[test]
fn what_nothing_leads_to_is_passed_over() {
    let outcome = run(UNREACHED, [0; 5]);
    assert_eq!((outcome.result, outcome.executed), (5, 3));
}

/// Fills every word of the stack, and compares signed what it finds there.
fn words() -> Vec<Op> {
    let mut ops = vec![set(0, 0)];
    for word in 1..=64 {
        ops.push(alu(Alu::Add, 1, Operand::Reg(2)));
        ops.push(store(Width::Double, 10, -8 * word, Operand::Reg(1)));
    }
    for word in 1..=64 {
        ops.push(load(Width::Double, 3, 10, -8 * word));
        let target = ops.len() as u32 + 2;
        let wide = word % 2 == 0;
        ops.push(Op::Branch {
            wide,
            condition: Condition::SignedLt,
            dst: 3,
            src: Operand::Imm(0),
            target,
        });
        ops.push(add(0, 1));
    }
    ops.push(Op::Exit);
    ops
}

#[test]
fn the_whole_stack_is_there() {
    // 1 to 64, none of them negative; then -1 to -64, all of them.
    assert_eq!(run(WORDS, [0, 1, 0, 0, 0]).result, 64);
    assert_eq!(run(WORDS, [0, -1i64 as u64, 0, 0, 0]).result, 0);
}
