// SPDX-License-Identifier: GPL-2.0-or-later
//! A running task changes its own nice level, policy or affinity.
//!
//! The kernel takes the task off its run queue, changes it and puts it back; because it runs, it comes back through its
//! CPU's local queue without the policy's enqueue: `stopping(false) quiescent … runnable running`.

use workload::plan::Policy;

use crate::consts::{DEQ_SAVE, ENQ_RESTORE, TASK_QUEUED};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::lifecycle::class_of;
use crate::mask::{self, CpuMask};
use crate::seen::call;
use crate::sim::Sim;
use crate::task::{Class, Place, State};

impl Sim<'_> {
    pub(crate) fn set_affinity_mask(&mut self, id: TaskId, cpus: Option<CpuMask>) {
        let possible = &self.masks.possible;
        let cpus = cpus.map(|cpus| mask::and(&cpus, possible));
        let all = cpus
            .as_ref()
            .is_none_or(|cpus| cpus == possible || mask::is_empty(cpus));
        self.affinity[id] = if all { None } else { cpus.map(Box::new) };
        let pointer = std::ptr::from_ref(self.allowed(id));
        let count = mask::count(self.allowed(id)) as i32;
        let seen = self.seen(id);
        seen.cpus_ptr = pointer;
        seen.nr_cpus_allowed = count;
        let allowed = self.allowed(id).clone();
        self.checkers.affinity(id, allowed, self.op_at_ns);
    }

    pub(crate) fn set_nice(&mut self, cpu: CpuId, id: TaskId, nice: i32) {
        self.suspend_current(cpu, id);
        self.metrics
            .weight_changes(id, &mut self.tasks, self.op_at_ns, |task| {
                task.nice = nice;
            });
        self.set_priorities(id);
        if self.tasks[id].enabled {
            let weight = self.seen(id).scx.weight;
            call!(self, set_weight, self.seen_ptr(id), weight);
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
        self.metrics
            .weight_changes(id, &mut self.tasks, self.op_at_ns, |task| {
                task.policy = policy;
            });
        let task = &mut self.tasks[id];
        task.class = class;
        task.rt_prio = rt_prio;
        self.set_priorities(id);
        if was == Class::Rt && class == Class::Ext {
            self.enable_task(id);
            let allowed = std::ptr::from_ref(self.allowed(id));
            call!(self, set_cpumask, self.seen_ptr(id), allowed);
        } else if class == Class::Ext {
            let weight = self.seen(id).scx.weight;
            call!(self, set_weight, self.seen_ptr(id), weight);
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
            let allowed = std::ptr::from_ref(self.allowed(id));
            call!(self, set_cpumask, self.seen_ptr(id), allowed);
        }
        self.resume_current(cpu, id);
        if !self.may_run_on(id, cpu) {
            self.migrate_current(cpu, id);
        }
    }

    fn suspend_current(&mut self, cpu: CpuId, id: TaskId) {
        debug_assert_eq!(self.cpus[cpu].curr, id);
        self.lock_rq(cpu);
        self.clock_ns = self.op_at_ns;
        match self.tasks[id].class {
            Class::Ext => self.dequeue_ext(cpu, id, DEQ_SAVE),
            Class::Rt => self.update_curr(cpu),
        }
    }

    fn resume_current(&mut self, cpu: CpuId, id: TaskId) {
        let clock = self.clock_ns;
        self.cpus[cpu].exec_start_ns = clock;
        if self.tasks[id].class == Class::Ext {
            self.seen(id).scx.flags |= TASK_QUEUED;
            call!(self, runnable, self.seen_ptr(id), ENQ_RESTORE);
            call!(self, running, self.seen_ptr(id));
        }
    }

    /// The stopper moves a task off a CPU it may no longer use.
    fn migrate_current(&mut self, cpu: CpuId, id: TaskId) {
        self.charge(self.machine.costs.switch_ns);
        self.update_curr(cpu);
        let clock = self.clock_ns;
        let task = &mut self.tasks[id];
        let class = task.class;
        task.state = State::Queued;
        task.queued_at_ns = clock;
        task.from_wakeup = false;
        self.metrics.preempted();
        if class == Class::Ext {
            call!(self, stopping, self.seen_ptr(id), true);
            call!(self, quiescent, self.seen_ptr(id), 0);
        }
        self.end_stint(cpu, id);
        self.metrics.stopped(id, &mut self.tasks, clock);
        self.checkers.switched(cpu, id, IDLE, clock, true);
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
