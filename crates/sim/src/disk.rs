// SPDX-License-Identifier: GPL-2.0-only
//! The disk: one server, first come, first served.

use std::collections::VecDeque;

use crate::events::Kind;
use crate::sim::Sim;
use crate::task::TaskId;

#[derive(Default)]
pub struct Disk {
    free_at_ns: u64,
    waiting: VecDeque<TaskId>,
}

impl Sim<'_> {
    /// A request that its task waits for.
    pub(crate) fn disk_request(&mut self, id: TaskId, bytes: u64) {
        let costs = &self.machine.costs;
        let arrives_ns = self.op_at_ns + costs.disk_request_ns;
        let start_ns = self.disk.free_at_ns.max(arrives_ns);
        let done_ns = start_ns + costs.disk_kib_ns.saturating_mul(bytes) / 1024;
        self.disk.free_at_ns = done_ns;
        self.disk.waiting.push_back(id);
        self.events.post(done_ns, Kind::Disk, 0);
    }

    /// The completion interrupt goes to the CPU that asked.
    pub(crate) fn disk_done(&mut self) {
        if let Some(id) = self.disk.waiting.pop_front() {
            let cpu = self.timer_cpu(id);
            self.interrupt(cpu);
            self.wake(id, false);
            self.end_op();
        }
    }
}
