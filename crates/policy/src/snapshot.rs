// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduler as its own program set it up, in one file: `NAME.bpf.json` (`docs/compatibility.md`).

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::set_up::{Bytes, SetUp};

pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    pub format: u32,
    pub program: Program,
    /// The kernel's release; empty where nothing ran.
    pub kernel: String,
    /// Possible CPUs of the machine that it was set up for; none where it has seen no machine.
    pub cpus: Option<u32>,
    /// What of the program's doing is not here, a sentence each.
    pub absent: Vec<String>,
    pub set_up: SetUp,
    /// The BPF object.
    pub object: Bytes,
}

/// The program that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub name: String,
    pub options: Vec<String>,
    /// The first line that it prints for `--version`; empty where it prints none.
    pub version: String,
    /// The first 16 hex digits of its SHA-256.
    pub digest: String,
}

/// What every format has.
#[derive(Deserialize)]
struct Numbered {
    format: u64,
}

impl Snapshot {
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| shown.to_string())?;
        let wrong = |error| anyhow!("{shown}: expected a snapshot of a scheduler: {error}");
        // A format to come may have other keys, of which nobody here can say what is wrong.
        if let Ok(Numbered { format }) = serde_json::from_str(&text) {
            ensure!(
                format <= u64::from(FORMAT),
                "{shown}: its format is {format}, and this schedlab knows {FORMAT}: update schedlab"
            );
        }
        let read: Self = serde_json::from_str(&text).map_err(wrong)?;
        ensure!(
            read.format == FORMAT,
            "{shown}: format: expected {FORMAT}, found {}",
            read.format
        );
        Ok(read)
    }

    /// A user's values, where these are all of it. What a program set up is an error, as the kernel gets it from the
    /// program alone.
    pub fn values(&self) -> Result<&SetUp> {
        ensure!(
            self.cpus.is_none(),
            "a snapshot of a program runs in the simulator alone, on a machine of as many CPUs as it was taken on; \
             elsewhere, name its program or object"
        );
        Ok(&self.set_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_mistakes_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.bpf.json");
        let written = Snapshot {
            format: FORMAT,
            program: Program {
                name: "scx_mine".into(),
                options: vec!["-v".into()],
                version: "1".into(),
                digest: "beef".into(),
            },
            kernel: "7.2".into(),
            cpus: Some(2),
            absent: Vec::new(),
            set_up: SetUp::default(),
            object: Bytes(vec![0x7f, 0, 255]),
        };
        let mut json = serde_json::to_value(&written).unwrap();
        assert_eq!(json["object"], "7f00ff");
        std::fs::write(&file, json.to_string()).unwrap();
        assert_eq!(Snapshot::read(&file).unwrap(), written);
        let mut refused = |key: &str, value: serde_json::Value| {
            json[key] = value;
            std::fs::write(&file, json.to_string()).unwrap();
            let error = format!("{:#}", Snapshot::read(&file).unwrap_err());
            error.replace(&file.display().to_string(), "FILE")
        };
        assert_eq!(
            refused("format", 0.into()),
            "FILE: format: expected 1, found 0"
        );
        let error = refused("object", "7g".into());
        assert!(
            error.starts_with("FILE: expected a snapshot of a scheduler: Invalid character 'g'"),
            "{error}"
        );
        refused("more", 3.into());
        assert_eq!(
            refused("format", 2.into()),
            "FILE: its format is 2, and this schedlab knows 1: update schedlab"
        );
    }
}
