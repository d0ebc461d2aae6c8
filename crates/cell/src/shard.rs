// SPDX-License-Identifier: GPL-2.0-or-later
//! A shard: a list of cells and where what they name lies (`docs/records.md`).

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;

/// Where the named schedulers, workloads and machines lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Files {
    pub schedulers: BTreeMap<String, PathBuf>,
    pub workloads: BTreeMap<String, PathBuf>,
    pub machines: BTreeMap<String, PathBuf>,
}

/// A list of cells, each with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub files: Files,
    pub cells: Vec<(String, Cell)>,
    /// A real kernel's scheduler under which no ordinary task runs for so long is taken away.
    pub frozen_after_ms: Option<NonZeroU32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawShard {
    files: Files,
    cells: Vec<serde_json::Map<String, serde_json::Value>>,
    #[serde(default)]
    frozen_after_ms: Option<NonZeroU32>,
}

impl Shard {
    pub fn read(path: &Path) -> Result<Self> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| anyhow!("{file}: expected a readable shard: {error}"))?;
        Self::from_json(&text, &file)
    }

    /// Checks that every id is the hash of its cell.
    pub fn from_json(text: &str, file: &str) -> Result<Self> {
        let raw: RawShard = serde_json::from_str(text).with_context_line(file, "shard")?;
        let mut cells = Vec::with_capacity(raw.cells.len());
        for (index, mut fields) in raw.cells.into_iter().enumerate() {
            let key = format!("cells[{index}]");
            let Some(serde_json::Value::String(id)) = fields.remove("id") else {
                return Err(anyhow!("{file}: {key}.id: expected a string"));
            };
            let cell: Cell = serde_json::from_value(fields.into()).with_context_line(file, &key)?;
            let expected = cell.id();
            ensure!(
                id == expected,
                "{file}: {key}.id: expected {expected}, the hash of the cell, found {id:?}"
            );
            cells.push((id, cell));
        }
        Ok(Self {
            files: raw.files,
            cells,
            frozen_after_ms: raw.frozen_after_ms,
        })
    }
}

trait ContextLine<T> {
    fn with_context_line(self, file: &str, key: &str) -> Result<T>;
}

impl<T> ContextLine<T> for serde_json::Result<T> {
    fn with_context_line(self, file: &str, key: &str) -> Result<T> {
        self.map_err(|error| {
            let line = if error.line() > 0 {
                format!(":{}", error.line())
            } else {
                String::new()
            };
            let text = error.to_string().replace(['\n', '\r'], " ");
            anyhow!("{file}{line}: {key}: {text}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cell;

    fn shard(id: &str, change: impl Fn(&mut serde_json::Value)) -> Result<Shard> {
        let mut json = serde_json::to_value(cell()).unwrap();
        json["id"] = id.into();
        change(&mut json);
        let shard =
            serde_json::json!({"files": {"workloads": {"latt": "/x/latt.toml"}}, "cells": [json]});
        Shard::from_json(&shard.to_string(), "s.json")
    }

    #[test]
    fn shards_are_read_and_checked() {
        let id = cell().id();
        let read = shard(&id, |_| ()).unwrap();
        assert_eq!(read.cells, [(id.clone(), cell())]);
        assert_eq!(read.files.workloads["latt"], Path::new("/x/latt.toml"));
        assert_eq!(read.frozen_after_ms, None);
        let text = r#"{"files": {}, "cells": [], "frozen_after_ms": MS}"#;
        let guarded = |ms| Shard::from_json(&text.replace("MS", ms), "s.json");
        assert_eq!(
            guarded("3000").unwrap().frozen_after_ms,
            NonZeroU32::new(3000)
        );
        assert!(guarded("0").is_err());
        for (result, message) in [
            (
                shard("beef", |_| ()),
                format!("s.json: cells[0].id: expected {id}, the hash of the cell, found \"beef\""),
            ),
            (
                shard(&id, |json| json["load"] = "4".into()),
                "s.json: cells[0]: invalid type: string \"4\", expected i64".into(),
            ),
            (
                shard(&id, |json| json["lod"] = 4.into()),
                "s.json: cells[0]: unknown field `lod`, expected one of `api`, `built_in`, `digests`, `exact_costs`, \
                 `kernel`, `load`, `machine`, `modelled`, `params`, `place`, `repetition`, `scheduler`, \
                 `seed`, `tunables`, `workload`"
                    .into(),
            ),
            (
                shard(&id, |json| json["id"] = 7.into()),
                "s.json: cells[0].id: expected a string".into(),
            ),
            (
                Shard::from_json("{\n\"cells\": []}", "s.json"),
                "s.json:2: shard: missing field `files` at line 2 column 12".into(),
            ),
        ] {
            assert_eq!(format!("{:#}", result.unwrap_err()), message);
        }
    }
}
