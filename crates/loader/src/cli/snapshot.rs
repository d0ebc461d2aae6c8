// SPDX-License-Identifier: GPL-2.0-or-later
//! `snapshot`: what a program sets up for its scheduler, printed as one line of JSON.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};

use crate::program::Program;
use crate::snapshot;

pub fn command() -> Command {
    Command::new("snapshot")
        .about("Run a program until its scheduler is enabled, and print what it has set up")
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("options")
                .value_name("OPTION")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("What the program is started with"),
        )
}

pub fn run(matches: &ArgMatches) -> Result<ExitCode> {
    signals::catch();
    let options = matches.get_many::<String>("options").unwrap_or_default();
    let taken = snapshot::take(&Program {
        path: matches
            .get_one::<PathBuf>("program")
            .expect("required")
            .clone(),
        options: options.cloned().collect(),
    })?;
    let mut line = serde_json::to_vec(&taken)?;
    line.push(b'\n');
    std::io::stdout().write_all(&line)?;
    Ok(ExitCode::SUCCESS)
}
