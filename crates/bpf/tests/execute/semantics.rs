// SPDX-License-Identifier: GPL-2.0-or-later
//! Each operation alone, against results that stand here and in `semantics.txt`.

use bpf::op::{Alu, Atomic, Condition, Op, Operand, Order, Reg, Value, Width};

use crate::world::{Executors, World, kept};
use crate::write::{atomic, function, image, imm, load, mov, set, store};

/// Calls function after function of one image with its own arguments, and compares what they give.
struct Sheet {
    functions: Vec<Vec<Op>>,
    expected: Vec<(String, [u64; 5], u64)>,
}

impl Sheet {
    fn new() -> Self {
        Self {
            functions: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// `ops` give `result` in `r0`, of arguments in `r1` to `r5`.
    fn add(&mut self, name: &str, mut ops: Vec<Op>, args: [u64; 5], result: u64) {
        ops.push(Op::Exit);
        self.functions.push(ops);
        self.expected.push((name.to_owned(), args, result));
    }

    fn check(self) {
        let functions = self.functions.into_iter().map(|ops| function("f", ops));
        let executors = Executors::without_prelude(&image(functions.collect()), &kept());
        let mut world = World::new();
        let mut wrong = Vec::new();
        for (index, (name, args, result)) in self.expected.iter().enumerate() {
            for (kind, executor) in [
                ("interpreter", &executors.interpreter),
                ("native", &executors.native),
                ("paranoid", &executors.paranoid),
            ] {
                let outcome = world.call(executor, true, u64::MAX, index as u32, *args);
                if (outcome.result, outcome.fault) != (*result, None) {
                    let found = outcome.result;
                    wrong.push(format!("{kind}: {name}: {found:#x}, not {result:#x}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn alu_of(name: &str) -> Option<Alu> {
    Some(match name {
        "add" => Alu::Add,
        "sub" => Alu::Sub,
        "mul" => Alu::Mul,
        "div" => Alu::Div,
        "sdiv" => Alu::Sdiv,
        "mod" => Alu::Mod,
        "smod" => Alu::Smod,
        "or" => Alu::Or,
        "and" => Alu::And,
        "xor" => Alu::Xor,
        "lsh" => Alu::Lsh,
        "rsh" => Alu::Rsh,
        "arsh" => Alu::Arsh,
        "mov" => Alu::Mov,
        "movs8" => Alu::MovSigned(Width::Byte),
        "movs16" => Alu::MovSigned(Width::Half),
        "movs32" => Alu::MovSigned(Width::Word),
        "neg" => Alu::Neg,
        _ => return None,
    })
}

fn condition_of(name: &str) -> Condition {
    match name {
        "eq" => Condition::Eq,
        "ne" => Condition::Ne,
        "gt" => Condition::Gt,
        "ge" => Condition::Ge,
        "lt" => Condition::Lt,
        "le" => Condition::Le,
        "sgt" => Condition::SignedGt,
        "sge" => Condition::SignedGe,
        "slt" => Condition::SignedLt,
        "sle" => Condition::SignedLe,
        "set" => Condition::Set,
        _ => panic!("semantics.txt: no condition {name}"),
    }
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// `r1` is the destination and `r2`, or an immediate like it, the source.
fn ops_of(name: &str, wide: bool, src: Operand) -> Vec<Op> {
    match alu_of(name) {
        Some(op) => vec![
            Op::Alu {
                wide,
                op,
                dst: 1,
                src,
            },
            mov(0, 1),
        ],
        None => vec![
            set(0, 1),
            Op::Branch {
                wide,
                condition: condition_of(name),
                dst: 1,
                src,
                target: 3,
            },
            set(0, 0),
        ],
    }
}

#[test]
fn operations_and_conditions_give_what_the_standard_says() {
    let mut sheet = Sheet::new();
    for line in include_str!("semantics.txt").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, bits, dst, src, result] = fields[..] else {
            assert!(line.starts_with('#'), "semantics.txt: {line}");
            continue;
        };
        if name == "#" {
            continue;
        }
        let wide = bits == "64";
        let (dst, src, result) = (number(dst), number(src), number(result));
        let args = [dst, src, 0, 0, 0];
        sheet.add(line, ops_of(name, wide, Operand::Reg(2)), args, result);
        // The compiler sees more where it knows a value.
        let known = |reg: Reg, value| imm(reg, Value::Const(value));
        let mut ops = vec![known(1, dst), known(2, src)];
        ops.extend(
            ops_of(name, wide, Operand::Reg(2))
                .into_iter()
                .map(|op| later(op, 2)),
        );
        sheet.add(line, ops, [0; 5], result);
        let immediate = src as i32;
        if !wide || i64::from(immediate) as u64 == src {
            sheet.add(
                line,
                ops_of(name, wide, Operand::Imm(immediate)),
                args,
                result,
            );
        }
    }
    assert!(sheet.expected.len() > 1500);
    sheet.check();
}

/// The operation, with a target so many places further on.
fn later(op: Op, places: u32) -> Op {
    match op {
        Op::Branch {
            wide,
            condition,
            dst,
            src,
            target,
        } => Op::Branch {
            wide,
            condition,
            dst,
            src,
            target: target + places,
        },
        other => other,
    }
}

#[test]
fn bytes_are_swapped() {
    const VALUE: u64 = 0x1122_3344_5566_7788;
    let mut sheet = Sheet::new();
    for (order, width, result) in [
        (Order::Little, Width::Half, 0x7788),
        (Order::Little, Width::Word, 0x5566_7788),
        (Order::Little, Width::Double, VALUE),
        (Order::Big, Width::Half, 0x8877),
        (Order::Big, Width::Word, 0x8877_6655),
        (Order::Big, Width::Double, 0x8877_6655_4433_2211),
        (Order::Swap, Width::Half, 0x8877),
        (Order::Swap, Width::Word, 0x8877_6655),
        (Order::Swap, Width::Double, 0x8877_6655_4433_2211),
    ] {
        let swap = Op::Swap {
            order,
            width,
            dst: 1,
        };
        let name = format!("{swap:?}");
        sheet.add(&name, vec![swap, mov(0, 1)], [VALUE, 0, 0, 0, 0], result);
    }
    sheet.check();
}

/// Loads and stores, at an address that is no multiple of their width, in the stack and in global data.
#[test]
fn memory_is_little_endian_and_need_not_be_aligned() {
    const VALUE: u64 = 0xf1e2_d3c4_b5a6_9788;
    let mut sheet = Sheet::new();
    let places = [(10, -13, "stack"), (9, 3, "data")];
    for (base, off, place) in places {
        for (width, signed, result) in [
            (Width::Byte, false, 0x88),
            (Width::Half, false, 0x9788),
            (Width::Word, false, 0xb5a6_9788),
            (Width::Double, false, VALUE),
            (Width::Byte, true, 0xffff_ffff_ffff_ff88),
            (Width::Half, true, 0xffff_ffff_ffff_9788),
            (Width::Word, true, 0xffff_ffff_b5a6_9788),
            (Width::Double, true, VALUE),
        ] {
            let ops = vec![
                imm(9, Value::Data(128)),
                store(Width::Double, base, off, Operand::Reg(1)),
                Op::Load {
                    width,
                    signed,
                    dst: 0,
                    src: base,
                    off,
                },
            ];
            let name = format!("{place} load {width:?} signed {signed}");
            sheet.add(&name, ops, [VALUE, 0, 0, 0, 0], result);
        }
        for (width, result) in [
            (Width::Byte, 0x0000_0000_0000_0088),
            (Width::Half, 0x0000_0000_0000_9788),
            (Width::Word, 0x0000_0000_b5a6_9788),
            (Width::Double, VALUE),
        ] {
            let ops = vec![
                imm(9, Value::Data(128)),
                store(Width::Double, base, off, Operand::Imm(0)),
                store(width, base, off, Operand::Reg(1)),
                load(Width::Double, 0, base, off),
            ];
            let name = format!("{place} store {width:?}");
            sheet.add(&name, ops, [VALUE, 0, 0, 0, 0], result);
        }
        for (width, result) in [
            (Width::Byte, 0x0000_0000_0000_00fe),
            (Width::Half, 0x0000_0000_0000_fffe),
            (Width::Word, 0x0000_0000_ffff_fffe),
            (Width::Double, 0xffff_ffff_ffff_fffe),
        ] {
            let ops = vec![
                imm(9, Value::Data(128)),
                store(Width::Double, base, off, Operand::Imm(0)),
                store(width, base, off, Operand::Imm(-2)),
                load(Width::Double, 0, base, off),
            ];
            sheet.add(
                &format!("{place} store of -2, {width:?}"),
                ops,
                [0; 5],
                result,
            );
        }
    }
    sheet.check();
}

/// Old value, source and `r0` before; then memory, source and `r0` after.
type AtomicRow = (Atomic, Width, [u64; 3], [u64; 3]);

const OLD: u64 = 0x1111_1111_ffff_fff0;
const SRC: u64 = 0x2222_2222_0000_0f1f;
const R0: u64 = 0x3333_3333_3333_3333;

#[rustfmt::skip]
const ATOMICS: &[AtomicRow] = &[
    (Atomic::Add, Width::Double, [OLD, SRC, R0], [0x3333_3334_0000_0f0f, SRC, R0]),
    (Atomic::Add, Width::Word, [OLD, SRC, R0], [0x1111_1111_0000_0f0f, SRC, R0]),
    (Atomic::Or, Width::Double, [OLD, SRC, R0], [0x3333_3333_ffff_ffff, SRC, R0]),
    (Atomic::Or, Width::Word, [OLD, SRC, R0], [0x1111_1111_ffff_ffff, SRC, R0]),
    (Atomic::And, Width::Double, [OLD, SRC, R0], [0x0000_0000_0000_0f10, SRC, R0]),
    (Atomic::And, Width::Word, [OLD, SRC, R0], [0x1111_1111_0000_0f10, SRC, R0]),
    (Atomic::Xor, Width::Double, [OLD, SRC, R0], [0x3333_3333_ffff_f0ef, SRC, R0]),
    (Atomic::Xor, Width::Word, [OLD, SRC, R0], [0x1111_1111_ffff_f0ef, SRC, R0]),
    (Atomic::FetchAdd, Width::Double, [OLD, SRC, R0], [0x3333_3334_0000_0f0f, OLD, R0]),
    (Atomic::FetchAdd, Width::Word, [OLD, SRC, R0], [0x1111_1111_0000_0f0f, 0xffff_fff0, R0]),
    (Atomic::FetchOr, Width::Double, [OLD, SRC, R0], [0x3333_3333_ffff_ffff, OLD, R0]),
    (Atomic::FetchOr, Width::Word, [OLD, SRC, R0], [0x1111_1111_ffff_ffff, 0xffff_fff0, R0]),
    (Atomic::FetchAnd, Width::Double, [OLD, SRC, R0], [0x0000_0000_0000_0f10, OLD, R0]),
    (Atomic::FetchAnd, Width::Word, [OLD, SRC, R0], [0x1111_1111_0000_0f10, 0xffff_fff0, R0]),
    (Atomic::FetchXor, Width::Double, [OLD, SRC, R0], [0x3333_3333_ffff_f0ef, OLD, R0]),
    (Atomic::FetchXor, Width::Word, [OLD, SRC, R0], [0x1111_1111_ffff_f0ef, 0xffff_fff0, R0]),
    (Atomic::Xchg, Width::Double, [OLD, SRC, R0], [SRC, OLD, R0]),
    (Atomic::Xchg, Width::Word, [OLD, SRC, R0], [0x1111_1111_0000_0f1f, 0xffff_fff0, R0]),
    // Unequal, equal, and equal in the low words alone.
    (Atomic::Cmpxchg, Width::Double, [OLD, SRC, R0], [OLD, SRC, OLD]),
    (Atomic::Cmpxchg, Width::Double, [OLD, SRC, OLD], [SRC, SRC, OLD]),
    (Atomic::Cmpxchg, Width::Double, [OLD, SRC, 0xffff_fff0], [OLD, SRC, OLD]),
    (Atomic::Cmpxchg, Width::Word, [OLD, SRC, R0], [OLD, SRC, 0xffff_fff0]),
    (Atomic::Cmpxchg, Width::Word, [OLD, SRC, 0x77_ffff_fff0], [0x1111_1111_0000_0f1f, SRC, 0xffff_fff0]),
    (Atomic::StoreRelease, Width::Byte, [OLD, SRC, R0], [0x1111_1111_ffff_ff1f, SRC, R0]),
    (Atomic::StoreRelease, Width::Half, [OLD, SRC, R0], [0x1111_1111_ffff_0f1f, SRC, R0]),
    (Atomic::StoreRelease, Width::Word, [OLD, SRC, R0], [0x1111_1111_0000_0f1f, SRC, R0]),
    (Atomic::StoreRelease, Width::Double, [OLD, SRC, R0], [SRC, SRC, R0]),
    (Atomic::LoadAcquire, Width::Byte, [OLD, SRC, R0], [OLD, 0xf0, R0]),
    (Atomic::LoadAcquire, Width::Half, [OLD, SRC, R0], [OLD, 0xfff0, R0]),
    (Atomic::LoadAcquire, Width::Word, [OLD, SRC, R0], [OLD, 0xffff_fff0, R0]),
    (Atomic::LoadAcquire, Width::Double, [OLD, SRC, R0], [OLD, OLD, R0]),
];

#[test]
fn atomics_change_memory_and_registers() {
    let mut sheet = Sheet::new();
    for (op, width, before, after) in ATOMICS {
        for base in [10, 9] {
            for (what, result) in after.iter().enumerate() {
                let mut ops = vec![
                    imm(9, Value::Data(128)),
                    store(Width::Double, base, -8, Operand::Reg(1)),
                    mov(0, 3),
                ];
                // The register that is loaded stands in the other place.
                ops.push(match op {
                    Atomic::LoadAcquire => atomic(*op, *width, 2, base, -8),
                    _ => atomic(*op, *width, base, 2, -8),
                });
                match what {
                    0 => ops.push(load(Width::Double, 0, base, -8)),
                    1 => ops.push(mov(0, 2)),
                    _ => {}
                }
                let args = [before[0], before[1], before[2], 0, 0];
                let name = format!("{op:?} {width:?} base r{base} {before:x?}, part {what}");
                sheet.add(&name, ops, args, *result);
            }
        }
    }
    sheet.check();
}
