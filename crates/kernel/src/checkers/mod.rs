// SPDX-License-Identifier: GPL-2.0-or-later
//! Checkers: an account of the run kept beside the model, from what the model says it does.
//!
//! They share no state with the model and believe none of it. What no policy can cause (a task on two CPUs, a queue out
//! of order, time that does not add up) is a failure always; what a policy may do but a good one does not (leave a CPU
//! idle beside a waiting task, starve, keep a task for ever) is a remark, and a failure in a strict run.

mod accounts;
mod bounds;
mod order;
mod slices;
mod waiting;
mod waste;

use machine::Machine;
use workload::plan::Policy;

use crate::ids::{CpuId, DsqIndex, IDLE, PerCpu, PerTask, TaskId};
use crate::mask::{self, CpuMask};
use crate::sim::Sim;
use crate::task::Place;

use accounts::Accounts;
pub use bounds::Bounds;
use order::Order;
use slices::Slices;
use waiting::Waiting;
use waste::Waste;

/// What a checker found: which one, and what.
struct Violation {
    by: &'static str,
    what: String,
}

pub struct Checkers {
    strict: bool,
    bounds: Bounds,
    violation: Option<Violation>,
    /// Remarks by kind: how often, and the first.
    remarks: Vec<(&'static str, u64, String)>,
    affinity: PerTask<CpuMask>,
    accounts: Accounts,
    order: Order,
    waiting: Waiting,
    slices: Slices,
    waste: Waste,
}

impl Checkers {
    pub fn new(machine: &Machine, tasks: usize, strict: bool, bounds: Bounds) -> Self {
        let cpus = machine.cpus();
        Self {
            strict,
            bounds,
            violation: None,
            remarks: Vec::new(),
            affinity: PerTask::filled(tasks, || mask::first_n(cpus)),
            accounts: Accounts::new(cpus, tasks),
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
            self.violation = Some(Violation { by, what });
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

    pub fn failed(&self) -> bool {
        self.violation.is_some()
    }

    pub fn remarks(&self) -> Vec<String> {
        self.remarks
            .iter()
            .map(|(kind, count, first)| format!("{kind}: {count} times, first {first}"))
            .collect()
    }

    pub fn born(&mut self, task: TaskId, at_ns: u64) {
        if let Err(what) = self.accounts.born(task) {
            self.violated("accounts", at_ns, &what);
        }
        self.gone(task);
    }

    pub fn died(&mut self, task: TaskId) {
        self.accounts.died(task);
        self.gone(task);
    }

    pub fn affinity(&mut self, task: TaskId, allowed: CpuMask, at_ns: u64) {
        self.waste.moves(task, &allowed, at_ns);
        self.affinity[task] = allowed;
        self.waiting.allowed(task, at_ns);
    }

    fn begins_to_wait(&mut self, task: TaskId, at_ns: u64) {
        self.waiting.begins(task, at_ns);
        if self.strict {
            let allowed = &self.affinity[task];
            self.waste.begins(task, allowed, at_ns);
        }
    }

    fn gone(&mut self, task: TaskId) {
        self.waiting.gone(task);
        self.waste.gone(task);
    }

    /// A task wants to run from now on.
    pub fn woken(&mut self, task: TaskId, at_ns: u64) {
        if let Err(what) = self.accounts.wants(task) {
            self.violated("accounts", at_ns, &what);
        }
        self.begins_to_wait(task, at_ns);
    }

    pub fn with_policy(&mut self, task: TaskId, at_ns: u64) {
        self.begins_to_wait(task, at_ns);
        self.waiting.with_policy(task);
    }

    pub fn queued(&mut self, task: TaskId, to: Place, vtime: Option<u64>, head: bool, at_ns: u64) {
        self.begins_to_wait(task, at_ns);
        self.waiting.in_queue(task);
        if let Err(what) = self.order.queued(task, to, vtime, head) {
            self.violated("queue order", at_ns, &what);
        }
    }

    pub fn queued_rt(&mut self, task: TaskId, at_ns: u64) {
        self.begins_to_wait(task, at_ns);
        self.waiting.in_queue(task);
    }

    pub fn unqueued(&mut self, task: TaskId) {
        self.order.left(task);
    }

    /// A CPU takes this task out of a shared queue: nobody before it may have been allowed there.
    pub fn consumed(&mut self, task: TaskId, dsq: DsqIndex, cpu: CpuId, at_ns: u64) {
        if let Err(what) = self
            .order
            .taken(task, dsq, |other| mask::has(&self.affinity[other], cpu))
        {
            self.violated("queue order", at_ns, &what);
        }
    }

    /// A CPU changes from one task to another; `stays`: the one that leaves still wants to run.
    pub fn switched(&mut self, cpu: CpuId, prev: TaskId, next: TaskId, at_ns: u64, stays: bool) {
        if let Err(what) = self.accounts.switched(cpu, prev, next, at_ns, stays) {
            self.violated("accounts", at_ns, &what);
        }
        if prev != IDLE && stays {
            self.begins_to_wait(prev, at_ns);
        }
        if next != IDLE {
            if !mask::has(&self.affinity[next], cpu) {
                self.violated(
                    "affinity",
                    at_ns,
                    &format!("task {next} runs on CPU {cpu}, which it may not use"),
                );
            }
            let allowed = &self.affinity[next];
            let idle_ns = self.bounds.idle_ns;
            if let Some(waste) = self.waiting.ends(next, at_ns, allowed, idle_ns) {
                self.remark("work conservation", at_ns, &waste);
            }
            if let Some(waste) = self.waste.ends(next, at_ns, idle_ns) {
                self.remark("work conservation", at_ns, &waste);
            }
        }
        self.waiting.cpu(cpu, next == IDLE, at_ns);
        if self.strict {
            self.slices.off(cpu);
            let idle_ns = self.bounds.idle_ns;
            if let Some(waste) = self.waste.cpu(cpu, next == IDLE, at_ns, idle_ns) {
                self.remark("work conservation", at_ns, &waste);
            }
        }
    }

    /// A task of the sched_ext class begins to run, with this slice.
    pub fn begins(&mut self, cpu: CpuId, task: TaskId, slice_ns: u64, at_ns: u64) {
        if self.strict {
            let bound = self.bounds.slivers;
            if let Some(what) = self.slices.begins(cpu, task, slice_ns, at_ns, bound) {
                self.remark("slice", at_ns, &what);
            }
        }
    }

    pub fn cpu_online(&mut self, cpu: CpuId, at_ns: u64) {
        self.waiting.cpu(cpu, true, at_ns);
        self.waste.cpu(cpu, true, at_ns, u64::MAX);
    }

    pub fn cpu_offline(&mut self, cpu: CpuId) {
        self.waiting.offline(cpu);
        self.waste.cpu(cpu, false, 0, u64::MAX);
    }
}

impl Sim<'_> {
    /// A check has failed: the run ends, saying what and at which event.
    #[cold]
    pub(crate) fn fail_check(&mut self) {
        if let Some(Violation { by, what }) = &self.checkers.violation {
            let by = *by;
            let reason = format!("check failed: {what}, event {}", self.handled);
            self.fail_by(by, reason);
        }
    }

    /// Look at everybody who waits.
    pub(crate) fn audit(&mut self) {
        let now = self.now_ns;
        let weights: PerTask<u64> = self
            .tasks
            .ids()
            .map(|id| {
                if self.tasks[id].alive() {
                    u64::from(self.seen(id).scx.weight)
                } else {
                    0
                }
            })
            .collect();
        let all: u64 = weights.iter().sum();
        let bounds = self.checkers.bounds;
        // A policy may run SCHED_IDLE tasks only where nobody else wants to.
        let idle: PerTask<bool> = (self.tasks.iter())
            .map(|task| task.policy == Policy::Idle)
            .collect();
        let wait_ns = |task: TaskId| {
            if idle[task] {
                bounds.starvation_ns.max(bounds.patience_ns)
            } else {
                bounds.wait_ns(weights[task], all)
            }
        };
        let checkers = &mut self.checkers;
        if checkers.strict
            && let Some(what) =
                checkers
                    .slices
                    .audit(now, &checkers.waiting, &checkers.affinity, wait_ns)
        {
            checkers.remark("slice", now, &what);
        }
        if let Some(what) = checkers.waste.audit(now, bounds.idle_ns) {
            checkers.remark("work conservation", now, &what);
        }
        let found = checkers
            .waiting
            .audit(now, &checkers.affinity, &bounds, wait_ns);
        for (kind, what) in found {
            checkers.remark(kind, now, &what);
        }
        if let Some(task) = checkers.accounts.lost(&checkers.waiting) {
            let what = format!("task {task} is lost: it wants to run and is in no queue");
            checkers.violated("lost task", now, &what);
        }
    }

    /// At the end: service received and idle time fill every CPU's time exactly.
    pub(crate) fn check_accounts(&mut self) {
        let now = self.now_ns;
        let exec: PerTask<u64> = self.tasks.iter().map(|task| task.exec_ns).collect();
        let cpus: PerCpu<(u64, u64)> = self
            .cpus
            .iter()
            .map(|cpu| {
                (
                    cpu.idle_ns,
                    if cpu.curr == IDLE {
                        cpu.idle_since_ns
                    } else {
                        cpu.exec_start_ns
                    },
                )
            })
            .collect();
        if let Err(what) = self.checkers.accounts.balance(now, &exec, &cpus) {
            self.checkers.violated("accounts", now, &what);
        }
    }
}
