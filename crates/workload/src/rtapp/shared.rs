// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks share: locks, semaphores, conditions, and the variables behind barriers and timers.

use std::collections::BTreeMap;

use input::Node;

use super::taskgroups::Taskgroups;
use super::{int, list, table, text};

/// Resources that tasks share, by the file's name for them and by ours.
#[derive(Default)]
pub struct Shared {
    pub locks: BTreeMap<String, String>,
    pub semaphores: BTreeMap<String, String>,
    pub conditions: BTreeMap<String, String>,
    pub taskgroups: Taskgroups,
    /// With what they begin with.
    variables: BTreeMap<String, (String, i64)>,
}

impl Shared {
    /// Our name for the variable behind one of the file's barriers or timers.
    pub fn variable(&mut self, what: &str, name: &str, initial: i64) -> String {
        let key = format!("{what} {name}");
        if let Some((known, _)) = self.variables.get(&key) {
            return known.clone();
        }
        let taken = |made: &str| self.variables.values().any(|(other, _)| other == made);
        let made = plain_name(&key, taken);
        self.variables.insert(key, (made.clone(), initial));
        made
    }

    /// An array of each, with an element for every copy of the file.
    pub fn sections(&self, root: &Node) -> Vec<(&'static str, Node)> {
        let array = |name: &String| {
            let count = ("count", text(root, "copies"));
            vec![("name", text(root, name)), count]
        };
        let arrays = |names: &BTreeMap<String, String>| {
            let of_each = names.values().map(|name| table(root, array(name)));
            list(root, of_each.collect())
        };
        let variables = self.variables.values().map(|(name, initial)| {
            let mut keys = array(name);
            keys.push(("initial", int(root, *initial)));
            table(root, keys)
        });
        vec![
            ("variable", list(root, variables.collect())),
            ("lock", arrays(&self.locks)),
            ("semaphore", arrays(&self.semaphores)),
            ("condition", arrays(&self.conditions)),
        ]
    }
}

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
