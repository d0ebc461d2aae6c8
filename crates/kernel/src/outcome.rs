// SPDX-License-Identifier: GPL-2.0-or-later
//! How a run ended, and what came out of it.

use std::collections::BTreeMap;

use cell::Histogram;
use cell::Status;

use crate::ids::IDLE;
use crate::sim::Sim;

/// Why a run ended before its workload did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The kernel or the policy itself threw the policy out.
    Ejected(String),
    /// The simulation cannot go on.
    Failed(String),
}

#[derive(Debug)]
pub struct Outcome {
    pub status: Status,
    pub reason: String,
    /// Who ended the run: a checker, `watchdog`, `kernel` (a check of the sched_ext core), `livelock`; empty if it went well.
    pub by: &'static str,
    pub metrics: BTreeMap<String, f64>,
    pub distributions: BTreeMap<String, Histogram>,
    pub trace_hash: u64,
    pub events: u64,
    /// What checkers noticed that is not an error by itself.
    pub remarks: Vec<String>,
    pub switches: u64,
}

impl Sim<'_> {
    /// The policy is thrown out; the first reason counts.
    pub(crate) fn eject(&mut self, reason: String) {
        self.eject_by("kernel", reason);
    }

    pub(crate) fn eject_by(&mut self, by: &'static str, reason: String) {
        if self.exit.is_none() {
            self.exit = Some(Exit::Ejected(reason));
            self.ended_by = by;
        }
    }

    pub(crate) fn fail(&mut self, reason: String) {
        self.fail_by("simulator", reason);
    }

    pub(crate) fn fail_by(&mut self, by: &'static str, reason: String) {
        if self.exit.is_none() {
            self.exit = Some(Exit::Failed(reason));
            self.ended_by = by;
        }
    }

    pub(crate) fn finish(&mut self) -> Outcome {
        // The last task's exit takes its time too.
        if self.ended {
            self.now_ns = self.now_ns.max(self.ended_at_ns);
        }
        for cpu in self.cpus.ids() {
            self.begin_op(cpu, self.now_ns);
            let this = &mut self.cpus[cpu];
            if this.curr == IDLE {
                this.idle_ns += self.now_ns.saturating_sub(this.idle_since_ns);
            } else {
                self.update_curr(cpu);
            }
        }
        let ended = self.exit.is_none();
        self.audit();
        if ended {
            self.check_accounts();
        }
        if self.checkers.failed() {
            self.fail_check();
        }
        self.exit_policy();
        self.flush_trace();
        let elapsed_ns = self.now_ns;
        let idle_ns = self.cpus.iter().map(|cpu| cpu.idle_ns).sum();
        let (metrics, distributions) =
            self.metrics
                .finish(&self.plan, &self.tasks, elapsed_ns, idle_ns);
        let mut exit = self.exit.take();
        if exit.is_none()
            && let Some(missing) = self
                .plan
                .promises
                .iter()
                .find(|name| !metrics.contains_key(*name) && !distributions.contains_key(*name))
        {
            exit = Some(Exit::Failed(format!(
                "the workload promised {missing} and gave none"
            )));
        }
        let (status, reason) = match exit {
            None => (Status::Ok, String::new()),
            Some(Exit::Ejected(reason)) => (Status::Ejected, reason),
            Some(Exit::Failed(reason)) => (Status::Failed, reason),
        };
        Outcome {
            status,
            reason,
            by: self.ended_by,
            metrics,
            distributions,
            trace_hash: self.trace.hash(),
            events: self.handled,
            remarks: self.checkers.remarks(),
            switches: self.metrics.switched_in(),
        }
    }
}
