// SPDX-License-Identifier: GPL-2.0-or-later
//! What a shell proposes while a scheduler's command line is typed, made from the same definitions as `--help`.

use std::io::Write;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, value_parser};
use clap_complete::{Shell, generate};
use policy::Manifest;

pub fn arg() -> Arg {
    Arg::new("completions")
        .long("completions")
        .value_name("SHELL")
        .value_parser(value_parser!(Shell))
        .hide(true)
        .help("Print the completions of a shell")
}

pub fn print(command: Command, manifest: &Manifest, shell: Shell) -> Result<()> {
    std::io::stdout().write_all(&script(command, manifest, shell))?;
    Ok(())
}

fn script(mut command: Command, manifest: &Manifest, shell: Shell) -> Vec<u8> {
    // Parsing a tunable's value is the manifest's, whose errors name a range; a shell wants the names one by one.
    for tunable in &manifest.tunables {
        let names = match tunable.kind.as_str() {
            "bool" => vec!["false".to_owned(), "true".to_owned()],
            _ => tunable.choices.clone(),
        };
        if !names.is_empty() {
            command = command.mut_arg(&tunable.name, |arg| {
                arg.value_parser(PossibleValuesParser::new(names))
            });
        }
    }
    let name = command.get_name().to_owned();
    let mut text = Vec::new();
    generate(shell, &mut command, name, &mut text);
    text
}
