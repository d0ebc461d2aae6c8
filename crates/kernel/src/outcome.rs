// SPDX-License-Identifier: GPL-2.0-or-later
//! How a run ended, and what came out of it.

use std::collections::BTreeMap;

use cell::Histogram;
use cell::Status;

use crate::boundary::global_data::GlobalData;
use crate::cpu::Cpu;
use crate::end::Exit;
use crate::ids::IDLE;
use crate::interleave::Taken;
use crate::observe::{Complaint, Happened};
use crate::sim::Sim;

#[derive(Debug)]
pub struct Outcome {
    pub status: Status,
    pub reason: String,
    /// Who ended the run: a checker, `watchdog`, `kernel` (a check of the sched_ext core), `fault` or `endless loop` (what
    /// executes the policy), `livelock`; empty if it went well.
    pub by: &'static str,
    pub metrics: BTreeMap<String, f64>,
    pub distributions: BTreeMap<String, Histogram>,
    pub trace_hash: u64,
    pub events: u64,
    /// What checkers noticed that is not an error by itself.
    pub remarks: Vec<String>,
    pub switches: u64,
    /// Operations that were broken off, and for what.
    pub interleaved: Vec<Taken>,
    /// The policy's block of global data as the run left it.
    pub data: GlobalData,
}

impl Sim<'_> {
    /// What checkers noticed, and what the policy told a user half that is not there.
    fn remarks(&self) -> Vec<String> {
        let unread = self
            .boundary
            .maps
            .unread()
            .filter(|(_, records)| *records > 0);
        let unread = unread.map(|(map, records)| {
            format!("ring buffer {map}: {records} records, which nobody reads here, are dropped")
        });
        self.observers.remarks().into_iter().chain(unread).collect()
    }

    /// An observer has found something: the run ends, saying what and at which event.
    #[cold]
    pub(crate) fn heed_complaint(&mut self) {
        if let Some(Complaint { by, what }) = self.observers.complaint() {
            let reason = format!("{what}, event {}", self.clock.handled());
            self.end.break_off(by, Exit::Failed(reason));
        }
    }

    pub(crate) fn finish(&mut self) -> Outcome {
        // The last task's exit takes its time too.
        if self.end.over {
            self.clock.now_ns = self.clock.now_ns.max(self.end.last_exit_ns);
        }
        for cpu in self.cpus.ids() {
            self.clock.begin_operation(cpu, self.clock.now_ns);
            let this = &mut self.cpus[cpu];
            if this.curr == IDLE {
                this.idle_ns += self.clock.now_ns.saturating_sub(this.idle_since_ns);
            } else {
                self.update_curr(cpu);
            }
        }
        self.tell(self.clock.now_ns, Happened::Audit);
        self.tell_totals();
        self.heed_complaint();
        self.exit_policy();
        self.observers.flush();
        self.heed_complaint();
        let measured = {
            let elapsed_ns = self.clock.now_ns - self.clock.start_ns;
            (self.observers).measured(&self.plan, elapsed_ns)
        };
        let missing = (self.plan.promises.iter()).find(|name| !measured.has(name));
        let mut exit = self.end.exit().cloned();
        if exit.is_none()
            && let Some(missing) = missing
        {
            exit = Some(Exit::Failed(format!(
                "the workload promised {missing} and gave none"
            )));
        }
        let (status, reason) = match exit {
            None => (Status::Ok, String::new()),
            Some(Exit::Ejected(ejection)) => (Status::Ejected, ejection.to_string()),
            Some(Exit::Failed(reason)) => (Status::Failed, reason),
        };
        Outcome {
            status,
            reason,
            by: self.end.by(),
            metrics: measured.metrics,
            distributions: measured.histograms,
            trace_hash: self.observers.trace_hash(),
            events: self.clock.handled(),
            remarks: self.remarks(),
            switches: self.observers.switches(),
            interleaved: self
                .interleaving
                .take()
                .map_or_else(Vec::new, |interleaving| interleaving.taken),
            data: self.boundary.take_data(),
        }
    }

    /// The model's own figures: service received and idle time have to fill every CPU's time exactly.
    fn tell_totals(&mut self) {
        let now_ns = self.clock.now_ns;
        for cpu in self.cpus.ids() {
            let Cpu {
                curr,
                idle_ns,
                idle_since_ns,
                exec_start_ns,
                ..
            } = self.cpus[cpu];
            let until_ns = if curr == IDLE {
                idle_since_ns
            } else {
                exec_start_ns
            };
            let total = Happened::CpuTotal {
                cpu,
                idle_ns,
                until_ns,
            };
            self.tell(now_ns, total);
        }
        for task in self.tasks.ids() {
            let served_ns = self.tasks[task].exec_ns;
            self.tell(now_ns, Happened::TaskTotal { task, served_ns });
        }
    }
}
