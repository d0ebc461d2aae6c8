// SPDX-License-Identifier: GPL-2.0-or-later
//! One instruction, decoded: the whole instruction set up to `-mcpu=v4`, as the kernel's
//! `Documentation/bpf/standardization/instruction-set.rst` defines it.

/// `r0` to `r10`.
pub type Reg = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Byte,
    Half,
    Word,
    Double,
}

impl Width {
    pub fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Reg(Reg),
    /// Sign-extended to the width of its operation.
    Imm(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    Add,
    Sub,
    Mul,
    /// Unsigned; 0 where the divisor is 0.
    Div,
    /// Signed; 0 where the divisor is 0, and the dividend where the result overflows.
    Sdiv,
    /// Unsigned; the dividend where the divisor is 0.
    Mod,
    /// Signed; the dividend where the divisor is 0, and 0 where the division overflows.
    Smod,
    Or,
    And,
    /// Shifts take the low bits of their count: 6 of a wide one, 5 of a narrow one.
    Lsh,
    Rsh,
    Arsh,
    Xor,
    Mov,
    /// From the operand's low byte, half or word.
    MovSigned(Width),
    /// Of the destination; the operand is not looked at.
    Neg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// To little endian: cuts off what is above the width.
    Little,
    /// To big endian.
    Big,
    /// Always swapped.
    Swap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    SignedGt,
    SignedGe,
    SignedLt,
    SignedLe,
    /// A bit of both is set.
    Set,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add,
    Or,
    And,
    Xor,
    /// These four, with the old value into the source register.
    FetchAdd,
    FetchOr,
    FetchAnd,
    FetchXor,
    Xchg,
    /// Compares with `r0` and puts the old value there.
    Cmpxchg,
    /// Into the source register's place: `dst` is loaded from `src + off`.
    LoadAcquire,
    /// `src` is stored to `dst + off`.
    StoreRelease,
}

/// What a 64-bit immediate stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Const(u64),
    /// A place in the image's global data.
    Data(u32),
    /// A place in the arena, as user space sees it.
    Arena(u32),
    /// A map of the image, by index.
    Map(u32),
    /// A function of the image, by index. Its value is [`function_value`]; only helpers look at it.
    Function(u32),
    /// A variable of the kernel, by index into the image's.
    Variable(u32),
}

/// What code sees of a function's address: never 0, and the same on every machine.
pub fn function_value(index: u32) -> u64 {
    u64::from(index) + 1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function of the image.
    Function(u32),
    /// A helper or kfunc, by index into the image's.
    Outside(u32),
    /// A weak kfunc that the kernel has not. The verifier proves that nothing gets here; executing it is a fault.
    Missing,
}

/// Targets are indices of operations in the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Narrow operations work on the low words and clear the high word of the destination.
    Alu {
        wide: bool,
        op: Alu,
        dst: Reg,
        src: Operand,
    },
    Swap {
        order: Order,
        width: Width,
        dst: Reg,
    },
    Load {
        width: Width,
        signed: bool,
        dst: Reg,
        src: Reg,
        off: i16,
    },
    Store {
        width: Width,
        dst: Reg,
        off: i16,
        src: Operand,
    },
    /// `width` is Word or Double, for [`Atomic::LoadAcquire`] and [`Atomic::StoreRelease`] any.
    Atomic {
        op: Atomic,
        width: Width,
        dst: Reg,
        src: Reg,
        off: i16,
    },
    Immediate {
        dst: Reg,
        value: Value,
    },
    /// Of an arena's pointer: `dst = src` as the kernel sees it, or as user space does.
    ArenaCast {
        to_user: bool,
        dst: Reg,
        src: Reg,
    },
    Jump {
        target: u32,
    },
    Branch {
        wide: bool,
        condition: Condition,
        dst: Reg,
        src: Operand,
        target: u32,
    },
    /// Jumps once it has been passed [`MAY_GOTO_LIMIT`] times in one call of its function.
    MayGoto {
        target: u32,
    },
    Call(Callee),
    Exit,
}

impl Op {
    /// Where it may jump to.
    pub fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Jump { target } | Self::Branch { target, .. } | Self::MayGoto { target } => {
                Some(target)
            }
            _ => None,
        }
    }
}

/// `BPF_MAX_LOOPS` of the kernel.
pub const MAY_GOTO_LIMIT: u64 = 8 * 1024 * 1024;
