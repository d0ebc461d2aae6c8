// SPDX-License-Identifier: GPL-2.0-or-later
//! What a program does to its object before its scheduler is attached.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Bytes, written as hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(#[serde(with = "hex")] pub Vec<u8>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    /// Contents of the sections of global data, by name.
    pub data: BTreeMap<String, Bytes>,
    /// Members of `struct sched_ext_ops` that are no callbacks, by name.
    pub members: BTreeMap<String, Bytes>,
    /// Members of `struct sched_ext_ops` that were made null.
    pub cleared: BTreeSet<String>,
    /// Programs that were not loaded.
    pub left_out: BTreeSet<String>,
    pub maps: BTreeMap<String, Map>,
    /// Programs of type `syscall` that ran, in order, all of them after what is above was as it is.
    pub runs: Vec<Run>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    pub max_entries: u32,
    /// Those that are not all zeros, or any of a hash.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub key: Bytes,
    /// One, or one for each possible CPU.
    pub values: Vec<Bytes>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub program: String,
    /// What its argument points to.
    pub context: Bytes,
}
