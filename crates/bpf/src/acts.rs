// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a function can do anything, as its constants are.

use crate::image::Image;
use crate::op::Op;
use crate::reach::{self, Constants, Root, Subject};

/// The frame's end, below which what a function stores is its own.
const FRAME: u8 = 10;

/// Whether a function, called from outside, can write to memory that others see, or call anything: with these constants of
/// the global data, by place and bytes, and whatever else holds there.
pub fn acts(image: &Image, function: u32, constants: Constants) -> bool {
    let subject = |ops| Subject {
        ops,
        is_global: true,
    };
    let subjects: Vec<Subject> = (image.functions.iter())
        .map(|function| subject(function.ops.as_slice()))
        .collect();
    let root = Root {
        function: function as usize,
        nullable: 0,
    };
    let reached = reach::reached(&subjects, &[root], constants);
    let does = |op: &Op| match op {
        Op::Store { dst, .. } => *dst != FRAME,
        Op::Atomic { .. } | Op::Call(_) => true,
        _ => false,
    };
    let ops = image.functions[function as usize].ops.iter();
    ops.zip(&reached.ops[function as usize])
        .any(|(op, reached)| *reached && does(op))
}
