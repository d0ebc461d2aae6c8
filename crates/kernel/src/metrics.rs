// SPDX-License-Identifier: GPL-2.0-or-later
//! What a run measures (`docs/records.md`), streamed: nothing grows with simulated time.
//!
//! `max_lag_us` compares every task that has wanted a CPU without a break for at least 100 ms with an ideal that shares
//! the CPUs by weight at every instant. The ideal's clock runs at CPUs / (sum of weights that want one) while more tasks
//! want a CPU than there are, and each task gets a whole CPU while not.

use std::collections::BTreeMap;

use cell::Histogram;
use workload::plan::Plan;

use crate::ids::{CpuId, NO_CPU, PerTask, TaskId};
use crate::lifecycle::weight_of;
use crate::task::{Class, State, Task};

/// Shorter spells of wanting a CPU say nothing about fairness.
const LAG_AFTER_NS: u64 = 100_000_000;

pub struct Metrics {
    wakeup: Histogram,
    /// Waits of tasks that were preempted or used their slice; with `wakeup`, all waits.
    put_back: Histogram,
    longest_wait_ns: u64,
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    switched_in: u64,
    /// Service of tasks that have ended.
    ended_exec_ns: u64,
    /// Tasks' waits for the disk.
    disk_ns: u64,
    max_lag_ns: f64,
    logs: Vec<Histogram>,
    counters: Vec<i64>,
    ideal: Ideal,
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

fn weight(task: &Task) -> i64 {
    i64::from(weight_of(task.policy, task.nice))
}

impl Metrics {
    pub fn new(plan: &Plan, cpus: usize) -> Self {
        Self {
            wakeup: Histogram::default(),
            put_back: Histogram::default(),
            longest_wait_ns: 0,
            voluntary: 0,
            involuntary: 0,
            migrations: 0,
            switched_in: 0,
            ended_exec_ns: 0,
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
        }
    }

    /// A task wants a CPU from now on.
    pub fn wants_cpu(&mut self, id: TaskId, tasks: &mut PerTask<Task>, at_ns: u64) {
        let task = &mut tasks[id];
        self.ideal.advance(at_ns);
        self.ideal.change(1, weight(task));
        task.busy_since_ns = at_ns;
        task.busy_ideal = self.ideal.now();
        task.busy_exec_ns = task.exec_ns;
    }

    /// A task goes on a CPU; its program continues at `ran_at_ns`.
    pub fn started(&mut self, cpu: CpuId, task: &mut Task, ran_at_ns: u64) {
        self.switched_in += 1;
        let waited_ns = ran_at_ns.saturating_sub(task.queued_at_ns);
        self.longest_wait_ns = self.longest_wait_ns.max(waited_ns);
        if task.from_wakeup {
            self.wakeup.record(waited_ns);
        } else {
            self.put_back.record(waited_ns);
            self.lag(task, ran_at_ns);
        }
        if task.last_cpu != cpu && task.last_cpu != NO_CPU {
            self.migrations += 1;
        }
    }

    /// A task leaves its CPU.
    pub fn stopped(&mut self, id: TaskId, tasks: &mut PerTask<Task>, at_ns: u64) {
        let task = &tasks[id];
        self.lag(task, at_ns);
        if task.state == State::Blocked {
            self.voluntary += 1;
            self.ideal.advance(at_ns);
            self.ideal.change(-1, -weight(task));
        }
    }

    pub fn preempted(&mut self) {
        self.involuntary += 1;
    }

    pub fn ended(&mut self, task: &Task) {
        self.ended_exec_ns += task.exec_ns;
    }

    /// The running task changes its weight: its account of fairness begins anew.
    pub fn weight_changes(
        &mut self,
        id: TaskId,
        tasks: &mut PerTask<Task>,
        at_ns: u64,
        change: impl FnOnce(&mut Task),
    ) {
        let task = &mut tasks[id];
        self.lag(task, at_ns);
        self.ideal.advance(at_ns);
        self.ideal.change(-1, -weight(task));
        change(task);
        self.ideal.change(1, weight(task));
        task.busy_since_ns = at_ns;
        task.busy_ideal = self.ideal.now();
        task.busy_exec_ns = task.exec_ns;
    }

    fn lag(&mut self, task: &Task, at_ns: u64) {
        if at_ns < task.busy_since_ns + LAG_AFTER_NS || task.class == Class::Rt {
            return;
        }
        self.ideal.advance(at_ns);
        let (alone, shared) = self.ideal.now();
        let ideal = alone - task.busy_ideal.0 + (shared - task.busy_ideal.1) * weight(task) as f64;
        let got = (task.exec_ns - task.busy_exec_ns) as f64;
        self.max_lag_ns = self.max_lag_ns.max((ideal - got).abs());
    }

    pub fn log(&mut self, metric: u32, ns: u64) {
        self.logs[metric as usize].record(ns);
    }

    pub fn count(&mut self, metric: u32, by: i64) {
        self.counters[metric as usize] += by;
    }

    pub fn disk(&mut self, waited_ns: u64) {
        self.disk_ns += waited_ns;
    }

    pub fn switched_in(&self) -> u64 {
        self.switched_in
    }

    pub fn finish(
        &mut self,
        plan: &Plan,
        tasks: &PerTask<Task>,
        elapsed_ns: u64,
        idle_ns: u64,
    ) -> (BTreeMap<String, f64>, BTreeMap<String, Histogram>) {
        let mut cpu_ns = self.ended_exec_ns;
        for task in tasks {
            if task.state != State::Dead {
                cpu_ns += task.exec_ns;
            }
            if task.state == State::Queued {
                let waited = elapsed_ns.saturating_sub(task.queued_at_ns);
                self.longest_wait_ns = self.longest_wait_ns.max(waited);
                self.lag(task, elapsed_ns);
            }
        }
        self.ideal.advance(elapsed_ns);
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
        (metrics, distributions)
    }
}
