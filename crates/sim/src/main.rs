// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim`: cells in the simulator.

mod bench;
mod check;
mod one;
mod shard;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

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
    Run(RunArgs),
    /// Run one cell by names or paths and print what came out
    Cell(one::CellArgs),
    /// Check a policy under random machines, workloads and churn
    Check(check::CheckArgs),
    /// Build a policy for the kernel
    Object(check::ObjectArgs),
    /// A child of `check`
    #[command(hide = true)]
    CheckWorker(check::worker::WorkerArgs),
    /// Measure the simulator's own speed and memory
    Bench(bench::BenchArgs),
}

#[derive(Args)]
struct RunArgs {
    /// Shard: files and cells (docs/records.md)
    shard: PathBuf,
    /// Directory of the records
    #[arg(long)]
    out: PathBuf,
    /// Cells at a time; default: one a CPU of this machine
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Stop when this process, which started the shard, is gone
    #[arg(long, value_name = "PID")]
    parent: Option<u32>,
}

use one::{assignments, find};

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
        Err(help) => {
            print!("{help}");
            return ExitCode::SUCCESS;
        }
    };
    let result = match cli.command {
        Command::Run(args) => shard::run(&args),
        Command::Cell(args) => one::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Object(args) => check::object(&args),
        Command::CheckWorker(args) => check::worker::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let line = format!("{error:#}").replace(['\n', '\r'], " ");
            eprintln!("schedlab-sim: {line}");
            ExitCode::from(BAD_INPUT)
        }
    }
}
