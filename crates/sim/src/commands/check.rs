// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim check`: a policy under random machines, workloads and churn, with every checker watching.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use kernel::Release;
use policy::{CompileError, Manifest, Snapshot, Source};
use serde_json::json;

use cell::{assignments, quoted};
use signals::INTERRUPTED;
use swarm::child::Built;
use swarm::finding::{self, Told};
use swarm::job::{Job, Limits};
use swarm::{Draws, Swarm, meaning, simplify};

use crate::arguments::find;
use crate::{BAD_INPUT, coverage};

#[derive(Args)]
pub struct CheckArgs {
    /// A policy's .bpf.c file, its folder, its object (.bpf.o), or a scheduler's name
    policy: String,
    /// Set a tunable, NAME=VALUE; those not set are drawn
    #[arg(short = 'o', long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Check every value of this choice in turn: rules
    #[arg(long, value_name = "CHOICE")]
    each: Option<String>,
    /// Seed of the random cases; run K of a seed is the same everywhere
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many random cases [default: 500]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// As many as fit into so many seconds
    #[arg(long, value_name = "S", conflicts_with = "runs", value_parser = clap::value_parser!(u64).range(1..))]
    time_s: Option<u64>,
    /// Cases at a time; default: one a CPU of this machine
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Which release of the kernel the policy sees: 6.12 to 7.2 (default: 7.2)
    #[arg(long, value_name = "RELEASE")]
    api: Option<Release>,
    /// Set the policy's constants, variables and members of its `sched_ext_ops` first: NAME = VALUE, as TOML
    #[arg(long, value_name = "FILE.toml")]
    rodata: Option<PathBuf>,
    /// Where a finding goes [default: results/check/NAME]
    #[arg(long, short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Run this case again, and nothing else
    #[arg(long, value_name = "CASE.toml", conflicts_with_all = ["set", "each", "seed", "runs", "time_s", "api", "rodata", "interleave"])]
    replay: Option<PathBuf>,
    /// A CPU may stand idle so long beside a task that waits and may use it
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    idle_ms: u64,
    /// A task may wait so long for a CPU, and in addition …
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    starvation_ms: u64,
    /// … so long for every weight of its own that the others have together; 25 s at most
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    share_ms: u64,
    /// A task that changes its own nice, policy or affinity sleeps so long afterwards; 0: it may do so all the time
    #[arg(long, value_name = "US", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pause_us: u64,
    #[command(flatten)]
    without: Without,
    /// Break operations off between two calls of the policy's, so that those of other CPUs come in between
    #[arg(long)]
    interleave: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Add what --json prints to this file, too
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Count what the runs execute of the policy, and write it to this file for lcov's tools
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    coverage: Option<PathBuf>,
}

/// What no case has.
#[derive(Args)]
struct Without {
    /// Leave out the real-time tasks that hold a CPU for long
    #[arg(long)]
    no_real_time: bool,
    /// Leave out control groups
    #[arg(long)]
    no_cgroups: bool,
}

#[derive(Args)]
pub struct ObjectArgs {
    /// A policy's .bpf.c file, its folder, its object (.bpf.o), or a scheduler's name
    policy: String,
    /// Where the BPF object goes
    object: PathBuf,
    /// A folder of headers that the source includes, such as vmlinux.h or those of scx
    #[arg(short = 'I', long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Tunables that will be set: they are checked
    #[arg(short = 'o', long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// A policy's name and its object, whose interface it sees, and a file of values.
#[derive(Args)]
pub struct WorkerArgs {
    name: String,
    object: PathBuf,
    release: Release,
    values: Option<PathBuf>,
    #[arg(long)]
    counted: bool,
}

const RUNS: u64 = 500;
/// Million operations that one callback may execute: a fraction of a second, where it should take microseconds.
const CALLBACK_MOPS: u64 = 16;
const FOUND: u8 = 1;

/// The child that runs a policy's cases.
pub fn worker(args: &WorkerArgs) -> Result<u8> {
    swarm::worker::run(&Built {
        name: args.name.clone(),
        object: args.object.clone(),
        release: args.release,
        values: args.values.clone(),
        counted: args.counted,
    })?;
    Ok(0)
}

/// Builds, or copies what is built, with a user's values where it has any.
pub fn object(args: &ObjectArgs) -> Result<u8> {
    let source = Source::find(&find("schedulers", &args.policy, "")?)?;
    if source.is_snapshot() && Snapshot::read(&source.file)?.values().is_ok() {
        std::fs::copy(&source.file, &args.object)
            .with_context(|| args.object.display().to_string())?;
        return Ok(0);
    }
    for folder in &args.include {
        ensure!(folder.is_dir(), "-I {}: no such folder", folder.display());
    }
    if build(|| policy::build(&source, &args.include, &args.object))?.is_none() {
        return Ok(BAD_INPUT);
    }
    let manifest = Manifest::of_elf(&std::fs::read(&args.object)?)?;
    for (name, value) in assignments("-o", &args.set)? {
        manifest.setting(&source.name, &name, &value)?;
    }
    Ok(0)
}

pub fn run(args: &CheckArgs) -> Result<u8> {
    let source = Source::find(&find("schedulers", &args.policy, "")?)?;
    let Some(object) = build(|| policy::build_cached(&source))? else {
        return Ok(BAD_INPUT);
    };
    let case = args.replay.as_deref().map(finding::read).transpose()?;
    let (release, values) = match &case {
        Some(case) => (case.release, case.values.clone()),
        None => (args.api.unwrap_or_default(), args.rodata.clone()),
    };
    let built = Built {
        name: source.name.clone(),
        object,
        release,
        values,
        counted: args.coverage.is_some(),
    };
    let opened = built.open()?;
    // What the model has not is said here, before a case would.
    let program = kernel::link(&opened, built.execution(), release)?;
    let mut manifest = opened.manifest;
    signals::catch();
    let dir = args
        .directory
        .clone()
        .unwrap_or_else(|| Path::new("results/check").join(&source.name));
    if let (Some(file), Some(case)) = (&args.replay, &case) {
        return replay(args, &built, &manifest, file, &case.job);
    }
    let fixed = assignments("-o", &args.set)?;
    if let Some(file) = &built.values {
        let set = policy::values::names(file)?;
        let twice = fixed.keys().find(|name| set.contains(*name));
        if let Some(name) = twice {
            bail!("-o {name}: --rodata sets it already");
        }
        // What the file sets is not drawn.
        manifest
            .tunables
            .retain(|tunable| !set.contains(&tunable.name));
    }
    for (name, value) in &fixed {
        manifest.setting(&source.name, name, value)?;
    }
    let mut status = 0;
    let mut counts = Vec::new();
    for (fixed, dir) in variants(args, &manifest, &fixed, &dir)? {
        let swarm = Swarm {
            built: &built,
            manifest: &manifest,
            fixed: &fixed,
            limits: limits(args),
            draws: Draws {
                pause_us: args.pause_us,
                real_time: !args.without.no_real_time,
                cgroups: !args.without.no_cgroups,
            },
            seed: args.seed,
            runs: args.runs.unwrap_or(if args.time_s.is_some() {
                u64::MAX
            } else {
                RUNS
            }),
            time: args.time_s.map(Duration::from_secs),
            jobs: args.jobs.map_or_else(
                || std::thread::available_parallelism().map_or(1, usize::from),
                |jobs| jobs as usize,
            ),
            interleave: args.interleave,
        };
        status = status.max(one(args, &swarm, &dir, &mut counts)?);
        if signals::caught() {
            status = INTERRUPTED;
            break;
        }
    }
    if let Some(file) = &args.coverage {
        let reached = program.coverage(&counts);
        coverage::write(&reached, file)?;
        if !args.json {
            print!("{}", coverage::summary(&reached));
        }
    }
    Ok(status)
}

/// A policy that does not compile: the compiler's own words, with its own line numbers, and none of ours.
fn build<T>(work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    match work() {
        Ok(built) => Ok(Some(built)),
        Err(error) => match error.downcast_ref::<CompileError>() {
            Some(refused) => {
                eprint!("{}", refused.said);
                Ok(None)
            }
            None => Err(error),
        },
    }
}

fn limits(args: &CheckArgs) -> Limits {
    Limits {
        idle_ms: args.idle_ms,
        starvation_ms: args.starvation_ms,
        share_ms: args.share_ms,
        callback_mops: CALLBACK_MOPS,
    }
}

type Variant = (BTreeMap<String, String>, PathBuf);

/// What is fixed, and where findings go: once, or for every value of a choice.
fn variants(
    args: &CheckArgs,
    manifest: &Manifest,
    fixed: &BTreeMap<String, String>,
    dir: &Path,
) -> Result<Vec<Variant>> {
    let Some(each) = &args.each else {
        return Ok(vec![(fixed.clone(), dir.to_owned())]);
    };
    let choices = manifest
        .tunables
        .iter()
        .find(|tunable| tunable.name == *each && !tunable.choices.is_empty());
    let Some(choices) = choices else {
        bail!("--each {each}: expected the name of a choice of this policy (CHOICE)");
    };
    ensure!(
        !fixed.contains_key(each),
        "--each {each}: -o sets it already"
    );
    Ok(choices
        .choices
        .iter()
        .map(|value| {
            let mut fixed = fixed.clone();
            fixed.insert(each.clone(), value.clone());
            (fixed, dir.join(value))
        })
        .collect())
}

/// One swarm, to its end or to its first finding.
fn one(args: &CheckArgs, swarm: &Swarm, dir: &Path, counts: &mut Vec<u64>) -> Result<u8> {
    let label = label(&swarm.built.name, swarm.fixed);
    let outcome = swarm.run()?;
    swarm::counts::sum(counts, &outcome.counts);
    let Some((run, case, verdict)) = outcome.first else {
        let mut text = format!(
            "{label}: nothing found in {} runs of seed {} ({:.1} M events)",
            outcome.good,
            swarm.seed,
            outcome.events as f64 / 1e6
        );
        if outcome.cut > 0 {
            let _ = write!(text, ", {} of them cut short", outcome.cut);
        }
        say(
            args,
            &text,
            &json!({"policy": label, "seed": swarm.seed, "runs": outcome.good,
            "events": outcome.events, "cut": outcome.cut, "finding": null}),
        )?;
        return Ok(0);
    };
    eprintln!(
        "{label}: found in run {run} of seed {}: {}; shrinking it",
        swarm.seed, verdict.by
    );
    let (small, tried) = simplify::simplify(swarm, &case, &verdict)?;
    let job = swarm.job(&small);
    let told = finding::tell(swarm.built, &job, dir)?;
    let file = finding::write(&job, &told, swarm.built, &args.policy, dir)?;
    let line = reproduce(args, &file);
    let text = format!(
        "{label}: found in run {run} of seed {} by {}\n{}\
         the case, after {tried} attempts to make it smaller:\n  {} (was {})\n  {}\n\
         reproduce: {line}",
        swarm.seed,
        verdict.by,
        words(&told),
        small.summary(),
        case.summary(),
        dir.display(),
    );
    let data = json!({"policy": label, "seed": swarm.seed, "runs": outcome.good, "events": outcome.events,
        "cut": outcome.cut,
        "finding": {"run": run, "by": verdict.by, "what": told.reason, "reproduce": line,
            "case": file.display().to_string(), "attempts": tried, "switches": told.verdict.switches,
            "size": {"cpus": small.machine.cpus(), "tasks": small.tasks(), "actions": small.actions(),
                "hotplug": small.hotplug.len(), "duration_ms": small.duration_ms}}});
    say(args, &text, &data)?;
    Ok(FOUND)
}

fn replay(
    args: &CheckArgs,
    built: &Built,
    manifest: &Manifest,
    file: &Path,
    job: &Job,
) -> Result<u8> {
    for (name, value) in &job.tunables {
        manifest
            .setting(&built.name, name, value)
            .with_context(|| file.display().to_string())?;
    }
    let dir = file.parent().unwrap_or(Path::new("."));
    let told = finding::tell(built, job, dir)?;
    let text = if told.verdict.found() {
        format!(
            "{}: found again by {}\n{}",
            built.name,
            told.verdict.by,
            words(&told)
        )
    } else {
        format!(
            "{}: nothing found ({} events)",
            built.name, told.verdict.events
        )
    };
    let finding = told.verdict.found().then(|| {
        json!({"by": told.verdict.by, "what": told.reason, "case": file.display().to_string(),
            "reproduce": reproduce(args, file)})
    });
    say(
        args,
        text.trim_end(),
        &json!({"policy": built.name, "events": told.verdict.events, "finding": finding}),
    )?;
    Ok(if told.verdict.found() { FOUND } else { 0 })
}

fn reproduce(args: &CheckArgs, file: &Path) -> String {
    let policy = quoted(&args.policy);
    format!("schedlab check {policy} --replay {}", finding::quoted(file))
}

/// What was violated, what that means, with which switches, and what happened last.
fn words(told: &Told) -> String {
    let mut text = format!("  {}\n  {}\n", told.reason, meaning::of(&told.verdict.by));
    match told.verdict.switches.as_slice() {
        [] => {}
        [only] => {
            let _ = writeln!(text, "with this switch:\n  {}", only.what);
        }
        all => {
            let _ = writeln!(text, "with these {} switches:", all.len());
            for made in all {
                let _ = writeln!(text, "  {}", made.what);
            }
        }
    }
    if !told.last.is_empty() {
        text.push_str("the last events:\n");
        for line in &told.last {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn label(name: &str, fixed: &BTreeMap<String, String>) -> String {
    let parts: Vec<String> = fixed
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if parts.is_empty() {
        name.to_string()
    } else {
        format!("{name}:{}", parts.join("+"))
    }
}

fn say(args: &CheckArgs, text: &str, data: &serde_json::Value) -> Result<()> {
    if let Some(file) = &args.results {
        let add = || {
            writeln!(
                File::options().append(true).create(true).open(file)?,
                "{data}"
            )
        };
        add().with_context(|| file.display().to_string())?;
    }
    let mut out = std::io::stdout().lock();
    // A reader that has gone misses it.
    let _ = if args.json {
        writeln!(out, "{data}")
    } else {
        writeln!(out, "{text}")
    };
    Ok(())
}
