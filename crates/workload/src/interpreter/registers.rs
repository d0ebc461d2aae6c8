// SPDX-License-Identifier: GPL-2.0-or-later
//! How far a task is in its program, and what it knows.

use serde::{Deserialize, Serialize};

use super::timer::Timer;
use crate::draw::Stream;
use crate::plan::{Draw, Plan, Value};

/// The interpreter keeps them; a task that replaces its program image takes them along.
#[derive(Debug, Serialize, Deserialize)]
pub struct Registers {
    /// The task's index in its group.
    me: i64,
    /// The next instruction.
    pub(super) next: u32,
    pub(super) begun: bool,
    locals: Box<[i64]>,
    stream: Stream,
    /// The task's own last stamp.
    pub(super) stamp_ns: u64,
    /// The stamp that came with the last message or post.
    pub(super) message_ns: u64,
    /// When the last sleep or timer was due.
    pub(super) due_ns: u64,
    pub(super) timer: Timer,
}

impl Registers {
    /// Of a task before its first instruction.
    pub fn new(plan: &Plan, group: u32, index: u32) -> Self {
        let locals = plan.groups[group as usize].locals;
        Self {
            me: i64::from(index),
            next: 0,
            begun: false,
            locals: vec![0; usize::from(locals)].into(),
            stream: plan.stream(group, index),
            stamp_ns: 0,
            message_ns: 0,
            due_ns: 0,
            timer: Timer::default(),
        }
    }

    /// Whether the task was stopped in the instruction that it is at, and tries it again.
    pub fn begun(&self) -> bool {
        self.begun
    }

    pub(super) fn eval(&self, value: &Value) -> i64 {
        match value {
            Value::Const(value) => *value,
            _ => value.eval(self.me, &self.locals),
        }
    }

    /// The next draw from the task's stream; a fixed value leaves the stream as it is.
    pub(super) fn draw(&mut self, draw: &Draw) -> u64 {
        match draw {
            Draw::Fixed(value) => self.eval(value).max(0) as u64,
            _ => self.stream.draw(draw, self.me, &self.locals),
        }
    }

    /// A local that the program does not have is not kept, as it reads as 0.
    pub(super) fn set(&mut self, local: u8, value: i64) {
        if let Some(local) = self.locals.get_mut(usize::from(local)) {
            *local = value;
        }
    }
}
