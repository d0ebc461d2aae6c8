// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy as it was built: the object, and where it came from.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{Manifest, SetUp, Snapshot, Source, build_cached};

#[derive(Clone, Debug)]
pub struct Object {
    pub name: String,
    pub manifest: Manifest,
    pub elf: Vec<u8>,
    /// What was done to it, with the number of CPUs that this was for: all that its own program did, and none where it
    /// is a user's values alone.
    pub set_up: Option<(SetUp, Option<u32>)>,
    /// Which of its schedulers is meant, by its variable's name; none where it holds one.
    pub attach: Option<String>,
}

impl Object {
    /// Build (or take from the cache) the policy of a folder or `.bpf.c` file; or read an object, `.bpf.o`, or a
    /// snapshot, `.bpf.json`, which has no tunables.
    pub fn load(path: &Path) -> Result<Self> {
        let source = Source::find(path)?;
        if source.is_snapshot() {
            let snapshot = Snapshot::read(&source.file)?;
            return Ok(Self {
                name: source.name,
                manifest: Manifest::default(),
                elf: snapshot.object.0,
                set_up: Some((snapshot.set_up, snapshot.cpus)),
                attach: None,
            });
        }
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
            set_up: None,
            attach: None,
        })
    }
}
