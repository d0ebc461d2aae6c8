// SPDX-License-Identifier: GPL-2.0-or-later
//! The switches of a run: where it is, and which were made so far.

use super::chooser::{Chooser, Interleave};
use super::switch::Taken;

pub struct Interleaving {
    pub chooser: Chooser,
    pub taken: Vec<Taken>,
    /// The operation whose points are counted.
    operation: u64,
    points: u32,
}

impl Interleaving {
    pub fn new(interleave: Interleave) -> Self {
        Self {
            chooser: Chooser::new(interleave),
            taken: Vec::new(),
            operation: 0,
            points: 0,
        }
    }

    /// One more point of an operation; its number.
    pub fn count(&mut self, operation: u64) -> u32 {
        if self.operation != operation {
            self.operation = operation;
            self.points = 0;
        }
        self.points += 1;
        self.points
    }
}
