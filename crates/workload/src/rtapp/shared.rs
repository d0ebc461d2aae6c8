// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks share: locks, semaphores, conditions, and the variables behind barriers and timers.

use std::collections::BTreeMap;

use input::Node;

use super::names::plain_name;
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
