// SPDX-License-Identifier: GPL-2.0-or-later
//! `scx_NAME`: a scheduler in the foreground, until Ctrl-C or until the kernel ends it.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ArgMatches;
use policy::Manifest;

use super::{man, options, parse, version};
use crate::error::bad_input;
use crate::running::{Options, Running};
use crate::schedulers::Scheduler;
use crate::stats::difference;
use crate::{kernel, monitor};

/// How long an exit of the scheduler may go unnoticed.
const LOOK: Duration = Duration::from_secs(1);

pub fn main(name: &str, args: Vec<OsString>) -> Result<ExitCode> {
    of(Scheduler::find(name).map_err(bad_input)?, args)
}

/// A scheduler with its own command line.
pub fn of(scheduler: &'static Scheduler, args: Vec<OsString>) -> Result<ExitCode> {
    let manifest = scheduler.manifest()?;
    let command = options::command(scheduler, &manifest, program(scheduler.name));
    match parse(&command, args)? {
        Some(matches) => run(scheduler, &manifest, &matches),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// clap wants names that live for ever; there are few.
pub fn program(name: &str) -> &'static str {
    Box::leak(format!("scx_{name}").into_boxed_str())
}

pub fn run(
    scheduler: &'static Scheduler,
    manifest: &Manifest,
    matches: &ArgMatches,
) -> Result<ExitCode> {
    if matches.get_flag("man") {
        man::print(options::command(
            scheduler,
            manifest,
            program(scheduler.name),
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    if matches.get_flag("help-stats") {
        for stat in &manifest.stats {
            println!("{}: {}", stat.name, stat.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    signals::catch();
    if let Some(&seconds) = matches.get_one::<f64>("monitor") {
        monitor::follow(scheduler, Duration::from_secs_f64(seconds))?;
        return Ok(ExitCode::SUCCESS);
    }
    let scheduler = options::with_values(scheduler, matches)?;
    let options = options::read(scheduler, manifest, matches)?;
    let stats = matches
        .get_one::<f64>("stats")
        .copied()
        .map(Duration::from_secs_f64);
    keep_running(scheduler, &options, stats)
}

/// Loads, waits and says how it ended; loads again when the kernel asks for it.
fn keep_running(
    scheduler: &Scheduler,
    options: &Options,
    stats: Option<Duration>,
) -> Result<ExitCode> {
    let name = scheduler.name;
    let kernel = kernel::Kernel::read();
    eprintln!(
        "scx_{name} {}, Linux {}, {} CPUs, HZ {}",
        version(&scheduler.version()),
        kernel.release,
        kernel.cpus,
        kernel.hz
    );
    let line: Vec<_> = std::env::args().collect();
    eprintln!("command line: {}", line.join(" "));
    loop {
        let running = Running::load(scheduler, options)?;
        eprintln!("scx_{name}: {} schedules", running.ops);
        for callback in &running.left_out {
            eprintln!("scx_{name}: this kernel has no ops.{callback}: {name} does without");
        }
        wait(&running, stats);
        let Some(exit) = running.detach() else {
            eprintln!("scx_{name}: detached, the kernel's own scheduler runs");
            return Ok(ExitCode::SUCCESS);
        };
        eprintln!("scx_{name}: EXIT: {exit}");
        if exit.ejected() && !exit.dump.is_empty() {
            eprintln!("{}", exit.dump);
        }
        if signals::caught() || !exit.asks_for_restart() {
            return Ok(if exit.ejected() {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            });
        }
        eprintln!("scx_{name}: loading it again, as the kernel asks");
    }
}

/// Until the scheduler has ended or a signal came.
fn wait(running: &Running, stats: Option<Duration>) {
    let mut last = running.stats();
    let mut next = Instant::now() + stats.unwrap_or_default();
    while running.exit().is_none() && !signals::caught() {
        signals::wait(stats.map_or(LOOK, |_| {
            LOOK.min(next.saturating_duration_since(Instant::now()))
        }));
        if let Some(every) = stats
            && Instant::now() >= next
        {
            let now = running.stats();
            println!("{}", difference(&last, &now));
            (last, next) = (now, next + every);
        }
    }
}
