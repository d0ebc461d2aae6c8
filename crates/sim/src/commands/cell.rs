// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim cell`: one cell, and a summary to read.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use cell::{Arm, Cell, DEFAULT, Digests, Status, assignments};
use clap::Args;
use kernel::{Execution, Options, Release, RtGuard};
use policy::Source;

use crate::arguments::find;
use crate::cells::{self, Cache, Sources};

#[derive(Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent flags, each with its own meaning"
)]
pub struct CellArgs {
    /// Scheduler, a name or a path, with tunables: bfs, `bfs:rules=424+rr_interval_us=3000`
    #[arg(long, default_value = "vtime")]
    scheduler: String,
    /// Workload, a name or a file
    #[arg(long)]
    workload: String,
    /// Value of the workload's load parameter; default: the least its file offers
    #[arg(long)]
    load: Option<i64>,
    /// Machine, a name or a file
    #[arg(long, default_value = "desktop-4")]
    machine: String,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A parameter of the workload, KEY=VALUE
    #[arg(long = "param", value_name = "KEY=VALUE")]
    params: Vec<String>,
    /// Write every scheduling decision to this file, as ftrace prints it
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// CPUs that go and come: 100ms:-3,250ms:+3; 90ms:~3 makes one inactive first
    #[arg(long, value_name = "SCRIPT")]
    hotplug: Option<String>,
    /// CPUs that are offline when the scheduler is loaded: 2,3
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    offline: Vec<u32>,
    #[arg(long, value_name = "GUARD", help = format!(
        "What keeps ordinary tasks alive beside real-time ones, instead of what the machine's kernel does: {}",
        RtGuard::names()
    ))]
    rt_guard: Option<String>,
    /// The scheduler's code costs what it would as part of the kernel; so it is for `default`
    #[arg(long)]
    built_in: bool,
    /// Costs are as the machine file has them, whatever their spread
    #[arg(long)]
    exact_costs: bool,
    /// Idle CPUs beside waiting tasks, starvation and lost tasks are failures
    #[arg(long)]
    strict: bool,
    #[arg(long, value_name = "HOW", default_value_t, value_parser = execution, help = format!(
        "How the policy's code is executed: {}. The decisions are the same; the latter two check every access to \
         memory, and the last takes many times as long",
        Execution::names()
    ))]
    execute: Execution,
    /// Which release of the kernel the policy sees: 6.12 to 7.2 (default: 7.2)
    #[arg(long, value_name = "RELEASE")]
    api: Option<Release>,
    /// Print the record instead of a summary
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CellArgs) -> Result<u8> {
    let arm = args.scheduler.parse::<Arm>()?;
    let sources = Sources {
        scheduler: find("schedulers", &arm.scheduler, "")?,
        workload: find("workloads", &args.workload, ".toml")?,
        machine: find("machines", &args.machine, ".toml")?,
    };
    let mut cache = Cache::executing(args.execute);
    let workload = cache.workload(&sources.workload)?;
    let machine = cache.machine(&sources.machine)?;
    let cell = Cell {
        api: args.api.map(|release| release.to_string()),
        built_in: args.built_in || arm.scheduler == DEFAULT,
        digests: Digests::default(),
        exact_costs: args.exact_costs,
        kernel: None,
        load: match args.load {
            Some(load) => load,
            None => workload.least_load(machine.cpus() as u32)?,
        },
        machine: machine.name.clone(),
        modelled: false,
        params: assignments("--param", &args.params)?,
        place: "sim".to_string(),
        repetition: args.seed.saturating_sub(1),
        scheduler: Source::find(&sources.scheduler)?.name,
        seed: args.seed,
        tunables: arm.tunables,
        workload: workload.name.clone(),
    };
    let mut options = Options {
        strict: args.strict,
        ..Options::default()
    };
    if let Some(name) = &args.rt_guard {
        let guard = RtGuard::named(name)
            .with_context(|| format!("--rt-guard: expected {}, found {name}", RtGuard::names()))?;
        options.rt_guard = Some(guard);
    }
    if let Some(script) = &args.hotplug {
        options.hotplug = kernel::hotplug::parse(script, machine.cpus())?;
    }
    let cpus = machine.cpus() as u32;
    for cpu in &args.offline {
        ensure!(
            (1..cpus).contains(cpu),
            "--offline: expected a CPU from 1 to {}, found {cpu}",
            cpus - 1
        );
    }
    options.offline.clone_from(&args.offline);
    if let Some(path) = &args.trace {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        options.trace = Some(Box::new(BufWriter::with_capacity(1 << 20, file)));
    }
    let (record, outcome) = cells::run(&cell, &sources, &mut cache, options)?;
    if args.json {
        println!("{}", serde_json::to_string(&record)?);
    } else {
        println!(
            "{} under {} on {} (load {}, seed {}): {}",
            cell.workload,
            args.scheduler,
            cell.machine,
            cell.load,
            cell.seed,
            record.status.name()
        );
        if !record.reason.is_empty() {
            println!("  {}", record.reason);
        }
        for (name, value) in &record.metrics {
            println!("  {name:<24} {value}");
        }
        for (name, distribution) in &outcome.distributions {
            let us = |quantile| distribution.quantile_ns(quantile) as f64 / 1e3;
            println!(
                "  {name:<24} count {} mean {:.1} p50 {:.1} p90 {:.1} p99 {:.1} max {:.1}",
                distribution.count(),
                distribution.mean_ns() / 1e3,
                us(0.5),
                us(0.9),
                us(0.99),
                distribution.max_ns() as f64 / 1e3
            );
        }
        for remark in &outcome.remarks {
            println!("  remark: {remark}");
        }
        println!(
            "  trace {}, {} events in {:.3} s",
            record.trace_hash, record.cost.events, record.cost.wall_s
        );
    }
    Ok(u8::from(record.status == Status::Failed))
}

fn execution(name: &str) -> Result<Execution, String> {
    Execution::named(name).ok_or_else(|| format!("expected {}", Execution::names()))
}
