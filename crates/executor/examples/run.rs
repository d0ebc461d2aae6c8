// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a workload on this machine's kernel: `run FILE LOAD [NAME=VALUE...]`, metrics one a line.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use executor::Interrupted;
use executor::tasks::{Calibration, ExecOptions, reenter, run};
use workload::Workload;

fn main() -> ExitCode {
    reenter();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match print(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(if error.is::<Interrupted>() { 130 } else { 1 })
        }
    }
}

fn print(arguments: &[String]) -> Result<()> {
    let [file, load, params @ ..] = arguments else {
        anyhow::bail!("usage: run FILE LOAD [NAME=VALUE...]");
    };
    let pair = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.to_string(), value.to_string()))
    };
    let params: Option<BTreeMap<String, String>> = params.iter().map(pair).collect();
    let cpus = std::thread::available_parallelism()?.get() as u32;
    let workload = Workload::read(Path::new(file))?;
    for remark in &workload.remarks {
        eprintln!("{remark}");
    }
    let plan = workload.plan(
        load.parse()?,
        &params.context("expected NAME=VALUE")?,
        cpus,
        1,
    )?;
    let outcome = run(&plan, &ExecOptions::new(Calibration::measure()))?;
    for (name, value) in &outcome.metrics {
        println!("{name} {value}");
    }
    for (name, times) in &outcome.histograms {
        let [p50, p99, max] = [
            times.quantile_ns(0.5),
            times.quantile_ns(0.99),
            times.max_ns(),
        ]
        .map(|ns| ns as f64 / 1e3);
        println!(
            "{name} count {} p50 {p50} p99 {p99} max {max}",
            times.count()
        );
    }
    Ok(())
}
