// SPDX-License-Identifier: GPL-2.0-or-later
//! A running task changes its own nice level, policy or affinity.
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

impl Sim<'_> {
    pub(crate) fn set_affinity_mask(&mut self, id: TaskId, cpus: Option<CpuMask>) {
        self.boundary.view.confine(id, cpus);
        let allowed = self.boundary.view.allowed(id).clone();
        self.tell(
            self.clock.at_ns,
            Happened::Affinity {
                task: id,
                allowed: &allowed,
            },
        );
    }

    pub(crate) fn set_nice(&mut self, cpu: CpuId, id: TaskId, nice: i32) {
        self.suspend_current(cpu, id);
        self.tasks[id].nice = nice;
        self.set_priorities(id);
        if self.tasks[id].enabled {
            let weight = self.boundary.view.task_mut(id).scx.weight;
            self.call(
                Callback::SetWeight,
                [self.boundary.view.address(id), u64::from(weight)],
            );
        }
        self.resume_current(cpu, id);
    }

    pub(crate) fn set_policy(&mut self, cpu: CpuId, id: TaskId, policy: Policy) {
        self.suspend_current(cpu, id);
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
            let allowed = self.boundary.view.allowed_pointer(id).register();
            self.call(
                Callback::SetCpumask,
                [self.boundary.view.address(id), allowed],
            );
        } else if class == Class::Ext {
            let weight = self.boundary.view.task_mut(id).scx.weight;
            self.call(
                Callback::SetWeight,
                [self.boundary.view.address(id), u64::from(weight)],
            );
        }
        self.resume_current(cpu, id);
        if was == Class::Rt {
            self.resched(cpu);
        }
    }

    pub(crate) fn set_affinity(&mut self, cpu: CpuId, id: TaskId, cpus: &[u32]) {
        self.suspend_current(cpu, id);
        let cpus = (!cpus.is_empty()).then(|| mask::of(cpus.iter().map(|cpu| CpuId(*cpu))));
        self.set_affinity_mask(id, cpus);
        if self.tasks[id].class == Class::Ext {
            let allowed = self.boundary.view.allowed_pointer(id).register();
            self.call(
                Callback::SetCpumask,
                [self.boundary.view.address(id), allowed],
            );
        }
        self.resume_current(cpu, id);
        if !self.boundary.view.may_run_on(id, cpu) {
            self.migrate_current(cpu, id);
        }
    }

    fn suspend_current(&mut self, cpu: CpuId, id: TaskId) {
        debug_assert_eq!(self.cpus[cpu].curr, id);
        self.lock_rq(cpu);
        self.clock.rq_ns = self.clock.at_ns;
        match self.tasks[id].class {
            Class::Ext => self.dequeue_ext(cpu, id, DEQ_SAVE),
            Class::Rt => self.update_curr(cpu),
        }
    }

    fn resume_current(&mut self, cpu: CpuId, id: TaskId) {
        let clock = self.clock.rq_ns;
        self.cpus[cpu].exec_start_ns = clock;
        if self.tasks[id].class == Class::Ext {
            self.boundary.view.task_mut(id).scx.flags |= TASK_QUEUED;
            self.call(
                Callback::Runnable,
                [self.boundary.view.address(id), ENQ_RESTORE],
            );
            self.call(Callback::Running, [self.boundary.view.address(id)]);
        }
    }

    /// The stopper moves a task off a CPU it may no longer use.
    fn migrate_current(&mut self, cpu: CpuId, id: TaskId) {
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
        let target = self.fallback_cpu(id);
        self.tasks[id].cpu = target;
        self.lock_rq(target);
        debug_assert_eq!(self.tasks[id].place, Place::Nowhere);
        match class {
            Class::Rt => self.enqueue_rt(target, id, false),
            Class::Ext => {
                self.enqueue_ext(target, id, 0);
                if self.cpus[target].curr == IDLE {
                    self.resched(target);
                }
            }
        }
    }
}
