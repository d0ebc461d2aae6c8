// SPDX-License-Identifier: GPL-2.0-or-later
//! From the bytes of a function to operations, as the kernel's
//! `Documentation/bpf/standardization/instruction-set.rst` encodes them.

use anyhow::{Context, Result, bail};

use crate::op::{Alu, Atomic, Condition, Op, Operand, Order, Reg, Width};

/// Bytes of an instruction; a 64-bit immediate takes two.
pub const SLOT_BYTES: u32 = 8;

/// An operation, or what only becomes one when the object is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn {
    Op(Op),
    /// `kind` is a number of `BPF_PSEUDO_*`, 0 for a plain number.
    Immediate {
        dst: Reg,
        kind: u8,
        value: u64,
    },
    /// `kind` is 0 for a helper, and else `BPF_PSEUDO_CALL` or `BPF_PSEUDO_KFUNC_CALL`.
    Call {
        kind: u8,
        imm: i32,
    },
}

/// The instructions of one function.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub insns: Vec<Insn>,
    /// Where each begins, in slots from the function's begin.
    pub slots: Vec<u32>,
}

impl Code {
    /// The instruction that begins at a slot.
    pub fn at(&self, slot: u32) -> Option<usize> {
        self.slots.binary_search(&slot).ok()
    }
}

/// One slot, taken apart.
#[derive(Clone, Copy)]
struct Slot {
    code: u8,
    dst: Reg,
    src: Reg,
    off: i16,
    imm: i32,
}

impl Slot {
    fn of(bytes: [u8; 8]) -> Self {
        let [code, regs, off0, off1, imm @ ..] = bytes;
        Self {
            code,
            dst: regs & 0xf,
            src: regs >> 4,
            off: i16::from_le_bytes([off0, off1]),
            imm: i32::from_le_bytes(imm),
        }
    }

    fn class(self) -> u8 {
        self.code & 7
    }

    /// A flag of the code: the second operand is a register.
    fn is_reg(self) -> bool {
        self.code & 8 != 0
    }

    fn operand(self) -> Result<Operand> {
        if self.is_reg() {
            self.zero(self.imm == 0, "imm")?;
            Ok(Operand::Reg(self.src))
        } else {
            self.zero(self.src == 0, "src")?;
            Ok(Operand::Imm(self.imm))
        }
    }

    /// Fields that an encoding does not use are 0; those that are not belong to an encoding that nobody knows here.
    fn zero(self, is_zero: bool, field: &str) -> Result<()> {
        if !is_zero {
            bail!("{field} is not 0 in {self}");
        }
        Ok(())
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            f,
            "instruction {:#04x} (dst {}, src {}, off {}, imm {})",
            self.code, self.dst, self.src, self.off, self.imm
        )
    }
}

/// Decode a function; an error names its place, counted from `start`, the function's offset in `section`.
pub fn decode(bytes: &[u8], section: &str, start: u32) -> Result<Code> {
    let (slots, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        bail!("section {section}, offset {start:#x}: no whole number of instructions");
    }
    let mut code = Code::default();
    let mut at = 0;
    while at < slots.len() {
        let slot = Slot::of(slots[at]);
        let place = || {
            let offset = start + at as u32 * SLOT_BYTES;
            format!("section {section}, offset {offset:#x}")
        };
        code.slots.push(at as u32);
        if slot.class() == 0 {
            let next = slots.get(at + 1).map(|next| Slot::of(*next));
            code.insns.push(immediate(slot, next).with_context(place)?);
            at += 2;
        } else {
            code.insns
                .push(instruction(slot, at as u32).with_context(place)?);
            at += 1;
        }
    }
    for index in 0..code.insns.len() {
        let Insn::Op(mut op) = code.insns[index] else {
            continue;
        };
        if let Some(target) = op.target_mut() {
            let slot = *target;
            *target = code.at(slot).with_context(|| {
                let offset = start + code.slots[index] * SLOT_BYTES;
                format!("section {section}, offset {offset:#x}: a jump out of its function")
            })? as u32;
            code.insns[index] = Insn::Op(op);
        }
    }
    let ends = matches!(
        code.insns.last(),
        Some(Insn::Op(Op::Exit | Op::Jump { .. }) | Insn::Call { .. })
    );
    if !ends {
        bail!("section {section}, offset {start:#x}: a function that runs out of its end");
    }
    Ok(code)
}

fn immediate(slot: Slot, next: Option<Slot>) -> Result<Insn> {
    if slot.code != 0x18 {
        bail!("{slot} is not known");
    }
    let next = next.context("half of a 64-bit immediate")?;
    let rest_is_zero = next.code == 0 && next.dst == 0 && next.src == 0 && next.off == 0;
    slot.zero(rest_is_zero && slot.off == 0, "a reserved field")?;
    Ok(Insn::Immediate {
        dst: register(slot.dst)?,
        kind: slot.src,
        value: u64::from(next.imm.cast_unsigned()) << 32 | u64::from(slot.imm.cast_unsigned()),
    })
}

fn register(number: u8) -> Result<Reg> {
    if number > 10 {
        bail!("register {number}");
    }
    Ok(number)
}

/// One slot at index `at`; jumps still go to slots.
fn instruction(slot: Slot, at: u32) -> Result<Insn> {
    register(slot.dst)?;
    if slot.class() != 5 || slot.code & 0xf0 != 0x80 {
        register(slot.src)?;
    }
    Ok(Insn::Op(match slot.class() {
        1 => load(slot)?,
        2 | 3 => store(slot)?,
        4 => arithmetic(slot, false)?,
        7 => arithmetic(slot, true)?,
        5 if slot.code == 0x85 => {
            slot.zero(slot.dst == 0 && slot.off == 0, "a reserved field")?;
            return Ok(Insn::Call {
                kind: slot.src,
                imm: slot.imm,
            });
        }
        _ => jump(slot, at)?,
    }))
}

fn width(slot: Slot) -> Width {
    match slot.code >> 3 & 3 {
        0 => Width::Word,
        1 => Width::Half,
        2 => Width::Byte,
        _ => Width::Double,
    }
}

fn load(slot: Slot) -> Result<Op> {
    let width = width(slot);
    slot.zero(slot.imm == 0, "imm")?;
    let signed = match slot.code >> 5 {
        3 => false,
        4 if width != Width::Double => true,
        _ => bail!("{slot} is not known"),
    };
    Ok(Op::Load {
        width,
        signed,
        dst: slot.dst,
        src: slot.src,
        off: slot.off,
    })
}

fn store(slot: Slot) -> Result<Op> {
    let is_reg = slot.class() == 3;
    match slot.code >> 5 {
        3 => Ok(Op::Store {
            width: width(slot),
            dst: slot.dst,
            off: slot.off,
            src: if is_reg {
                slot.zero(slot.imm == 0, "imm")?;
                Operand::Reg(slot.src)
            } else {
                slot.zero(slot.src == 0, "src")?;
                Operand::Imm(slot.imm)
            },
        }),
        6 if is_reg => atomic(slot),
        _ => bail!("{slot} is not known"),
    }
}

fn atomic(slot: Slot) -> Result<Op> {
    let op = match slot.imm {
        0x00 => Atomic::Add,
        0x40 => Atomic::Or,
        0x50 => Atomic::And,
        0xa0 => Atomic::Xor,
        0x01 => Atomic::FetchAdd,
        0x41 => Atomic::FetchOr,
        0x51 => Atomic::FetchAnd,
        0xa1 => Atomic::FetchXor,
        0xe1 => Atomic::Xchg,
        0xf1 => Atomic::Cmpxchg,
        0x100 => Atomic::LoadAcquire,
        0x110 => Atomic::StoreRelease,
        _ => bail!("{slot} is not known"),
    };
    let width = width(slot);
    let is_wide = matches!(width, Width::Word | Width::Double);
    if !is_wide && !matches!(op, Atomic::LoadAcquire | Atomic::StoreRelease) {
        bail!("{slot} is not known");
    }
    Ok(Op::Atomic {
        op,
        width,
        dst: slot.dst,
        src: slot.src,
        off: slot.off,
    })
}

fn arithmetic(slot: Slot, wide: bool) -> Result<Op> {
    let signed = |plain, other| match slot.off {
        0 => Ok(plain),
        1 => Ok(other),
        _ => bail!("{slot} is not known"),
    };
    let op = match slot.code >> 4 {
        0x0 => Alu::Add,
        0x1 => Alu::Sub,
        0x2 => Alu::Mul,
        0x3 => signed(Alu::Div, Alu::Sdiv)?,
        0x4 => Alu::Or,
        0x5 => Alu::And,
        0x6 => Alu::Lsh,
        0x7 => Alu::Rsh,
        0x8 => {
            slot.zero(!slot.is_reg() && slot.src == 0 && slot.imm == 0, "a source")?;
            Alu::Neg
        }
        0x9 => signed(Alu::Mod, Alu::Smod)?,
        0xa => Alu::Xor,
        0xb => return moved(slot, wide),
        0xc => Alu::Arsh,
        0xd => return swap(slot, wide),
        _ => bail!("{slot} is not known"),
    };
    if !matches!(op, Alu::Sdiv | Alu::Smod) {
        slot.zero(slot.off == 0, "off")?;
    }
    Ok(Op::Alu {
        wide,
        op,
        dst: slot.dst,
        src: slot.operand()?,
    })
}

fn moved(slot: Slot, wide: bool) -> Result<Op> {
    let signed = |width| {
        Ok(Op::Alu {
            wide,
            op: Alu::MovSigned(width),
            dst: slot.dst,
            src: slot.operand()?,
        })
    };
    match slot.off {
        0 => Ok(Op::Alu {
            wide,
            op: Alu::Mov,
            dst: slot.dst,
            src: slot.operand()?,
        }),
        8 if slot.is_reg() => signed(Width::Byte),
        16 if slot.is_reg() => signed(Width::Half),
        32 if slot.is_reg() && wide => signed(Width::Word),
        // The address space to cast to in the high half of imm, the one to cast from in the low one.
        1 if slot.is_reg() && wide && (slot.imm == 1 || slot.imm == 1 << 16) => Ok(Op::ArenaCast {
            to_user: slot.imm != 1,
            dst: slot.dst,
            src: slot.src,
        }),
        _ => bail!("{slot} is not known"),
    }
}

fn swap(slot: Slot, wide: bool) -> Result<Op> {
    slot.zero(slot.src == 0 && slot.off == 0, "a reserved field")?;
    Ok(Op::Swap {
        order: match (wide, slot.is_reg()) {
            (false, false) => Order::Little,
            (false, true) => Order::Big,
            (true, false) => Order::Swap,
            (true, true) => bail!("{slot} is not known"),
        },
        width: match slot.imm {
            16 => Width::Half,
            32 => Width::Word,
            64 => Width::Double,
            _ => bail!("{slot} is not known"),
        },
        dst: slot.dst,
    })
}

fn jump(slot: Slot, at: u32) -> Result<Op> {
    let wide = slot.class() == 5;
    let target = |offset: i32| {
        at.checked_add_signed(offset)
            .and_then(|slot| slot.checked_add(1))
            .context("a jump out of its function")
    };
    let condition = match slot.code >> 4 {
        0x0 if !slot.is_reg() => {
            slot.zero(slot.dst == 0 && slot.src == 0, "a reserved field")?;
            let (offset, other) = if wide {
                (i32::from(slot.off), slot.imm)
            } else {
                (slot.imm, i32::from(slot.off))
            };
            slot.zero(other == 0, "a reserved field")?;
            return Ok(Op::Jump {
                target: target(offset)?,
            });
        }
        0x9 if wide && !slot.is_reg() => {
            let is_zero = slot.dst == 0 && slot.src == 0 && slot.off == 0 && slot.imm == 0;
            slot.zero(is_zero, "a reserved field")?;
            return Ok(Op::Exit);
        }
        0xe if wide && !slot.is_reg() && slot.src == 0 => {
            slot.zero(slot.dst == 0 && slot.imm == 0, "a reserved field")?;
            return Ok(Op::MayGoto {
                target: target(i32::from(slot.off))?,
            });
        }
        0x1 => Condition::Eq,
        0x2 => Condition::Gt,
        0x3 => Condition::Ge,
        0x4 => Condition::Set,
        0x5 => Condition::Ne,
        0x6 => Condition::SignedGt,
        0x7 => Condition::SignedGe,
        0xa => Condition::Lt,
        0xb => Condition::Le,
        0xc => Condition::SignedLt,
        0xd => Condition::SignedLe,
        _ => bail!("{slot} is not known"),
    };
    Ok(Op::Branch {
        wide,
        condition,
        dst: slot.dst,
        src: slot.operand()?,
        target: target(i32::from(slot.off))?,
    })
}
