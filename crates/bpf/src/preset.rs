// SPDX-License-Identifier: GPL-2.0-or-later
//! What a program's own loader did to its object before it loaded it.

use std::collections::{BTreeMap, BTreeSet};

/// With it, read-only data is as it will be when the object runs, and so constant for who looks for dead code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Contents of sections of global data by name, as long as the object's or longer.
    pub data: BTreeMap<String, Vec<u8>>,
    /// Values of members of structures of callbacks that are no callbacks, by name, each of the member's size.
    pub members: BTreeMap<String, Vec<u8>>,
    /// Members of structures of callbacks that were made null, because the kernel lacks them.
    pub cleared: BTreeSet<String>,
    /// Programs that were not loaded, by name.
    pub left_out: BTreeSet<String>,
}
