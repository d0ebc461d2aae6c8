// SPDX-License-Identifier: GPL-2.0-or-later
//! A cell: one run, as plain data whose hash is its name (`docs/records.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::hex_digest;

/// One run of one workload under one scheduler.
///
/// Fields stand in alphabetical order and maps are sorted, so serialising gives canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The release of the kernel whose interface the simulator shows to the policy; none: its own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// The scheduler's code costs what it would as part of the kernel, instead of what it costs as a BPF policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    pub digests: Digests,
    /// Costs are as the machine file has them, whatever their spread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact_costs: bool,
    /// The kernel that the guest boots, as the user wrote it; none: the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub load: i64,
    pub machine: String,
    /// A real kernel runs what the simulator does: the tasks of a workload instead of the application they stand for,
    /// and as much of their work at once as there are CPUs, although those of the exact tier take turns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub modelled: bool,
    pub params: BTreeMap<String, String>,
    pub place: String,
    pub repetition: u64,
    pub scheduler: String,
    pub seed: u64,
    pub tunables: BTreeMap<String, String>,
    pub workload: String,
}

/// First 16 hex digits of SHA-256 of what the cell's result depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    pub engine: String,
    /// Of the image that the guest boots; none where the cell names no kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub machine: String,
    pub scheduler: String,
    pub workload: String,
}

impl Cell {
    /// Keys sorted, no spaces, UTF-8.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(self).expect("a cell is plain data")
    }

    pub fn id(&self) -> String {
        hex_digest(self.canonical_json().as_bytes(), 20)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn cell() -> Cell {
        Cell {
            api: None,
            built_in: false,
            digests: Digests {
                engine: "0".repeat(16),
                kernel: None,
                machine: "1".repeat(16),
                scheduler: "2".repeat(16),
                workload: "3".repeat(16),
            },
            exact_costs: false,
            kernel: None,
            load: 4,
            machine: "desktop-4".into(),
            modelled: false,
            params: BTreeMap::from([("duration_s".into(), "20".into())]),
            place: "sim".into(),
            repetition: 0,
            scheduler: "bfs".into(),
            seed: 1,
            tunables: BTreeMap::from([("rules".into(), "424".into()), ("ä".into(), "\"".into())]),
            workload: "latt".into(),
        }
    }

    #[test]
    fn canonical_json_is_sorted_and_tight() {
        // Keys of every level in order, whatever feature of serde_json some other crate turns on.
        assert_eq!(
            cell().canonical_json(),
            concat!(
                r#"{"digests":{"engine":"0000000000000000","machine":"1111111111111111","#,
                r#""scheduler":"2222222222222222","workload":"3333333333333333"},"load":4,"#,
                r#""machine":"desktop-4","params":{"duration_s":"20"},"place":"sim","#,
                r#""repetition":0,"scheduler":"bfs","seed":1,"#,
                r#""tunables":{"rules":"424","ä":"\""},"workload":"latt"}"#
            )
        );
    }

    #[test]
    fn another_interface_makes_another_cell() {
        let older = Cell {
            api: Some("6.12".into()),
            ..cell()
        };
        assert!(
            older
                .canonical_json()
                .starts_with(r#"{"api":"6.12","digests":"#)
        );
        assert_ne!(older.id(), cell().id());
    }

    #[test]
    fn id_is_the_hash_of_the_canonical_json() {
        // Computed with Python: hashlib.sha256(json.dumps(cell, sort_keys=True,
        // separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()[:20].
        assert_eq!(cell().id(), "e6ae472a8541d41a6023");
    }
}
