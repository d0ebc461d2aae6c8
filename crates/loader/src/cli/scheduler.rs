// SPDX-License-Identifier: GPL-2.0-or-later
//! `scx_NAME`: a scheduler in the foreground, until Ctrl-C or until the kernel ends it.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ArgMatches;
use policy::Manifest;

use super::{completions, man, options, parse, version};
use crate::error::bad_input;
use crate::running::{Options, Running};
use crate::schedulers::Scheduler;
use crate::stats::{line, since};
use crate::stats_server::Server;
use crate::{kernel, monitor, scx_stats};

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
    let command = || options::command(scheduler, manifest, program(scheduler.name));
    if matches.get_flag("man") {
        man::print_scheduler(command(), manifest)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(&shell) = matches.get_one("completions") {
        completions::print(command(), manifest, shell)?;
        return Ok(ExitCode::SUCCESS);
    }
    if matches.get_flag("help-stats") {
        print!("{}", scx_stats::help(scheduler.name, manifest));
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
    keep_running(scheduler, manifest, &options, stats)
}

/// Loads, waits and says how it ended; loads again when the kernel asks for it.
fn keep_running(
    scheduler: &Scheduler,
    manifest: &Manifest,
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
        // Whoever has read that it schedules may ask.
        let server = tell_others(name, manifest, &running);
        eprintln!("scx_{name}: {} schedules", running.ops);
        for callback in &running.left_out {
            eprintln!("scx_{name}: this kernel has no ops.{callback}: {name} does without");
        }
        wait(&running, stats);
        drop(server);
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

/// At the socket that tools of scx ask. Without it the scheduler schedules as well.
fn tell_others(name: &str, manifest: &Manifest, running: &Running) -> Option<Server> {
    let meta = scx_stats::meta(name, manifest);
    let server = Server::start(Path::new(scx_stats::SOCKET), meta, running.counters());
    server
        .inspect_err(|error| eprintln!("scx_{name}: going on without --monitor: {error:#}"))
        .ok()
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
            println!("{}", line(&since(&last, &now)));
            (last, next) = (now, next + every);
        }
    }
}
