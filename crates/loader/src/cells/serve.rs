// SPDX-License-Identifier: GPL-2.0-or-later
//! Shards as lines in, records as lines out, with what the machine was like before and after each shard.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use cell::Shard;
use serde_json::{Value, json};

use super::{one_by_one, plan, send};
use crate::environment::Environment;
use crate::error::bad_input;
use crate::input::Input;
use crate::kernel::Kernel;

const SHARD: &str = "the shard";

/// Until the input is over. A shard that cannot run is the end, too.
pub fn serve(input: &Input, mut output: File) -> Result<()> {
    tell(
        &mut output,
        &json!({"ready": Environment::read(), "version": env!("CARGO_PKG_VERSION")}),
    )?;
    while let Some(line) = input.next() {
        let shard = Shard::from_json(&line, SHARD).map_err(bad_input)?;
        let kernel = Kernel::read();
        let jobs = plan::jobs(&shard, SHARD.as_ref(), kernel.cpus).map_err(bad_input)?;
        tell(&mut output, &json!({"before": Environment::read()}))?;
        one_by_one(&jobs, &kernel, |record| send(&mut output, record))?;
        tell(&mut output, &json!({"after": Environment::read()}))?;
    }
    Ok(())
}

fn tell(output: &mut File, line: &Value) -> Result<()> {
    writeln!(output, "{line}").context("cannot tell the environment")
}
