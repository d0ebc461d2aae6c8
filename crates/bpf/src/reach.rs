// SPDX-License-Identifier: GPL-2.0-or-later
//! Which operations can be reached, as the verifier finds out by following constants: what an object asks of the
//! kernel's types and names became constants, and what is guarded by them is dead where the answer is no.
//!
//! On the way it is found where a callback reads or writes through an argument that may be NULL and that nothing has
//! compared with NULL. What is not sure is not said: the verifier looks at every way by itself, this at all together.

use std::collections::{BTreeMap, VecDeque};

use crate::op::{Alu, Callee, Condition, Op, Operand, Reg, Value, Width};

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Number(u64),
    /// A place in the global data.
    Data(u64),
    /// An address in the function's own frame, by offset from its end.
    Frame(i64),
    /// Some other address: not 0.
    Address,
    /// Where a callback's arguments are. Those with a bit may be NULL.
    Arguments(u64),
    /// The callback's argument of that index, which may be NULL.
    Nullable(u32),
}

type Guess = Option<Known>;

/// Offsets that an address in the frame may have.
const FRAME: std::ops::RangeInclusive<i64> = -512..=0;

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    regs: [Guess; 11],
    /// What was put into the frame, by offset.
    slots: BTreeMap<i64, (Width, Known)>,
    /// From this offset of the frame on, others may write.
    shared: i64,
}

impl State {
    fn entry(arguments: [Guess; 5]) -> Self {
        let mut regs = [None; 11];
        regs[1..6].copy_from_slice(&arguments);
        regs[10] = Some(Known::Frame(0));
        Self {
            regs,
            slots: BTreeMap::new(),
            shared: 0,
        }
    }

    /// What holds on both ways; false where that is nothing new.
    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (one, other) in self.regs.iter_mut().zip(other.regs) {
            if *one != other {
                *one = None;
            }
        }
        self.slots
            .retain(|offset, slot| other.slots.get(offset) == Some(slot));
        self.shared = self.shared.min(other.shared);
        *self != before
    }

    /// What is known of an argument that may be NULL, wherever it was copied to.
    fn learn(&mut self, argument: u32, known: Guess) {
        let nullable = Known::Nullable(argument);
        for reg in self.regs.iter_mut().filter(|reg| **reg == Some(nullable)) {
            *reg = known;
        }
        match known {
            None => self.slots.retain(|_, (_, slot)| *slot != nullable),
            Some(known) => {
                let slots = self.slots.values_mut();
                for (_, slot) in slots.filter(|(_, slot)| *slot == nullable) {
                    *slot = known;
                }
            }
        }
    }

    /// Another function may compare its arguments with NULL, which its caller then knows as well.
    fn forget_nullable(&mut self) {
        let is_nullable = |known: &Known| matches!(known, Known::Nullable(_));
        for reg in &mut self.regs {
            *reg = reg.filter(|known| !is_nullable(known));
        }
        self.slots.retain(|_, (_, slot)| !is_nullable(slot));
    }

    fn operand(&self, operand: Operand) -> Guess {
        match operand {
            Operand::Reg(reg) => self.regs[reg as usize],
            Operand::Imm(imm) => Some(Known::Number(i64::from(imm).cast_unsigned())),
        }
    }

    /// An address of the frame that others get to see. A compiler puts what it spills below the variables, and nobody
    /// goes down from the address of a variable.
    fn share(&mut self, guess: Guess) {
        if let Some(Known::Frame(offset)) = guess {
            // The frame's own end is no variable: what is made of it may be anywhere below.
            let offset = if offset == 0 { *FRAME.start() } else { offset };
            self.shared = self.shared.min(offset);
        }
    }

    /// Something that is not known was written, or by someone else.
    fn forget_shared(&mut self) {
        let shared = self.shared;
        self.slots
            .retain(|offset, (width, _)| offset + i64::from(width.bytes()) <= shared);
    }

    fn store(&mut self, width: Width, address: Guess, off: i16, value: Guess) {
        self.share(value);
        match address {
            Some(Known::Frame(base)) => {
                let start = base + i64::from(off);
                let end = start + i64::from(width.bytes());
                self.slots.retain(|offset, (width, _)| {
                    offset + i64::from(width.bytes()) <= start || end <= *offset
                });
                match value {
                    Some(Known::Number(number)) => {
                        let number = Known::Number(extend(number, width, false));
                        self.slots.insert(start, (width, number));
                    }
                    Some(known) if width == Width::Double => {
                        self.slots.insert(start, (width, known));
                    }
                    _ => {}
                }
            }
            Some(Known::Data(_) | Known::Address | Known::Arguments(_) | Known::Nullable(_)) => {}
            Some(Known::Number(_)) | None => self.forget_shared(),
        }
    }
}

/// Constants in memory: the number of so many bytes at a place of the global data, if it is one.
pub type Constants<'a> = &'a dyn Fn(u64, u32) -> Option<u64>;

/// One function as it is looked at.
pub struct Subject<'a> {
    pub ops: &'a [Op],
    /// The verifier takes nothing for granted of its arguments.
    pub is_global: bool,
}

/// Where code begins.
#[derive(Clone, Copy)]
pub struct Root {
    pub function: usize,
    /// Of a callback: its arguments that may be NULL, a bit each.
    pub nullable: u64,
}

pub struct Reached {
    /// For each function, whether each of its operations is.
    pub ops: Vec<Vec<bool>>,
    /// Uses of arguments that may be NULL: function, operation, argument.
    pub unchecked: Vec<(usize, usize, u32)>,
}

/// Finds what is reached from `roots`.
pub fn reached(subjects: &[Subject], roots: &[Root], constants: Constants) -> Reached {
    let mut reach = Reach {
        subjects,
        constants,
        states: subjects
            .iter()
            .map(|subject| vec![None; subject.ops.len()])
            .collect(),
        results: vec![None; subjects.len()],
        callers: vec![Vec::new(); subjects.len()],
        queue: VecDeque::new(),
    };
    for root in roots {
        let arguments = (root.nullable != 0).then_some(Known::Arguments(root.nullable));
        let entry = State::entry([arguments, None, None, None, None]);
        reach.arrive(root.function, 0, &entry);
    }
    while let Some((function, op)) = reach.queue.pop_front() {
        reach.step(function, op);
    }
    Reached {
        ops: (reach.states.iter())
            .map(|states| states.iter().map(Option::is_some).collect())
            .collect(),
        unchecked: reach.unchecked(),
    }
}

struct Reach<'a> {
    subjects: &'a [Subject<'a>],
    constants: Constants<'a>,
    /// Before each operation, where it was reached.
    states: Vec<Vec<Option<State>>>,
    /// What functions return, once they do.
    results: Vec<Option<Guess>>,
    callers: Vec<Vec<(usize, usize)>>,
    queue: VecDeque<(usize, usize)>,
}

impl Reach<'_> {
    fn unchecked(&self) -> Vec<(usize, usize, u32)> {
        let mut found = Vec::new();
        for (function, subject) in self.subjects.iter().enumerate() {
            for (at, op) in subject.ops.iter().enumerate() {
                let base = match *op {
                    Op::Load { src, .. } => src,
                    // Nor is there arithmetic on it.
                    Op::Store { dst, .. }
                    | Op::Atomic { dst, .. }
                    | Op::Alu {
                        wide: true,
                        op: Alu::Add | Alu::Sub,
                        dst,
                        ..
                    } => dst,
                    _ => continue,
                };
                let state = self.states[function][at].as_ref();
                let known = state.and_then(|state| state.regs[base as usize]);
                if let Some(Known::Nullable(argument)) = known {
                    found.push((function, at, argument));
                }
            }
        }
        found
    }

    fn arrive(&mut self, function: usize, op: usize, state: &State) {
        let Some(place) = self.states[function].get_mut(op) else {
            return;
        };
        let is_new = match place {
            None => {
                *place = Some(state.clone());
                true
            }
            Some(before) => before.join(state),
        };
        if is_new {
            self.queue.push_back((function, op));
        }
    }

    fn step(&mut self, function: usize, at: usize) {
        let Some(mut state) = self.states[function][at].clone() else {
            return;
        };
        match self.subjects[function].ops[at] {
            Op::Jump { target } => return self.arrive(function, target as usize, &state),
            Op::MayGoto { target } => self.arrive(function, target as usize, &state),
            Op::Branch {
                wide,
                condition,
                dst,
                src,
                target,
            } => {
                let (left, right) = (state.regs[dst as usize], state.operand(src));
                let decided = decide(wide, condition, left, right);
                if let Some(Known::Nullable(argument)) = right {
                    state.learn(argument, None);
                }
                if let Some(Known::Nullable(argument)) = left {
                    let is_null = condition == Condition::Eq;
                    if wide && (is_null || condition == Condition::Ne) && src == Operand::Imm(0) {
                        let mut taken = state.clone();
                        taken.learn(argument, Some(null_or_not(is_null)));
                        self.arrive(function, target as usize, &taken);
                        state.learn(argument, Some(null_or_not(!is_null)));
                        return self.arrive(function, at + 1, &state);
                    }
                    state.learn(argument, None);
                }
                if decided != Some(false) {
                    let mut taken = state.clone();
                    refine(&mut taken, wide, condition == Condition::Eq, dst, right);
                    self.arrive(function, target as usize, &taken);
                }
                if decided == Some(true) {
                    return;
                }
                refine(&mut state, wide, condition == Condition::Ne, dst, right);
            }
            Op::Exit => return self.exit(function, state.regs[0]),
            Op::Call(callee) => {
                if !self.call(function, at, callee, &mut state) {
                    return;
                }
            }
            op => self.plain(op, &mut state),
        }
        self.arrive(function, at + 1, &state);
    }

    fn exit(&mut self, function: usize, result: Guess) {
        let result = match self.results[function] {
            None => result,
            Some(before) if before == result => return,
            Some(None) => return,
            Some(Some(_)) => None,
        };
        // An address in the frame is none any more.
        let result = result.filter(|known| !matches!(known, Known::Frame(_) | Known::Nullable(_)));
        self.results[function] = Some(result);
        self.queue.extend(self.callers[function].iter().copied());
    }

    /// False where the call does not return, as far as is known by then.
    fn call(&mut self, function: usize, at: usize, callee: Callee, state: &mut State) -> bool {
        let result = match callee {
            // What follows a refusal is looked at for more.
            Callee::Missing | Callee::Outside(_) => Some(None),
            Callee::Function(index) => {
                let index = index as usize;
                let is_global = self.subjects[index].is_global;
                let arguments = std::array::from_fn(|argument| {
                    let known = state.regs[argument + 1];
                    known.filter(|known| !is_global && !matches!(known, Known::Frame(_)))
                });
                if !self.callers[index].contains(&(function, at)) {
                    self.callers[index].push((function, at));
                }
                self.arrive(index, 0, &State::entry(arguments));
                self.results[index].map(|result| result.filter(|_| !is_global))
            }
        };
        if matches!(callee, Callee::Function(_)) {
            state.forget_nullable();
        }
        for reg in 1..6 {
            state.share(state.regs[reg]);
            state.regs[reg] = None;
        }
        state.forget_shared();
        state.regs[0] = result.flatten();
        result.is_some()
    }

    fn plain(&mut self, op: Op, state: &mut State) {
        match op {
            Op::Alu { wide, op, dst, src } => {
                let (left, right) = (state.regs[dst as usize], state.operand(src));
                let result = compute(wide, op, left, right);
                // What else is made of an address may be any address of the frame.
                if result.is_none() {
                    state.share(left);
                    state.share(right);
                }
                state.regs[dst as usize] = result;
            }
            Op::Load {
                width,
                signed,
                dst,
                src,
                off,
            } => state.regs[dst as usize] = self.load(state, width, signed, src, off),
            Op::Store {
                width,
                dst,
                off,
                src,
            } => {
                let value = state.operand(src);
                state.store(width, state.regs[dst as usize], off, value);
            }
            Op::Atomic {
                width,
                dst,
                src,
                off,
                ..
            } => {
                state.share(state.regs[src as usize]);
                state.store(width, state.regs[dst as usize], off, None);
                // Whichever of these it changes.
                for reg in [0, src, dst] {
                    state.share(state.regs[reg as usize]);
                    if reg != 10 {
                        state.regs[reg as usize] = None;
                    }
                }
            }
            Op::Immediate { dst, value } => {
                state.regs[dst as usize] = Some(match value {
                    Value::Const(number) => Known::Number(number),
                    Value::Data(place) => Known::Data(u64::from(place)),
                    Value::Function(function) => {
                        // Who gets to see its address may call it, with anything.
                        self.arrive(function as usize, 0, &State::entry([None; 5]));
                        Known::Address
                    }
                    Value::Arena(_) | Value::Map(_) | Value::Variable(_) => Known::Address,
                });
            }
            Op::ArenaCast { dst, .. } | Op::Swap { dst, .. } => state.regs[dst as usize] = None,
            Op::Jump { .. } | Op::Branch { .. } | Op::MayGoto { .. } | Op::Call(_) | Op::Exit => {
                unreachable!("not a plain operation")
            }
        }
    }

    fn load(&self, state: &State, width: Width, signed: bool, src: Reg, off: i16) -> Guess {
        let number = match state.regs[src as usize]? {
            Known::Frame(base) => match *state.slots.get(&(base + i64::from(off)))? {
                (stored, Known::Number(number)) if width.bytes() <= stored.bytes() => number,
                (Width::Double, known) if width == Width::Double => return Some(known),
                _ => return None,
            },
            Known::Data(place) => {
                let place = place.wrapping_add_signed(i64::from(off));
                (self.constants)(place, width.bytes())?
            }
            Known::Arguments(nullable) if width == Width::Double && off >= 0 && off % 8 == 0 => {
                let argument = u32::from(off.unsigned_abs()) / 8;
                let may_be_null = nullable.checked_shr(argument).unwrap_or(0) & 1 != 0;
                return may_be_null.then_some(Known::Nullable(argument));
            }
            _ => return None,
        };
        Some(Known::Number(extend(number, width, signed)))
    }
}

/// The low bytes of a number.
fn extend(number: u64, width: Width, signed: bool) -> u64 {
    let above = 64 - width.bytes() * 8;
    if signed {
        (number.cast_signed() << above >> above).cast_unsigned()
    } else {
        number << above >> above
    }
}

/// What a comparison with NULL makes of a pointer.
fn null_or_not(is_null: bool) -> Known {
    if is_null {
        Known::Number(0)
    } else {
        Known::Address
    }
}

/// On this way, the register equals the operand.
fn refine(state: &mut State, wide: bool, is_equal: bool, dst: Reg, right: Guess) {
    if wide && is_equal && dst != 10 && matches!(right, Some(Known::Number(_))) {
        state.regs[dst as usize] = right;
    }
}

fn decide(wide: bool, condition: Condition, left: Guess, right: Guess) -> Option<bool> {
    let (left, right) = match (left?, right?) {
        (Known::Number(left), Known::Number(right)) if wide => (left, right),
        (Known::Number(left), Known::Number(right)) => (
            extend(left, Width::Word, false),
            extend(right, Width::Word, false),
        ),
        (Known::Address | Known::Data(_) | Known::Frame(_), Known::Number(0)) if wide => {
            return match condition {
                Condition::Eq | Condition::Le => Some(false),
                Condition::Ne | Condition::Gt => Some(true),
                _ => None,
            };
        }
        _ => return None,
    };
    let signed = |number: u64| {
        if wide {
            number.cast_signed()
        } else {
            extend(number, Width::Word, true).cast_signed()
        }
    };
    Some(match condition {
        Condition::Eq => left == right,
        Condition::Ne => left != right,
        Condition::Gt => left > right,
        Condition::Ge => left >= right,
        Condition::Lt => left < right,
        Condition::Le => left <= right,
        Condition::SignedGt => signed(left) > signed(right),
        Condition::SignedGe => signed(left) >= signed(right),
        Condition::SignedLt => signed(left) < signed(right),
        Condition::SignedLe => signed(left) <= signed(right),
        Condition::Set => left & right != 0,
    })
}

fn compute(wide: bool, op: Alu, left: Guess, right: Guess) -> Guess {
    // Nothing of the operands is in what these make.
    match (op, right) {
        (Alu::Mov, Some(known)) if wide => return Some(known),
        (Alu::And | Alu::Mul, Some(Known::Number(0))) => return Some(Known::Number(0)),
        _ => {}
    }
    let Known::Number(right) = right? else {
        return None;
    };
    let left = match (op, left) {
        (Alu::Mov | Alu::MovSigned(_), _) => 0,
        (_, Some(Known::Number(left))) => left,
        (Alu::Add, Some(Known::Frame(base))) if wide => {
            let place = base.wrapping_add(right.cast_signed());
            return FRAME.contains(&place).then_some(Known::Frame(place));
        }
        (Alu::Add, Some(Known::Data(base))) if wide => {
            return Some(Known::Data(base.wrapping_add(right)));
        }
        _ => return None,
    };
    let count = right as u32 & if wide { 63 } else { 31 };
    let low = |number: u64| {
        if wide {
            number
        } else {
            extend(number, Width::Word, false)
        }
    };
    let result = match op {
        Alu::Add => left.wrapping_add(right),
        Alu::Sub => left.wrapping_sub(right),
        Alu::Mul => left.wrapping_mul(right),
        Alu::Or => left | right,
        Alu::And => left & right,
        Alu::Xor => left ^ right,
        Alu::Lsh => left << count,
        Alu::Rsh => low(left) >> count,
        Alu::Arsh if wide => (left.cast_signed() >> count).cast_unsigned(),
        Alu::Arsh => {
            let left = extend(left, Width::Word, true).cast_signed();
            (left >> count).cast_unsigned()
        }
        Alu::Mov => right,
        Alu::MovSigned(width) => extend(right, width, true),
        Alu::Neg => left.wrapping_neg(),
        Alu::Div | Alu::Sdiv | Alu::Mod | Alu::Smod => return None,
    };
    Some(Known::Number(low(result)))
}
