// SPDX-License-Identifier: GPL-2.0-or-later
//! Task groups as control groups. rt-app moves a thread into the group of its task when it starts, and into that of each
//! phase that names one; a phase that names none leaves it where it is.

use anyhow::{Result, ensure};
use input::Node;

use super::attributes::Class;
use super::names::plain_name;
use super::read::Task;
use super::{list, table, text};
use crate::cgroups::ROOT;

/// rt-app's own limit.
const MOST: usize = 32;

/// The groups that the file names, and those above them, parents first.
#[derive(Default)]
pub struct Taskgroups {
    /// As the file has them, beginning with a slash and without one at the end.
    all: Vec<(String, Named)>,
    /// Those that rt-app counts.
    written: Vec<String>,
}

struct Named {
    name: String,
    parent: Option<String>,
}

impl Taskgroups {
    /// Our name for a group that the file names here.
    fn named(&mut self, node: &Node) -> Result<String> {
        let path = node.text()?;
        if !self.written.iter().any(|known| known == path) {
            self.written.push(path.to_owned());
        }
        ensure!(
            self.written.len() <= MOST,
            node.error(format!(
                "expected at most {MOST} task groups, as rt-app takes"
            ))
        );
        let mut above: Option<String> = None;
        let mut whole = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            whole = format!("{whole}/{part}");
            if let Some((_, known)) = self.all.iter().find(|(known, _)| *known == whole) {
                above = Some(known.name.clone());
                continue;
            }
            let taken = |made: &str| self.all.iter().any(|(_, other)| other.name == made);
            let name = plain_name(&whole[1..], taken);
            let parent = above.replace(name.clone());
            self.all.push((whole.clone(), Named { name, parent }));
        }
        Ok(above.unwrap_or_else(|| ROOT.to_owned()))
    }

    /// As the workload's file has them, if there are any.
    pub fn section(&self, root: &Node) -> Option<(&'static str, Node)> {
        let group = |(_, group): &(String, Named)| {
            let mut keys = vec![("name", text(root, &group.name))];
            let parent = group.parent.as_ref();
            keys.extend(parent.map(|parent| ("parent", text(root, parent))));
            table(root, keys)
        };
        let tables: Vec<Node> = self.all.iter().map(group).collect();
        (!tables.is_empty()).then(|| ("cgroup", list(root, tables)))
    }
}

/// Where the threads of a task are.
pub struct Places<'a> {
    /// When they start.
    first: Option<&'a Node>,
    /// Where each phase moves them, if it does.
    moves: Vec<Option<&'a Node>>,
}

impl<'a> Places<'a> {
    pub fn of(task: &Task<'a>) -> Result<Self> {
        let phases = task.phases.iter();
        let named: Vec<Option<&Node>> = phases.map(|phase| phase.attributes.group).collect();
        let first = named.first().copied().flatten().or(task.attributes.group);
        let last = named.iter().rev().copied().flatten().next().or(first);
        // Until a phase names one, a task is where it began, and from its second pass on where the last phase left it.
        let mut before = [first, last];
        let mut moves = Vec::new();
        for group in named {
            let mut elsewhere = false;
            for place in before {
                elsewhere |= path(group)? != path(place)?;
            }
            moves.push(group.filter(|_| elsewhere));
            if group.is_some() {
                before = [group; 2];
            }
        }
        if moves.len() == 1 {
            moves[0] = None;
        }
        Ok(Self { first, moves })
    }

    /// Then each of them is a process of its own, because a process moves as a whole.
    pub fn move_later(&self) -> bool {
        self.moves.iter().any(Option::is_some)
    }

    /// The group that the task begins in, if not in the root.
    pub fn begin(&self, groups: &mut Taskgroups) -> Result<Option<(&'static str, Node)>> {
        let Some(node) = self.first else {
            return Ok(None);
        };
        let name = groups.named(node)?;
        Ok((name != ROOT).then(|| ("cgroup", text(node, &name))))
    }

    /// The move at the beginning of a phase.
    pub fn moved(&self, phase: usize, groups: &mut Taskgroups) -> Result<Option<Node>> {
        let Some(node) = self.moves[phase] else {
            return Ok(None);
        };
        let name = groups.named(node)?;
        Ok(Some(table(node, vec![("cgroup", text(node, &name))])))
    }
}

fn path(node: Option<&Node>) -> Result<Option<&str>> {
    node.map(Node::text).transpose()
}

/// rt-app ends a run in which a task of a group is of another class.
pub fn fits(group: Option<&Node>, class: Option<Class>) -> Result<()> {
    let Some((group, class)) = group.zip(class) else {
        return Ok(());
    };
    ensure!(
        !matches!(class.policy, "fifo" | "rr"),
        group.error("expected SCHED_OTHER, SCHED_BATCH or SCHED_IDLE beside it, as rt-app does")
    );
    Ok(())
}
