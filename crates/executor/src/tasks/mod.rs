// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a plan with real processes and threads on the running kernel.
//!
//! A supervisor (the caller) makes the queues and a block of shared memory, starts a guardian and every task, waits
//! until all of them are blocked at the gate, opens it, and watches until the workload's end. The workload crate's
//! interpreter takes each task through its program; tasks leave what they measured in the shared memory, where it
//! outlives them. Whatever happens, the guardian's process group is killed and reaped, so nothing is left behind.

mod account;
mod arena;
mod attributes;
mod calibrate;
mod cgroups;
mod channels;
mod children;
mod clock;
mod context;
mod family;
mod fault;
mod files;
mod fork;
mod futex;
mod image;
mod memory;
mod messages;
mod outcome;
mod spawn;
mod supervise;
mod tally;
mod task;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

pub use calibrate::Calibration;
pub use cgroups::Cgroups;
pub use image::reenter;

use cell::Histogram;
use workload::plan::{Inst, Plan};

use crate::energy::Packages;
use crate::error::NotHere;

const NOT_ASKED: &str = "no energy: nobody asked for it";

#[derive(Clone, Debug)]
pub struct ExecOptions {
    /// How fast an idle core is; the same for all runs that are compared.
    pub calibration: Calibration,
    /// Where disk actions write, into files without names.
    pub scratch: PathBuf,
    /// A run that takes longer has failed.
    pub limit: Duration,
    /// The folder of the plan's control groups, which [`Cgroups`] made; without one, a run makes them itself.
    pub cgroups: Option<PathBuf>,
    /// Whose energy is measured, or why none is.
    pub packages: Result<Packages, String>,
}

impl ExecOptions {
    pub fn new(calibration: Calibration) -> Self {
        Self {
            calibration,
            scratch: scratch(),
            limit: Duration::from_secs(3600),
            cgroups: None,
            packages: Err(NOT_ASKED.to_owned()),
        }
    }
}

/// `TMPDIR`, else where temporary files are on a disk even if `/tmp` is in memory, else `/tmp`.
fn scratch() -> PathBuf {
    let on_disk = PathBuf::from("/var/tmp");
    if std::env::var_os("TMPDIR").is_none() && on_disk.is_dir() {
        on_disk
    } else {
        std::env::temp_dir()
    }
}

/// What a run measured; names and units as in `docs/records.md`. What the kernel does not tell is left out.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub metrics: BTreeMap<String, f64>,
    pub histograms: BTreeMap<String, Histogram>,
    /// Of the processors, from the start signal to the end, in joules; or one sentence that says why it is not known.
    pub energy: Result<f64, String>,
    pub runner: RunnerCost,
}

/// CPU time of a run that is not the workload's, for each task that waits for the start signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunnerCost {
    /// The supervisor's, to start it.
    pub fork_ns: f64,
    /// Its own, to come to the start.
    pub task_ns: f64,
    /// The supervisor's between the start signal and the end, most of it to reap it.
    pub reap_ns: f64,
}

/// Runs the plan once.
///
/// An error is a failed run, said in one line; an interrupt is the error [`crate::Interrupted`]. The calling thread must live
/// until the run is over, and SIGINT, SIGTERM, SIGHUP and SIGCHLD should not be handled by other threads meanwhile.
pub fn run(plan: &Plan, options: &ExecOptions) -> Result<Outcome> {
    let mut programs = plan.groups.iter().flat_map(|group| &group.program);
    if programs.any(|inst| *inst == Inst::MigrateDisable) {
        let message = "migrate_disable: no program can ask a real kernel for it; the simulator can";
        return Err(NotHere(message.to_owned()).into());
    }
    if let Some(group) = plan.groups.iter().find(|group| group.kernel) {
        let name = &group.name;
        let message = format!(
            "kernel: no program can be a thread of the kernel's own; the simulator has {name} as one"
        );
        return Err(NotHere(message).into());
    }
    supervise::run(plan, options)
}
