// SPDX-License-Identifier: GPL-2.0-or-later
//! Random programs give the same result, memory, count and fault in the interpreter and in every translation.
//!
//! `r0` to `r8` hold numbers, which the end of each function stores to global data. `r9` holds the pointer of the access
//! that comes next, so that no address of a stack gets into a number: those differ between executors.

use bpf::host::FaultKind;
use bpf::op::{
    Alu, Atomic, Callee, Condition, Op, Operand, Order, Reg, Value, Width, function_value,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{Executors, Outcome, World};
use crate::write::{
    EXECUTED, FORBIDDEN, LOOP, MIX, REFUSE, add, alu, atomic, branch, function, image, imm, jump,
    load, mov, outside, set, store,
};

/// Functions of one program; each calls those behind it.
const FUNCTIONS: usize = 3;
/// Programs of one image: the compiler is slow to start.
const PROGRAMS: usize = 12;

#[derive(Clone, Debug)]
enum Step {
    Plain(Op),
    Access(Base, i16, Access),
    If(Test, Vec<Step>, Vec<Step>),
    Repeat {
        times: i32,
        may_goto: bool,
        body: Vec<Step>,
    },
    Call(usize),
    CallBack(usize, i32),
    Outside(u32),
    Missing,
    Leave,
}

/// A comparison as a branch has it.
#[derive(Clone, Copy, Debug)]
struct Test(bool, Condition, Reg, Operand);

/// Where `r9` points.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// The stack, by its own register, by a copy, and with a number added.
    Stack,
    StackCopy,
    StackIndexed(Reg),
    /// Words of the stack that have no address.
    Spilled,
    Data(u32),
    DataIndexed(Reg),
    Map(u32),
    MapIndexed(Reg),
    Variable(u32),
    Arena(u32),
    Null(i32),
    /// A map, or NULL where a number is odd; perhaps compared with 0 first, itself or its copy in that number, and
    /// perhaps spilled before that.
    Maybe(Reg, Compared, bool),
    Forbidden,
}

#[derive(Clone, Copy, Debug)]
enum Compared {
    Not,
    Itself,
    Copy,
}

#[derive(Clone, Copy, Debug)]
enum Access {
    Load(Width, bool, Reg),
    Store(Width, Operand),
    Atomic(Atomic, Width, Reg),
}

impl Access {
    fn width(self) -> Width {
        match self {
            Self::Load(width, ..) | Self::Store(width, _) | Self::Atomic(_, width, _) => width,
        }
    }
}

fn reg() -> impl Strategy<Value = Reg> {
    0u8..=8
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        select(vec![
            0,
            1,
            2,
            u64::MAX,
            0x7f,
            0x80,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            i64::MAX as u64,
            i64::MIN as u64,
        ]),
        any::<u64>(),
        0u64..64,
    ]
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        reg().prop_map(Operand::Reg),
        select(vec![0, 1, -1, 31, 32, 63, 64, i32::MIN, i32::MAX]).prop_map(Operand::Imm),
        any::<i32>().prop_map(Operand::Imm),
    ]
}

fn any_width() -> impl Strategy<Value = Width> {
    select(vec![Width::Byte, Width::Half, Width::Word, Width::Double])
}

fn alu_op() -> impl Strategy<Value = (bool, Alu)> {
    let both = [
        Alu::Add,
        Alu::Sub,
        Alu::Mul,
        Alu::Div,
        Alu::Sdiv,
        Alu::Mod,
        Alu::Smod,
        Alu::Or,
        Alu::And,
        Alu::Lsh,
        Alu::Rsh,
        Alu::Arsh,
        Alu::Xor,
        Alu::Mov,
        Alu::Neg,
        Alu::MovSigned(Width::Byte),
        Alu::MovSigned(Width::Half),
    ];
    let mut all: Vec<(bool, Alu)> = both
        .into_iter()
        .flat_map(|op| [(true, op), (false, op)])
        .collect();
    all.push((true, Alu::MovSigned(Width::Word)));
    select(all)
}

fn test() -> impl Strategy<Value = Test> {
    let condition = select(vec![
        Condition::Eq,
        Condition::Ne,
        Condition::Gt,
        Condition::Ge,
        Condition::Lt,
        Condition::Le,
        Condition::SignedGt,
        Condition::SignedGe,
        Condition::SignedLt,
        Condition::SignedLe,
        Condition::Set,
    ]);
    (any::<bool>(), condition, reg(), operand())
        .prop_map(|(wide, condition, dst, src)| Test(wide, condition, dst, src))
}

fn plain() -> impl Strategy<Value = Op> {
    let swapped = select(vec![Width::Half, Width::Word, Width::Double]);
    let order = select(vec![Order::Little, Order::Big, Order::Swap]);
    let value = prop_oneof![
        4 => number().prop_map(Value::Const),
        1 => (0u32..256).prop_map(Value::Data),
        1 => (0u32..2).prop_map(Value::Map),
        1 => (0u32..2).prop_map(Value::Variable),
        1 => (0u32..3).prop_map(Value::Function),
        1 => any::<u32>().prop_map(Value::Arena),
    ];
    prop_oneof![
        8 => (alu_op(), reg(), operand())
            .prop_map(|((wide, op), dst, src)| Op::Alu { wide, op, dst, src }),
        1 => (order, swapped, reg()).prop_map(|(order, width, dst)| Op::Swap { order, width, dst }),
        2 => (reg(), value).prop_map(|(dst, value)| imm(dst, value)),
        1 => (any::<bool>(), reg(), reg())
            .prop_map(|(to_user, dst, src)| Op::ArenaCast { to_user, dst, src }),
    ]
}

fn base() -> impl Strategy<Value = Base> {
    let compared = select(vec![Compared::Not, Compared::Itself, Compared::Copy]);
    prop_oneof![
        6 => Just(Base::Stack),
        4 => Just(Base::StackCopy),
        2 => reg().prop_map(Base::StackIndexed),
        7 => Just(Base::Spilled),
        // Constants too, which only code without checks may write.
        6 => (0u32..180).prop_map(Base::Data),
        3 => reg().prop_map(Base::DataIndexed),
        3 => (0u32..2).prop_map(Base::Map),
        3 => reg().prop_map(Base::MapIndexed),
        1 => (0u32..2).prop_map(Base::Variable),
        3 => (0u32..1024).prop_map(Base::Arena),
        1 => select(vec![0, 1, 4095]).prop_map(Base::Null),
        3 => (reg(), compared, any::<bool>())
            .prop_map(|(reg, compared, spilled)| Base::Maybe(reg, compared, spilled)),
        1 => Just(Base::Forbidden),
    ]
}

fn access() -> impl Strategy<Value = Access> {
    let full = select(vec![Width::Word, Width::Double]);
    let changing = select(vec![
        Atomic::Add,
        Atomic::Or,
        Atomic::And,
        Atomic::Xor,
        Atomic::FetchAdd,
        Atomic::FetchOr,
        Atomic::FetchAnd,
        Atomic::FetchXor,
        Atomic::Xchg,
        Atomic::Cmpxchg,
    ]);
    let plain = select(vec![Atomic::LoadAcquire, Atomic::StoreRelease]);
    prop_oneof![
        4 => (any_width(), any::<bool>(), reg()).prop_map(|(w, signed, to)| Access::Load(w, signed, to)),
        4 => (any_width(), operand()).prop_map(|(w, src)| Access::Store(w, src)),
        2 => (changing, full, reg()).prop_map(|(op, w, src)| Access::Atomic(op, w, src)),
        1 => (plain, any_width(), reg()).prop_map(|(op, w, src)| Access::Atomic(op, w, src)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        20 => plain().prop_map(Step::Plain),
        14 => (base(), 0i16..24, access()).prop_map(|(base, off, access)| Step::Access(base, off, access)),
        2 => (1..FUNCTIONS).prop_map(Step::Call),
        1 => (1..FUNCTIONS, 0i32..4).prop_map(|(callee, times)| Step::CallBack(callee, times)),
        2 => Just(Step::Outside(MIX)),
        1 => Just(Step::Outside(EXECUTED)),
    ];
    leaf.prop_recursive(2, 24, 6, |inner| {
        let body = prop::collection::vec(inner, 0..6);
        let end = select(vec![Step::Leave, Step::Missing, Step::Outside(REFUSE)]);
        prop_oneof![
            4 => (test(), body.clone(), body.clone())
                .prop_map(|(test, then, otherwise)| Step::If(test, then, otherwise)),
            3 => (1i32..4, any::<bool>(), body.clone())
                .prop_map(|(times, may_goto, body)| Step::Repeat { times, may_goto, body }),
            2 => (test(), body, end).prop_map(|(test, mut body, end)| {
                body.push(end);
                Step::If(test, body, Vec::new())
            }),
        ]
    })
}

#[derive(Clone, Debug)]
struct Program {
    functions: Vec<Vec<Step>>,
    args: [u64; 5],
    limit: u64,
}

fn program() -> impl Strategy<Value = Program> {
    let functions = prop::collection::vec(prop::collection::vec(step(), 1..12), FUNCTIONS);
    let limit = prop_oneof![3 => Just(20_000u64), 1 => 0u64..200];
    (functions, prop::array::uniform5(number()), limit).prop_map(|(functions, args, limit)| {
        Program {
            functions,
            args,
            limit,
        }
    })
}

/// One function's operations, from its steps.
struct Writer {
    ops: Vec<Op>,
    /// Index of the program's first function.
    first: u32,
    /// Loops around the step that is written.
    nested: i16,
}

impl Writer {
    fn function(steps: &[Step], first: usize, index: usize) -> Vec<Op> {
        let mut writer = Self {
            ops: Vec::new(),
            first: first as u32,
            nested: 0,
        };
        // Functions call those behind them.
        writer.steps(steps, index);
        writer.ops.push(imm(9, Value::Data(192)));
        for reg in 1..=8 {
            let off = i16::from(reg - 1) * 8;
            writer
                .ops
                .push(store(Width::Double, 9, off, Operand::Reg(reg)));
        }
        writer.ops.push(Op::Exit);
        writer.ops
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    /// An operation whose target is found later.
    fn hole(&mut self) -> usize {
        self.ops.push(jump(0));
        self.ops.len() - 1
    }

    fn steps(&mut self, steps: &[Step], index: usize) {
        for step in steps {
            self.step(step, index);
        }
    }

    fn step(&mut self, step: &Step, index: usize) {
        match step {
            Step::Plain(op) => self.ops.push(*op),
            Step::Access(base, off, access) => self.access(*base, *off, *access),
            Step::If(Test(wide, condition, dst, src), then, otherwise) => {
                let test = self.hole();
                self.steps(otherwise, index);
                let over = self.hole();
                self.ops[test] = Op::Branch {
                    wide: *wide,
                    condition: *condition,
                    dst: *dst,
                    src: *src,
                    target: self.here(),
                };
                self.steps(then, index);
                self.ops[over] = jump(self.here());
            }
            Step::Repeat {
                times,
                may_goto,
                body,
            } => self.repeat(*times, *may_goto, body, index),
            Step::Call(callee) if *callee > index => {
                let callee = Callee::Function(self.first + *callee as u32);
                self.ops.push(Op::Call(callee));
            }
            Step::CallBack(callee, times) if *callee > index => {
                self.ops.push(set(1, *times));
                let value = function_value(self.first + *callee as u32);
                self.ops.push(set(2, value as i32));
                self.ops.push(outside(LOOP));
            }
            Step::Call(_) | Step::CallBack(..) => self.ops.push(outside(MIX)),
            Step::Outside(index) => self.ops.push(outside(*index)),
            Step::Missing => self.ops.push(Op::Call(Callee::Missing)),
            Step::Leave => self.ops.push(Op::Exit),
        }
    }

    /// The count is on the stack, apart from what accesses touch.
    fn repeat(&mut self, times: i32, may_goto: bool, body: &[Step], index: usize) {
        self.nested += 1;
        let place = -64 - 8 * self.nested;
        self.ops
            .push(store(Width::Double, 10, place, Operand::Imm(times)));
        let begin = self.here();
        let passed = may_goto.then(|| self.hole());
        self.steps(body, index);
        self.ops.push(load(Width::Double, 9, 10, place));
        self.ops.push(add(9, -1));
        self.ops
            .push(store(Width::Double, 10, place, Operand::Reg(9)));
        self.ops.push(branch(Condition::Ne, 9, 0, begin));
        if let Some(hole) = passed {
            self.ops[hole] = Op::MayGoto {
                target: self.here(),
            };
        }
        self.nested -= 1;
    }

    fn access(&mut self, base: Base, off: i16, access: Access) {
        let indexed = |reg, mask| {
            [
                alu(Alu::And, reg, Operand::Imm(mask)),
                alu(Alu::Add, 9, Operand::Reg(reg)),
            ]
        };
        let (mut register, mut offset, mut skip) = (9, off, None);
        match base {
            Base::Stack => (register, offset) = (10, off - 40),
            Base::StackCopy => self.ops.extend([mov(9, 10), add(9, -40)]),
            Base::StackIndexed(reg) => {
                self.ops.extend([mov(9, 10), add(9, -64)]);
                self.ops.extend(indexed(reg, 31));
            }
            Base::Spilled => {
                let within = (off % 8) & -(access.width().bytes() as i16);
                (register, offset) = (10, spilled(off / 8) + within);
            }
            Base::Data(at) => self.ops.push(imm(9, Value::Data(at))),
            Base::DataIndexed(reg) => {
                self.ops.push(imm(9, Value::Data(64)));
                self.ops.extend(indexed(reg, 0x5f));
            }
            Base::Map(index) => self.ops.push(imm(9, Value::Map(index))),
            Base::MapIndexed(reg) => {
                self.ops.push(imm(9, Value::Map(0)));
                self.ops.extend(indexed(reg, 63));
            }
            // One is as long as the widest access, at its beginning.
            Base::Variable(index) => {
                self.ops.push(imm(9, Value::Variable(index)));
                offset = 0;
            }
            Base::Arena(at) => self.ops.extend([
                imm(9, Value::Arena(at)),
                Op::ArenaCast {
                    to_user: false,
                    dst: 9,
                    src: 9,
                },
            ]),
            Base::Null(value) => self.ops.push(set(9, value)),
            Base::Maybe(number, compared, is_spilled) => {
                let here = self.here();
                self.ops.push(imm(9, Value::Map(1)));
                self.ops.push(branch(Condition::Set, number, 1, here + 3));
                self.ops.push(set(9, 0));
                if is_spilled {
                    self.ops
                        .push(store(Width::Double, 10, spilled(0), Operand::Reg(9)));
                }
                let tested = match compared {
                    Compared::Not => None,
                    Compared::Itself => Some(9),
                    Compared::Copy => {
                        self.ops.push(mov(number, 9));
                        Some(number)
                    }
                };
                skip = tested.map(|tested| (self.hole(), tested));
                if is_spilled {
                    self.ops.push(load(Width::Double, 9, 10, spilled(0)));
                }
            }
            Base::Forbidden => self.ops.extend([outside(FORBIDDEN), mov(9, 0)]),
        }
        self.ops.push(match access {
            Access::Load(width, signed, dst) => Op::Load {
                width,
                signed,
                dst,
                src: register,
                off: offset,
            },
            Access::Store(width, src) => store(width, register, offset, src),
            Access::Atomic(Atomic::LoadAcquire, width, dst) => {
                atomic(Atomic::LoadAcquire, width, dst, register, offset)
            }
            Access::Atomic(op, width, src) => atomic(op, width, register, src, offset),
        });
        if let Some((hole, tested)) = skip {
            self.ops[hole] = branch(Condition::Eq, tested, 0, self.here());
        }
    }
}

/// A place below all that has an address.
fn spilled(word: i16) -> i16 {
    -120 + 8 * word
}

fn ops_of(programs: &[Program]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    for program in programs {
        let first = all.len();
        for (index, steps) in program.functions.iter().enumerate() {
            all.push(Writer::function(steps, first, index));
        }
    }
    all
}

/// Runs each program in every way; what happened, without and with checks.
fn run(programs: &[Program]) -> Result<Vec<[Outcome; 2]>, String> {
    let functions = ops_of(programs)
        .into_iter()
        .map(|ops| function("random", ops));
    let executors = Executors::once(&image(functions.collect()));
    let mut world = World::new();
    let mut outcomes = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        let first = (index * FUNCTIONS) as u32;
        let mut outcome =
            |checked| executors.call(&mut world, checked, program.limit, first, program.args);
        outcomes.push([outcome(false)?, outcome(true)?]);
    }
    Ok(outcomes)
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(6)
}

#[test]
fn random_programs_run_alike() {
    let config = ProptestConfig {
        cases: cases(),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = prop::collection::vec(program(), 1..=PROGRAMS);
    proptest!(config, |(programs in programs)| {
        if let Err(difference) = run(&programs) {
            prop_assert!(false, "{difference}\n{:?}", ops_of(&programs));
        }
    });
}

/// The random programs reach what they are for.
#[test]
fn random_programs_end_in_every_way() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(program(), 60);
    let programs = strategy.new_tree(&mut runner).unwrap().current();
    let outcomes = run(&programs).unwrap();
    let ended = |checked: usize, kind: Option<FaultKind>| {
        let kinds = outcomes.iter().map(|both| both[checked].fault);
        kinds
            .map(|fault| fault.map(|fault| fault.0))
            .any(|found| found == kind)
    };
    for kind in [
        None,
        Some(FaultKind::Access),
        Some(FaultKind::Limit),
        Some(FaultKind::Missing),
        Some(FaultKind::Outside),
    ] {
        assert!(ended(0, kind), "none of them ends in {kind:?}");
    }
    assert!(outcomes.iter().any(|both| both[0] != both[1]));
}
