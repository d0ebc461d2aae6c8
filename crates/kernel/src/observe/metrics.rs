// SPDX-License-Identifier: GPL-2.0-or-later
//! What a run measures (`docs/records.md`), streamed: nothing grows with simulated time.
//!
//! `max_lag_us` compares every task that has wanted a CPU without a break for at least 100 ms with an ideal that shares
//! the CPUs by weight at every instant. The ideal's clock runs at CPUs / (sum of weights that want one) while more tasks
//! want a CPU than there are, and each task gets a whole CPU while not.

use std::collections::BTreeMap;

use cell::Histogram;
use workload::plan::{Plan, Policy};

use super::happened::{Happened, Leaves};
use crate::ids::{IDLE, PerTask, TaskId};
use crate::task::{Class, class_of, weight_of};

/// Shorter spells of wanting a CPU say nothing about fairness.
const LAG_AFTER_NS: u64 = 100_000_000;

/// What metrics and histograms a run gives, by name.
pub struct Measured {
    pub metrics: BTreeMap<String, f64>,
    pub histograms: BTreeMap<String, Histogram>,
}

impl Measured {
    pub fn has(&self, name: &str) -> bool {
        self.metrics.contains_key(name) || self.histograms.contains_key(name)
    }
}

pub struct Metrics {
    wakeup: Histogram,
    /// Waits of tasks that were preempted or used their slice; with `wakeup`, all waits.
    put_back: Histogram,
    longest_wait_ns: u64,
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    switched_in: u64,
    /// Service of tasks that have ended, and at the end of the others.
    served_ns: u64,
    idle_ns: u64,
    /// When the start signal was given, and how long CPUs had been idle until then.
    begun_ns: u64,
    idle_before_ns: u64,
    /// Tasks' waits for the disk.
    disk_ns: u64,
    max_lag_ns: f64,
    logs: Vec<Histogram>,
    counters: Vec<i64>,
    ideal: Ideal,
    tasks: PerTask<Account>,
}

/// What is known of a task.
#[derive(Clone, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent states, each with its own meaning"
)]
struct Account {
    waits_since_ns: u64,
    /// Start of the present unbroken time of wanting a CPU, and ideal and received service at that time.
    busy_since_ns: u64,
    busy_ideal: (f64, f64),
    busy_served_ns: u64,
    weight: u32,
    /// It waits because it was woken, not because it was preempted.
    from_wakeup: bool,
    waits: bool,
    wants: bool,
    dead: bool,
    real_time: bool,
    /// What it does is the workload's.
    measured: bool,
    /// Service in its life when it last left a CPU, and what it had at the start signal.
    served_ns: u64,
    served_before_ns: u64,
}

impl Account {
    /// Of so much service in its life, what is the workload's.
    fn measured_ns(&self, served_ns: u64) -> u64 {
        if self.measured {
            served_ns - self.served_before_ns
        } else {
            0
        }
    }

    fn wakes(&mut self, since_ns: u64) {
        self.waits_since_ns = since_ns;
        self.from_wakeup = true;
    }
}

/// The clock of the ideal, in service per unit of weight.
struct Ideal {
    cpus: u32,
    wanting: u32,
    weight: u64,
    at_ns: u64,
    /// Time with a CPU for everybody.
    alone_ns: u64,
    /// CPU time with a task for every CPU, or a CPU for every task.
    useful_ns: u64,
    /// Service per unit of weight otherwise.
    shared: f64,
    rate: f64,
}

impl Ideal {
    fn advance(&mut self, at_ns: u64) {
        if at_ns > self.at_ns {
            let delta = at_ns - self.at_ns;
            self.at_ns = at_ns;
            self.useful_ns += delta * u64::from(self.wanting.min(self.cpus));
            if self.wanting > self.cpus {
                self.shared += delta as f64 * self.rate;
            } else {
                self.alone_ns += delta;
            }
        }
    }

    fn change(&mut self, tasks: i32, weight: i64) {
        self.wanting = self.wanting.wrapping_add_signed(tasks);
        self.weight = self.weight.wrapping_add_signed(weight);
        if self.wanting > self.cpus {
            self.rate = f64::from(self.cpus) / self.weight as f64;
        }
    }

    fn now(&self) -> (f64, f64) {
        (self.alone_ns as f64, self.shared)
    }
}

impl Metrics {
    pub fn new(plan: &Plan, cpus: usize, tasks: usize) -> Self {
        Self {
            wakeup: Histogram::default(),
            put_back: Histogram::default(),
            longest_wait_ns: 0,
            voluntary: 0,
            involuntary: 0,
            migrations: 0,
            switched_in: 0,
            served_ns: 0,
            idle_ns: 0,
            begun_ns: 0,
            idle_before_ns: 0,
            disk_ns: 0,
            max_lag_ns: 0.0,
            logs: vec![Histogram::default(); plan.distributions.len()],
            counters: vec![0; plan.counters.len()],
            ideal: Ideal {
                cpus: cpus as u32,
                wanting: 0,
                weight: 0,
                at_ns: 0,
                alone_ns: 0,
                useful_ns: 0,
                shared: 0.0,
                rate: 0.0,
            },
            tasks: PerTask::filled(tasks, Account::default),
        }
    }

    #[inline(always)]
    pub fn see(&mut self, at_ns: u64, happened: Happened<'_>) {
        match happened {
            Happened::Born { task, measured } => {
                let account = &mut self.tasks[task];
                account.dead = false;
                account.measured = measured;
                (account.served_ns, account.served_before_ns) = (0, 0);
            }
            Happened::Begins { idle_ns } => self.begin(idle_ns, at_ns),
            Happened::Attributes {
                task,
                policy,
                nice,
                served_ns,
                ..
            } => self.attributes(task, policy, nice, served_ns, at_ns),
            Happened::Woken {
                task,
                waits_since_ns,
                ..
            } => self.tasks[task].wakes(waits_since_ns),
            Happened::Forked { task, .. } => self.tasks[task].wakes(at_ns),
            Happened::Wants { task, served_ns } => self.wants(task, served_ns, at_ns),
            Happened::PutBack { task } => {
                let account = &mut self.tasks[task];
                account.waits_since_ns = at_ns;
                account.from_wakeup = false;
                account.waits = true;
                self.involuntary += u64::from(account.measured);
            }
            Happened::Started {
                task,
                runs_ns,
                moved,
                served_ns,
                ..
            } => self.started(task, served_ns, moved, runs_ns),
            Happened::Switched {
                prev,
                leaves,
                served_ns,
                ..
            } if prev != IDLE => {
                self.lag(prev, served_ns, at_ns);
                let account = &mut self.tasks[prev];
                account.served_ns = served_ns;
                let measured = account.measured;
                if leaves != Leaves::Runnable {
                    // A real task counts its switches before the one that ends it.
                    self.voluntary += u64::from(leaves == Leaves::Blocked && measured);
                    self.ideal.advance(at_ns);
                    self.tasks[prev].wants = false;
                    self.ideal.change(-1, -i64::from(self.tasks[prev].weight));
                }
            }
            Happened::Settles { task, served_ns } => {
                self.served_ns += self.tasks[task].measured_ns(served_ns);
                self.tasks[task].measured = false;
            }
            Happened::Died { task, served_ns } => {
                self.tasks[task].dead = true;
                self.served_ns += self.tasks[task].measured_ns(served_ns);
            }
            Happened::Logged { metric, ns } => self.logs[metric as usize].record(ns),
            Happened::Counted { metric, by } => self.counters[metric as usize] += by,
            Happened::DiskWait { ns } => self.disk_ns += ns,
            Happened::TaskTotal { task, served_ns } => self.total(task, served_ns, at_ns),
            Happened::CpuTotal { idle_ns, .. } => self.idle_ns += idle_ns,
            _ => {}
        }
    }

    /// What tasks did to come to the start is not the workload's. They all wait for it now.
    fn begin(&mut self, idle_ns: u64, at_ns: u64) {
        self.begun_ns = at_ns;
        self.idle_before_ns = idle_ns;
        self.wakeup = Histogram::default();
        self.put_back = Histogram::default();
        self.longest_wait_ns = 0;
        (self.voluntary, self.involuntary, self.migrations) = (0, 0, 0);
        self.max_lag_ns = 0.0;
        self.ideal.advance(at_ns);
        self.ideal.useful_ns = 0;
        for (_, account) in self.tasks.pairs_mut() {
            account.served_before_ns = account.served_ns;
        }
    }

    #[inline(always)]
    fn wants(&mut self, task: TaskId, served_ns: u64, at_ns: u64) {
        self.ideal.advance(at_ns);
        let account = &mut self.tasks[task];
        account.waits = true;
        account.wants = true;
        self.ideal.change(1, i64::from(account.weight));
        account.busy_since_ns = at_ns;
        account.busy_ideal = self.ideal.now();
        account.busy_served_ns = served_ns;
    }

    #[inline(always)]
    fn started(&mut self, task: TaskId, served_ns: u64, moved: bool, runs_ns: u64) {
        self.switched_in += 1;
        let account = &mut self.tasks[task];
        account.waits = false;
        if !account.measured {
            return;
        }
        self.migrations += u64::from(moved);
        let waited_ns = runs_ns.saturating_sub(account.waits_since_ns);
        self.longest_wait_ns = self.longest_wait_ns.max(waited_ns);
        if account.from_wakeup {
            self.wakeup.record(waited_ns);
        } else {
            self.put_back.record(waited_ns);
            self.lag(task, served_ns, runs_ns);
        }
    }

    /// Who changes its weight while it wants a CPU has its account of fairness begun anew.
    fn attributes(&mut self, task: TaskId, policy: Policy, nice: i32, served_ns: u64, at_ns: u64) {
        let wants = self.tasks[task].wants;
        if wants {
            self.lag(task, served_ns, at_ns);
            self.ideal.advance(at_ns);
            self.ideal.change(-1, -i64::from(self.tasks[task].weight));
        }
        let account = &mut self.tasks[task];
        account.weight = weight_of(policy, nice);
        account.real_time = class_of(policy).0 == Class::Rt;
        if wants {
            self.ideal.change(1, i64::from(account.weight));
            account.busy_since_ns = at_ns;
            account.busy_ideal = self.ideal.now();
            account.busy_served_ns = served_ns;
        }
    }

    #[inline]
    fn lag(&mut self, task: TaskId, served_ns: u64, at_ns: u64) {
        let account = &self.tasks[task];
        if at_ns < account.busy_since_ns + LAG_AFTER_NS || account.real_time {
            return;
        }
        self.ideal.advance(at_ns);
        let (alone, shared) = self.ideal.now();
        let weight = f64::from(account.weight);
        let ideal = alone - account.busy_ideal.0 + (shared - account.busy_ideal.1) * weight;
        let got = (served_ns - account.busy_served_ns) as f64;
        self.max_lag_ns = self.max_lag_ns.max((ideal - got).abs());
    }

    /// The run ends with this task so.
    fn total(&mut self, task: TaskId, served_ns: u64, at_ns: u64) {
        let account = &self.tasks[task];
        if !account.dead {
            self.served_ns += account.measured_ns(served_ns);
        }
        if account.waits && account.measured {
            let waited = at_ns.saturating_sub(self.tasks[task].waits_since_ns);
            self.longest_wait_ns = self.longest_wait_ns.max(waited);
            self.lag(task, served_ns, at_ns);
        }
    }

    pub fn switched_in(&self) -> u64 {
        self.switched_in
    }

    pub fn finish(&mut self, plan: &Plan, elapsed_ns: u64) -> Measured {
        let cpu_ns = self.served_ns;
        self.ideal.advance(self.begun_ns + elapsed_ns);
        let idle_ns = self.idle_ns - self.idle_before_ns;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let there_ns = u64::from(self.ideal.cpus) * elapsed_ns;
        // Of a CPU's idle time, what a waiting task could have used.
        let wasted_ns = (self.ideal.useful_ns + idle_ns).saturating_sub(there_ns);
        let mut metrics = BTreeMap::from([
            ("elapsed_s".to_string(), seconds(elapsed_ns)),
            ("cpu_s".to_string(), seconds(cpu_ns)),
            ("switches_voluntary".to_string(), self.voluntary as f64),
            ("switches_involuntary".to_string(), self.involuntary as f64),
            ("migrations".to_string(), self.migrations as f64),
            ("max_lag_us".to_string(), self.max_lag_ns.round() / 1e3),
            (
                "starvation_max_us".to_string(),
                self.longest_wait_ns as f64 / 1e3,
            ),
        ]);
        if elapsed_ns > 0 {
            let usage = cpu_ns as f64 / elapsed_ns as f64 * 100.0;
            metrics.insert("cpu_usage_pct".to_string(), usage);
            let wasted = wasted_ns as f64 / elapsed_ns as f64 * 100.0;
            metrics.insert("idle_while_waiting_pct".to_string(), wasted);
            if let Some(counter) = plan.throughput {
                let units = self.counters[counter as usize] as f64;
                metrics.insert("throughput_per_s".to_string(), units / seconds(elapsed_ns));
            }
        }
        for (index, (name, value)) in plan.counters.iter().zip(&self.counters).enumerate() {
            if plan.throughput != Some(index as u32) {
                metrics.insert(name.clone(), *value as f64);
            }
        }
        if self.disk_ns > 0 {
            metrics.insert("disk_wait_s".to_string(), seconds(self.disk_ns));
        }
        let mut distributions = BTreeMap::new();
        let mut waiting = std::mem::take(&mut self.put_back);
        waiting.merge(&self.wakeup);
        let wakeup = std::mem::take(&mut self.wakeup);
        distributions.insert("waiting_us".to_string(), waiting);
        distributions.insert("wakeup_latency_us".to_string(), wakeup);
        // What a program measures itself takes the name.
        for (name, log) in plan.distributions.iter().zip(&mut self.logs) {
            distributions.insert(name.clone(), std::mem::take(log));
        }
        distributions.retain(|_, distribution| !distribution.is_empty());
        Measured {
            metrics,
            histograms: distributions,
        }
    }
}
