// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPUs of a task are changed from outside, by `sched_setaffinity` or a cpuset: while it runs elsewhere, waits or
//! sleeps.
//!
//! The kernel puts a task that waits back where it was, before it moves it to a CPU that it may use: the policy hears of
//! it on a CPU outside of its mask, and once more on another. It leaves a task alone that may use these CPUs already
//! (`__set_cpus_allowed_ptr_locked()`).

use crate::consts::{DEQ_SAVE, ENQ_RESTORE};
use crate::ids::{CpuId, TaskId};
use crate::mask::CpuMask;
use crate::observe::Cause;
use crate::sim::Sim;
use crate::task::{Class, State};

impl Sim<'_> {
    pub(crate) fn confine(&mut self, id: TaskId, cpus: Option<CpuMask>) {
        // The kernel holds the task's pi_lock, and its run queue's from one step to the next.
        if self.is_kept(id) {
            return;
        }
        let allowed = self.allowed_of(id, cpus.clone());
        if self.boundary.view.confined_to(id, allowed) {
            return self.cgroups.asks(id, cpus);
        }
        let cpu = self.tasks[id].cpu;
        self.as_a_whole(|sim| match sim.tasks[id].state {
            State::Running => sim.confine_running(cpu, id, cpus),
            State::Queued => sim.confine_queued(cpu, id, cpus),
            _ => sim.change_mask(id, cpus),
        });
    }

    fn change_mask(&mut self, id: TaskId, cpus: Option<CpuMask>) {
        self.set_affinity_mask(id, cpus);
        self.call_set_cpumask(id);
    }

    fn confine_running(&mut self, cpu: CpuId, id: TaskId, cpus: Option<CpuMask>) {
        self.progress(cpu);
        self.suspend_current(cpu, id);
        self.change_mask(id, cpus);
        self.resume_current(cpu, id);
        if self.must_leave(cpu, id) {
            let moving = self.push_off(cpu, Cause::Stopper);
            self.send_on(moving.into_iter().collect());
            self.resched(cpu);
        }
    }

    fn confine_queued(&mut self, cpu: CpuId, id: TaskId, cpus: Option<CpuMask>) {
        self.lock_rq(cpu);
        if self.tasks[id].class == Class::Rt {
            self.change_mask(id, cpus);
            if self.must_leave(cpu, id) {
                self.dequeue_rt(cpu, id);
                self.send_on(vec![id]);
            }
            return;
        }
        self.dequeue_ext(cpu, id, DEQ_SAVE);
        self.change_mask(id, cpus);
        self.enqueue_ext(cpu, id, ENQ_RESTORE);
        // The policy may have inserted it into another CPU's local queue meanwhile.
        let cpu = self.tasks[id].cpu;
        if self.must_leave(cpu, id) {
            self.dequeue_ext(cpu, id, 0);
            self.send_on(vec![id]);
        }
    }

    /// Whether a task is to be moved off its CPU. One with migration disabled goes when it enables it.
    pub(crate) fn must_leave(&self, cpu: CpuId, id: TaskId) -> bool {
        let view = &self.boundary.view;
        !view.may_run_on(id, cpu) && !view.migration_disabled(id)
    }
}
