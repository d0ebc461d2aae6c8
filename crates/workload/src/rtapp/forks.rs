// SPDX-License-Identifier: GPL-2.0-or-later
//! How often `fork` events start each task.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use input::{Node, suggest};

use super::read::{File, Task};

/// rt-app's own limit for one event.
const MAX_FORKS: i64 = 10_000;

/// A fork event in one of the variants of a task: as it is started at the beginning, or as it is forked.
pub struct Site {
    /// The first instance of the target that is started here.
    pub base: i64,
    /// How many each task of the variant starts here.
    pub each: i64,
    /// Its turns in a pass of the task's loop.
    pub turns: i64,
}

#[derive(Default)]
pub struct Forks {
    /// Forked instances by task name.
    totals: BTreeMap<String, i64>,
    /// By the fork event's place in memory, and whether it is in a forked task.
    sites: BTreeMap<(usize, bool), Site>,
    running: Vec<String>,
}

impl Forks {
    pub fn count(file: &File) -> Result<Self> {
        let mut forks = Self::default();
        // Instances are counted along the forks, so whoever forks must be known before whom it forks.
        let mut waiting: Vec<&Task> = file.tasks.iter().collect();
        while !waiting.is_empty() {
            let is_free = |task: &&&Task| {
                let forks_it = |other: &&Task| other.targets().any(|(name, _)| name == task.name);
                !waiting.iter().any(forks_it)
            };
            let Some(task) = waiting.iter().find(is_free).copied() else {
                let node = waiting[0].node;
                return Err(
                    node.error("tasks that fork each other in a circle have no counterpart here")
                );
            };
            waiting.retain(|other| other.name != task.name);
            forks.sites_of(file, task)?;
        }
        Ok(forks)
    }

    fn sites_of(&mut self, file: &File, task: &Task) -> Result<()> {
        let forked = self.of(task);
        if task.instances + forked > 0 {
            self.running.push(task.name.to_string());
        }
        for (is_forked, tasks) in [(false, task.instances), (true, forked)] {
            for phase in &task.phases {
                for event in phase.events.iter().filter(|event| event.kind == "fork") {
                    let target = target(file, event.node)?;
                    let (Some(passes), Some(turns)) = (task.loops, phase.loops) else {
                        let what = "expected a fork that happens a known number of times";
                        return Err(event
                            .node
                            .error(format!("{what}, {} loops for ever", task.name)));
                    };
                    let each = passes.saturating_mul(turns);
                    let total = self.totals.entry(target.name.to_string()).or_default();
                    let base = *total;
                    *total = total.saturating_add(each.saturating_mul(tasks));
                    ensure!(
                        *total <= MAX_FORKS,
                        event
                            .node
                            .error(format!("expected at most {MAX_FORKS} forks, found {total}"))
                    );
                    let key = (std::ptr::from_ref(event.node) as usize, is_forked);
                    self.sites.insert(key, Site { base, each, turns });
                }
            }
        }
        Ok(())
    }

    /// How many instances of the task are forked.
    pub fn of(&self, task: &Task) -> i64 {
        self.totals.get(task.name).copied().unwrap_or(0)
    }

    /// Whether there is any instance of it.
    pub fn runs(&self, task: &Task) -> bool {
        self.running.iter().any(|name| name == task.name)
    }

    pub fn site(&self, event: &Node, forked: bool) -> &Site {
        &self.sites[&(std::ptr::from_ref(event) as usize, forked)]
    }
}

impl<'a> File<'a> {
    /// A task that runs and never ends.
    pub fn endless(&self, forks: &Forks) -> Option<&Task<'a>> {
        let mut tasks = self.tasks.iter();
        tasks.find(|task| task.endless() && forks.runs(task))
    }
}

impl<'a> Task<'a> {
    fn targets(&self) -> impl Iterator<Item = (&'a str, &'a Node)> {
        let events = self.phases.iter().flat_map(|phase| &phase.events);
        let forks = events.filter(|event| event.kind == "fork");
        forks.filter_map(|event| Some((event.node.text().ok()?, event.node)))
    }
}

/// The task that a fork event or a resume names.
pub fn target<'f, 'a>(file: &'f File<'a>, node: &Node) -> Result<&'f Task<'a>> {
    let name = node.text()?;
    let task = file.tasks.iter().find(|task| task.name == name);
    task.ok_or_else(|| {
        let hint = suggest(name, file.tasks.iter().map(|task| task.name));
        node.error(format!("unknown task {name}, {hint}"))
    })
}
