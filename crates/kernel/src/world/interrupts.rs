// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts of timers and of the disk wake the tasks that wait for them.

use std::cmp::Reverse;

use crate::clock::events::Event;
use crate::cpu::Timer;
use crate::ids::{CpuId, NO_CPU, TaskId};
use crate::mask;
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::Class;

impl Sim<'_> {
    /// A timer will wake the task. Ordinary tasks wake later than asked, by the kernel's timer slack, unless another timer
    /// of the CPU where it went to sleep interrupts meanwhile.
    pub(super) fn post_wakeup(&mut self, id: TaskId, due_ns: u64) {
        let task = &mut self.tasks[id];
        let slack_ns = match task.class {
            Class::Ext => self.machine.costs.timer_slack_ns,
            Class::Rt => 0,
        };
        let latest_ns = due_ns.saturating_add(slack_ns);
        let seq = self.clock.post(latest_ns, Event::Sleep(id));
        task.sleep_seq = seq;
        let timer = Timer {
            latest_ns,
            seq,
            task: id,
            due_ns,
        };
        let cpu = self.timer_cpu(id);
        self.cpus[cpu].timers.push(Reverse(timer));
        self.timer_is_set();
    }

    /// The timer interrupt comes to the CPU where the task went to sleep.
    pub(crate) fn sleep_over(&mut self, id: TaskId) {
        let cpu = self.timer_cpu(id);
        self.interrupt(cpu);
        let begun_ns = self.clock.at_ns;
        self.tasks[id].sleep_seq = 0;
        self.wake(id, false);
        self.expire_timers(cpu, begun_ns);
        self.timer_is_set();
        self.end_op();
    }

    /// In a timer interrupt all timers that are due expire, in the order of the times at which they would have to; the
    /// first that is not due keeps those behind it (`__hrtimer_run_queues`).
    pub(crate) fn expire_timers(&mut self, cpu: CpuId, begun_ns: u64) {
        while let Some(&Reverse(timer)) = self.cpus[cpu].timers.peek() {
            let id = timer.task;
            let valid = self.tasks[id].sleep_seq == timer.seq;
            if valid && (timer.due_ns > begun_ns || self.end.broken_off()) {
                return;
            }
            self.cpus[cpu].timers.pop();
            if valid {
                self.tasks[id].sleep_seq = 0;
                self.wake(id, false);
            }
        }
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
    pub(crate) fn timer_cpu(&self, id: TaskId) -> CpuId {
        let task = &self.tasks[id];
        let cpu = if task.last_cpu == NO_CPU {
            task.cpu
        } else {
            task.last_cpu
        };
        if self.cpus[cpu].online() {
            cpu
        } else {
            mask::first(&self.boundary.view.masks.online).unwrap_or_default()
        }
    }
}
