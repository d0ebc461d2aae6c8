// SPDX-License-Identifier: GPL-2.0-or-later
//! What was measured, with where it was measured, as a record.

use cell::{Provenance, Record};

use super::counters::Counters;
use super::measure::Measured;
use super::plan::Job;
use crate::kernel::Kernel;

pub fn record(job: &Job, measured: Measured, kernel: &Kernel, counters: &Counters) -> Record {
    let mut record = Record::new(job.cell.clone(), provenance(job, kernel, measured.ops));
    record.status = measured.status;
    record.reason = measured.reason;
    record.cost.wall_s = measured.wall_s;
    if let Some(outcome) = measured.outcome {
        record.set_histograms(&outcome.histograms);
        record.metrics = outcome.metrics;
        match outcome.energy {
            Ok(joules) => {
                record.metrics.insert("energy_j".to_owned(), joules);
                record.provenance.energy.clone_from(&counters.names);
                let quality = counters.quality;
                record.provenance.energy_step_uj = quality.map(|quality| quality.step_uj);
                record.provenance.energy_idle_mw = quality.map(|quality| quality.idle_mw);
                record.provenance.energy_idle_range_mw =
                    quality.map(|quality| quality.idle_range_mw);
            }
            Err(why) => record.provenance.energy = why,
        }
        record.cost.runner_fork_us = Some(outcome.runner.fork_ns / 1e3);
        record.cost.runner_task_us = Some(outcome.runner.task_ns / 1e3);
        record.cost.runner_reap_us = Some(outcome.runner.reap_ns / 1e3);
    }
    record
}

fn provenance(job: &Job, kernel: &Kernel, ops: String) -> Provenance {
    let place = &job.cell.place;
    Provenance {
        place: place.clone(),
        engine: format!("schedlab-host {}", env!("CARGO_PKG_VERSION")),
        kernel: kernel.release.clone(),
        cpus: kernel.cpus,
        hz: kernel.hz,
        tier: place.strip_prefix("vm-").unwrap_or_default().to_owned(),
        preempt: kernel.preempt.clone(),
        governor: kernel.governor.clone(),
        ops,
        ..Provenance::default()
    }
}
