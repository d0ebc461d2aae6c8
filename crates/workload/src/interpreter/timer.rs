// SPDX-License-Identifier: GPL-2.0-or-later
//! A timer that does not drift: its due times are multiples of the period, counted from its first use.
//!
//! With a period of 10 ms, first used at 3 ms, it is due at 13, 23, 33, … ms. A task that was last woken by it at 23 ms
//! and comes back at 47 ms has missed 33 and 43 ms. A timer that skips is then due at 53 ms. One that does not skip is
//! due at 33 ms, and at 43 ms when the task comes back after that: both are over, so the task does not sleep.

use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Timer {
    /// When it was last due, or else when it was first used.
    last_ns: Option<u64>,
}

impl Timer {
    /// When the timer is due next, for a task that comes to it now.
    pub fn next(&mut self, now_ns: u64, period_ns: u64, skip: bool) -> u64 {
        let last_ns = self.last_ns.unwrap_or(now_ns);
        let missed = if skip {
            now_ns.saturating_sub(last_ns) / period_ns
        } else {
            0
        };
        let due_ns = last_ns.saturating_add((missed + 1).saturating_mul(period_ns));
        self.last_ns = Some(due_ns);
        due_ns
    }
}
