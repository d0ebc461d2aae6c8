// SPDX-License-Identifier: GPL-2.0-or-later
//! Sleeping tasks: the kernel's high-resolution timers, and where their interrupts go.

use crate::events::Event;
use crate::ids::{CpuId, NO_CPU, TaskId};
use crate::mask;
use crate::sim::Sim;
use crate::task::Class;

impl Sim<'_> {
    /// A timer will wake the task. Ordinary tasks wake later than asked, by the kernel's timer slack.
    pub(crate) fn post_wakeup(&mut self, id: TaskId, due_ns: u64) {
        let task = &mut self.tasks[id];
        let slack_ns = match task.class {
            Class::Ext => self.machine.costs.timer_slack_ns,
            Class::Rt => 0,
        };
        let at_ns = due_ns.saturating_add(slack_ns);
        task.sleep_seq = self.events.post(at_ns, Event::Sleep(id));
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

    /// Where a task's interrupts go: its last CPU, unless that has gone.
    pub(crate) fn timer_cpu(&self, id: TaskId) -> CpuId {
        let task = &self.tasks[id];
        let cpu = if task.last_cpu == NO_CPU {
            task.cpu
        } else {
            task.last_cpu
        };
        if self.cpus[cpu].online {
            cpu
        } else {
            mask::first(&self.masks.online).unwrap_or_default()
        }
    }
}
