// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim set-up`: an object with values of a user's own, as a snapshot of which nothing ran.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use policy::set_up::Bytes;
use policy::snapshot::{FORMAT, Program, Snapshot};
use policy::{Object, Source, values};

#[derive(Args)]
pub struct SetUpArgs {
    /// A policy, its object, or a program that holds one
    policy: PathBuf,
    /// Values of its constants, variables and members of its `sched_ext_ops`: NAME = VALUE, as TOML
    #[arg(long, value_name = "FILE.toml")]
    rodata: PathBuf,
}

/// What the values stand for.
const ABSENT: &str = "all that the scheduler's own program does, but for the values given";

pub fn run(args: &SetUpArgs) -> Result<u8> {
    let source = Source::find(&args.policy)?;
    let object = Object::load(&args.policy)?;
    let name = args.policy.file_name().unwrap_or_default();
    let snapshot = Snapshot {
        format: FORMAT,
        program: Program {
            name: name.to_string_lossy().into_owned(),
            options: Vec::new(),
            version: String::new(),
            digest: source.id()?,
        },
        kernel: String::new(),
        cpus: None,
        absent: vec![ABSENT.to_owned()],
        set_up: values::of_file(&object.elf, &args.rodata)?,
        object: Bytes(object.elf),
    };
    let line = serde_json::to_string(&snapshot)? + "\n";
    std::io::stdout().write_all(line.as_bytes())?;
    Ok(0)
}
