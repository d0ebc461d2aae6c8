// SPDX-License-Identifier: GPL-2.0-or-later
//! Finding a clang that is new enough.

use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// Below 17, clang's BPF back end miscompiles or rejects what sched_ext programs use.
const OLDEST: u32 = 17;
const NEWEST: u32 = 30;

/// A clang that is new enough.
#[derive(Clone, Debug)]
pub struct Clang {
    program: String,
    version: String,
}

impl Clang {
    /// `$SCHEDLAB_CLANG`, else the newest `clang-N`, else `clang`; looked for once.
    pub fn find() -> Result<Self> {
        static FOUND: OnceLock<Clang> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found.clone());
        }
        let found = Self::look()?;
        Ok(FOUND.get_or_init(|| found).clone())
    }

    fn look() -> Result<Self> {
        if let Ok(program) = std::env::var("SCHEDLAB_CLANG") {
            return Self::probe(&program).with_context(|| {
                format!("SCHEDLAB_CLANG={program}: not a clang {OLDEST} or newer")
            });
        }
        (OLDEST..=NEWEST)
            .rev()
            .map(|version| format!("clang-{version}"))
            .chain(["clang".to_owned()])
            .filter(|program| is_in_path(program))
            .find_map(|program| Self::probe(&program))
            .with_context(|| {
                format!("no clang {OLDEST} or newer found; `schedlab doctor` names the package")
            })
    }

    fn probe(program: &str) -> Option<Self> {
        let output = Command::new(program).arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()?
            .to_owned();
        let number = version
            .split("version ")
            .nth(1)?
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()?;
        (number >= OLDEST).then(|| Self {
            program: program.to_owned(),
            version,
        })
    }

    /// The compiler, without arguments.
    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// What it calls itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn program(&self) -> &str {
        &self.program
    }
}

/// Looking is cheaper than a dozen attempts to start what is not there.
fn is_in_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}
