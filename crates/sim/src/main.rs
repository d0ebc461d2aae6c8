// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim`: cells in the simulator.
//!
//! `commands` has a module a subcommand; `cells` is what a cell means here, from its names to its record.

mod arguments;
mod cells;
mod commands;
mod coverage;
mod crash;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use kernel::Refused;

use commands::{bench, cell, check, conformance, describe, run, set_up};

/// Runs schedulers in a deterministic simulator of a machine.
#[derive(Parser)]
#[command(name = "schedlab-sim", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the cells of a shard, skipping those that have a record
    Run(run::RunArgs),
    /// Run one cell by names or paths and print what came out
    Cell(cell::CellArgs),
    /// Say what workloads, machines, schedulers and metrics are, as JSON
    Describe(describe::DescribeArgs),
    /// Check a policy under random machines, workloads and churn
    Check(check::CheckArgs),
    /// Run the kernel's own tests of sched_ext
    Conformance(conformance::ConformanceArgs),
    /// Set constants and variables of an object, and print it as a snapshot
    SetUp(set_up::SetUpArgs),
    /// Build a policy for the kernel
    Object(check::ObjectArgs),
    /// A child of `check`
    #[command(hide = true)]
    CheckWorker(check::WorkerArgs),
    /// Measure the simulator's own speed and memory
    Bench(bench::BenchArgs),
}

/// Bad usage or input.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            // One line, like every other error.
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            eprintln!("schedlab-sim: {}", line.trim_start_matches("error: "));
            return ExitCode::from(BAD_INPUT);
        }
        Err(told) if told.kind() == ErrorKind::DisplayVersion => {
            println!("schedlab-sim {}", ::cell::version());
            return ExitCode::SUCCESS;
        }
        Err(help) => {
            print!("{help}");
            return ExitCode::SUCCESS;
        }
    };
    if matches!(
        cli.command,
        Command::Cell(_) | Command::Describe(_) | Command::Bench(_)
    ) {
        signals::end_with_reader();
    }
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Cell(args) => cell::run(&args),
        Command::Describe(args) => describe::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::SetUp(args) => set_up::run(&args),
        Command::Object(args) => check::object(&args),
        Command::CheckWorker(args) => check::worker(&args),
        Command::Bench(args) => bench::run(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            for line in lines(&error) {
                eprintln!("schedlab-sim: {line}");
            }
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// One line, but for a policy that several things are missing for: a line each. It may quote names out of anybody's
/// object, and moves no terminal's cursor.
fn lines(error: &anyhow::Error) -> Vec<String> {
    let said = match error.downcast_ref::<Refused>() {
        Some(refused) => refused.lines.clone(),
        None => vec![format!("{error:#}")],
    };
    said.iter()
        .map(|line| line.replace(char::is_control, " "))
        .collect()
}
