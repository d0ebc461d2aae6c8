// SPDX-License-Identifier: GPL-2.0-or-later
//! Nice level and policy of a task are changed by another, as `renice` and `chrt` do: while it runs elsewhere, waits or
//! sleeps.
//!
//! The kernel's `sched_change_begin()` and `sched_change_end()`: whoever waits is taken off its run queue and put back,
//! which the policy hears as a `dequeue` and an `enqueue`.

use workload::plan::Policy;

use crate::consts::{DEQ_SAVE, ENQ_RESTORE};
use crate::ids::{CpuId, TaskId};
use crate::sim::Sim;
use crate::task::{Class, State};

impl Sim<'_> {
    // The kernel holds the task's pi_lock, and its run queue's from one step to the next.

    pub(crate) fn set_nice_of(&mut self, id: TaskId, nice: i32) {
        if self.is_kept(id) || self.tasks[id].nice == nice {
            return;
        }
        // A real-time task keeps its place: the level is for later.
        if self.tasks[id].class == Class::Rt {
            return self.change_nice(id, nice);
        }
        self.change_from_outside(id, false, |sim| sim.change_nice(id, nice));
    }

    pub(crate) fn set_policy_of(&mut self, id: TaskId, policy: Policy) {
        if self.is_kept(id) || self.has_policy(id, policy) {
            return;
        }
        let was = self.tasks[id].rt_prio;
        let lowered = matches!(policy, Policy::Fifo(prio) | Policy::Rr(prio) if prio < was);
        self.change_from_outside(id, lowered, |sim| sim.change_policy(id, policy));
        if was > 0 && self.tasks[id].state == State::Running {
            self.resched(self.tasks[id].cpu);
        }
    }

    /// `head`: it comes back before its equals, as a real-time task whose priority is lowered does.
    fn change_from_outside(&mut self, id: TaskId, head: bool, change: impl FnOnce(&mut Self)) {
        let cpu = self.tasks[id].cpu;
        self.as_a_whole(|sim| match sim.tasks[id].state {
            State::Running => {
                sim.progress(cpu);
                sim.suspend_current(cpu, id);
                change(sim);
                sim.resume_current(cpu, id);
            }
            State::Queued => {
                sim.take_off(cpu, id);
                change(sim);
                sim.put_back_changed(cpu, id, head);
            }
            _ => change(sim),
        });
    }

    fn take_off(&mut self, cpu: CpuId, id: TaskId) {
        self.lock_rq(cpu);
        match self.tasks[id].class {
            Class::Rt => self.dequeue_rt(cpu, id),
            Class::Ext => self.dequeue_ext(cpu, id, DEQ_SAVE),
        }
    }

    fn put_back_changed(&mut self, cpu: CpuId, id: TaskId, head: bool) {
        match self.tasks[id].class {
            Class::Rt => self.enqueue_rt(cpu, id, head),
            Class::Ext => self.enqueue_ext(cpu, id, ENQ_RESTORE),
        }
    }
}
