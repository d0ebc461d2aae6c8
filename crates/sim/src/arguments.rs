// SPDX-License-Identifier: GPL-2.0-or-later
//! How schedulers, workloads and machines are named on the command line.

use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use cell::DEFAULT;

/// The scheduler whose rules stand for those of the kernel's own.
const SIMULATED_DEFAULT: &str = "eevdf";

/// A scheduler's name in the simulator.
pub fn simulated(name: &str) -> &str {
    if name == DEFAULT {
        SIMULATED_DEFAULT
    } else {
        name
    }
}

/// Where the trees of an installed program lie, from a folder above it.
const SHARED: &str = "share/schedlab";

/// `name` is a path if it looks like one, else it is looked for in `folder` of the tree around, here or of the program.
pub fn find(folder: &str, name: &str, suffix: &str) -> Result<PathBuf> {
    if name.contains('/') || name.contains('.') {
        let path = PathBuf::from(name);
        ensure!(path.exists(), "{name}: no such file or folder");
        return Ok(path);
    }
    let name = if folder == "schedulers" {
        simulated(name)
    } else {
        name
    };
    let here = std::env::current_dir()?;
    let program = std::env::current_exe().unwrap_or_default();
    here.ancestors()
        .chain(program.ancestors())
        .flat_map(|dir| [dir.to_path_buf(), dir.join(SHARED)])
        .map(|dir| dir.join(folder).join(format!("{name}{suffix}")))
        .find(|path| path.exists())
        .ok_or_else(|| anyhow!("{name}: not found in {folder}/ here or above; a path may be given"))
}
