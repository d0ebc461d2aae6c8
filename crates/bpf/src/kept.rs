// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that are made once and kept, by names that say what is in them.

use std::path::Path;

use anyhow::{Context, Result};

/// Makes a file if it is not there. Nobody sees it half made, also where several make it at once.
pub fn keep(file: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let name = || file.display().to_string();
    let folder = file.parent().with_context(name)?;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let fresh = tempfile::Builder::new()
        .prefix(".build-")
        .tempfile_in(folder)?
        .into_temp_path();
    make(&fresh)?;
    fresh.persist(file).with_context(name)
}
