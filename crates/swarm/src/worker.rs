// SPDX-License-Identifier: GPL-2.0-or-later
//! The child: runs what it is told, one after the other. The policy may do to it what it likes.

use std::fs::File;
use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use kernel::{Options, Program};
use machine::Machine;
use workload::Workload;

use crate::child::Built;
use crate::interleaving::{self, Made};
use crate::job::{Job, MAX_EVENTS, Verdict};

/// Reads jobs from standard input, a line each, and answers with a line each.
pub fn run(built: &Built) -> Result<()> {
    isolate();
    let program = kernel::link(&built.open()?, built.execution(), built.release)?;
    for line in std::io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line?).context("a job")?;
        let mut verdict = one(&built.name, &program, &job)?;
        verdict.counts = program.take_counts();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&verdict)?)?;
        out.flush()?;
    }
    Ok(())
}

/// Ends with its parent, leaves no core file, and hears no Ctrl-C.
fn isolate() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: plain system calls on locals.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
}

fn one(name: &str, program: &Program, job: &Job) -> Result<Verdict> {
    let machine = Machine::from_toml(&job.machine, "machine.toml")?;
    let workload = Workload::from_toml(&job.workload, "workload.toml")?;
    let load = workload.least_load(machine.cpus() as u32)?;
    let outcome = interleaving::run(&job.interleaving, |interleave| {
        let params = std::collections::BTreeMap::new();
        let plan = workload.plan(load, &params, machine.cpus() as u32, job.seed)?;
        let options = Options {
            interleave,
            bounds: job.limits.bounds(program, &plan, &job.tunables)?,
            ..options(job, &machine)?
        };
        kernel::simulate(&machine, plan, program, name, &job.tunables, options)
    })?;
    let Some(outcome) = outcome else {
        return Ok(Verdict {
            cut: true,
            ..Verdict::default()
        });
    };
    let cut = outcome.by == "limit";
    let by = if cut { "" } else { outcome.by };
    Ok(Verdict {
        by: by.to_string(),
        reason: if cut { String::new() } else { outcome.reason },
        events: outcome.events,
        cut,
        hash: outcome.trace_hash,
        switches: outcome.interleaved.into_iter().map(Made::from).collect(),
        counts: Vec::new(),
    })
}

fn options(job: &Job, machine: &Machine) -> Result<Options> {
    let mut options = Options {
        strict: true,
        trace_at_once: true,
        hotplug: kernel::hotplug::parse(&job.hotplug, machine.cpus())?,
        max_events: MAX_EVENTS,
        max_callback_operations: job.limits.callback_mops * 1_000_000,
        ..Options::default()
    };
    if let Some(path) = &job.trace {
        options.trace = Some(Box::new(File::create(path).with_context(|| path.clone())?));
    }
    Ok(options)
}
