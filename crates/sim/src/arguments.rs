// SPDX-License-Identifier: GPL-2.0-or-later
//! How schedulers, workloads, machines and settings are named on the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};

pub fn split_scheduler(text: &str) -> Result<(&str, BTreeMap<String, String>)> {
    match text.split_once(':') {
        None => Ok((text, BTreeMap::new())),
        Some((name, rest)) => {
            let items: Vec<String> = rest.split('+').map(str::to_string).collect();
            Ok((name, assignments(&items, "--scheduler")?))
        }
    }
}

pub fn assignments(items: &[String], option: &str) -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for item in items {
        let (key, value) = item
            .split_once('=')
            .with_context(|| format!("{option}: expected KEY=VALUE, found {item:?}"))?;
        ensure!(
            map.insert(key.to_string(), value.to_string()).is_none(),
            "{option}: {key} is given twice"
        );
    }
    Ok(map)
}

/// `name` is a path if it looks like one, else it is looked for in `folder` of the tree around.
pub fn find(folder: &str, name: &str, suffix: &str) -> Result<PathBuf> {
    if name.contains('/') || name.contains('.') {
        let path = PathBuf::from(name);
        ensure!(path.exists(), "{name}: no such file or folder");
        return Ok(path);
    }
    let name = if folder == "schedulers" && name == "default" {
        "eevdf"
    } else {
        name
    };
    let here = std::env::current_dir()?;
    let program = std::env::current_exe().unwrap_or_default();
    here.ancestors()
        .chain(program.ancestors())
        .map(|dir| dir.join(folder).join(format!("{name}{suffix}")))
        .find(|path| path.exists())
        .ok_or_else(|| anyhow!("{name}: not found in {folder}/ here or above; a path may be given"))
}
