// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers: of one thread, or shared by several.
//!
//! A timer is due its period after it last was. Where that is over, it goes on from now, unless it is absolute. One
//! whose name begins with `unique` belongs to its thread; any other is one for all that name it, and each use of it puts
//! it off by a period for all of them.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use input::Node;

use super::forks::Forks;
use super::read::{File, Task};
use super::shared::Shared;
use super::{MAX_US, int, list, logged, set, table, text};

struct Timer {
    is_absolute: bool,
    /// The variable that several tasks share, or the local of one.
    is_shared: bool,
    place: String,
}

/// The timers of a task, by their names.
pub struct Timers(BTreeMap<String, Timer>);

impl Timers {
    pub fn of(file: &File, task: &Task, forks: &Forks, shared: &mut Shared) -> Result<Self> {
        let mut timers: BTreeMap<String, Timer> = BTreeMap::new();
        for (name, node) in named_by(task)? {
            if timers.contains_key(name) {
                continue;
            }
            let users = users(file, name)?;
            let threads: i64 = users
                .iter()
                .map(|user| user.instances + forks.of(user))
                .sum();
            let is_shared = !name.starts_with("unique") && threads > 1;
            let of = if is_shared { users } else { vec![task] };
            let mut is_absolute = false;
            for user in &of {
                is_absolute |= is_absolute_in(user, name)?;
            }
            let place = if is_shared {
                let delay_us = task.delay_us;
                ensure!(
                    of.iter().all(|user| user.delay_us == delay_us),
                    node.error("expected the same delay of all tasks that share a timer")
                );
                shared.variable("timer", name, delay_us * 1_000)
            } else {
                format!("timer_{}", timers.len())
            };
            let timer = Timer {
                is_absolute,
                is_shared,
                place,
            };
            timers.insert(name.to_string(), timer);
        }
        Ok(Self(timers))
    }

    /// Timers count from where the task begins.
    pub fn begin(&self, task: &Task) -> Vec<Node> {
        let own = self.0.values().filter(|timer| !timer.is_shared);
        let from = || int(task.node, task.delay_us * 1_000);
        own.map(|timer| set(task.node, &timer.place, from()))
            .collect()
    }

    /// The event; `element` names the variable of this copy of the file.
    pub fn expire(
        &self,
        at: &Node,
        element: impl Fn(&str) -> Node,
        actions: &mut Vec<Node>,
    ) -> Result<()> {
        let keys = at.table()?;
        let timer = &self.0[keys.required("ref")?.text()?];
        keys.optional("mode");
        let period_ns = keys.required("period")?.integer(0..=MAX_US)? * 1_000;
        keys.finish()?;
        let (next, put_off) = if timer.is_shared {
            let variable = || element(&timer.place);
            let add = vec![
                ("add", variable()),
                ("by", int(at, period_ns)),
                ("into", text(at, "next")),
            ];
            actions.push(table(at, add));
            let store = vec![("store", variable()), ("value", text(at, "now"))];
            ("next", table(at, store))
        } else {
            let next = text(at, &format!("{} + {period_ns}", timer.place));
            actions.push(set(at, &timer.place, next));
            let place = timer.place.as_str();
            (place, set(at, place, text(at, "now")))
        };
        actions.push(table(
            at,
            vec![
                ("elapsed_ns", text(at, "now")),
                ("since", text(at, "start")),
            ],
        ));
        let sleep = vec![
            table(at, vec![("until_ns", text(at, next))]),
            table(at, logged(at)),
        ];
        let mut branch = vec![
            ("if", text(at, &format!("{next} - now"))),
            ("do", list(at, sleep)),
        ];
        if !timer.is_absolute {
            branch.push(("else", list(at, vec![put_off])));
        }
        actions.push(table(at, branch));
        Ok(())
    }
}

/// Names of the timers that a task uses, each with its place.
fn named_by<'a>(task: &Task<'a>) -> Result<Vec<(&'a str, &'a Node)>> {
    let named = |node: &'a Node| {
        let name = node.table()?.required("ref")?;
        Ok((name.text()?, name))
    };
    events(task).map(named).collect()
}

fn users<'f, 'a>(file: &'f File<'a>, name: &str) -> Result<Vec<&'f Task<'a>>> {
    let mut users = Vec::new();
    for task in &file.tasks {
        if named_by(task)?.iter().any(|(same, _)| *same == name) {
            users.push(task);
        }
    }
    Ok(users)
}

/// Whether any use of the timer in this task says so.
fn is_absolute_in(task: &Task, name: &str) -> Result<bool> {
    let mut is_absolute = false;
    for event in events(task) {
        let timer = event.table()?;
        let mode = timer.text_or("mode", "relative")?;
        if !matches!(mode, "relative" | "absolute") {
            return Err(timer.required("mode")?.expected("relative or absolute"));
        }
        is_absolute |= mode == "absolute" && timer.required("ref")?.text()? == name;
    }
    Ok(is_absolute)
}

fn events<'a>(task: &Task<'a>) -> impl Iterator<Item = &'a Node> {
    let all = task.phases.iter().flat_map(|phase| &phase.events);
    all.filter(|event| event.kind == "timer")
        .map(|event| event.node)
}
