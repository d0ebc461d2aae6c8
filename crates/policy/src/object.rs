// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy as it was built: the object, and where it came from.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{Manifest, Source, build_cached};

#[derive(Clone, Debug)]
pub struct Object {
    pub name: String,
    pub manifest: Manifest,
    pub elf: Vec<u8>,
}

impl Object {
    /// Build (or take from the cache) the policy of a folder or `.bpf.c` file; or read an object, `.bpf.o`.
    pub fn load(path: &Path) -> Result<Self> {
        let source = Source::find(path)?;
        let built = build_cached(&source)?;
        Self::open(&source.name, &built).with_context(|| source.file.display().to_string())
    }

    /// An object that was built before.
    pub fn open(name: &str, file: &Path) -> Result<Self> {
        let elf = std::fs::read(file).with_context(|| file.display().to_string())?;
        Ok(Self {
            name: name.to_owned(),
            manifest: Manifest::of_elf(&elf)?,
            elf,
        })
    }
}
