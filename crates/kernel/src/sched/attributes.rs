// SPDX-License-Identifier: GPL-2.0-or-later
//! A running task changes its own nice level, policy or affinity, or must stay on its CPU for a while.
//!
//! The kernel takes the task off its run queue, changes it and puts it back; because it runs, it comes back through its
//! CPU's local queue without the policy's enqueue: `stopping(false) quiescent … runnable running`.

use workload::plan::Policy;

use crate::boundary::{Callback, Register};
use crate::consts::{DEQ_SAVE, ENQ_RESTORE, TASK_QUEUED};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask::{self, CpuMask};
use crate::observe::{Cause, Happened};
use crate::sim::Sim;
use crate::task::{Class, Place, State, class_of};

/// CPUs as a plan lists them; none stands for all.
pub fn listed(cpus: &[u32]) -> Option<CpuMask> {
    (!cpus.is_empty()).then(|| mask::of(cpus.iter().map(|cpu| CpuId(*cpu))))
}

impl Sim<'_> {
    /// A task asks for these CPUs.
    pub(crate) fn set_affinity_mask(&mut self, id: TaskId, cpus: Option<CpuMask>) {
        let allowed = self.allowed_of(id, cpus.clone());
        self.cgroups.asks(id, cpus);
        self.boundary.view.confine(id, allowed);
        self.tell_allowed(id);
    }

    fn tell_allowed(&mut self, id: TaskId) {
        let allowed = self.boundary.view.allowed(id).clone();
        self.tell(
            self.clock.at_ns,
            Happened::Affinity {
                task: id,
                allowed: &allowed,
            },
        );
    }

    /// Nothing happens where it has this level already (`set_user_nice()`).
    pub(crate) fn set_nice(&mut self, cpu: CpuId, id: TaskId, nice: i32) {
        if self.tasks[id].nice == nice {
            return;
        }
        self.suspend_current(cpu, id);
        self.change_nice(id, nice);
        self.resume_current(cpu, id);
    }

    /// Of a task that is off its run queue.
    pub(crate) fn change_nice(&mut self, id: TaskId, nice: i32) {
        self.tasks[id].nice = nice;
        self.set_priorities(id);
        if self.tasks[id].enabled {
            let weight = self.boundary.view.task_mut(id).scx.weight;
            self.call(
                Callback::SetWeight,
                [self.boundary.view.address(id), u64::from(weight)],
            );
        }
    }

    /// Whether `__sched_setscheduler()` finds nothing to change. Of an ordinary task it always finds the slice, which is
    /// not asked for and so another than the one that the task has.
    pub(crate) fn has_policy(&self, id: TaskId, policy: Policy) -> bool {
        let ordinary = matches!(policy, Policy::Other | Policy::Batch);
        self.tasks[id].policy == policy && !ordinary
    }

    pub(crate) fn set_policy(&mut self, cpu: CpuId, id: TaskId, policy: Policy) {
        if self.has_policy(id, policy) {
            return;
        }
        self.suspend_current(cpu, id);
        let was = self.tasks[id].class;
        self.change_policy(id, policy);
        self.resume_current(cpu, id);
        if was == Class::Rt {
            self.resched(cpu);
        }
    }

    /// Of a task that is off its run queue.
    pub(crate) fn change_policy(&mut self, id: TaskId, policy: Policy) {
        let was = self.tasks[id].class;
        let (class, rt_prio) = class_of(policy);
        if was == Class::Ext && class == Class::Rt {
            self.disable_task(id);
        }
        let task = &mut self.tasks[id];
        task.policy = policy;
        task.class = class;
        task.rt_prio = rt_prio;
        self.set_priorities(id);
        if was == Class::Rt && class == Class::Ext {
            self.enable_task(id);
            self.call_set_cpumask(id);
        } else if class == Class::Ext {
            let weight = self.boundary.view.task_mut(id).scx.weight;
            self.call(
                Callback::SetWeight,
                [self.boundary.view.address(id), u64::from(weight)],
            );
        }
    }

    /// Nothing happens where these are what it may use already.
    pub(crate) fn set_affinity(&mut self, cpu: CpuId, id: TaskId, cpus: &[u32]) {
        self.change_affinity(cpu, id, listed(cpus));
    }

    pub(crate) fn change_affinity(&mut self, cpu: CpuId, id: TaskId, cpus: Option<CpuMask>) {
        let allowed = self.allowed_of(id, cpus.clone());
        if self.boundary.view.confined_to(id, allowed) {
            return self.cgroups.asks(id, cpus);
        }
        self.suspend_current(cpu, id);
        self.set_affinity_mask(id, cpus);
        self.call_set_cpumask(id);
        self.resume_current(cpu, id);
        if self.must_leave(cpu, id) {
            self.migrate_current(cpu, id);
        }
    }

    pub(crate) fn call_set_cpumask(&mut self, id: TaskId) {
        if self.tasks[id].class == Class::Ext {
            let allowed = self.boundary.view.allowed_pointer(id).register();
            let p = self.boundary.view.address(id);
            self.call(Callback::SetCpumask, [p, allowed]);
        }
    }

    pub(crate) fn migrate_disable(&mut self, id: TaskId) {
        let p = self.boundary.view.task_mut(id);
        p.migration_disabled += 1;
        if p.migration_disabled == 1 {
            self.tell_stays(id, true);
        }
    }

    /// The kernel's `migrate_enable()`. Policies hear of it only if the task was switched out meanwhile.
    pub(crate) fn migrate_enable(&mut self, cpu: CpuId, id: TaskId) {
        let last = self.boundary.view.task(id).migration_disabled == 1;
        if last && self.boundary.view.kept(id) {
            self.change_kept(cpu, id, None);
        }
        self.boundary.view.task_mut(id).migration_disabled -= 1;
        if last {
            self.tell_stays(id, false);
        }
        if self.must_leave(cpu, id) {
            return self.migrate_current(cpu, id);
        }
        self.push_from_inactive(cpu);
    }

    fn tell_stays(&mut self, task: TaskId, stays: bool) {
        self.tell(self.clock.at_ns, Happened::Stays { task, stays });
    }

    /// The kernel's `migrate_disable_switch()`: whoever enters the scheduler is confined to its CPU.
    pub(crate) fn keep_current(&mut self, cpu: CpuId, id: TaskId) {
        let view = &self.boundary.view;
        if view.migration_disabled(id) && !view.kept(id) {
            self.change_kept(cpu, id, Some(cpu));
        }
    }

    fn change_kept(&mut self, cpu: CpuId, id: TaskId, kept: Option<CpuId>) {
        self.suspend_current(cpu, id);
        self.boundary.view.keep(id, kept);
        self.tell_allowed(id);
        self.call_set_cpumask(id);
        self.resume_current(cpu, id);
    }

    pub(crate) fn suspend_current(&mut self, cpu: CpuId, id: TaskId) {
        debug_assert_eq!(self.cpus[cpu].curr, id);
        self.lock_rq(cpu);
        let at_ns = self.clock.at_ns.max(self.cpus[cpu].exec_start_ns);
        self.clock.read_rq(cpu, at_ns);
        match self.tasks[id].class {
            Class::Ext => self.dequeue_ext(cpu, id, DEQ_SAVE),
            Class::Rt => {
                self.update_curr(cpu);
                self.update_frequency(cpu, Some(id));
            }
        }
    }

    pub(crate) fn resume_current(&mut self, cpu: CpuId, id: TaskId) {
        let clock = self.clock.rq_ns;
        self.cpus[cpu].exec_start_ns = clock;
        if self.tasks[id].class == Class::Rt {
            self.raise_class(cpu, Class::Rt);
            self.update_frequency(cpu, None);
        } else {
            self.boundary.view.task_mut(id).scx.flags |= TASK_QUEUED;
            self.call(
                Callback::Runnable,
                [self.boundary.view.address(id), ENQ_RESTORE],
            );
            self.call(Callback::Running, [self.boundary.view.address(id)]);
        }
        self.clock.rq_holds = false;
    }

    /// The kernel's `balance_push()`: the stopper moves off an inactive CPU whatever may leave it.
    pub(crate) fn push_from_inactive(&mut self, cpu: CpuId) {
        if !self.cpus[cpu].active()
            && let Some(id) = self.movable(cpu)
        {
            self.migrate_current(cpu, id);
        }
    }

    /// What runs on a CPU, if it may run elsewhere.
    pub(crate) fn movable(&self, cpu: CpuId) -> Option<TaskId> {
        let id = self.cpus[cpu].curr;
        (id != IDLE && !self.boundary.view.migration_disabled(id)).then_some(id)
    }

    /// The stopper moves a task off a CPU it may no longer use.
    fn migrate_current(&mut self, cpu: CpuId, id: TaskId) {
        self.as_a_whole(|sim| sim.move_current(cpu, id));
    }

    fn move_current(&mut self, cpu: CpuId, id: TaskId) {
        self.charge(self.machine.costs.switch_ns);
        self.update_curr(cpu);
        let clock = self.clock.rq_ns;
        let task = &mut self.tasks[id];
        let class = task.class;
        task.state = State::Queued;
        self.tell(clock, Happened::PutBack { task: id });
        if class == Class::Ext {
            self.call(Callback::Stopping, [self.boundary.view.address(id), 1]);
            self.call(Callback::Quiescent, [self.boundary.view.address(id), 0]);
        }
        self.leave_footprint(cpu, id);
        self.tell_switch(cpu, id, IDLE, Cause::Stopper);
        let this = &mut self.cpus[cpu];
        this.curr = IDLE;
        this.idle_since_ns = clock;
        this.stopper = true;
        this.need_resched = true;
        if class == Class::Rt {
            self.update_frequency(cpu, None);
        }
        let target = self.fallback_cpu(id);
        self.tasks[id].cpu = target;
        self.lock_rq(target);
        debug_assert_eq!(self.tasks[id].place, Place::Nowhere);
        match class {
            Class::Rt => self.enqueue_rt(target, id, false),
            Class::Ext => {
                self.enqueue_ext(target, id, 0);
                self.preempt_idle(target);
            }
        }
    }
}
