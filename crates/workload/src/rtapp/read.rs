// SPDX-License-Identifier: GPL-2.0-or-later
//! An rt-app file as it stands: global settings, tasks, their phases and events.

use anyhow::{Result, ensure};
use input::{Kind, Node, suggest};

use super::MAX_US;
use super::attributes::Attributes;
use super::names::plain_name;

/// Events that are turned into actions, and such as are refused. A key is an event if it begins with one of these;
/// of two that fit, the first counts.
const EVENTS: &[&str] = &[
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer",
    "suspend", "resume", MEMRUN, "mem", "iorun", "yield", "barrier", "fork", "sem_post",
    "sem_wait",
];
/// Known, but refused.
const MEMRUN: &str = "memrun";

/// Keys of a grammar that rt-app itself no longer reads.
const OLD: &[&str] = &["exec", "lock_order", "resources"];

/// Keys of `global` that say how rt-app measures and logs, not what the tasks do.
const LOGGING: &[&str] = &[
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "cumulative_slack",
];
/// Those that do.
const SETTINGS: &[&str] = &[
    "duration",
    "default_policy",
    "pi_enabled",
    IO_DEVICE,
    "mem_buffer_size",
];
const IO_DEVICE: &str = "io_device";

const MAX_LOOPS: i64 = 1_000_000_000;
const MAX_INSTANCES: i64 = 10_000;

/// rt-app's own defaults.
const BUFFER_BYTES: i64 = 4 << 20;
const MAX_BUFFER_BYTES: i64 = 1 << 30;
const NULL: &str = "/dev/null";

pub struct File<'a> {
    pub tasks_node: &'a Node,
    pub global: Global<'a>,
    pub tasks: Vec<Task<'a>>,
}

/// Settings of the whole file.
pub struct Global<'a> {
    /// `None`: until every task has ended.
    pub duration_s: Option<i64>,
    policy: &'a str,
    pub inherits: Option<&'a Node>,
    pub buffer_bytes: i64,
    /// What `iorun` writes to, if not /dev/null.
    pub device: Option<&'a Node>,
    /// Keys that rt-app does not know.
    pub unknown: Vec<(&'a str, &'a Node)>,
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
        let mut global = Global::new();
        for (key, node) in entries(root)? {
            match key {
                "tasks" => tasks_node = Some(node),
                "global" => global.read(node)?,
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
            tasks.push(Task::read(name, node, label, global.policy)?);
        }
        let file = Self {
            tasks_node,
            global,
            tasks,
        };
        if let Some(inherits) = file.global.inherits {
            let locks = ["lock", "suspend", "barrier"];
            let held = file.events().any(|(_, event)| locks.contains(&event.kind));
            ensure!(
                !held,
                inherits.error("expected false, locks hand no priority on here")
            );
        }
        Ok(file)
    }

    /// Every event, with its task.
    pub fn events(&self) -> impl Iterator<Item = (&Task<'a>, &Event<'a>)> {
        self.tasks.iter().flat_map(|task| {
            let events = task.phases.iter().flat_map(|phase| &phase.events);
            events.map(move |event| (task, event))
        })
    }
}

impl<'a> Global<'a> {
    fn new() -> Self {
        Self {
            duration_s: None,
            policy: "SCHED_OTHER",
            inherits: None,
            buffer_bytes: BUFFER_BYTES,
            device: None,
            unknown: Vec::new(),
        }
    }

    fn read(&mut self, node: &'a Node) -> Result<()> {
        for (key, node) in entries(node)? {
            match key {
                "duration" => {
                    let seconds = node.integer(-1..=1_000_000)?;
                    self.duration_s = Some(seconds).filter(|seconds| *seconds > 0);
                }
                "default_policy" => self.policy = node.text()?,
                "pi_enabled" => self.inherits = node.bool()?.then_some(node),
                IO_DEVICE => self.device = (node.text()? != NULL).then_some(node),
                "mem_buffer_size" => self.buffer_bytes = node.integer(1..=MAX_BUFFER_BYTES)?,
                _ if LOGGING.contains(&key) => {}
                _ => self.unknown.push((key, node)),
            }
        }
        Ok(())
    }

    /// The known key that an unknown one comes near to, as the end of a sentence.
    pub fn near(key: &str) -> Option<String> {
        let known = SETTINGS.iter().chain(LOGGING).copied();
        Some(suggest(key, known)).filter(|hint| hint.starts_with("did you mean"))
    }
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
        let (mut phases_node, mut loop_node, mut cpus) = (None, None, None);
        let (mut events, mut runtime) = (Vec::new(), None);
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
            if key == "runtime" {
                runtime.get_or_insert(node);
            }
        }
        if let Some(runtime) = runtime {
            attributes.old_slice(runtime);
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
            for (_, node) in all_entries(phases)? {
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
    if OLD.contains(&key) {
        return Err(node.error(format!(
            "{key} belongs to rt-app's first grammar, which rt-app itself no longer reads"
        )));
    }
    match EVENTS.iter().find(|kind| key.starts_with(*kind)) {
        Some(&MEMRUN) => Err(node.error(
            "memrun has no counterpart here: what an access costs depends on caches that the simulator does not have",
        )),
        Some(kind) => Ok(Event { kind, node }),
        None => Err(unknown(node, key, &[EVENTS, properties].concat())),
    }
}

fn unknown(node: &Node, key: &str, known: &[&str]) -> anyhow::Error {
    node.error(format!(
        "unknown key, {}",
        suggest(key, known.iter().copied())
    ))
}

fn all_entries(node: &Node) -> Result<&[(String, Node)]> {
    match &node.kind {
        Kind::Table(entries) => Ok(entries),
        _ => Err(node.expected("an object")),
    }
}

/// The entries of an object. Events may stand in it more than once, as rt-app's own `workgen` allows, and so may phases;
/// nothing else may.
fn entries(node: &Node) -> Result<Vec<(&str, &Node)>> {
    let entries = all_entries(node)?;
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
