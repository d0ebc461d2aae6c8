// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues and stacks of values.

use std::collections::VecDeque;

use super::hash::EXIST;
use crate::consts::{E2BIG, EINVAL, ENOENT};

/// Which end is taken from; values come in at the back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

pub struct Queue {
    values: VecDeque<Box<[u8]>>,
    most: usize,
    taken_from: End,
}

impl Queue {
    pub fn new(most: usize, taken_from: End) -> Self {
        Self {
            values: VecDeque::new(),
            most,
            taken_from,
        }
    }

    /// With the flag `BPF_EXIST` the oldest value makes room in a full one.
    pub fn push(&mut self, value: &[u8], flags: u64) -> Result<(), i32> {
        if flags != 0 && flags != EXIST {
            return Err(EINVAL);
        }
        if self.values.len() >= self.most {
            if flags != EXIST {
                return Err(E2BIG);
            }
            self.values.pop_front();
        }
        self.values.push_back(value.into());
        Ok(())
    }

    pub fn peek(&self) -> Result<&[u8], i32> {
        let next = match self.taken_from {
            End::Front => self.values.front(),
            End::Back => self.values.back(),
        };
        next.map(|value| &**value).ok_or(ENOENT)
    }

    pub fn drop_next(&mut self) {
        match self.taken_from {
            End::Front => self.values.pop_front(),
            End::Back => self.values.pop_back(),
        };
    }
}
