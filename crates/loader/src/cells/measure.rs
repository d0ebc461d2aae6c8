// SPDX-License-Identifier: GPL-2.0-or-later
//! One cell: load its scheduler, run its workload, and see whether it ran under that scheduler all the time.

use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use cell::Status;
use executor::application::{self, Ready};
use executor::tasks::{self, Calibration, ExecOptions, Outcome};
use workload::plan::Plan;

use super::plan::Job;
use crate::error::{BadInput, Interrupted, NotHere};
use crate::running::{Options, Running};
use crate::sysfs::State;

pub struct Measured {
    pub status: Status,
    pub reason: String,
    pub outcome: Option<Outcome>,
    /// The scheduler as the kernel named it; empty for its own.
    pub ops: String,
    pub wall_s: f64,
}

/// An error ends the whole shard: an interrupt, or a kernel that cannot do it at all.
pub fn measure(job: &Job, calibration: Calibration) -> Result<Measured> {
    let start = Instant::now();
    let mut measured = match ready(job) {
        Ok(ready) => under(job, ready.as_ref(), calibration)?,
        Err(error) if error.is::<NotHere>() || error.is::<Interrupted>() => return Err(error),
        Err(error) => Measured::failed(&error),
    };
    if measured.status == Status::Failed {
        measured.reason = format!("{}; again with: {}", measured.reason, job.again);
    }
    measured.wall_s = start.elapsed().as_secs_f64();
    Ok(measured)
}

/// What an application needs is there before its scheduler is loaded.
fn ready(job: &Job) -> Result<Option<Ready<'_>>> {
    let command = job.command.as_ref();
    let ready = command.map(|command| application::prepare(&job.cell.workload, command));
    ready.transpose()
}

fn under(job: &Job, ready: Option<&Ready>, calibration: Calibration) -> Result<Measured> {
    match &job.scheduler {
        None => run(&job.plan, ready, calibration, None),
        Some(scheduler) => {
            let options = Options {
                settings: job.settings.clone(),
                timeout_ms: timeout_ms()?,
                ..Options::default()
            };
            match Running::load(scheduler, &options) {
                Ok(running) => run(&job.plan, ready, calibration, Some(&running)),
                Err(error) if error.is::<NotHere>() => Err(error),
                Err(error) => Ok(Measured::failed(&error)),
            }
        }
    }
}

/// `SCX_TIMEOUT_MS`, as every loader of sched_ext schedulers takes it.
fn timeout_ms() -> Result<Option<u32>> {
    let Ok(text) = std::env::var("SCX_TIMEOUT_MS") else {
        return Ok(None);
    };
    let ms = text.parse().ok().filter(|ms| (1..=30_000).contains(ms));
    let ms = ms.ok_or_else(|| BadInput(format!("SCX_TIMEOUT_MS={text}: expected 1 to 30000")))?;
    Ok(Some(ms))
}

fn run(
    plan: &Plan,
    ready: Option<&Ready>,
    calibration: Calibration,
    running: Option<&Running>,
) -> Result<Measured> {
    let before = watch(running)?;
    let outcome = match ready {
        None => tasks::run(plan, &ExecOptions::new(calibration)),
        Some(ready) => application::run(ready, plan, calibration),
    };
    let outcome = match outcome.and_then(|outcome| complete(plan, outcome)) {
        Err(error) if error.is::<Interrupted>() => return Err(error),
        outcome => outcome,
    };
    let found = before.as_ref().map(|state| state.ops.clone());
    let ops = running
        .map(|running| running.ops.clone())
        .or(found)
        .unwrap_or_default();
    let disturbed = disturbance(running, before.as_ref());
    Ok(match (disturbed, outcome) {
        (Some((status, reason)), outcome) => Measured {
            status,
            reason,
            outcome: outcome.ok(),
            ops,
            wall_s: 0.0,
        },
        (None, Ok(outcome)) => Measured {
            status: Status::Ok,
            reason: String::new(),
            outcome: Some(outcome),
            ops,
            wall_s: 0.0,
        },
        (None, Err(error)) => Measured {
            ops,
            ..Measured::failed(&error)
        },
    })
}

/// What the kernel says before the run; `None` without sched_ext, where nothing can replace its own scheduler.
fn watch(running: Option<&Running>) -> Result<Option<State>> {
    let Some(running) = running else {
        return Ok(State::read().ok());
    };
    let state = State::read()?;
    if running.exit().is_none() {
        ensure!(
            state.is_enabled() && state.ops == running.ops,
            NotHere(format!(
                "loaded {}, but the kernel says {} {}",
                running.ops, state.state, state.ops
            ))
        );
    }
    Ok(Some(state))
}

/// Why the run was not one under its scheduler from end to end.
fn disturbance(running: Option<&Running>, before: Option<&State>) -> Option<(Status, String)> {
    if let Some(exit) = running.and_then(Running::exit) {
        let status = if exit.ejected() {
            Status::Ejected
        } else {
            Status::Void
        };
        return Some((status, exit.to_string()));
    }
    let before = before?;
    let void = |reason: String| Some((Status::Void, reason));
    match State::read() {
        Err(error) => void(format!("{error:#}")),
        Ok(after) if after.ops != before.ops || after.enable_seq != before.enable_seq => {
            let name = |ops: &str| {
                if ops.is_empty() {
                    "the kernel's own".to_owned()
                } else {
                    ops.to_owned()
                }
            };
            void(format!(
                "the scheduler was replaced: {} by {}",
                name(&before.ops),
                name(&after.ops)
            ))
        }
        Ok(after) if after.nr_rejected != before.nr_rejected => void(format!(
            "the policy refused {} tasks",
            after.nr_rejected.wrapping_sub(before.nr_rejected)
        )),
        Ok(_) => None,
    }
}

/// A run that lacks a promised metric has failed.
fn complete(plan: &Plan, outcome: Outcome) -> Result<Outcome> {
    let has =
        |name: &String| outcome.metrics.contains_key(name) || outcome.histograms.contains_key(name);
    match plan.promises.iter().find(|name| !has(name)) {
        Some(missing) => Err(anyhow!(
            "the run gave no {missing}, which the workload promises"
        )),
        None => Ok(outcome),
    }
}

impl Measured {
    fn failed(error: &anyhow::Error) -> Self {
        let text = format!("{error:#}");
        let reason = text.lines().map(str::trim).collect::<Vec<_>>().join(" | ");
        Self {
            status: Status::Failed,
            reason,
            outcome: None,
            ops: String::new(),
            wall_s: 0.0,
        }
    }
}
