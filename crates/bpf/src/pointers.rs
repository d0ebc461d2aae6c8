// SPDX-License-Identifier: GPL-2.0-or-later
//! What the translation knows of a register's value without running the code, so that it can leave out checks.
//!
//! A forward analysis over a function's blocks. It follows pointers into the stack and into global data, and comparisons
//! with 0, also of a register that another is a copy of. What is spilled to the stack is forgotten.

use std::ops::Range;

use crate::blocks::FRAME;
use crate::host::NULL_PAGE;
use crate::op::{Alu, Atomic, Callee, Condition, Op, Operand, Reg, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Nothing,
    /// Compared with 0, or stored through: a pointer like that is taken for one to an object.
    NotNull,
    /// Into an object, wherever.
    Object,
    /// So far from the end of the function's own stack.
    Stack(i32),
    /// A place in the block of global data.
    Data(i64),
}

impl Known {
    /// Whether a pointer like that needs no check against NULL.
    pub fn is_object(self) -> bool {
        self != Self::Nothing
    }

    fn meet(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::NotNull, _) | (_, Self::NotNull) => Self::NotNull,
            _ => Self::Object,
        }
    }

    fn plus(self, offset: i64) -> Self {
        match self {
            Self::Stack(at) => {
                i32::try_from(i64::from(at) + offset).map_or(Self::Object, Self::Stack)
            }
            Self::Data(at) => Self::Data(at.wrapping_add(offset)),
            other => other,
        }
    }

    /// After adding or subtracting what nobody knows: an index into an object stays within it.
    fn indexed(self) -> Self {
        match self {
            Self::Nothing | Self::NotNull => Self::Nothing,
            Self::Object | Self::Stack(_) | Self::Data(_) => Self::Object,
        }
    }
}

/// Two registers with the same `name` hold the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    known: Known,
    name: u32,
}

/// What is known of every register between two operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State([Slot; 11]);

/// Names are unique by the operation, or block, that made the value, and the register that it made it for.
fn name(at: usize, reg: usize, merged: bool) -> u32 {
    ((at as u32) << 5) | ((reg as u32) << 1) | u32::from(merged)
}

impl State {
    /// Where a function begins.
    pub fn entry() -> Self {
        let mut state = Self(std::array::from_fn(|reg| Slot {
            known: Known::Nothing,
            name: name(0, reg, true),
        }));
        state.0[usize::from(FRAME)].known = Known::Stack(0);
        state
    }

    pub fn known(&self, reg: Reg) -> Known {
        self.0[usize::from(reg)].known
    }

    /// What a comparison with 0 or a store proves holds for every copy.
    pub fn not_null(&mut self, reg: Reg) {
        let name = self.0[usize::from(reg)].name;
        for slot in self.0.iter_mut().filter(|slot| slot.name == name) {
            if slot.known == Known::Nothing {
                slot.known = Known::NotNull;
            }
        }
    }

    fn set(&mut self, at: usize, reg: Reg, known: Known) {
        self.0[usize::from(reg)] = Slot {
            known,
            name: name(at, reg.into(), false),
        };
    }

    /// What is known after operation `at`, if it goes on to the next.
    pub fn step(&mut self, at: usize, op: &Op) {
        match *op {
            Op::Alu {
                wide: true,
                op: Alu::Mov,
                dst,
                src: Operand::Reg(src),
            } => self.0[usize::from(dst)] = self.0[usize::from(src)],
            Op::Alu { wide, op, dst, src } => {
                let known = if wide {
                    self.sum(op, dst, src)
                } else {
                    Known::Nothing
                };
                self.set(at, dst, known);
            }
            Op::Immediate { dst, value } => {
                let known = match value {
                    Value::Data(offset) => Known::Data(offset.into()),
                    Value::Map(_) | Value::Variable(_) => Known::Object,
                    Value::Const(value) if value >= NULL_PAGE => Known::NotNull,
                    Value::Const(_) | Value::Arena(_) | Value::Function(_) => Known::Nothing,
                };
                self.set(at, dst, known);
            }
            Op::Swap { dst, .. } | Op::ArenaCast { dst, .. } | Op::Load { dst, .. } => {
                self.set(at, dst, Known::Nothing);
            }
            Op::Store { dst, .. } => self.not_null(dst),
            Op::Atomic { op, dst, src, .. } => {
                if op != Atomic::LoadAcquire {
                    self.not_null(dst);
                }
                match op {
                    Atomic::LoadAcquire => self.set(at, dst, Known::Nothing),
                    Atomic::FetchAdd
                    | Atomic::FetchOr
                    | Atomic::FetchAnd
                    | Atomic::FetchXor
                    | Atomic::Xchg => self.set(at, src, Known::Nothing),
                    Atomic::Cmpxchg => self.set(at, 0, Known::Nothing),
                    Atomic::Add | Atomic::Or | Atomic::And | Atomic::Xor | Atomic::StoreRelease => {
                    }
                }
            }
            Op::Call(_) => (0..=5).for_each(|reg| self.set(at, reg, Known::Nothing)),
            Op::Branch { .. } | Op::Jump { .. } | Op::MayGoto { .. } | Op::Exit => {}
        }
    }

    fn sum(&self, op: Alu, dst: Reg, src: Operand) -> Known {
        let known = self.known(dst);
        match (op, src) {
            (Alu::Add, Operand::Imm(imm)) => known.plus(imm.into()),
            (Alu::Sub, Operand::Imm(imm)) => known.plus(-i64::from(imm)),
            (Alu::Add, Operand::Reg(src)) => match (known.indexed(), self.known(src).indexed()) {
                (Known::Object, Known::Nothing) | (Known::Nothing, Known::Object) => Known::Object,
                _ => Known::Nothing,
            },
            (Alu::Sub, Operand::Reg(src)) if !self.known(src).indexed().is_object() => {
                known.indexed()
            }
            _ => Known::Nothing,
        }
    }

    /// Takes in another way to the beginning of `block`; whether that changed anything.
    fn merge(&mut self, block: usize, other: &Self) -> bool {
        let before = self.clone();
        for (reg, (slot, other)) in self.0.iter_mut().zip(&other.0).enumerate() {
            if slot.name != other.name {
                slot.name = name(block, reg, true);
            }
            slot.known = slot.known.meet(other.known);
        }
        *self != before
    }
}

/// The state at the beginning of each block; none for one that nothing leads to.
pub fn states(ops: &[Op], blocks: &[Range<usize>]) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; blocks.len()];
    states[0] = Some(State::entry());
    let mut waiting = std::collections::BTreeSet::from([0]);
    while let Some(block) = waiting.pop_first() {
        let Some(mut state) = states[block].clone() else {
            continue;
        };
        let range = blocks[block].clone();
        for at in range.clone() {
            state.step(at, &ops[at]);
        }
        let last = &ops[range.end - 1];
        let mut jumped = state.clone();
        if let Op::Branch {
            wide: true,
            condition,
            dst,
            src: Operand::Imm(0),
            ..
        } = *last
        {
            match condition {
                Condition::Eq => state.not_null(dst),
                Condition::Ne => jumped.not_null(dst),
                _ => {}
            }
        }
        let next = last.continues().then_some((block + 1, state));
        let target = last
            .target()
            .map(|target| (block_at(blocks, target as usize), jumped));
        for (to, state) in next.into_iter().chain(target) {
            let changed = match &mut states[to] {
                Some(known) => known.merge(to, &state),
                unknown => {
                    *unknown = Some(state);
                    true
                }
            };
            if changed {
                waiting.insert(to);
            }
        }
    }
    states
}

/// The whole stack of a function.
pub const STACK_BYTES: u32 = 512;

/// How much of its stack a function may use, counted from the end: all of it where a pointer into it goes where this
/// analysis does not.
pub fn stack_bytes(ops: &[Op], blocks: &[Range<usize>], states: &[Option<State>]) -> u32 {
    let mut lowest = 0;
    for (at_block, (block, state)) in blocks.iter().zip(states).enumerate() {
        let Some(mut state) = state.clone() else {
            continue;
        };
        for at in block.clone() {
            let Some(touched) = state.touches(&ops[at]) else {
                return STACK_BYTES;
            };
            state.step(at, &ops[at]);
            lowest = lowest.min(touched).min(state.lowest());
        }
        let last = &ops[block.end - 1];
        let next = last.continues().then_some(at_block + 1);
        let target = last
            .target()
            .map(|target| block_at(blocks, target as usize));
        for to in next.into_iter().chain(target) {
            if states[to]
                .as_ref()
                .is_some_and(|begins| state.forgets(begins))
            {
                return STACK_BYTES;
            }
        }
    }
    lowest.unsigned_abs().next_multiple_of(8).min(STACK_BYTES)
}

fn block_at(blocks: &[Range<usize>], op: usize) -> usize {
    blocks.partition_point(|block| block.start <= op) - 1
}

impl State {
    /// The lowest place of the stack that an operation accesses; none where a pointer gets out of sight.
    fn touches(&self, op: &Op) -> Option<i32> {
        let offset = |reg| match self.known(reg) {
            Known::Stack(at) => Some(at),
            _ => None,
        };
        let base = |reg, off: i16| offset(reg).map_or(0, |at| at + i32::from(off));
        let escapes = |src| matches!(src, Operand::Reg(src) if offset(src).is_some());
        let (lost, lowest) = match *op {
            Op::Alu { wide, op, dst, src } => {
                let followed = wide
                    && match op {
                        Alu::Mov => true,
                        Alu::Add | Alu::Sub => matches!(src, Operand::Imm(_)),
                        _ => false,
                    };
                (!followed && (offset(dst).is_some() || escapes(src)), 0)
            }
            Op::Swap { dst, .. } => (offset(dst).is_some(), 0),
            Op::ArenaCast { src, .. } => (offset(src).is_some(), 0),
            Op::Load { src, off, .. }
            | Op::Atomic {
                op: Atomic::LoadAcquire,
                src,
                off,
                ..
            } => (false, base(src, off)),
            Op::Store { dst, off, src, .. } => (escapes(src), base(dst, off)),
            Op::Atomic { dst, src, off, .. } => (escapes(Operand::Reg(src)), base(dst, off)),
            Op::Call(Callee::Function(_)) => ((1..=5).any(|reg| offset(reg).is_some()), 0),
            _ => (false, 0),
        };
        (!lost).then_some(lowest)
    }

    fn lowest(&self) -> i32 {
        let offsets = self.0.iter().filter_map(|slot| match slot.known {
            Known::Stack(at) => Some(at),
            _ => None,
        });
        offsets.min().unwrap_or(0)
    }

    /// Whether a pointer into the stack is something else after this state was merged into `other`.
    fn forgets(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .any(|(slot, other)| matches!(slot.known, Known::Stack(_)) && slot.known != other.known)
    }
}
