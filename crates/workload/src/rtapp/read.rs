// SPDX-License-Identifier: GPL-2.0-or-later
//! An rt-app file as it stands: global settings, tasks, their phases and events.

use anyhow::{Result, ensure};
use input::{Kind, Node, suggest};

use super::attributes::Attributes;
use super::plain_name;

/// Events that are turned into actions, and such as are refused. A key is an event if it begins with one of these;
/// of two that fit, the first counts.
const EVENTS: &[&str] = &[
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer",
    "suspend", "resume", "yield", "fork", "sem_post", "sem_wait",
];
const REFUSED: &[&str] = &["memrun", "mem", "iorun", "barrier"];

/// Keys of `global` that say how rt-app measures and logs, not what the tasks do.
const LOGGING: &[&str] = &[
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

const MAX_LOOPS: i64 = 1_000_000_000;
const MAX_INSTANCES: i64 = 10_000;
/// What an int of rt-app holds.
pub const MAX_US: i64 = i32::MAX as i64;

pub struct File<'a> {
    pub tasks_node: &'a Node,
    pub duration_node: Option<&'a Node>,
    pub duration_s: Option<i64>,
    pub tasks: Vec<Task<'a>>,
}

pub struct Task<'a> {
    pub name: &'a str,
    pub node: &'a Node,
    /// Ours.
    pub label: String,
    pub instances: i64,
    /// `None`: for ever.
    pub loops: Option<i64>,
    pub delay_us: i64,
    pub attributes: Attributes<'a>,
    pub cpus: Option<&'a Node>,
    pub phases: Vec<Phase<'a>>,
}

pub struct Phase<'a> {
    pub node: &'a Node,
    /// `None`: for ever.
    pub loops: Option<i64>,
    pub attributes: Attributes<'a>,
    pub cpus: Option<&'a Node>,
    pub events: Vec<Event<'a>>,
}

pub struct Event<'a> {
    pub kind: &'static str,
    pub node: &'a Node,
}

impl Task<'_> {
    pub fn endless(&self) -> bool {
        self.loops.is_none() || self.phases.iter().any(|phase| phase.loops.is_none())
    }
}

impl<'a> File<'a> {
    pub fn read(root: &'a Node) -> Result<Self> {
        let mut tasks_node = None;
        let (mut duration, mut policy) = (None, "SCHED_OTHER");
        for (key, node) in entries(root)? {
            match key {
                "tasks" => tasks_node = Some(node),
                "global" => (duration, policy) = global(node)?,
                // Declared by older versions; what counts is how the events use them.
                "resources" => {
                    node.table()?;
                }
                _ => return Err(unknown(node, key, &["tasks", "global", "resources"])),
            }
        }
        let Some(tasks_node) = tasks_node else {
            return Err(root.error("tasks: expected this key, found none"));
        };
        let mut tasks: Vec<Task> = Vec::new();
        for (name, node) in entries(tasks_node)? {
            let label = plain_name(name, |made| tasks.iter().any(|task| task.label == made));
            tasks.push(Task::read(name, node, label, policy)?);
        }
        let duration_s = match duration {
            None => None,
            Some(node) => Some(node.integer(-1..=1_000_000)?).filter(|seconds| *seconds != -1),
        };
        if let Some(node) = duration {
            ensure!(duration_s != Some(0), node.expected("-1 or seconds from 1"));
        }
        Ok(Self {
            tasks_node,
            duration_node: duration,
            duration_s,
            tasks,
        })
    }
}

/// Duration and default policy.
fn global(node: &Node) -> Result<(Option<&Node>, &str)> {
    let (mut duration, mut policy) = (None, "SCHED_OTHER");
    for (key, node) in entries(node)? {
        match key {
            "duration" => duration = Some(node),
            "default_policy" => policy = node.text()?,
            "pi_enabled" => {
                let inherits = node.bool()?;
                ensure!(
                    !inherits,
                    node.error("expected false, locks hand no priority on here")
                );
            }
            _ if LOGGING.contains(&key) => {}
            _ => {
                let own = ["duration", "default_policy", "pi_enabled"];
                let known: Vec<_> = own.iter().chain(LOGGING).copied().collect();
                return Err(unknown(node, key, &known));
            }
        }
    }
    Ok((duration, policy))
}

impl<'a> Task<'a> {
    fn read(name: &'a str, node: &'a Node, label: String, policy: &'a str) -> Result<Self> {
        let known = [
            "instance",
            "delay",
            "loop",
            "phases",
            "cpus",
            "priority",
            "policy",
            "dl-runtime",
        ];
        let (mut phases_node, mut loop_node, mut cpus, mut events) = (None, None, None, Vec::new());
        let (mut instances, mut delay_us) = (1, 0);
        let mut attributes = Attributes::default();
        for (key, node) in entries(node)? {
            match key {
                "instance" => instances = node.integer(0..=MAX_INSTANCES)?,
                "delay" => delay_us = node.integer(0..=MAX_US)?,
                "loop" => loop_node = Some(node),
                "phases" => phases_node = Some(node),
                "cpus" => cpus = Some(node),
                _ if attributes.take(key, node)? => {}
                _ => events.push(event(key, node, &known)?),
            }
        }
        attributes.settle(node, Some(policy))?;
        let loops = loop_node.map_or(Ok(None), loops)?;
        let mut task = Self {
            name,
            node,
            label,
            instances,
            loops,
            delay_us,
            attributes,
            cpus,
            phases: Vec::new(),
        };
        if let Some(phases) = phases_node {
            if let Some(event) = events.first() {
                return Err(event
                    .node
                    .error("expected in a phase, as the task has phases"));
            }
            for (_, node) in entries(phases)? {
                task.phases.push(Phase::read(node)?);
            }
            ensure!(
                !task.phases.is_empty(),
                phases.error("expected at least one phase, found none")
            );
            return Ok(task);
        }
        ensure!(
            !events.is_empty(),
            node.error("expected at least one event, found none")
        );
        // The task is its only phase; its loop, if it has one, is that phase's.
        task.loops = loop_node.map(|_| 1);
        task.phases.push(Phase {
            node,
            loops: if loop_node.is_some() { loops } else { Some(1) },
            attributes: Attributes::default(),
            cpus: None,
            events,
        });
        Ok(task)
    }
}

impl<'a> Phase<'a> {
    fn read(node: &'a Node) -> Result<Self> {
        let known = ["loop", "cpus", "priority", "policy"];
        let mut phase = Self {
            node,
            loops: Some(1),
            attributes: Attributes::default(),
            cpus: None,
            events: Vec::new(),
        };
        for (key, node) in entries(node)? {
            match key {
                "loop" => phase.loops = loops(node)?,
                "cpus" => phase.cpus = Some(node),
                _ if phase.attributes.take(key, node)? => {}
                _ => phase.events.push(event(key, node, &known)?),
            }
        }
        phase.attributes.settle(node, None)?;
        ensure!(
            !phase.events.is_empty(),
            node.error("expected at least one event, found none")
        );
        Ok(phase)
    }
}

/// `None`: for ever.
fn loops(node: &Node) -> Result<Option<i64>> {
    let loops = node.integer(-1..=MAX_LOOPS)?;
    ensure!(loops != 0, node.expected("-1 or a number from 1"));
    Ok(Some(loops).filter(|loops| *loops > 0))
}

fn event<'a>(key: &str, node: &'a Node, properties: &[&str]) -> Result<Event<'a>> {
    if let Some(refused) = REFUSED.iter().find(|refused| key.starts_with(*refused)) {
        return Err(node.error(format!(
            "{refused} has no counterpart here, {}",
            expected(&[EVENTS])
        )));
    }
    match EVENTS.iter().find(|kind| key.starts_with(*kind)) {
        Some(kind) => Ok(Event { kind, node }),
        None => Err(unknown(node, key, &[EVENTS, properties].concat())),
    }
}

fn expected(known: &[&[&str]]) -> String {
    format!("expected one of {}", known.concat().join(", "))
}

fn unknown(node: &Node, key: &str, known: &[&str]) -> anyhow::Error {
    node.error(format!(
        "unknown key, {}",
        suggest(key, known.iter().copied())
    ))
}

/// The entries of an object. Events may stand in it more than once, as rt-app's own `workgen` allows; nothing else may.
fn entries(node: &Node) -> Result<Vec<(&str, &Node)>> {
    let Kind::Table(entries) = &node.kind else {
        return Err(node.expected("an object"));
    };
    for (index, (key, node)) in entries.iter().enumerate() {
        let twice = entries[..index].iter().any(|(other, _)| other == key);
        let repeatable = EVENTS.iter().any(|kind| key.starts_with(kind));
        ensure!(
            !twice || repeatable,
            node.error("expected once, found twice")
        );
    }
    Ok(entries
        .iter()
        .map(|(key, node)| (key.as_str(), node))
        .collect())
}
