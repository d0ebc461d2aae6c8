// SPDX-License-Identifier: GPL-2.0-or-later
//! The disk: one server, first come, first served; it may have a memory that takes requests before they are written.

use std::collections::VecDeque;

use machine::Costs;

use crate::ids::TaskId;

#[derive(Default)]
pub struct Disk {
    /// When all that it was given is written.
    free_at_ns: u64,
    /// When the way to it is free.
    link_free_at_ns: u64,
    /// Who waits, and since when.
    waiting: VecDeque<(TaskId, u64)>,
}

impl Disk {
    /// A request that its task waits for; returns when it is done.
    pub fn request(&mut self, costs: &Costs, id: TaskId, bytes: u64, at_ns: u64) -> u64 {
        let arrives_ns = at_ns + costs.disk_request_ns;
        let kib_ns = |cost_ns: u64| cost_ns.saturating_mul(bytes) / 1024;
        let written_ns = self.free_at_ns.max(arrives_ns) + kib_ns(costs.disk_kib_ns);
        self.free_at_ns = written_ns;
        self.waiting.push_back((id, at_ns));
        if costs.disk_cache_kib == 0 {
            return written_ns;
        }
        let there_ns = self.link_free_at_ns.max(arrives_ns) + kib_ns(costs.disk_link_kib_ns);
        self.link_free_at_ns = there_ns;
        // Whatever is left to write then fits into the memory.
        let ahead_ns = costs.disk_cache_kib.saturating_mul(costs.disk_kib_ns);
        there_ns.max(written_ns.saturating_sub(ahead_ns))
    }

    /// Whose request is done, and since when it has waited.
    pub fn done(&mut self) -> Option<(TaskId, u64)> {
        self.waiting.pop_front()
    }
}
