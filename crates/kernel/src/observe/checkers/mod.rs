// SPDX-License-Identifier: GPL-2.0-or-later
//! Checkers: an account of the run kept beside the model, from what it is told to have happened.
//!
//! They share no state with the model and believe none of it. What no policy can cause (a task on two CPUs, a queue out
//! of order, time that does not add up) is a failure always; what a policy may do but a good one does not (leave a CPU
//! idle beside a waiting task, starve, keep a task for ever) is a remark, and a failure in a strict run.

mod accounts;
mod bounds;
mod held;
mod order;
mod slices;
mod waiting;
mod waste;

use workload::plan::Policy;

use super::Complaint;
use super::happened::{Happened, Leaves};
use crate::ids::{CpuId, DsqIndex, IDLE, PerTask, TaskId};
use crate::mask::{self, CpuMask};
use crate::task::Place;

use accounts::Accounts;
pub use bounds::Bounds;
use held::Held;
use order::Order;
use slices::Slices;
use waiting::Waiting;
use waste::Waste;

pub struct Checkers {
    strict: bool,
    bounds: Bounds,
    violation: Option<Complaint>,
    /// Remarks by kind: how often, and the first.
    remarks: Vec<(&'static str, u64, String)>,
    affinity: PerTask<CpuMask>,
    /// CPUs that tasks may be taken to.
    active: CpuMask,
    /// Weights of those who live, and whether they want to run only where nobody else does.
    weights: PerTask<u32>,
    idle_policy: PerTask<bool>,
    accounts: Accounts,
    held: Held,
    order: Order,
    waiting: Waiting,
    slices: Slices,
    waste: Waste,
}

impl Checkers {
    pub fn new(cpus: usize, tasks: usize, strict: bool, bounds: Bounds) -> Self {
        Self {
            strict,
            bounds,
            violation: None,
            remarks: Vec::new(),
            affinity: PerTask::filled(tasks, || mask::first_n(cpus)),
            active: mask::first_n(cpus),
            weights: PerTask::filled(tasks, || 0),
            idle_policy: PerTask::filled(tasks, || false),
            accounts: Accounts::new(cpus, tasks),
            held: Held::new(cpus, tasks),
            order: Order::new(tasks, strict),
            waiting: Waiting::new(cpus, tasks),
            slices: Slices::new(cpus, tasks),
            waste: Waste::new(cpus, tasks),
        }
    }

    #[cold]
    fn violated(&mut self, by: &'static str, at_ns: u64, what: &str) {
        if self.violation.is_none() {
            let what = format!("{what} at {at_ns} ns");
            self.violation = Some(Complaint { by, what });
        }
    }

    #[cold]
    fn remark(&mut self, kind: &'static str, at_ns: u64, what: &str) {
        if self.strict {
            return self.violated(kind, at_ns, &format!("{kind}: {what}"));
        }
        match self.remarks.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, count, _)) => *count += 1,
            None => self
                .remarks
                .push((kind, 1, format!("{what} at {at_ns} ns"))),
        }
    }

    #[inline]
    pub fn failed(&self) -> bool {
        self.violation.is_some()
    }

    pub fn complaint(&self) -> Option<Complaint> {
        let Complaint { by, what } = self.violation.as_ref()?;
        Some(Complaint {
            by,
            what: format!("check failed: {what}"),
        })
    }

    #[inline(always)]
    pub fn see(&mut self, at_ns: u64, happened: Happened<'_>) {
        match happened {
            Happened::Born { task, .. } => self.born(task, at_ns),
            Happened::Attributes {
                task,
                policy,
                weight,
                ..
            } => {
                self.weights[task] = weight;
                self.idle_policy[task] = policy == Policy::Idle;
                let real_time = matches!(policy, Policy::Fifo(_) | Policy::Rr(_));
                self.held.class(task, real_time, at_ns);
            }
            Happened::Affinity { task, allowed } => self.affinity(task, allowed, at_ns),
            Happened::Wants { task, .. } => self.wants(task, at_ns),
            Happened::Kept { task, .. } => {
                self.waiting.with_policy(task, at_ns, &mut self.held);
                self.wasted_for(task, at_ns);
            }
            Happened::Queued {
                task,
                to,
                vtime,
                by_vtime,
                head,
                ..
            } => self.queued(task, to, by_vtime.then_some(vtime), head, at_ns),
            Happened::QueuedRt { task, .. } | Happened::RequeuedRt { task } => {
                self.waiting.in_queue(task, at_ns, &mut self.held);
                self.wasted_for(task, at_ns);
            }
            Happened::Unqueued { task } => self.order.left(task),
            Happened::Taken { task, dsq, cpu } => self.taken(task, dsq, cpu, at_ns),
            Happened::Switched {
                cpu,
                prev,
                next,
                leaves,
                ..
            } => self.switched(cpu, prev, next, at_ns, leaves == Leaves::Runnable),
            Happened::Slice {
                cpu,
                task,
                slice_ns,
            } if self.strict => self.begins(cpu, task, slice_ns, at_ns),
            Happened::Died { task, .. } => {
                self.accounts.died(task);
                self.weights[task] = 0;
                self.gone(task);
            }
            Happened::Online { cpu } => {
                mask::set(&mut self.active, cpu);
                self.held.gone(cpu, false, at_ns);
                self.waiting.cpu(cpu, true, at_ns);
                self.waste.cpu(cpu, true, at_ns, u64::MAX);
            }
            Happened::Offline { cpu } => {
                mask::clear(&mut self.active, cpu);
                self.held.gone(cpu, true, at_ns);
                self.waiting.offline(cpu);
                self.waste.cpu(cpu, false, 0, u64::MAX);
            }
            Happened::Audit => self.audit(at_ns),
            Happened::CpuTotal {
                cpu,
                idle_ns,
                until_ns,
            } => {
                if let Err(what) = self.accounts.cpu_total(cpu, idle_ns, at_ns.max(until_ns)) {
                    self.violated("accounts", at_ns, &what);
                }
            }
            Happened::TaskTotal { task, served_ns } => {
                if let Err(what) = self.accounts.task_total(task, served_ns) {
                    self.violated("accounts", at_ns, &what);
                }
            }
            _ => {}
        }
    }

    pub fn remarks(&self) -> Vec<String> {
        self.remarks
            .iter()
            .map(|(kind, count, first)| format!("{kind}: {count} times, first {first}"))
            .collect()
    }

    fn born(&mut self, task: TaskId, at_ns: u64) {
        if let Err(what) = self.accounts.born(task) {
            self.violated("accounts", at_ns, &what);
        }
        self.gone(task);
    }

    fn affinity(&mut self, task: TaskId, allowed: &CpuMask, at_ns: u64) {
        self.waste.moves(task, allowed, at_ns);
        self.held.moves(task, &self.affinity[task], at_ns);
        self.affinity[task].clone_from(allowed);
        self.waiting.allowed(task, at_ns);
    }

    #[inline(always)]
    fn begins_to_wait(&mut self, task: TaskId, at_ns: u64) {
        self.waiting.begins(task, at_ns, &mut self.held);
        self.wasted_for(task, at_ns);
    }

    /// A CPU that stands idle from now on is wasted for this task, too.
    #[inline(always)]
    fn wasted_for(&mut self, task: TaskId, at_ns: u64) {
        if self.strict && !self.held.is_real_time(task) {
            self.waste.begins(task, &self.affinity[task], at_ns);
        }
    }

    fn gone(&mut self, task: TaskId) {
        self.waiting.gone(task);
        if self.strict {
            self.waste.gone(task);
        }
    }

    /// A task wants to run from now on.
    #[inline(always)]
    fn wants(&mut self, task: TaskId, at_ns: u64) {
        if let Err(what) = self.accounts.wants(task) {
            self.violated("accounts", at_ns, &what);
        }
        self.begins_to_wait(task, at_ns);
    }

    #[inline(always)]
    fn queued(&mut self, task: TaskId, to: Place, vtime: Option<u64>, head: bool, at_ns: u64) {
        self.waiting.in_queue(task, at_ns, &mut self.held);
        self.wasted_for(task, at_ns);
        if let Err(what) = self.order.queued(task, to, vtime, head) {
            self.violated("queue order", at_ns, &what);
        }
    }

    /// A CPU takes this task out of a shared queue: nobody before it may have been allowed there. An inactive one may
    /// take only what the kernel counts there.
    #[inline(always)]
    fn taken(&mut self, task: TaskId, dsq: DsqIndex, cpu: CpuId, at_ns: u64) {
        let active = mask::has(&self.active, cpu);
        if let Err(what) = self.order.taken(task, dsq, |other| {
            active && mask::has(&self.affinity[other], cpu)
        }) {
            self.violated("queue order", at_ns, &what);
        }
    }

    /// A CPU changes from one task to another; `stays`: the one that leaves still wants to run.
    #[inline(always)]
    fn switched(&mut self, cpu: CpuId, prev: TaskId, next: TaskId, at_ns: u64, stays: bool) {
        if let Err(what) = self.accounts.switched(cpu, prev, next, at_ns, stays) {
            self.violated("accounts", at_ns, &what);
        }
        self.held.switched(cpu, next, at_ns);
        if prev != IDLE && stays {
            self.begins_to_wait(prev, at_ns);
        }
        if next != IDLE {
            let allowed = &self.affinity[next];
            let may_run_here = mask::has(allowed, cpu);
            let idle_ns = self.bounds.idle_ns;
            let waste = self.waiting.ends(next, at_ns, allowed, idle_ns);
            if !may_run_here {
                let what = format!("task {next} runs on CPU {cpu}, which it may not use");
                self.violated("affinity", at_ns, &what);
            }
            // Where real-time tasks wait is no policy's business.
            if let Some(waste) = waste.filter(|_| !self.held.is_real_time(next)) {
                self.remark("work conservation", at_ns, &waste);
            }
            if self.strict
                && let Some(waste) = self.waste.ends(next, at_ns, idle_ns)
            {
                self.remark("work conservation", at_ns, &waste);
            }
        }
        let idle = next == IDLE && mask::has(&self.active, cpu);
        self.waiting.cpu(cpu, idle, at_ns);
        if self.strict {
            self.slices.off(cpu);
            let idle_ns = self.bounds.idle_ns;
            if let Some(waste) = self.waste.cpu(cpu, idle, at_ns, idle_ns) {
                self.remark("work conservation", at_ns, &waste);
            }
        }
    }

    /// A task of the sched_ext class begins to run, with this slice.
    fn begins(&mut self, cpu: CpuId, task: TaskId, slice_ns: u64, at_ns: u64) {
        let bound = self.bounds.slivers;
        if let Some(what) = self.slices.begins(cpu, task, slice_ns, at_ns, bound) {
            self.remark("slice", at_ns, &what);
        }
    }

    /// Look at everybody who waits.
    fn audit(&mut self, now_ns: u64) {
        let all: u64 = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        let bounds = self.bounds;
        let wait_ns = |task: TaskId| {
            if self.idle_policy[task] {
                // A policy may run SCHED_IDLE tasks only where nobody else wants to.
                bounds.starvation_ns.max(bounds.patience_ns)
            } else {
                bounds.wait_ns(u64::from(self.weights[task]), all)
            }
        };
        let mut found = Vec::new();
        if self.strict {
            let waited_ns = |task: TaskId| {
                (self.waiting).waited_ns(task, &self.affinity[task], &self.held, now_ns)
            };
            let what = (self.slices).audit(now_ns, &self.affinity, waited_ns, wait_ns);
            found.extend(what.map(|what| ("slice", what)));
        }
        let what = self.waste.audit(now_ns, bounds.idle_ns);
        found.extend(what.map(|what| ("work conservation", what)));
        let waiting = &self.waiting;
        found.extend(waiting.audit(now_ns, &self.affinity, &self.held, &bounds, wait_ns));
        for (kind, what) in found {
            self.remark(kind, now_ns, &what);
        }
        if let Some(task) = self.accounts.lost(&self.waiting) {
            let what = format!("task {task} is lost: it wants to run and is in no queue");
            self.violated("lost task", now_ns, &what);
        }
    }
}
