// SPDX-License-Identifier: GPL-2.0-or-later
//! A function's basic blocks, and what no executor could do anything with.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{Context, Result, ensure};

use crate::image::{Function, Image};
use crate::op::{Callee, Op, Operand, Reg, Value};

/// The stack pointer, which nothing writes to.
pub const FRAME: Reg = 10;

impl Op {
    /// Where it may go, other than to the next operation.
    pub fn target(&self) -> Option<u32> {
        match *self {
            Self::Jump { target } | Self::Branch { target, .. } | Self::MayGoto { target } => {
                Some(target)
            }
            _ => None,
        }
    }

    /// Whether it may go on to the next operation.
    pub fn continues(&self) -> bool {
        !matches!(
            self,
            Self::Jump { .. } | Self::Exit | Self::Call(Callee::Missing)
        )
    }

    fn ends_block(&self) -> bool {
        self.target().is_some() || matches!(self, Self::Call(_) | Self::Exit)
    }

    /// Registers that it names: those it writes to, and those it reads only.
    fn registers(&self) -> (Option<Reg>, [Option<Reg>; 2]) {
        use crate::op::Atomic;
        let read = |operand: Operand| match operand {
            Operand::Reg(reg) => Some(reg),
            Operand::Imm(_) => None,
        };
        match *self {
            Self::Alu { dst, src, .. } => (Some(dst), [read(src), None]),
            Self::Swap { dst, .. } | Self::Immediate { dst, .. } => (Some(dst), [None, None]),
            Self::Load { dst, src, .. } | Self::ArenaCast { dst, src, .. } => {
                (Some(dst), [Some(src), None])
            }
            Self::Store { dst, src, .. } | Self::Branch { dst, src, .. } => {
                (None, [Some(dst), read(src)])
            }
            Self::Atomic { op, dst, src, .. } => match op {
                Atomic::LoadAcquire => (Some(dst), [Some(src), None]),
                Atomic::FetchAdd
                | Atomic::FetchOr
                | Atomic::FetchAnd
                | Atomic::FetchXor
                | Atomic::Xchg => (Some(src), [Some(dst), None]),
                _ => (None, [Some(dst), Some(src)]),
            },
            Self::Jump { .. } | Self::MayGoto { .. } | Self::Call(_) | Self::Exit => {
                (None, [None, None])
            }
        }
    }
}

/// The blocks in order. One ends after each call too, so that what was executed before a call is whole blocks.
pub fn blocks(function: &Function) -> Vec<Range<usize>> {
    let end = function.ops.len();
    let mut starts = BTreeSet::from([0, end]);
    for (at, op) in function.ops.iter().enumerate() {
        starts.extend(op.target().map(|target| target as usize));
        if op.ends_block() {
            starts.insert(at + 1);
        }
    }
    let starts: Vec<usize> = starts.into_iter().collect();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

impl Image {
    /// Every index in the code lies within what it refers to, and no function runs over its end.
    pub fn validate(&self) -> Result<()> {
        for function in &self.functions {
            ensure!(
                function.ops.last().is_some_and(|op| !op.continues()),
                "{}: the code runs over its end",
                function.name
            );
            for (at, op) in function.ops.iter().enumerate() {
                self.validate_op(function, op)
                    .with_context(|| format!("{}: operation {at}", function.name))?;
            }
        }
        Ok(())
    }

    fn validate_op(&self, function: &Function, op: &Op) -> Result<()> {
        let within = |what: &str, index: u32, count: usize| {
            ensure!((index as usize) < count, "no {what} {index} of {count}");
            Ok(())
        };
        let (written, read) = op.registers();
        ensure!(
            written.is_none_or(|reg| reg < FRAME),
            "writes to register {}",
            written.unwrap_or_default()
        );
        for reg in read.into_iter().flatten() {
            ensure!(reg <= FRAME, "no register {reg}");
        }
        if let Some(target) = op.target() {
            within("operation", target, function.ops.len())?;
        }
        match *op {
            Op::Call(Callee::Function(index)) => within("function", index, self.functions.len()),
            Op::Call(Callee::Outside(index)) => within("helper", index, self.outside.len()),
            Op::Immediate { value, .. } => match value {
                Value::Map(index) => within("map", index, self.maps.len()),
                Value::Function(index) => within("function", index, self.functions.len()),
                Value::Variable(index) => within("variable", index, self.variables.len()),
                Value::Const(_) | Value::Data(_) | Value::Arena(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
