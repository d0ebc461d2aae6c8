// SPDX-License-Identifier: GPL-2.0-or-later
//! `run`: a shard's cells. `exec`: one workload, under whatever runs or under a scheduler of ours.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use cell::{Arm, Cell, DEFAULT, Digests, Record, Status, assignments};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use executor::energy::POWERCAP;
use executor::tasks::Calibration;
use serde_json::json;
use workload::Workload;

use super::options;
use crate::cells::{self, Counters, Job, Under};
use crate::error::bad_input;
use crate::kernel::{AutogroupOff, Kernel};
use crate::running;
use executor::application;

pub fn run_command() -> Command {
    let path = || value_parser!(PathBuf);
    Command::new("run")
        .about("Run the cells of a shard that belong on a real kernel; those that have a record are skipped")
        .arg(Arg::new("shard").value_name("SHARD.json").required(true).value_parser(path()))
        .arg(Arg::new("out").long("out").value_name("DIR").required(true).value_parser(path()).help("Where the records go"))
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("PATH")
                .value_parser(path())
                .help("Send every record there too, one line of JSON each: a virtio port, a file"),
        )
        .arg(
            Arg::new("records-fd")
                .long("records-fd")
                .value_name("N")
                .conflicts_with("port")
                .value_parser(value_parser!(i32).range(0..))
                .help("The same, into a file descriptor that is open already"),
        )
        .arg(
            Arg::new("parent")
                .long("parent")
                .value_name("PID")
                .value_parser(value_parser!(u32))
                .help("Stop when this process, which started the shard, is gone"),
        )
}

pub fn run(matches: &ArgMatches) -> Result<ExitCode> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let (shard, out) = (
        path("shard").expect("required"),
        path("out").expect("required"),
    );
    let stream = match (path("port"), matches.get_one::<i32>("records-fd")) {
        (Some(path), _) => Some(open(path).map_err(bad_input)?),
        (None, Some(&fd)) => Some(inherited(fd).map_err(bad_input)?),
        (None, None) => None,
    };
    signals::catch();
    if let Some(&parent) = matches.get_one("parent") {
        signals::with_parent(parent);
    }
    let all_good = cells::run(shard, out, stream)?;
    Ok(if all_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.with_context(|| format!("--port: cannot open {}", path.display()))
}

fn inherited(fd: i32) -> Result<File> {
    // SAFETY: a number that is no open descriptor makes the clone fail, nothing worse.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) }
        .try_clone_to_owned()
        .context("--records-fd")?;
    Ok(fd.into())
}

/// A workload, and at which load.
fn of_workload(command: Command) -> Command {
    command
        .arg(
            Arg::new("workload")
                .value_name("WORKLOAD.toml")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("load")
                .long("load")
                .value_name("N")
                .allow_negative_numbers(true)
                .value_parser(value_parser!(i64))
                .help(
                    "Value of the workload's load parameter [default: the least its file offers]",
                ),
        )
        .arg(
            Arg::new("param")
                .long("param")
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .help("Set a parameter of the workload; may be given several times"),
        )
}

pub fn exec_command() -> Command {
    of_workload(Command::new("exec").about("Run a workload once and print what it measured"))
        .arg(Arg::new("seed").long("seed").value_name("N").default_value("1").value_parser(value_parser!(u64)).help("Seed of the random draws"))
        .arg(
            Arg::new("scheduler")
                .long("scheduler")
                .value_name("NAME[:TUNABLE=VALUE[+…]]")
                .help("Load this scheduler for the run, or start the program that does: ./scx_mine:options='-v'; `default` insists on the kernel's own [default: whatever runs]"),
        )
        .arg(options::rodata().requires("scheduler"))
        .arg(Arg::new("modelled").long("modelled").action(ArgAction::SetTrue).help("Run the tasks of a workload that has an application, as the simulator does"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the record as JSON"))
}

pub fn prepare_command() -> Command {
    of_workload(
        Command::new("prepare")
            .about("Make a workload's input, unless it is there, and print its folder"),
    )
}

/// The folder has the input's name in the cache; nothing is printed where the workload needs none.
pub fn prepare(matches: &ArgMatches) -> Result<ExitCode> {
    let cpus = Kernel::read().cpus;
    let (workload, load, params) = chosen(matches, cpus).map_err(bad_input)?;
    let command = workload
        .command(load, &params, cpus, 1)
        .map_err(bad_input)?;
    signals::catch();
    if let Some(input) = command.and_then(|command| command.input) {
        let files = application::input::ensure(&workload.name, &input)?;
        println!("{}", files.parent().unwrap_or(&files).display());
    }
    Ok(ExitCode::SUCCESS)
}

pub fn exec(matches: &ArgMatches) -> Result<ExitCode> {
    let kernel = Kernel::read();
    let job = job(matches, kernel.cpus).map_err(bad_input)?;
    signals::catch();
    if matches.contains_id("scheduler") {
        running::vacant()?;
    }
    let _autogroup = AutogroupOff::hold();
    let calibration = Calibration::measure();
    let counters = Counters::look(Path::new(POWERCAP));
    let measured = cells::measure(&job, calibration, &counters.packages)?;
    let record = cells::record(&job, measured, &kernel, &counters);
    if matches.get_flag("json") {
        println!("{}", serde_json::to_string(&record)?);
    } else {
        print(&record);
    }
    Ok(if record.status == Status::Ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn chosen(matches: &ArgMatches, cpus: u32) -> Result<(Workload, i64, BTreeMap<String, String>)> {
    let path = matches.get_one::<PathBuf>("workload").expect("required");
    let workload = Workload::read(path)?;
    for remark in &workload.remarks {
        eprintln!("schedlab-host: {remark}");
    }
    let load = match matches.get_one::<i64>("load") {
        Some(load) => *load,
        None => workload.least_load(cpus)?,
    };
    let params: Vec<String> = (matches.get_many("param").unwrap_or_default())
        .cloned()
        .collect();
    let params = assignments("--param", &params)?;
    Ok((workload, load, params))
}

fn job(matches: &ArgMatches, cpus: u32) -> Result<Job> {
    let (workload, load, params) = chosen(matches, cpus)?;
    let named = matches.get_one::<String>("scheduler");
    let arm: Arm = named.map_or(DEFAULT, String::as_str).parse()?;
    let under = match cells::under(&arm.scheduler, &arm.tunables)? {
        Under::Policy {
            scheduler,
            settings,
        } => Under::Policy {
            scheduler: options::with_values(scheduler, matches)?,
            settings,
        },
        other => {
            ensure!(
                !matches.contains_id("rodata"),
                "--rodata: expected a policy or its object, found {}",
                arm.scheduler
            );
            other
        }
    };
    let seed = *matches.get_one::<u64>("seed").expect("has a default");
    let plan = workload.plan(load, &params, cpus, seed)?;
    let modelled = matches.get_flag("modelled");
    let command = workload.command(load, &params, cpus, seed)?;
    let cell = Cell {
        api: None,
        built_in: false,
        digests: Digests::default(),
        exact_costs: false,
        kernel: None,
        load,
        machine: "host".into(),
        modelled,
        params,
        place: "host".into(),
        repetition: seed.saturating_sub(1),
        // Whatever runs: provenance.ops tells what that was.
        scheduler: named.map_or_else(|| "running".to_owned(), |_| arm.scheduler),
        seed,
        tunables: arm.tunables,
        workload: workload.name,
    };
    let again = "the same command".to_owned();
    Ok(Job {
        id: cell.id(),
        cell,
        under,
        plan,
        command: command.filter(|_| !modelled),
        again,
        frozen_after: None,
    })
}

/// For people: status, then a line per metric.
fn print(record: &Record) {
    if record.status != Status::Ok {
        println!(
            "{}: {}",
            json!(record.status).as_str().unwrap_or_default(),
            record.reason
        );
    }
    for (name, value) in &record.metrics {
        println!("{name:<24} {value:.3}");
    }
    for (name, buckets) in &record.histograms {
        let times = cell::Histogram::from(buckets);
        let us = |quantile: f64| times.quantile_ns(quantile) as f64 / 1000.0;
        println!(
            "{name:<24} p50 {:.1}  p90 {:.1}  p99 {:.1}  max {:.1}  ({} values)",
            us(0.5),
            us(0.9),
            us(0.99),
            times.max_ns() as f64 / 1000.0,
            times.count()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_given_twice() {
        for (option, value, message) in [
            (
                "--scheduler",
                "vtime:a=1+a=2",
                "scheduler 'vtime:a=1+a=2': tunable 'a' is given twice",
            ),
            ("--param", "messages=2", "--param: messages is given twice"),
        ] {
            let words = [
                "exec",
                "../../workloads/pipe.toml",
                "--param",
                "messages=1",
                option,
                value,
            ];
            let matches = exec_command().get_matches_from(words);
            assert_eq!(job(&matches, 2).err().unwrap().to_string(), message);
        }
    }
}
