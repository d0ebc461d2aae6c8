// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts of timers and of the disk wake the tasks that wait for them.

use crate::clock::events::Event;
use crate::ids::{CpuId, NO_CPU, TaskId};
use crate::mask;
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::Class;

impl Sim<'_> {
    /// A timer will wake the task. Ordinary tasks wake later than asked, by the kernel's timer slack.
    pub(super) fn post_wakeup(&mut self, id: TaskId, due_ns: u64) {
        let task = &mut self.tasks[id];
        let slack_ns = match task.class {
            Class::Ext => self.machine.costs.timer_slack_ns,
            Class::Rt => 0,
        };
        let at_ns = due_ns.saturating_add(slack_ns);
        task.sleep_seq = self.clock.post(at_ns, Event::Sleep(id));
    }

    /// The timer interrupt comes to the CPU where the task went to sleep.
    pub(crate) fn sleep_over(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        task.sleep_seq = 0;
        let cpu = self.timer_cpu(id);
        self.interrupt(cpu);
        self.wake(id, false);
        self.end_op();
    }

    /// A request to the disk, for which the task waits.
    pub(super) fn disk_request(&mut self, id: TaskId, bytes: u64) {
        let at_ns = self.clock.at_ns;
        let done_ns = (self.disk).request(&self.machine.costs, id, bytes, at_ns);
        self.clock.post(done_ns, Event::Disk);
    }

    /// The completion interrupt comes to the CPU that asked.
    pub(crate) fn disk_done(&mut self) {
        if let Some((id, since_ns)) = self.disk.done() {
            let ns = self.clock.now_ns - since_ns;
            self.tell(self.clock.now_ns, Happened::DiskWait { ns });
            let cpu = self.timer_cpu(id);
            self.interrupt(cpu);
            self.wake(id, false);
            self.end_op();
        }
    }

    /// Where a task's interrupts go: its last CPU, unless that has gone.
    fn timer_cpu(&self, id: TaskId) -> CpuId {
        let task = &self.tasks[id];
        let cpu = if task.last_cpu == NO_CPU {
            task.cpu
        } else {
            task.last_cpu
        };
        if self.cpus[cpu].online {
            cpu
        } else {
            mask::first(&self.boundary.view.masks.online).unwrap_or_default()
        }
    }
}
