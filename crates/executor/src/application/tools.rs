// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the programs that a workload names are installed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;

use crate::error::NotHere;

/// Programs that are no command for everybody, such as PostgreSQL's, and headers have their whole path, `*` for a version.
pub fn need(name: &str, tools: &BTreeMap<String, String>) -> Result<()> {
    let missing = || tools.iter().filter(|(tool, _)| !is_here(tool));
    let Some((first, _)) = missing().next() else {
        return Ok(());
    };
    let packages: BTreeSet<&str> = missing().map(|(_, package)| package.as_str()).collect();
    let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
    Err(NotHere(format!(
        "{name}: {first} is not installed; on Debian: apt-get install {packages}"
    ))
    .into())
}

fn is_here(tool: &str) -> bool {
    if let Some((before, after)) = tool.split_once("/*/") {
        let versions = std::fs::read_dir(before).into_iter().flatten().flatten();
        return versions
            .map(|entry| entry.path().join(after))
            .any(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    tool.contains('/') && Path::new(tool).is_file()
        || std::env::split_paths(&path)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .any(|folder| runs(&folder.join(tool)))
}

fn runs(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_packages() {
        let tools = |list: &[(&str, &str)]| {
            list.iter()
                .map(|(a, b)| ((*a).into(), (*b).into()))
                .collect::<BTreeMap<_, _>>()
        };
        need("x", &tools(&[("sh", "dash"), ("/usr/*/sh", "dash")])).unwrap();
        let error = need(
            "x",
            &tools(&[("sh", "dash"), ("zz-no", "zz"), ("/usr/*/zz-no", "aa")]),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "x: /usr/*/zz-no is not installed; on Debian: apt-get install aa zz"
        );
    }
}
