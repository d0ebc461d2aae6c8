// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-host`: cells on the running kernel, and a scheduler by hand.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Arg, ArgAction, Command};

use super::{exec, inspect, man, options, parse, scheduler, serve, snapshot, version};
use crate::error::bad_input;
use crate::schedulers::{SCHEDULERS, Scheduler, is_object};

/// `told` is the version.
fn command(told: &str) -> Result<Command> {
    let json = Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print JSON");
    let mut load = Command::new("load")
        .about("Run a scheduler in the foreground, until Ctrl-C")
        .after_help(
            "In place of NAME, a policy's object: schedlab-host load ./mine.bpf.o [OPTIONS]",
        )
        .subcommand_required(true)
        .subcommand_value_name("NAME")
        .disable_help_subcommand(true);
    for scheduler in SCHEDULERS {
        load = load.subcommand(options::command(
            scheduler,
            &scheduler.manifest()?,
            scheduler.name,
        ));
    }
    Ok(Command::new("schedlab-host")
        .version(version(told))
        .about("Puts schedlab's schedulers into the running kernel and runs workloads under them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(exec::run_command())
        .subcommand(serve::command())
        .subcommand(exec::exec_command())
        .subcommand(exec::prepare_command())
        .subcommand(snapshot::command())
        .subcommand(load)
        .subcommand(
            Command::new("status")
                .about("Say which scheduler runs")
                .arg(json.clone()),
        )
        .subcommand(
            Command::new("list")
                .about("List the schedulers, their tunables and counters")
                .arg(json),
        )
        .subcommand(
            Command::new("man")
                .about("Print the manual page of a scheduler, or this program's")
                .arg(
                    Arg::new("name")
                        .value_name("NAME")
                        .help("A scheduler; without it, schedlab-host"),
                ),
        ))
}

/// `load NAME.bpf.o`: not a scheduler of ours.
fn object(args: &[OsString]) -> Option<&str> {
    let name = args.get(2)?.to_str()?;
    (args.get(1)? == "load" && is_object(name)).then_some(name)
}

pub fn main(args: Vec<OsString>) -> Result<ExitCode> {
    if let Some(path) = object(&args) {
        let scheduler = Scheduler::named(path).map_err(bad_input)?;
        return scheduler::of(scheduler, args[2..].to_vec());
    }
    let asked = args
        .get(1)
        .is_some_and(|arg| arg == "--version" || arg == "-V");
    let told = if asked {
        cell::version()
    } else {
        env!("CARGO_PKG_VERSION").to_owned()
    };
    let command = command(&told)?;
    let Some(matches) = parse(&command, args)? else {
        return Ok(ExitCode::SUCCESS);
    };
    match matches.subcommand() {
        Some(("run", matches)) => return exec::run(matches),
        Some(("serve", matches)) => return serve::run(matches),
        Some(("exec", matches)) => return exec::exec(matches),
        Some(("prepare", matches)) => return exec::prepare(matches),
        Some(("snapshot", matches)) => return snapshot::run(matches),
        Some(("load", matches)) => {
            let (name, matches) = matches.subcommand().expect("required");
            let scheduler = Scheduler::find(name)?;
            return scheduler::run(scheduler, &scheduler.manifest()?, matches);
        }
        Some(("status", matches)) => inspect::status(matches.get_flag("json"))?,
        Some(("list", matches)) => inspect::list(matches.get_flag("json"))?,
        Some(("man", matches)) => match matches.get_one::<String>("name") {
            None => man::print(command)?,
            Some(name) => {
                let name = name.strip_prefix("scx_").unwrap_or(name);
                let scheduler = Scheduler::find(name).map_err(bad_input)?;
                let manifest = scheduler.manifest()?;
                let command = options::command(scheduler, &manifest, scheduler::program(name));
                man::print_scheduler(command, &manifest)?;
            }
        },
        _ => unreachable!("clap knows the subcommands"),
    }
    Ok(ExitCode::SUCCESS)
}
