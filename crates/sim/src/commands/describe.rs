// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim describe`: what is known of workloads, machines, schedulers, metrics and checkers, for whoever plans a
//! campaign or reads what came out of one, or of a check.
//!
//! What cannot be read is an entry with `error` in its place, so that one broken file hides no other.

use anyhow::Result;
use cell::{Arm, DEFAULT, METRICS};
use clap::Args;
use machine::Machine;
use policy::{Object, Source};
use serde_json::{Value, json};
use swarm::meaning;
use workload::Workload;

use crate::BAD_INPUT;
use crate::arguments::{find, simulated};

#[derive(Args)]
pub struct DescribeArgs {
    /// Workload, a name or a file
    #[arg(long = "workload", value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Give the workloads' loads on so many CPUs, too
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Vec<u32>,
    /// A load such as "2 * cpus", instead of those that the workloads' files have
    #[arg(long = "level", value_name = "LEVEL", allow_hyphen_values = true)]
    levels: Vec<String>,
    /// Machine, a name or a file
    #[arg(long = "machine", value_name = "MACHINE")]
    machines: Vec<String>,
    /// Scheduler, a name or a path, with or without tunables: bfs, `bfs:rules=424+rr_interval_us=3000`
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    schedulers: Vec<String>,
    /// Build the schedulers, and give their tunables and counters, too
    #[arg(long)]
    build: bool,
    /// Give all metrics
    #[arg(long)]
    metrics: bool,
    /// Give the checkers of `check`, and what a finding of each means
    #[arg(long)]
    checkers: bool,
}

pub fn run(args: &DescribeArgs) -> Result<u8> {
    let workload = |name: &str| workload(name, &args.cpus, &args.levels);
    let scheduler = |name: &str| scheduler(name, args.build);
    let described = [
        ("workloads", entries(&args.workloads, workload)),
        ("machines", entries(&args.machines, machine)),
        ("schedulers", entries(&args.schedulers, scheduler)),
    ];
    let broken =
        (described.iter().flat_map(|(_, list)| list)).any(|entry| entry["error"].is_string());
    let mut all: serde_json::Map<String, Value> = described
        .into_iter()
        .map(|(key, list)| (key.to_owned(), list.into()))
        .collect();
    if args.metrics {
        all.insert("metrics".to_owned(), serde_json::to_value(METRICS)?);
    }
    if args.checkers {
        let checker = |name: &&str| json!({"name": name, "meaning": meaning::of(name)});
        let checkers: Vec<Value> = meaning::CHECKERS.iter().map(checker).collect();
        all.insert("checkers".to_owned(), checkers.into());
    }
    println!("{}", serde_json::to_string_pretty(&all)?);
    Ok(if broken { BAD_INPUT } else { 0 })
}

fn entries(names: &[String], describe: impl Fn(&str) -> Result<Value>) -> Vec<Value> {
    let entry = |name: &String| {
        describe(name).unwrap_or_else(|error| {
            let line = format!("{error:#}").replace(['\n', '\r'], " ");
            json!({"error": line})
        })
    };
    names.iter().map(entry).collect()
}

fn workload(name: &str, cpus: &[u32], levels: &[String]) -> Result<Value> {
    let path = find("workloads", name, ".toml")?;
    let workload = Workload::read(&path)?;
    let mut entry = serde_json::to_value(workload.describe(cpus, levels)?)?;
    entry["path"] = json!(path);
    Ok(entry)
}

fn machine(name: &str) -> Result<Value> {
    let path = find("machines", name, ".toml")?;
    let machine = Machine::read(&path)?;
    Ok(json!({
        "name": machine.name,
        "title": machine.title,
        "cpus": machine.cpus(),
        "hz": machine.hz,
        "path": path,
    }))
}

/// What is written is told even of a scheduler that is not there.
fn scheduler(text: &str, build: bool) -> Result<Value> {
    let arm: Arm = text.parse()?;
    let mut entry = if arm.scheduler == DEFAULT {
        let means = simulated(DEFAULT);
        json!({
            "name": DEFAULT,
            "about": format!("the kernel's own scheduler; in the simulator it means {means}"),
            "means": means,
        })
    } else {
        source(&arm.scheduler, build).unwrap_or_else(|error| json!({"error": format!("{error:#}")}))
    };
    entry["scheduler"] = json!(arm.scheduler);
    entry["set"] = json!(arm.tunables);
    Ok(entry)
}

fn source(name: &str, build: bool) -> Result<Value> {
    let path = find("schedulers", name, "")?;
    let source = Source::find(&path)?;
    let mut entry = if build {
        Object::load(&path)?.manifest.json()
    } else {
        json!({})
    };
    entry["name"] = json!(source.name);
    entry["about"] = json!(source.about());
    entry["digest"] = json!(source.id()?);
    entry["folder"] = json!(source.dir);
    entry["file"] = json!(source.file);
    Ok(entry)
}
