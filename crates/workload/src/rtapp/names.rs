// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of the file as names of ours.

use std::collections::BTreeMap;

/// Our name for one of the file's: plain, and different from all others.
pub fn plain_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut base: String = name.to_ascii_lowercase().chars().map(plain).collect();
    if !base.starts_with(|c: char| c.is_ascii_lowercase()) {
        base.insert(0, 'x');
    }
    let mut made = base.clone();
    let mut number = 2;
    while taken(&made) {
        made = format!("{base}_{number}");
        number += 1;
    }
    made
}

pub fn named(names: &mut BTreeMap<String, String>, name: &str) -> String {
    if let Some(known) = names.get(name) {
        return known.clone();
    }
    let made = plain_name(name, |made| names.values().any(|other| other == made));
    names.insert(name.to_string(), made.clone());
    made
}
