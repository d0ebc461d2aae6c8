// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers: the trace, the metrics and the checkers.
//!
//! They are told what happens, one [`Happened`] after the other, and see nothing of the model beside it. Whatever they
//! conclude they keep accounts for themselves, so that a wrong account of the model's own cannot hide.

mod checkers;
mod energy;
mod happened;
mod metrics;
mod trace;

use std::io::Write;

use machine::Machine;
use workload::plan::Plan;

pub use checkers::Bounds;
pub use happened::{Cause, Happened, Leaves, Stamp};
pub use metrics::Measured;

use checkers::Checkers;
use energy::Energy;
use metrics::Metrics;
use trace::Trace;

/// What breaks a run off: who says so, and why.
pub struct Complaint {
    pub by: &'static str,
    pub what: String,
}

pub struct Observers {
    trace: Trace,
    metrics: Metrics,
    energy: Option<Box<Energy>>,
    checkers: Checkers,
}

/// How closely to look, and where to write the trace.
pub struct Looks {
    pub trace: Option<Box<dyn Write>>,
    pub trace_at_once: bool,
    pub strict: bool,
    pub bounds: Bounds,
}

impl Observers {
    pub fn new(plan: &Plan, machine: &Machine, looks: Looks) -> Self {
        let tasks = plan.groups.iter().map(|group| group.count as usize).sum();
        Self {
            trace: Trace::new(plan, machine.cpus(), looks.trace, looks.trace_at_once),
            metrics: Metrics::new(plan, machine.cpus(), tasks),
            energy: Energy::of(machine).map(Box::new),
            checkers: Checkers::new(
                machine.cpus(),
                tasks,
                &plan.cgroups,
                looks.strict,
                looks.bounds,
            ),
        }
    }

    /// The one way in. Inlined with the fact at hand, so that each observer costs what it makes of this very fact.
    #[inline(always)]
    pub fn see(&mut self, stamp: Stamp, happened: Happened<'_>) {
        self.trace.see(stamp, happened);
        self.metrics.see(stamp.at_ns, happened);
        if let Some(energy) = &mut self.energy {
            energy.see(stamp.at_ns, happened);
        }
        self.checkers.see(stamp.at_ns, happened);
    }

    #[inline]
    pub fn complains(&self) -> bool {
        self.checkers.failed() || self.trace.failed()
    }

    #[cold]
    pub fn complaint(&self) -> Option<Complaint> {
        if self.trace.failed() {
            return Some(Complaint {
                by: "simulator",
                what: "cannot write the trace".to_string(),
            });
        }
        self.checkers.complaint()
    }

    /// Write the rest of the trace.
    pub fn flush(&mut self) {
        self.trace.flush();
    }

    pub fn trace_hash(&self) -> u64 {
        self.trace.hash()
    }

    /// What checkers noticed that is not an error by itself.
    pub fn remarks(&self) -> Vec<String> {
        self.checkers.remarks()
    }

    pub fn switches(&self) -> u64 {
        self.metrics.switched_in()
    }

    pub fn measured(&mut self, plan: &Plan, elapsed_ns: u64) -> Measured {
        let mut measured = self.metrics.finish(plan, elapsed_ns);
        if let Some(energy) = &mut self.energy {
            let joules = energy.finish(elapsed_ns);
            measured.metrics.insert("energy_j".to_string(), joules);
        }
        measured
    }
}
