// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling attributes of a task or a phase, and why some have no counterpart here.

use anyhow::{Result, ensure};
use input::Node;

use super::{MAX_US, int, table, text};

/// What a kernel makes of a slice that is asked for.
const SLICE_US: (i64, i64) = (100, 100_000);
/// Bounds of the utilization that every task has.
const UNCLAMPED: [(&str, i64); 2] = [("util_min", 0), ("util_max", 1024)];

/// rt-app's own default where the policy is FIFO or RR and no priority is given.
const RT_PRIORITY: i64 = 10;

#[derive(Clone, Default)]
pub struct Attributes<'a> {
    policy: Option<&'a Node>,
    priority: Option<&'a Node>,
    slice: Option<&'a Node>,
    /// What only deadline scheduling would use.
    pub unused: Vec<&'a Node>,
    pub group: Option<&'a Node>,
    /// What a task without a policy of its own has.
    default: Option<&'a str>,
}

/// What the kernel is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Our word for it.
    pub policy: &'static str,
    /// Nice, or the real-time priority.
    pub priority: i64,
}

impl<'a> Attributes<'a> {
    /// Whether the key is one of these.
    pub fn take(&mut self, key: &str, node: &'a Node) -> Result<bool> {
        match key {
            "policy" => self.policy = Some(node),
            "priority" => self.priority = Some(node),
            "dl-runtime" => self.slice = Some(node),
            "dl-period" | "dl-deadline" | "period" | "deadline" => {
                self.unused.push(node);
            }
            "util_min" | "util_max" => {
                let value = node.integer(-1..=1024)?;
                let why = "utilization clamps have no counterpart here: no policy reads them, and the simulator's \
                           frequencies do not heed them";
                ensure!(
                    value == -1 || UNCLAMPED.contains(&(key, value)),
                    node.error(why)
                );
            }
            "nodes_membind" => {
                return Err(node.error(
                    "memory bound to nodes has no counterpart here: simulated memory is on no node",
                ));
            }
            "taskgroup" => {
                let group = node.text()?;
                let is_path = group.is_empty() || group.starts_with('/');
                ensure!(is_path, node.expected("a path that begins with /"));
                self.group = Some(node).filter(|_| !group.is_empty());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An event `runtime` of the task itself is also the slice that it asks for, where it asks for none otherwise:
    /// rt-app reads it as the older name of `dl-runtime` too.
    pub fn old_slice(&mut self, runtime: &'a Node) {
        self.slice.get_or_insert(runtime);
    }

    /// Checks what was taken, of a task (with the default policy) or of a phase.
    pub fn settle(&mut self, node: &Node, default: Option<&'a str>) -> Result<()> {
        self.default = default;
        self.word(node)?;
        if let Some(slice) = self.slice {
            ensure!(
                default.is_some(),
                slice.error("expected at the task, a phase cannot ask for a slice here")
            );
        }
        Ok(())
    }

    /// Our word for the policy that is named here.
    fn word(&self, node: &Node) -> Result<Option<&'static str>> {
        let (name, node) = match (self.policy, self.default) {
            (Some(policy), _) => (policy.text()?, policy),
            (None, Some(default)) => (default, node),
            (None, None) => return Ok(None),
        };
        match name {
            "SCHED_OTHER" => Ok(Some("other")),
            "SCHED_BATCH" => Ok(Some("batch")),
            "SCHED_IDLE" => Ok(Some("idle")),
            "SCHED_FIFO" => Ok(Some("fifo")),
            "SCHED_RR" => Ok(Some("rr")),
            "SCHED_DEADLINE" => Err(node.error(
                "SCHED_DEADLINE has no counterpart here: a kernel runs such tasks before those of any policy, and the \
                 simulator has no class for them",
            )),
            _ => {
                let what = "SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO or SCHED_RR";
                Err(node.error(format!("unknown policy {name}, expected {what}")))
            }
        }
    }

    /// What the task has from here on, if this says so. Without a policy it keeps the one before.
    pub fn class(&self, node: &Node, before: Option<Class>) -> Result<Option<Class>> {
        let word = self.word(node)?;
        let Some(policy) = word.or(before.map(|class| class.policy)) else {
            return Ok(None);
        };
        if word.is_none() && self.priority.is_none() {
            return Ok(None);
        }
        let real_time = matches!(policy, "fifo" | "rr");
        let priority = match self.priority {
            None if real_time => RT_PRIORITY,
            None => 0,
            Some(node) if real_time => node.integer(1..=99)?,
            Some(node) => node.integer(-20..=19)?,
        };
        Ok(Some(Class { policy, priority }))
    }

    /// Keys of a task group.
    pub fn of_group(&self, at: &Node, class: Class) -> Result<Vec<(&'static str, Node)>> {
        let mut keys = class.keys(at);
        if let Some(slice) = self.slice.filter(|_| !class.is_sliceless()) {
            let slice_us = slice.integer(0..=MAX_US)?;
            if slice_us > 0 {
                let granted = slice_us.clamp(SLICE_US.0, SLICE_US.1);
                keys.push(("slice_us", int(slice, granted)));
            }
        }
        Ok(keys)
    }
}

impl Class {
    /// Whether its tasks ask for no slice.
    fn is_sliceless(self) -> bool {
        !matches!(self.policy, "other" | "batch")
    }

    fn keys(self, at: &Node) -> Vec<(&'static str, Node)> {
        match self.policy {
            "fifo" | "rr" => {
                let policy = format!("{}:{}", self.policy, self.priority);
                vec![("policy", text(at, &policy))]
            }
            // rt-app leaves the nice value of idle tasks alone.
            "idle" => vec![("policy", text(at, "idle"))],
            other => vec![
                ("policy", text(at, other)),
                ("nice", int(at, self.priority)),
            ],
        }
    }

    /// Actions that change to it.
    pub fn actions(self, at: &Node) -> Vec<Node> {
        let keys = self.keys(at).into_iter();
        keys.map(|key| table(at, vec![key])).collect()
    }
}
