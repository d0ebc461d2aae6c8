// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks as groups: events as actions.

use anyhow::{Result, ensure};
use input::{Kind, Node};

use super::attributes::Class;
use super::forks::{Forks, target};
use super::names::named;
use super::read::{Event, File, Phase, Task};
use super::shared::Shared;
use super::taskgroups::{self, Places};
use super::timers::Timers;
use super::{MAX_US, flag, int, list, logged, table, text};

/// What rt-app does between two looks at the clock.
const RUNTIME_STEP_US: i64 = 32;

/// The group of a task: of those that begin with the start, or of those that are forked.
pub fn group(
    file: &File,
    task: &Task,
    forks: &Forks,
    forked: Option<i64>,
    shared: &mut Shared,
) -> Result<Node> {
    let count = forked.unwrap_or(task.instances);
    let places = Places::of(task)?;
    let begin = places.begin(&mut shared.taskgroups)?;
    let mut events = Events {
        file,
        task,
        forks,
        forked: forked.is_some(),
        count,
        timers: Timers::of(file, task, forks, shared)?,
        shared,
        held: Vec::new(),
        places: &places,
    };
    let program = events.program()?;
    let at = task.node;
    let label = if forked.is_some() {
        format!("{}_forked", task.label)
    } else {
        task.label.clone()
    };
    let mut keys = vec![
        ("name", text(at, &label)),
        ("count", text(at, &format!("copies * {count}"))),
    ];
    match forked {
        None if places.move_later() => {}
        None => keys.push(("threads", flag(at))),
        Some(_) => keys.push(("start", text(at, "fork"))),
    }
    keys.extend(begin);
    keys.extend(task.attributes.of_group(at, first_class(task)?)?);
    if let Some(cpus) = task.phases[0].cpus.or(task.cpus) {
        keys.push(("cpus", allowed(cpus)?));
    }
    keys.push(("program", list(at, program)));
    Ok(table(at, keys))
}

/// What the task is started with; that of its only phase is the task's own.
fn first_class(task: &Task) -> Result<Class> {
    let own = task
        .attributes
        .class(task.node, None)?
        .expect("a task has a default");
    match task.phases.as_slice() {
        [only] => Ok(only.attributes.class(only.node, Some(own))?.unwrap_or(own)),
        _ => Ok(own),
    }
}

fn allowed(cpus: &Node) -> Result<Node> {
    ensure!(!cpus.list()?.is_empty(), cpus.expected("at least one CPU"));
    Ok(cpus.clone())
}

pub struct Events<'f, 'a> {
    pub(super) file: &'f File<'a>,
    pub(super) task: &'f Task<'a>,
    forks: &'f Forks,
    forked: bool,
    /// Tasks of this group in each copy of the file.
    count: i64,
    pub(super) shared: &'f mut Shared,
    timers: Timers,
    /// Locks held at this point of a phase.
    pub(super) held: Vec<String>,
    places: &'f Places<'a>,
}

impl Events<'_, '_> {
    fn program(&mut self) -> Result<Vec<Node>> {
        let (task, at) = (self.task, self.task.node);
        let mut program = Vec::new();
        if task.delay_us > 0 {
            program.push(table(at, vec![("until_us", int(at, task.delay_us))]));
        }
        program.extend(self.timers.begin(task));
        let mut body = Vec::new();
        let mut class = task.attributes.class(at, None)?;
        let mut group = task.attributes.group;
        for (index, phase) in task.phases.iter().enumerate() {
            group = phase.attributes.group.or(group);
            if let [only] = task.phases.as_slice() {
                class = only.attributes.class(only.node, class)?.or(class);
            } else {
                if let Some(next) = phase.attributes.class(phase.node, class)? {
                    body.extend(next.actions(phase.node));
                    class = Some(next);
                }
                body.extend(self.moved(index)?);
                body.extend(self.places.moved(index, &mut self.shared.taskgroups)?);
            }
            taskgroups::fits(group, class)?;
            body.extend(repeated(
                phase.node,
                "turn",
                phase.loops,
                self.events(phase)?,
            ));
        }
        program.extend(repeated(at, "pass", task.loops, body));
        Ok(program)
    }

    /// The change of CPUs between a phase and the one before it, which for the first is the last.
    fn moved(&self, index: usize) -> Result<Option<Node>> {
        let phases = &self.task.phases;
        let cpus = |phase: &Phase| phase.cpus.or(self.task.cpus).map(|node| node.kind.clone());
        let before = &phases[(index + phases.len() - 1) % phases.len()];
        let at = phases[index].node;
        if cpus(&phases[index]).map(numbers) == cpus(before).map(numbers) {
            return Ok(None);
        }
        let cpus = match phases[index].cpus.or(self.task.cpus) {
            Some(cpus) => allowed(cpus)?,
            None => list(at, Vec::new()),
        };
        Ok(Some(table(at, vec![("affinity", cpus)])))
    }

    fn events(&mut self, phase: &Phase) -> Result<Vec<Node>> {
        let mut actions = Vec::new();
        for event in &phase.events {
            self.event(phase, event, &mut actions)?;
        }
        if let Some(lock) = self.held.first() {
            return Err(phase.node.error(format!(
                "expected lock {lock} to be unlocked in the same phase"
            )));
        }
        let at = phase.node;
        actions.push(table(at, vec![("count", text(at, "loops"))]));
        Ok(actions)
    }

    fn event(&mut self, phase: &Phase, event: &Event, actions: &mut Vec<Node>) -> Result<()> {
        let at = event.node;
        let mut act = |entries| actions.push(table(at, entries));
        match event.kind {
            "run" => act(vec![("run_us", int(at, at.integer(0..=MAX_US)?))]),
            "runtime" => runtime(at, actions)?,
            "sleep" => {
                act(vec![("sleep_us", int(at, at.integer(0..=MAX_US)?))]);
                act(logged(at));
            }
            "timer" => self
                .timers
                .expire(at, |name| self.element(at, name), actions)?,
            "lock" => {
                let lock = self.lock(at)?;
                ensure!(
                    !self.held.contains(&lock),
                    at.error("expected a lock that the task does not hold")
                );
                act(vec![("lock", self.element(at, &lock))]);
                self.held.push(lock);
            }
            "unlock" => {
                let lock = self.lock(at)?;
                let held = self.held.iter().position(|held| *held == lock);
                let Some(held) = held else {
                    return Err(
                        at.error("expected a lock that the task took earlier in this phase")
                    );
                };
                self.held.remove(held);
                act(vec![("unlock", self.element(at, &lock))]);
            }
            "wait" | "sync" => self.wait(event, actions)?,
            "signal" | "broad" => {
                let name = at.text()?;
                let condition = self.condition(at, name);
                let mut entries = vec![("signal", condition)];
                if event.kind == "broad" {
                    entries.push(("all", flag(at)));
                }
                act(entries);
            }
            "suspend" => self.suspend(at, actions)?,
            "resume" => self.resume(at, actions)?,
            "barrier" => self.barrier(at, actions)?,
            "mem" => act(vec![
                ("fill", int(at, at.integer(0..=MAX_US)?)),
                ("buffer", int(at, self.file.global.buffer_bytes)),
            ]),
            "iorun" => self.written(at, actions)?,
            "sem_post" | "sem_wait" => {
                let semaphore = named(&mut self.shared.semaphores, at.text()?);
                let action = if event.kind == "sem_post" {
                    "post"
                } else {
                    "wait"
                };
                act(vec![(action, self.element(at, &semaphore))]);
            }
            "yield" => act(vec![("yield", flag(at))]),
            _ => act(vec![("fork", self.fork(phase, at)?)]),
        }
        Ok(())
    }

    /// Name of the resource of this copy of the file.
    pub fn element(&self, at: &Node, name: &str) -> Node {
        let index = if self.count == 1 {
            "me".to_string()
        } else {
            format!("me / {}", self.count)
        };
        text(at, &format!("{name}[{index}]"))
    }

    pub fn condition(&mut self, at: &Node, name: &str) -> Node {
        let condition = named(&mut self.shared.conditions, name);
        self.element(at, &condition)
    }

    /// rt-app writes no more at once than its buffer holds.
    fn written(&self, at: &Node, actions: &mut Vec<Node>) -> Result<()> {
        let bytes = at.integer(0..=MAX_US)?;
        if self.file.global.device.is_some() {
            actions.push(table(at, vec![("write", int(at, bytes))]));
            return Ok(());
        }
        let discard = |bytes| table(at, vec![("write", int(at, bytes)), ("null", flag(at))]);
        let buffer = self.file.global.buffer_bytes;
        if bytes > buffer {
            let whole = list(at, vec![discard(buffer)]);
            actions.push(table(
                at,
                vec![("repeat", int(at, bytes / buffer)), ("do", whole)],
            ));
        }
        let rest = if bytes > buffer {
            bytes % buffer
        } else {
            bytes
        };
        if rest > 0 {
            actions.push(discard(rest));
        }
        Ok(())
    }

    pub fn lock(&mut self, at: &Node) -> Result<String> {
        Ok(named(&mut self.shared.locks, at.text()?))
    }

    /// Each turn of each task starts an instance of its own.
    fn fork(&self, phase: &Phase, at: &Node) -> Result<Node> {
        let target = target(self.file, at)?;
        let site = self.forks.site(at, self.forked);
        let (count, all, each, turns) = (self.count, self.forks.of(target), site.each, site.turns);
        let mut index = format!(
            "me / {count} * {all} + me % {count} * {each} + {}",
            site.base
        );
        if self.task.loops.is_some_and(|passes| passes > 1) {
            index = format!("{index} + pass * {turns}");
        }
        if phase.loops.is_some_and(|turns| turns > 1) {
            index += " + turn";
        }
        Ok(text(at, &format!("{}_forked[{index}]", target.label)))
    }
}

fn numbers(kind: Kind) -> Vec<i64> {
    let Kind::List(items) = kind else {
        return Vec::new();
    };
    let number = |node: Node| node.integer(i64::MIN..=i64::MAX).ok();
    items.into_iter().filter_map(number).collect()
}

/// Runs until so much time has passed, whoever had the CPU meanwhile.
fn runtime(at: &Node, actions: &mut Vec<Node>) -> Result<()> {
    let length_us = at.integer(0..=MAX_US)?;
    let step = || {
        vec![
            table(at, vec![("run_us", int(at, RUNTIME_STEP_US))]),
            table(
                at,
                vec![
                    ("elapsed_us", text(at, "spent")),
                    ("since", text(at, "stamp")),
                ],
            ),
        ]
    };
    actions.push(table(at, vec![("stamp", flag(at))]));
    actions.extend(step());
    let rest = text(at, &format!("{length_us} - spent"));
    actions.push(table(at, vec![("while", rest), ("do", list(at, step()))]));
    Ok(())
}

fn repeated(at: &Node, counter: &str, loops: Option<i64>, body: Vec<Node>) -> Vec<Node> {
    match loops {
        Some(1) => body,
        None => vec![table(at, vec![("loop", list(at, body))])],
        Some(loops) => {
            let to = int(at, loops);
            let entries = vec![
                ("for", text(at, counter)),
                ("to", to),
                ("do", list(at, body)),
            ];
            vec![table(at, entries)]
        }
    }
}
