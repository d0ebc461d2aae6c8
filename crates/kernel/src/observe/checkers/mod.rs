// SPDX-License-Identifier: GPL-2.0-or-later
//! Checkers: an account of the run kept beside the model, from what it is told to have happened.
//!
//! They share no state with the model and believe none of it. What no policy can cause (a task on two CPUs, a queue out
//! of order, time that does not add up) is a failure always; what a policy may do but a good one does not (leave a CPU
//! idle beside a waiting task, starve, keep a task for ever) is a remark, and a failure in a strict run.

mod accounts;
mod bounds;
mod held;
mod limits;
mod order;
mod slices;
mod waiting;
mod waste;

use workload::plan::{Cgroup, Policy};

use super::Complaint;
use super::happened::{Happened, Leaves};
use crate::ids::{CpuId, DsqIndex, IDLE, PerTask, TaskId};
use crate::mask::{self, CpuMask};
use crate::task::Place;

use accounts::Accounts;
pub use bounds::Bounds;
use held::Held;
use limits::Limits;
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
    /// Where limits are looked at.
    limits: Option<Limits>,
    order: Order,
    waiting: Waiting,
    slices: Slices,
    waste: Waste,
}

impl Checkers {
    pub fn new(
        cpus: usize,
        tasks: usize,
        cgroups: &[Cgroup],
        strict: bool,
        bounds: Bounds,
    ) -> Self {
        let limits = || {
            let parents: Vec<_> = cgroups.iter().map(|cgroup| cgroup.parent).collect();
            Limits::new(cpus, tasks, &parents)
        };
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
            limits: bounds.limits.then(limits),
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
        if self.limits.is_some() {
            self.limits(at_ns, happened);
        }
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
                self.waiting.offline(cpu, at_ns);
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

    #[inline(never)]
    fn limits(&mut self, at_ns: u64, happened: Happened<'_>) {
        let Some(limits) = &mut self.limits else {
            return;
        };
        if let Some(what) = limits.see(at_ns, happened) {
            self.remark("cpu limit", at_ns, &what);
        }
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
            // A policy may run SCHED_IDLE tasks only where nobody else wants to.
            if self.idle_policy[task] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Cause;

    const FIRST: TaskId = TaskId(0);
    const SECOND: TaskId = TaskId(1);

    /// Two CPUs of which the second is idle, the first runs the first task, and the second task wants to run from 10 ns
    /// on.
    fn second_wants(strict: bool) -> Checkers {
        let bounds = Bounds {
            idle_ns: 100,
            starvation_ns: 1_000,
            share_ns: 10,
            patience_ns: 5_000,
            slivers: 2,
            ..Bounds::default()
        };
        let mut checkers = Checkers::new(2, 2, &[], strict, bounds);
        for task in [FIRST, SECOND] {
            let measured = true;
            checkers.see(0, Happened::Born { task, measured });
        }
        for (task, at_ns) in [(FIRST, 0), (SECOND, 10)] {
            let served_ns = 0;
            checkers.see(at_ns, Happened::Wants { task, served_ns });
            if task == FIRST {
                switch(&mut checkers, CpuId(0), IDLE, task, at_ns);
            }
        }
        checkers
    }

    fn switch(checkers: &mut Checkers, cpu: CpuId, prev: TaskId, next: TaskId, at_ns: u64) {
        let switched = Happened::Switched {
            cpu,
            prev,
            next,
            leaves: Leaves::Runnable,
            cause: Cause::Schedule,
            served_ns: 0,
        };
        checkers.see(at_ns, switched);
    }

    fn allow(checkers: &mut Checkers, task: TaskId, cpu: u32) {
        let allowed = &mask::of([CpuId(cpu)]);
        checkers.see(10, Happened::Affinity { task, allowed });
    }

    fn attributes(policy: Policy, weight: u32) -> Happened<'static> {
        Happened::Attributes {
            task: SECOND,
            policy,
            nice: 0,
            prio: 120,
            weight,
            served_ns: 0,
        }
    }

    /// Who failed the run, and how.
    fn failed(checkers: &Checkers) -> Option<(&'static str, String)> {
        let complaint = checkers.complaint()?;
        assert!(checkers.failed());
        Some((complaint.by, complaint.what))
    }

    #[test]
    fn what_a_good_policy_does_not_do_is_counted_and_the_first_is_told() {
        let mut checkers = second_wants(false);
        for at_ns in [110, 111, 112] {
            switch(&mut checkers, CpuId(1), IDLE, SECOND, at_ns);
            assert!(!checkers.failed());
            switch(&mut checkers, CpuId(1), SECOND, IDLE, at_ns);
        }
        assert!(checkers.remarks().is_empty(), "100 ns, then next to none");
        switch(&mut checkers, CpuId(1), IDLE, SECOND, 213);
        switch(&mut checkers, CpuId(1), SECOND, IDLE, 213);
        switch(&mut checkers, CpuId(1), IDLE, SECOND, 400);
        let told = "work conservation: 2 times, first task 1 waited for 101 ns while CPU 1 was idle at 213 ns";
        assert_eq!(checkers.remarks(), [told]);
        checkers.see(
            500,
            Happened::TaskTotal {
                task: SECOND,
                served_ns: 7,
            },
        );
        assert_eq!(failed(&checkers).unwrap().0, "accounts");
    }

    #[test]
    fn a_strict_run_fails_by_the_first_of_it() {
        let mut checkers = second_wants(true);
        switch(&mut checkers, CpuId(1), IDLE, SECOND, 111);
        switch(&mut checkers, CpuId(0), SECOND, IDLE, 112);
        let told = "check failed: work conservation: task 1 waited for 101 ns while CPU 1 was idle at 111 ns";
        assert_eq!(
            failed(&checkers),
            Some(("work conservation", told.to_string()))
        );
        assert!(checkers.remarks().is_empty());
    }

    #[test]
    fn a_task_runs_only_where_it_may() {
        for (cpu, by) in [(1, None), (0, Some("affinity"))] {
            let mut checkers = second_wants(true);
            allow(&mut checkers, SECOND, cpu);
            switch(&mut checkers, CpuId(1), IDLE, SECOND, 20);
            assert_eq!(failed(&checkers).map(|(by, _)| by), by);
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_not_wasted() {
        let kept = || {
            let mut checkers = second_wants(true);
            let (cpu, task) = (CpuId(0), SECOND);
            checkers.see(10, Happened::Kept { cpu, task });
            checkers
        };
        for (away, waste) in [(false, true), (true, false)] {
            let mut checkers = kept();
            if away {
                checkers.see(20, Happened::Offline { cpu: CpuId(1) });
            }
            checkers.see(111, Happened::Audit);
            assert_eq!(checkers.failed(), waste);
        }
        let mut checkers = kept();
        checkers.see(20, Happened::Offline { cpu: CpuId(1) });
        checkers.see(50, Happened::Online { cpu: CpuId(1) });
        checkers.see(150, Happened::Audit);
        assert!(!checkers.failed());
        checkers.see(151, Happened::Audit);
        assert_eq!(failed(&checkers).unwrap().0, "work conservation");
    }

    #[test]
    fn who_is_in_no_queue_and_not_with_the_policy_is_lost() {
        let kept = Happened::Kept {
            cpu: CpuId(0),
            task: SECOND,
        };
        let queued = Happened::QueuedRt {
            cpu: CpuId(0),
            task: SECOND,
        };
        let requeued = Happened::RequeuedRt { task: SECOND };
        for happened in [Some(kept), Some(queued), Some(requeued), None] {
            let mut checkers = second_wants(false);
            if let Some(happened) = happened {
                checkers.see(15, happened);
            }
            checkers.see(20, Happened::Audit);
            let lost = happened.is_none().then_some("lost task");
            assert_eq!(failed(&checkers).map(|(by, _)| by), lost);
        }
    }

    #[test]
    fn the_light_and_those_of_sched_idle_may_wait_longer() {
        // 9 times its weight beside it, 100 of 1,000: 1,090 ns.
        for (policy, wait_ns) in [(Policy::Other, 1_090), (Policy::Idle, 5_000)] {
            let mut checkers = second_wants(false);
            allow(&mut checkers, SECOND, 0);
            checkers.see(10, attributes(policy, 100));
            checkers.weights[FIRST] = 900;
            checkers.see(
                10,
                Happened::Kept {
                    cpu: CpuId(0),
                    task: SECOND,
                },
            );
            checkers.see(10 + wait_ns, Happened::Audit);
            assert!(checkers.remarks().is_empty(), "{:?}", checkers.remarks());
            checkers.see(11 + wait_ns, Happened::Audit);
            assert!(checkers.remarks()[0].starts_with("starvation: 1 times"));
        }
    }

    #[test]
    fn slices_are_looked_at_in_a_strict_run() {
        for strict in [true, false] {
            let mut checkers = second_wants(strict);
            for _ in 0..3 {
                assert!(!checkers.failed());
                let (cpu, task, slice_ns) = (CpuId(0), FIRST, 1);
                checkers.see(
                    20,
                    Happened::Slice {
                        cpu,
                        task,
                        slice_ns,
                    },
                );
            }
            assert_eq!(checkers.failed(), strict);
            assert!(checkers.remarks().is_empty());
        }
    }

    #[test]
    fn an_inactive_cpu_may_pass_over_those_that_it_may_not_take() {
        let dsq = DsqIndex(0);
        for (away, only, by) in [
            (false, None, Some("queue order")),
            (true, None, None),
            (false, Some(0), None),
            (false, Some(1), Some("queue order")),
        ] {
            let mut checkers = second_wants(true);
            for task in [SECOND, FIRST] {
                let queued = Happened::Queued {
                    task,
                    to: Place::Dsq(dsq),
                    dsq_id: 1,
                    slice_ns: 1,
                    vtime: 0,
                    by_vtime: false,
                    head: false,
                };
                checkers.see(20, queued);
            }
            let cpu = CpuId(1);
            if away {
                checkers.see(20, Happened::Offline { cpu });
            }
            if let Some(only) = only {
                allow(&mut checkers, SECOND, only);
            }
            checkers.see(
                30,
                Happened::Taken {
                    task: FIRST,
                    dsq,
                    cpu,
                },
            );
            assert_eq!(failed(&checkers).map(|(by, _)| by), by);
        }
    }
}
