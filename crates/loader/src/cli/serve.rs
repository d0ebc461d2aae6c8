// SPDX-License-Identifier: GPL-2.0-or-later
//! `serve`: shards of another machine, which come as lines (`docs/fleet.md`).

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};

use crate::cells;
use crate::error::NotHere;
use crate::input::Input;
use crate::lock::MachineLock;

pub fn command() -> Command {
    Command::new("serve")
        .about("Run shards that come as lines on standard input, and print every record as a line; ends with its input")
        .arg(
            Arg::new("who")
                .long("who")
                .value_name("TEXT")
                .default_value("somebody")
                .help("For whom, as it is told to others who find the machine in use"),
        )
        .arg(
            Arg::new("silence")
                .long("silence-s")
                .value_name("N")
                .default_value("30")
                .value_parser(value_parser!(u64).range(1..=86_400))
                .help("End when nothing has come for so many seconds, not even an empty line"),
        )
        .arg(
            Arg::new("parent")
                .long("parent")
                .value_name("PID")
                .value_parser(value_parser!(u32))
                .help("End when this process is gone, too"),
        )
}

pub fn run(matches: &ArgMatches) -> Result<ExitCode> {
    // SAFETY: no pointers.
    if unsafe { libc::geteuid() } != 0 {
        return Err(NotHere("measuring on this machine needs root".into()).into());
    }
    let who = matches.get_one::<String>("who").expect("has a default");
    let silence = *matches.get_one::<u64>("silence").expect("has a default");
    signals::catch();
    if let Some(&parent) = matches.get_one("parent") {
        signals::with_parent(parent);
    }
    let _lock = MachineLock::take(who)?;
    let (input, output) = Input::begin(Duration::from_secs(silence))?;
    cells::serve(&input, output)?;
    Ok(ExitCode::SUCCESS)
}
