// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors that callers tell apart; every other one is a failed run.

use std::fmt;

/// This machine or kernel cannot do it.
#[derive(Debug)]
pub struct NotHere(pub String);

impl fmt::Display for NotHere {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotHere {}

/// The run was interrupted by this signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted(pub i32);

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "interrupted by signal {}", self.0)
    }
}

impl std::error::Error for Interrupted {}
