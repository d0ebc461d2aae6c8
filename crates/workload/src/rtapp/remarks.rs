// SPDX-License-Identifier: GPL-2.0-or-later
//! What of a file does something else than it may seem to, or nothing.

use input::Node;

use super::ENDLESS_S;
use super::forks::Forks;
use super::read::{File, Global};

pub fn remarks(file: &File, forks: &Forks) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut say = |node: &Node, what: &str| remarks.push(node.error(what).to_string());
    for (key, node) in &file.global.unknown {
        let hint = Global::near(key).map_or(String::new(), |hint| format!(", {hint}"));
        say(
            node,
            &format!("ignored, as rt-app does with a key that it does not know{hint}"),
        );
    }
    let writes = file.events().any(|(_, event)| event.kind == "iorun");
    if let Some(device) = file.global.device.filter(|_| writes) {
        say(device, "left alone: iorun writes to a file without a name");
    }
    for task in &file.tasks {
        let of_phases = task.phases.iter().map(|phase| &phase.attributes);
        for attributes in of_phases.chain([&task.attributes]) {
            for node in &attributes.unused {
                say(node, "ignored, only SCHED_DEADLINE has a use for it");
            }
        }
    }
    for (task, event) in file.events() {
        let Ok(name) = event.node.text() else {
            continue;
        };
        match event.kind {
            "suspend" if !name.is_empty() && name != task.name => {
                let what = "waits until the task's own name is resumed: rt-app ignores what is written here";
                say(event.node, what);
            }
            "resume" if !file.is_awaited(name) => {
                say(
                    event.node,
                    &format!("wakes nobody, as in rt-app: no task waits for {name:?}"),
                );
            }
            _ => {}
        }
    }
    if file.global.duration_s.is_none()
        && let Some(task) = file.endless(forks)
    {
        let what = "never ends, and the file has no global.duration: the parameter duration_s ends the run";
        say(
            task.node,
            &format!("{what}, after {ENDLESS_S} s by default"),
        );
    }
    remarks
}

impl File<'_> {
    /// Whether a task suspends itself under that name, or waits for a condition called so.
    fn is_awaited(&self, name: &str) -> bool {
        self.events().any(|(task, event)| match event.kind {
            "suspend" => task.name == name,
            "wait" | "sync" => {
                let keys = event.node.table();
                keys.is_ok_and(|keys| keys.text_or("ref", "").is_ok_and(|known| known == name))
            }
            _ => false,
        })
    }
}
