// SPDX-License-Identifier: GPL-2.0-or-later
//! Instructions, as clang's assembler encodes them.

use bpf::op::Alu::{
    Add, And, Arsh, Div, Lsh, Mod, Mov, MovSigned, Mul, Neg, Or, Rsh, Sdiv, Smod, Sub, Xor,
};
use bpf::op::Operand::{Imm, Reg};
use bpf::op::Width::{Byte, Double, Half, Word};
use bpf::op::{Alu, Atomic, Condition, Op, Operand, Order, Value, Width};

use crate::fixture::{function, kernel, linked};

/// The operations of a list of instructions, without the return that follows them.
fn ops(assembly: &[&str]) -> Vec<Op> {
    let lines: Vec<_> = assembly.iter().map(|line| format!("\"{line};\"")).collect();
    let source = format!(
        "SEC(\"test\") __attribute__((naked)) int p(void *context)
        {{ asm volatile({} \"r0 = 0; exit;\"); }}",
        lines.join("\n")
    );
    let image = linked(&source, &kernel("int x;"));
    let ops = &function(&image, "p").ops;
    ops[..ops.len() - 2].to_vec()
}

fn alu(wide: bool, op: Alu, dst: u8, src: Operand) -> Op {
    Op::Alu { wide, op, dst, src }
}

fn check(expected: &[(&str, Op)]) {
    let assembly: Vec<_> = expected.iter().map(|(line, _)| *line).collect();
    let found = ops(&assembly);
    assert_eq!(found.len(), expected.len());
    for ((line, op), found) in expected.iter().zip(found) {
        assert_eq!(found, *op, "{line}");
    }
}

#[test]
fn arithmetic() {
    check(&[
        ("r1 += r2", alu(true, Add, 1, Reg(2))),
        ("w1 += -7", alu(false, Add, 1, Imm(-7))),
        ("r3 -= 5", alu(true, Sub, 3, Imm(5))),
        ("w3 *= w4", alu(false, Mul, 3, Reg(4))),
        ("r1 /= r2", alu(true, Div, 1, Reg(2))),
        ("w1 s/= 3", alu(false, Sdiv, 1, Imm(3))),
        ("r1 s/= r2", alu(true, Sdiv, 1, Reg(2))),
        ("w1 %= w2", alu(false, Mod, 1, Reg(2))),
        ("r1 s%= -3", alu(true, Smod, 1, Imm(-3))),
        ("r1 |= 1", alu(true, Or, 1, Imm(1))),
        ("w1 &= w2", alu(false, And, 1, Reg(2))),
        ("r9 ^= r8", alu(true, Xor, 9, Reg(8))),
        ("r1 <<= 32", alu(true, Lsh, 1, Imm(32))),
        ("w1 >>= w2", alu(false, Rsh, 1, Reg(2))),
        ("r1 s>>= 63", alu(true, Arsh, 1, Imm(63))),
        ("r1 = -r1", alu(true, Neg, 1, Imm(0))),
        ("w1 = -w1", alu(false, Neg, 1, Imm(0))),
        ("r1 = r10", alu(true, Mov, 1, Reg(10))),
        ("w1 = -1", alu(false, Mov, 1, Imm(-1))),
        ("r1 = (s8)r2", alu(true, MovSigned(Byte), 1, Reg(2))),
        ("r1 = (s16)r2", alu(true, MovSigned(Half), 1, Reg(2))),
        ("r1 = (s32)r2", alu(true, MovSigned(Word), 1, Reg(2))),
        ("w1 = (s8)w2", alu(false, MovSigned(Byte), 1, Reg(2))),
        ("w1 = (s16)w2", alu(false, MovSigned(Half), 1, Reg(2))),
    ]);
}

#[test]
fn swaps_casts_and_wide_immediates() {
    let swap = |order, width, dst| Op::Swap { order, width, dst };
    let cast = |to_user| Op::ArenaCast {
        to_user,
        dst: 1,
        src: 2,
    };
    check(&[
        ("r1 = le16 r1", swap(Order::Little, Half, 1)),
        ("r2 = be32 r2", swap(Order::Big, Word, 2)),
        ("r3 = be64 r3", swap(Order::Big, Double, 3)),
        ("r1 = bswap16 r1", swap(Order::Swap, Half, 1)),
        ("r1 = bswap64 r1", swap(Order::Swap, Double, 1)),
        ("r1 = addr_space_cast(r2, 0, 1)", cast(false)),
        ("r1 = addr_space_cast(r2, 1, 0)", cast(true)),
        (
            "r1 = 0x123456789abcdef0 ll",
            Op::Immediate {
                dst: 1,
                value: Value::Const(0x1234_5678_9abc_def0),
            },
        ),
    ]);
}

#[test]
fn memory() {
    let load = |width, signed, off| Op::Load {
        width,
        signed,
        dst: 1,
        src: 2,
        off,
    };
    let store = |width: Width, src| Op::Store {
        width,
        dst: 10,
        off: -8,
        src,
    };
    check(&[
        ("r1 = *(u8 *)(r2 + 1)", load(Byte, false, 1)),
        ("r1 = *(u16 *)(r2 - 2)", load(Half, false, -2)),
        ("r1 = *(u32 *)(r2 + 0)", load(Word, false, 0)),
        ("r1 = *(u64 *)(r2 + 8)", load(Double, false, 8)),
        ("r1 = *(s8 *)(r2 + 1)", load(Byte, true, 1)),
        ("r1 = *(s16 *)(r2 + 2)", load(Half, true, 2)),
        ("r1 = *(s32 *)(r2 + 4)", load(Word, true, 4)),
        ("*(u8 *)(r10 - 8) = r3", store(Byte, Reg(3))),
        ("*(u64 *)(r10 - 8) = r3", store(Double, Reg(3))),
        ("*(u16 *)(r10 - 8) = 7", store(Half, Imm(7))),
        ("*(u64 *)(r10 - 8) = -1", store(Double, Imm(-1))),
    ]);
}

#[test]
fn atomics() {
    let atomic = |op, width, dst, src| Op::Atomic {
        op,
        width,
        dst,
        src,
        off: 8,
    };
    check(&[
        (
            "lock *(u64 *)(r2 + 8) += r1",
            atomic(Atomic::Add, Double, 2, 1),
        ),
        (
            "lock *(u32 *)(r2 + 8) |= w1",
            atomic(Atomic::Or, Word, 2, 1),
        ),
        (
            "lock *(u64 *)(r2 + 8) &= r1",
            atomic(Atomic::And, Double, 2, 1),
        ),
        (
            "lock *(u64 *)(r2 + 8) ^= r1",
            atomic(Atomic::Xor, Double, 2, 1),
        ),
        (
            "r1 = atomic_fetch_add((u64 *)(r2 + 8), r1)",
            atomic(Atomic::FetchAdd, Double, 2, 1),
        ),
        (
            "w1 = atomic_fetch_or((u32 *)(r2 + 8), w1)",
            atomic(Atomic::FetchOr, Word, 2, 1),
        ),
        (
            "r1 = atomic_fetch_and((u64 *)(r2 + 8), r1)",
            atomic(Atomic::FetchAnd, Double, 2, 1),
        ),
        (
            "r1 = atomic_fetch_xor((u64 *)(r2 + 8), r1)",
            atomic(Atomic::FetchXor, Double, 2, 1),
        ),
        (
            "r1 = xchg_64(r2 + 8, r1)",
            atomic(Atomic::Xchg, Double, 2, 1),
        ),
        (
            "w0 = cmpxchg32_32(r2 + 8, w0, w1)",
            atomic(Atomic::Cmpxchg, Word, 2, 1),
        ),
    ]);
    // Newer than the oldest clang: class, registers, offset, then the operation.
    let raw = |code: u64, regs: u64, imm: u64| {
        format!(".quad {:#x}", imm << 32 | 8 << 16 | regs << 8 | code)
    };
    check(&[
        (
            &raw(0xdb, 0x21, 0x100),
            atomic(Atomic::LoadAcquire, Double, 1, 2),
        ),
        (
            &raw(0xd3, 0x21, 0x100),
            atomic(Atomic::LoadAcquire, Byte, 1, 2),
        ),
        (
            &raw(0xcb, 0x12, 0x110),
            atomic(Atomic::StoreRelease, Half, 2, 1),
        ),
    ]);
}

#[test]
fn jumps_go_to_operations() {
    let branch = |wide, condition, src, target| Op::Branch {
        wide,
        condition,
        dst: 1,
        src,
        target,
    };
    // A wide immediate is two instructions and one operation.
    let found = ops(&[
        "if r1 == 1 goto 1f",
        "if w1 != w2 goto 1f",
        "if r1 > r2 goto 1f",
        "if r1 >= 2 goto 1f",
        "if w1 < 3 goto 1f",
        "r2 = 0x100000000 ll",
        "1: if r1 <= r2 goto 2f",
        "if r1 s> -1 goto 2f",
        "if r1 s>= r2 goto 2f",
        "if w1 s< w2 goto 2f",
        "if r1 s<= r2 goto 2f",
        "if r1 & 4 goto 1b",
        "goto 2f",
        "gotol 1b",
        ".quad 0x00000000fffd00e5",
        "2: r3 = 1",
    ]);
    let expected = [
        branch(true, Condition::Eq, Imm(1), 6),
        branch(false, Condition::Ne, Reg(2), 6),
        branch(true, Condition::Gt, Reg(2), 6),
        branch(true, Condition::Ge, Imm(2), 6),
        branch(false, Condition::Lt, Imm(3), 6),
        Op::Immediate {
            dst: 2,
            value: Value::Const(1 << 32),
        },
        branch(true, Condition::Le, Reg(2), 15),
        branch(true, Condition::SignedGt, Imm(-1), 15),
        branch(true, Condition::SignedGe, Reg(2), 15),
        branch(false, Condition::SignedLt, Reg(2), 15),
        branch(true, Condition::SignedLe, Reg(2), 15),
        branch(true, Condition::Set, Imm(4), 6),
        Op::Jump { target: 15 },
        Op::Jump { target: 6 },
        Op::MayGoto { target: 12 },
        alu(true, Mov, 3, Imm(1)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_version_of_the_instruction_set() {
    let source = r#"
        struct thing { s8 small; s16 half; s32 word; s64 wide; u32 mask; };
        SEC("test") s64 p(struct thing *t)
        {
            s32 sum = 0;

            for (u32 i = 0; i < t->mask; i++)
                sum += t->small / (t->word | 1) + t->half % 7;
            t->mask = __builtin_bswap32(t->mask);
            __sync_fetch_and_add(&t->wide, sum);
            return sum < t->word ? t->wide >> 3 : -t->wide;
        }"#;
    // Each finds a way to say it; signed division is there since v4 only.
    let counts = ["v1", "v2", "v3", "v4"].map(|cpu| {
        let source = if cpu == "v4" {
            source.to_owned()
        } else {
            source
                .replace("s8 ", "u8 ")
                .replace("s16 ", "u16 ")
                .replace("s32 word", "u32 word")
        };
        let object = crate::fixture::object_for(cpu, &source);
        let image = bpf::link(&object, &kernel("int x;")).unwrap();
        let ops = &function(&image, "p").ops;
        let narrow = |op: &&Op| matches!(op, Op::Branch { wide: false, .. });
        let signed = |op: &&Op| {
            matches!(
                op,
                Op::Alu {
                    op: Sdiv | Smod,
                    ..
                }
            )
        };
        (
            ops.iter().filter(narrow).count() > 0,
            ops.iter().filter(signed).count() > 0,
        )
    });
    assert_eq!(
        counts,
        [(false, false), (false, false), (true, false), (true, true)]
    );
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    let refused = |instruction: &str| {
        let source = format!(
            "SEC(\"test\") __attribute__((naked)) int p(void *context)
            {{ asm volatile(\"r1 = 0; {instruction}; r0 = 0; exit;\"); }}"
        );
        let object = crate::fixture::object(&source);
        let error = bpf::link(&object, &kernel("int x;"))
            .unwrap_err()
            .to_string();
        let (place, why) = error.split_once(": ").unwrap();
        assert_eq!(place, "section test, offset 0x8", "{error}");
        why.to_owned()
    };
    assert_eq!(
        refused(".quad 0x30"),
        "instruction 0x30 (dst 0, src 0, off 0, imm 0) is not known"
    );
    assert_eq!(refused(".quad 0x0b07"), "register 11");
    // A cast between address spaces that are neither the arena's nor the kernel's.
    assert_eq!(
        refused(".quad 0x00000002000121bf"),
        "instruction 0xbf (dst 1, src 2, off 1, imm 2) is not known"
    );
    assert_eq!(
        refused(".quad 0x000000010000210f"),
        "imm is not 0 in instruction 0x0f (dst 1, src 2, off 0, imm 1)"
    );
    assert_eq!(refused("goto +100"), "a jump out of its function");
    assert_eq!(
        refused(".quad 0x0000000000002085"),
        "a call of kind 2, which is not known"
    );
}
