// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that would go wrong if the translation believed too much of a pointer: that it is not NULL, or that
//! nothing else reaches a word of the stack.

use bpf::host::FaultKind;
use bpf::op::{Alu, Atomic, Condition, Op, Operand, Value, Width};

use crate::world::{Executors, World};
use crate::write::{
    LOOP, add, alu, atomic, branch, call, function, image, imm, jump, load, mov, outside, set,
    store,
};

const WIDE: Width = Width::Double;

/// Name, operations, arguments, result. What leads to a load through NULL gives 0.
type Case = (&'static str, Vec<Op>, [u64; 5], u64);

fn null() -> Vec<Case> {
    let spilled = |change: Vec<Op>| {
        let mut ops = vec![
            imm(1, Value::Data(64)),
            store(WIDE, 10, -8, Operand::Reg(1)),
        ];
        ops.extend(change);
        ops.extend([load(WIDE, 2, 10, -8), load(WIDE, 0, 2, 0), Op::Exit]);
        ops
    };
    vec![
        (
            "the edge on which it is 0",
            vec![
                branch(Condition::Eq, 1, 0, 3),
                set(0, 1),
                Op::Exit,
                load(WIDE, 0, 1, 8),
                Op::Exit,
            ],
            [0; 5],
            0,
        ),
        (
            "NULL, and a number that is not 0",
            vec![
                branch(Condition::Eq, 2, 0, 3),
                alu(Alu::Add, 1, Operand::Reg(2)),
                load(WIDE, 0, 1, 0),
                Op::Exit,
            ],
            [0, 8, 0, 0, 0],
            0,
        ),
        (
            "the low word of what is not 0",
            vec![
                imm(1, Value::Const(0x5_0000_0010)),
                store(WIDE, 10, -8, Operand::Reg(1)),
                load(Width::Word, 2, 10, -8),
                load(WIDE, 0, 2, 0),
                Op::Exit,
            ],
            [0; 5],
            0,
        ),
        (
            "a copy on one way only",
            vec![
                mov(2, 1),
                branch(Condition::Eq, 3, 0, 3),
                mov(2, 4),
                branch(Condition::Eq, 1, 0, 5),
                load(WIDE, 0, 2, 0),
                Op::Exit,
            ],
            [5000, 0, 1, 0, 0],
            0,
        ),
        (
            "what a call gives",
            vec![
                imm(0, Value::Data(64)),
                set(1, 0),
                outside(LOOP),
                load(WIDE, 0, 0, 0),
                Op::Exit,
            ],
            [0; 5],
            0,
        ),
        (
            "a spilled pointer that is overwritten by halves",
            spilled(vec![
                store(Width::Word, 10, -8, Operand::Imm(0)),
                store(Width::Word, 10, -4, Operand::Imm(0)),
            ]),
            [0; 5],
            0,
        ),
        (
            "a spilled pointer that is exchanged",
            spilled(vec![set(3, 0), atomic(Atomic::Xchg, WIDE, 10, 3, -8)]),
            [0; 5],
            0,
        ),
    ]
}

fn stack() -> Vec<Case> {
    let pointer = [mov(1, 10), add(1, -8)];
    let case = |ops: &[&[Op]]| ops.concat();
    vec![
        (
            "a function that reads below what it was given",
            case(&[
                &[store(WIDE, 10, -16, Operand::Imm(7))],
                &pointer,
                &[call(READS_BELOW), Op::Exit],
            ]),
            [0; 5],
            7,
        ),
        (
            "a pointer that was in memory",
            case(&[
                &[
                    store(WIDE, 10, -24, Operand::Imm(7)),
                    imm(9, Value::Data(64)),
                ],
                &pointer,
                &[store(WIDE, 9, 0, Operand::Reg(1)), load(WIDE, 2, 9, 0)],
                &[
                    load(WIDE, 0, 2, -16),
                    store(WIDE, 9, 0, Operand::Imm(0)),
                    Op::Exit,
                ],
            ]),
            [0; 5],
            7,
        ),
        (
            "a store through an index",
            case(&[
                &[mov(3, 1)],
                &pointer,
                &[
                    alu(Alu::Add, 1, Operand::Reg(3)),
                    store(WIDE, 1, 0, Operand::Imm(9)),
                ],
                &[load(WIDE, 0, 10, -24), Op::Exit],
            ]),
            [-16i64 as u64, 0, 0, 0, 0],
            9,
        ),
        (
            "a load through an index",
            case(&[
                &[mov(3, 1), store(WIDE, 10, -24, Operand::Imm(9))],
                &pointer,
                &[
                    alu(Alu::Add, 1, Operand::Reg(3)),
                    load(WIDE, 0, 1, 0),
                    Op::Exit,
                ],
            ]),
            [-16i64 as u64, 0, 0, 0, 0],
            9,
        ),
    ]
}

const READS_BELOW: u32 = 0;
const CIRCLE: u32 = 1;

#[test]
fn pointers_are_trusted_no_further_than_they_are_known() {
    let cases = [null(), stack()].concat();
    let helpers = [
        function("reads_below", vec![load(WIDE, 0, 1, -8), Op::Exit]),
        function("circle", vec![set(0, 0), jump(1)]),
    ];
    let tested = cases
        .iter()
        .map(|(name, ops, _, _)| function(name, ops.clone()));
    let executors = Executors::new(&image(helpers.into_iter().chain(tested).collect()));
    let mut world = World::new();
    for (index, (name, _, args, result)) in (2..).zip(&cases) {
        for checked in [false, true] {
            let outcome = executors.call(&mut world, checked, u64::MAX, index, *args);
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((outcome.fault, outcome.result), (None, *result), "{name}");
        }
    }
    let outcome = executors
        .call(&mut world, false, 1000, CIRCLE, [0; 5])
        .unwrap();
    assert_eq!(outcome.fault.unwrap().0, FaultKind::Limit);
}
