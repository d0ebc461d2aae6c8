// SPDX-License-Identifier: GPL-2.0-or-later
//! Manual pages, made from the same definitions as `--help`.

use std::io::Write;

use anyhow::Result;
use clap::Command;

pub fn print(command: Command) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .section("8")
        .manual("schedlab")
        .render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}
