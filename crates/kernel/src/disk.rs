// SPDX-License-Identifier: GPL-2.0-or-later
//! The disk: one server, first come, first served; it may have a memory that takes requests before they are written.

use std::collections::VecDeque;

use crate::events::Event;
use crate::ids::TaskId;
use crate::sim::Sim;

#[derive(Default)]
pub struct Disk {
    /// When all that it was given is written.
    free_at_ns: u64,
    /// When the way to it is free.
    link_free_at_ns: u64,
    /// Who waits, and since when.
    waiting: VecDeque<(TaskId, u64)>,
}

impl Sim<'_> {
    /// CPU time that the kernel takes for a request to the device.
    pub(crate) fn disk_kernel_ns(&self, bytes: u64) -> u64 {
        self.machine.costs.disk_cpu_kib_ns.saturating_mul(bytes) / 1024
    }

    /// A request that its task waits for.
    pub(crate) fn disk_request(&mut self, id: TaskId, bytes: u64) {
        let costs = &self.machine.costs;
        let arrives_ns = self.op_at_ns + costs.disk_request_ns;
        let kib_ns = |cost_ns: u64| cost_ns.saturating_mul(bytes) / 1024;
        let written_ns = self.disk.free_at_ns.max(arrives_ns) + kib_ns(costs.disk_kib_ns);
        self.disk.free_at_ns = written_ns;
        let done_ns = if costs.disk_cache_kib == 0 {
            written_ns
        } else {
            let there_ns =
                self.disk.link_free_at_ns.max(arrives_ns) + kib_ns(costs.disk_link_kib_ns);
            self.disk.link_free_at_ns = there_ns;
            // Whatever is left to write then fits into the memory.
            let ahead_ns = costs.disk_cache_kib.saturating_mul(costs.disk_kib_ns);
            there_ns.max(written_ns.saturating_sub(ahead_ns))
        };
        self.disk.waiting.push_back((id, self.op_at_ns));
        self.events.post(done_ns, Event::Disk);
    }

    /// The completion interrupt goes to the CPU that asked.
    pub(crate) fn disk_done(&mut self) {
        if let Some((id, since_ns)) = self.disk.waiting.pop_front() {
            self.metrics.disk(self.now_ns - since_ns);
            let cpu = self.timer_cpu(id);
            self.interrupt(cpu);
            self.wake(id, false);
            self.end_op();
        }
    }
}
