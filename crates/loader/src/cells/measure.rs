// SPDX-License-Identifier: GPL-2.0-or-later
//! One cell: load its scheduler, run its workload, and see whether it ran under that scheduler all the time.

use std::sync::Once;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use cell::Status;
use executor::application::{self, Ready};
use executor::energy::Packages;
use executor::tasks::{self, Calibration, Cgroups, ExecOptions, Outcome};
use workload::plan::Plan;

use super::freeze::Guard;
use super::plan::{Job, Under};
use crate::error::{BadInput, Interrupted, NotHere};
use crate::program::Started;
use crate::running::{Options, Running};
use crate::sysfs::State;

/// A program looks now and then whether its scheduler is still there, and says why it is not.
const TOLD_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// The scheduler that was enabled for a cell.
enum Enabled {
    Policy(Running),
    Program(Started),
}

impl Enabled {
    /// As the kernel should name it.
    fn ops(&self) -> &str {
        match self {
            Self::Policy(running) => &running.ops,
            Self::Program(started) => &started.ops,
        }
    }

    /// How it ended, if it has.
    fn end(&mut self) -> Option<(Status, String)> {
        match self {
            Self::Policy(running) => running.exit().map(|exit| {
                let ejected = exit.ejected();
                let status = if ejected {
                    Status::Ejected
                } else {
                    Status::Void
                };
                (status, exit.to_string())
            }),
            Self::Program(started) => match started.ejection() {
                Some(why) => Some((Status::Ejected, why)),
                None => started.end().map(|how| (Status::Void, how)),
            },
        }
    }

    /// The same, where the kernel says already that it is gone.
    fn end_soon(&mut self) -> Option<(Status, String)> {
        let deadline = Instant::now() + TOLD_WITHIN;
        loop {
            let end = self.end();
            if end.is_some() || Instant::now() > deadline {
                return end;
            }
            std::thread::sleep(LOOK);
        }
    }
}

pub struct Measured {
    pub status: Status,
    pub reason: String,
    pub outcome: Option<Outcome>,
    /// The scheduler as the kernel named it; empty for its own.
    pub ops: String,
    pub wall_s: f64,
}

/// An error ends the whole shard: an interrupt, or a kernel that cannot do it at all.
pub fn measure(
    job: &Job,
    calibration: Calibration,
    packages: &Result<Packages, String>,
) -> Result<Measured> {
    let start = Instant::now();
    let mut measured = match ready(job) {
        Ok(ready) => {
            let folder = ready.cgroups.as_ref().map(Cgroups::folder);
            let options = ExecOptions {
                cgroups: folder.map(std::path::Path::to_owned),
                packages: packages.clone(),
                ..ExecOptions::new(calibration)
            };
            under(job, &ready, &options)?
        }
        Err(error) if error.is::<NotHere>() || error.is::<Interrupted>() => return Err(error),
        Err(error) => Measured::failed(&error),
    };
    if measured.status == Status::Failed {
        measured.reason = format!("{}; again with: {}", measured.reason, job.again);
    }
    measured.wall_s = start.elapsed().as_secs_f64();
    Ok(measured)
}

/// What is there before the scheduler is loaded.
struct Before<'a> {
    /// What an application needs.
    application: Option<Ready<'a>>,
    cgroups: Option<Cgroups>,
}

fn ready(job: &Job) -> Result<Before<'_>> {
    let command = job.command.as_ref();
    let ready = command.map(|command| application::prepare(&job.cell.workload, command));
    Ok(Before {
        application: ready.transpose()?,
        cgroups: Cgroups::make(&job.plan)?,
    })
}

fn under(job: &Job, ready: &Before, exec: &ExecOptions) -> Result<Measured> {
    let enabled = match &job.under {
        Under::Default => return run(job, ready, exec, None),
        Under::Policy {
            scheduler,
            settings,
        } => {
            let options = Options {
                settings: settings.clone(),
                timeout_ms: timeout_ms()?,
                ..Options::default()
            };
            Running::load(scheduler, &options).map(Enabled::Policy)
        }
        Under::Program(program) => Started::start(program).map(Enabled::Program),
    };
    let mut enabled = match enabled {
        Ok(enabled) => enabled,
        Err(error) if error.is::<NotHere>() || error.is::<Interrupted>() => return Err(error),
        Err(error) => return Ok(Measured::failed(&error)),
    };
    let measured = run(job, ready, exec, Some(&mut enabled))?;
    if let Enabled::Program(started) = enabled {
        started.stop()?;
    }
    Ok(measured)
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
    job: &Job,
    ready: &Before,
    exec: &ExecOptions,
    mut enabled: Option<&mut Enabled>,
) -> Result<Measured> {
    let plan = &job.plan;
    let before = watch(enabled.as_deref_mut())?;
    // Under the kernel's own scheduler as well, so that it costs all alike.
    let guard = job.frozen_after.and_then(guarded);
    let outcome = match &ready.application {
        None => tasks::run(plan, exec),
        Some(ready) => application::run(ready, plan, exec),
    };
    let outcome = match outcome.and_then(|outcome| complete(plan, outcome)) {
        Err(error) if error.is::<Interrupted>() => return Err(error),
        outcome => outcome,
    };
    let frozen = guard.and_then(Guard::end);
    let found = before.as_ref().map(|state| state.ops.clone());
    let ops = enabled
        .as_deref()
        .map(|enabled| enabled.ops().to_owned())
        .or(found)
        .unwrap_or_default();
    let taken_away = frozen.filter(|_| enabled.is_some()).map(|time| {
        let reason = format!(
            "no ordinary task ran for {:.1} s under it, so that it was taken away",
            time.as_secs_f64()
        );
        (Status::Ejected, reason)
    });
    let disturbed = taken_away.or_else(|| disturbance(enabled, before.as_ref()));
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

/// Without, the machine has what every machine has.
fn guarded(limit: Duration) -> Option<Guard> {
    static SAID: Once = Once::new();
    let say = |error: &anyhow::Error| {
        SAID.call_once(|| {
            eprintln!("schedlab-host: a scheduler that freezes this machine is left to the kernel's watchdog: {error:#}");
        });
    };
    Guard::begin(limit).inspect_err(say).ok()
}

/// What the kernel says before the run; `None` without sched_ext, where nothing can replace its own scheduler.
fn watch(enabled: Option<&mut Enabled>) -> Result<Option<State>> {
    let Some(enabled) = enabled else {
        return Ok(State::read().ok());
    };
    let state = State::read()?;
    if enabled.end().is_none() {
        ensure!(
            state.is_enabled() && state.ops == enabled.ops(),
            NotHere(format!(
                "loaded {}, but the kernel says {} {}",
                enabled.ops(),
                state.state,
                state.ops
            ))
        );
    }
    Ok(Some(state))
}

/// Why the run was not one under its scheduler from end to end.
fn disturbance(
    mut enabled: Option<&mut Enabled>,
    before: Option<&State>,
) -> Option<(Status, String)> {
    if let Some(end) = enabled.as_deref_mut().and_then(Enabled::end) {
        return Some(end);
    }
    let before = before?;
    let void = |reason: String| Some((Status::Void, reason));
    match State::read() {
        Err(error) => void(format!("{error:#}")),
        Ok(after) if after.ops != before.ops || after.enable_seq != before.enable_seq => {
            if !after.is_enabled()
                && let Some(end) = enabled.and_then(Enabled::end_soon)
            {
                return Some(end);
            }
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
