// SPDX-License-Identifier: GPL-2.0-or-later
//! What the translation knows of a register's value without running the code, so that it can leave out checks.
//!
//! A forward analysis over a function's blocks. It follows pointers into the stack and into global data, and comparisons
//! with 0, also of a register that another is a copy of.
//!
//! From that comes what a stack is made of. Clang puts what has an address at its end, and below what it spills from
//! registers. The latter become variables of the translation, and the analysis follows them like registers. It takes for
//! granted that whoever gets a pointer into the stack goes upwards from there, as helpers do with keys and values.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::blocks::FRAME;
use crate::host::NULL_PAGE;
use crate::op::{Alu, Atomic, Callee, Condition, Op, Operand, Reg, Value, Width};

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
    /// It may point into the stack, and nobody knows where.
    astray: bool,
}

impl Slot {
    fn is_stack(self) -> bool {
        self.astray || matches!(self.known, Known::Stack(_))
    }
}

/// What is known of every register between two operations, and behind them of the stack's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State<'a> {
    slots: Vec<Slot>,
    variables: &'a [i32],
}

const REGISTERS: usize = 11;

/// Names are unique by the operation, or block, that made the value, and the register that it made it for.
fn name(at: usize, reg: usize, merged: bool) -> u32 {
    ((at as u32) << 8) | ((reg as u32) << 1) | u32::from(merged)
}

impl<'a> State<'a> {
    /// Where a function begins.
    fn entry(variables: &'a [i32]) -> Self {
        let slot = |reg| Slot {
            known: Known::Nothing,
            name: name(0, reg, true),
            astray: false,
        };
        let mut state = Self {
            slots: (0..REGISTERS + variables.len()).map(slot).collect(),
            variables,
        };
        state.slots[usize::from(FRAME)].known = Known::Stack(0);
        state
    }

    fn slot(&self, reg: Reg) -> Slot {
        self.slots[usize::from(reg)]
    }

    pub fn known(&self, reg: Reg) -> Known {
        self.slot(reg).known
    }

    /// The variable that an access goes to, and whether it is all of it.
    fn variable(&self, width: Width, base: Reg, off: i16) -> Option<(usize, bool)> {
        let Known::Stack(at) = self.known(base) else {
            return None;
        };
        let found = self.variables.binary_search(&word_of(at + i32::from(off)));
        Some((found.ok()?, width == Width::Double))
    }

    /// What a comparison with 0 or a store proves holds for every copy.
    fn not_null(&mut self, reg: Reg) {
        let name = self.slot(reg).name;
        for slot in self.slots.iter_mut().filter(|slot| slot.name == name) {
            if slot.known == Known::Nothing {
                slot.known = Known::NotNull;
            }
        }
    }

    fn set(&mut self, at: usize, reg: usize, known: Known) {
        self.slots[reg] = Slot {
            known,
            name: name(at, reg, false),
            astray: false,
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
            } => self.slots[usize::from(dst)] = self.slot(src),
            Op::Alu { wide, op, dst, src } => self.compute(at, wide, op, dst, src),
            Op::Immediate { dst, value } => {
                let known = match value {
                    Value::Data(offset) => Known::Data(offset.into()),
                    Value::Map(_) | Value::Variable(_) => Known::Object,
                    Value::Const(value) if value >= NULL_PAGE => Known::NotNull,
                    Value::Const(_) | Value::Arena(_) | Value::Function(_) => Known::Nothing,
                };
                self.set(at, dst.into(), known);
            }
            Op::Load {
                width,
                dst,
                src,
                off,
                ..
            } => match self.variable(width, src, off) {
                Some((index, true)) => {
                    self.slots[usize::from(dst)] = self.slots[REGISTERS + index];
                }
                _ => self.set(at, dst.into(), Known::Nothing),
            },
            Op::Swap { dst, .. } | Op::ArenaCast { dst, .. } => {
                self.set(at, dst.into(), Known::Nothing);
            }
            Op::Store {
                width,
                dst,
                off,
                src,
            } => {
                self.not_null(dst);
                match (self.variable(width, dst, off), src) {
                    (Some((index, true)), Operand::Reg(src)) => {
                        self.slots[REGISTERS + index] = self.slot(src);
                    }
                    (Some((index, _)), _) => self.set(at, REGISTERS + index, Known::Nothing),
                    (None, _) => {}
                }
            }
            Op::Atomic {
                op,
                width,
                dst,
                src,
                off,
            } => {
                if op != Atomic::LoadAcquire {
                    self.not_null(dst);
                    if let Some((index, _)) = self.variable(width, dst, off) {
                        self.set(at, REGISTERS + index, Known::Nothing);
                    }
                }
                let written = match op {
                    Atomic::LoadAcquire => Some(dst),
                    Atomic::FetchAdd
                    | Atomic::FetchOr
                    | Atomic::FetchAnd
                    | Atomic::FetchXor
                    | Atomic::Xchg => Some(src),
                    Atomic::Cmpxchg => Some(0),
                    Atomic::Add | Atomic::Or | Atomic::And | Atomic::Xor | Atomic::StoreRelease => {
                        None
                    }
                };
                if let Some(reg) = written {
                    self.set(at, reg.into(), Known::Nothing);
                }
            }
            Op::Call(_) => (0..=5).for_each(|reg| self.set(at, reg, Known::Nothing)),
            Op::Branch { .. } | Op::Jump { .. } | Op::MayGoto { .. } | Op::Exit => {}
        }
    }

    fn compute(&mut self, at: usize, wide: bool, op: Alu, dst: Reg, src: Operand) {
        let known = if wide {
            self.sum(op, dst, src)
        } else {
            Known::Nothing
        };
        let from_stack = matches!(src, Operand::Reg(src) if self.slot(src).is_stack())
            || op != Alu::Mov && self.slot(dst).is_stack();
        self.set(at, dst.into(), known);
        self.slots[usize::from(dst)].astray = from_stack && !matches!(known, Known::Stack(_));
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
        for (reg, (slot, other)) in self.slots.iter_mut().zip(&other.slots).enumerate() {
            if slot.name != other.name {
                slot.name = name(block, reg, true);
            }
            let is_stack = slot.is_stack() || other.is_stack();
            slot.known = slot.known.meet(other.known);
            slot.astray = is_stack && !matches!(slot.known, Known::Stack(_));
        }
        *self != before
    }
}

/// The state at the beginning of each block; none for one that nothing leads to.
pub fn states<'a>(
    ops: &[Op],
    blocks: &[Range<usize>],
    variables: &'a [i32],
) -> Vec<Option<State<'a>>> {
    let block_at = |op: usize| blocks.partition_point(|block| block.start <= op) - 1;
    let mut states: Vec<Option<State>> = vec![None; blocks.len()];
    states[0] = Some(State::entry(variables));
    let mut waiting = BTreeSet::from([0]);
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
            .map(|target| (block_at(target as usize), jumped));
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

/// The most that a function has of stack.
pub const STACK_BYTES: u32 = 512;

/// What a function's stack is made of.
#[derive(Debug, PartialEq, Eq)]
pub struct Stack {
    /// So much at its end is an array.
    pub array_bytes: u32,
    /// Words below, from the end, that are variables; sorted.
    pub variables: Vec<i32>,
}

impl Stack {
    /// An array alone, for what anything may point into.
    pub const WHOLE: Self = Self {
        array_bytes: STACK_BYTES,
        variables: Vec::new(),
    };

    /// `states` are those without variables.
    pub fn of(ops: &[Op], blocks: &[Range<usize>], states: &[Option<State>]) -> Self {
        let mut lowest_pointer = 0;
        let mut touched = BTreeSet::new();
        for (block, state) in blocks.iter().zip(states) {
            let Some(mut state) = state.clone() else {
                continue;
            };
            for at in block.clone() {
                if state.loses_a_pointer(&ops[at]) {
                    return Self::WHOLE;
                }
                touched.extend(state.touches(&ops[at]));
                state.step(at, &ops[at]);
                lowest_pointer = lowest_pointer.min(state.lowest_pointer());
            }
        }
        let straddled: BTreeSet<i32> = touched
            .iter()
            .map(|place| (word_of(place.from), word_of(place.from + place.bytes - 1)))
            .filter(|(first, last)| first != last)
            .flat_map(|(first, last)| [first, last])
            .collect();
        let (words, others): (Vec<Place>, Vec<Place>) = touched.into_iter().partition(|place| {
            let word = word_of(place.from);
            word >= -(STACK_BYTES as i32)
                && word + 8 <= lowest_pointer
                && !straddled.contains(&word)
        });
        let mut variables: Vec<i32> = words.iter().map(|place| word_of(place.from)).collect();
        variables.dedup();
        let lowest = others.iter().map(|place| place.from).min().unwrap_or(0);
        let lowest = lowest.min(lowest_pointer).unsigned_abs();
        Self {
            array_bytes: lowest.next_multiple_of(8).min(STACK_BYTES),
            variables,
        }
    }
}

/// The word of the stack that a place is in.
pub fn word_of(place: i32) -> i32 {
    place & !7
}

/// Bytes of the stack that an operation accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    from: i32,
    bytes: i32,
}

impl State<'_> {
    /// Whether an operation does with a pointer into the stack what this analysis does not follow.
    fn loses_a_pointer(&self, op: &Op) -> bool {
        match *op {
            Op::Load { src, .. }
            | Op::Atomic {
                op: Atomic::LoadAcquire,
                src,
                ..
            } => self.slot(src).astray,
            Op::Store { dst, src, .. } => {
                let stored = matches!(src, Operand::Reg(src) if self.slot(src).is_stack());
                stored || self.slot(dst).astray
            }
            Op::Atomic { dst, src, .. } => self.slot(src).is_stack() || self.slot(dst).astray,
            Op::ArenaCast { src, .. } => self.slot(src).is_stack(),
            Op::Call(Callee::Function(_)) => (1..=5).any(|reg| self.slot(reg).is_stack()),
            _ => false,
        }
    }

    fn touches(&self, op: &Op) -> Option<Place> {
        let (width, base, off) = match *op {
            Op::Load {
                width, src, off, ..
            }
            | Op::Atomic {
                op: Atomic::LoadAcquire,
                width,
                src,
                off,
                ..
            } => (width, src, off),
            Op::Store {
                width, dst, off, ..
            }
            | Op::Atomic {
                width, dst, off, ..
            } => (width, dst, off),
            _ => return None,
        };
        match self.known(base) {
            Known::Stack(at) => Some(Place {
                from: at + i32::from(off),
                bytes: width.bytes() as i32,
            }),
            _ => None,
        }
    }

    fn lowest_pointer(&self) -> i32 {
        let offsets = self.slots.iter().filter_map(|slot| match slot.known {
            Known::Stack(at) => Some(at),
            _ => None,
        });
        offsets.min().unwrap_or(0)
    }
}
