// SPDX-License-Identifier: GPL-2.0-or-later
//! What is in a map before the policy begins.

/// A map, by its index in the image.
pub struct Filled {
    pub map: usize,
    pub entries: Vec<Entry>,
}

pub struct Entry {
    pub key: Vec<u8>,
    /// One for each CPU that has a value of its own, else one.
    pub values: Vec<Vec<u8>>,
}
