// SPDX-License-Identifier: GPL-2.0-or-later
//! One case: a machine, a workload, churn and tunables, small enough to change piece by piece.

use std::collections::BTreeMap;

use kernel::{Hotplug, RtGuard};

use crate::cgroup::{Cgroup, Mover};
use crate::interleaving::Interleaving;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub machine: Shape,
    pub groups: Vec<Group>,
    pub cgroups: Vec<Cgroup>,
    pub hotplug: Vec<Hotplug>,
    pub interleaving: Interleaving,
    /// Beside those that the user fixed.
    pub tunables: BTreeMap<String, String>,
    pub duration_ms: u64,
    /// What a task sleeps after it has changed its own nice, policy or affinity, in groups that pause.
    pub pause_us: u64,
    /// Of the workload's draws.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub sockets: u32,
    pub llcs: u32,
    pub cores: u32,
    pub threads: u32,
    pub split: bool,
    pub hz: u32,
    /// What keeps ordinary tasks alive beside real-time ones.
    pub rt_guard: RtGuard,
    /// Nothing costs anything.
    pub free: bool,
}

impl Shape {
    pub fn cpus(&self) -> u32 {
        self.sockets * self.llcs * self.cores * self.threads
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each by itself.
    Plain,
    /// Each with a peer: a message there, a message back.
    Pair,
    /// One posts, the others wait for it.
    Herd,
    /// One forks the others and reaps them.
    Family,
    /// One forks the others, reaps them, and begins anew: each executes a program, does its actions and exits.
    Storm,
    /// Threads of the kernel's own, one on each CPU.
    Threads,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub kind: Kind,
    pub count: u32,
    pub nice: i32,
    pub policy: &'static str,
    pub cpus: Vec<u32>,
    pub warden: Option<Warden>,
    /// The control group that its tasks begin in.
    pub cgroup: Option<usize>,
    /// Only beside a control group.
    pub mover: Option<Mover>,
    pub footprint_kib: u32,
    /// Its tasks sleep after they have changed themselves.
    pub pauses: bool,
    /// How often the actions are done before the task exits; `None`: for ever.
    pub times: Option<u32>,
    pub actions: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Between so many microseconds and so many.
    Run(u64, u64),
    Sleep(u64, u64),
    Timer(u64),
    Yield,
    Nice(i32),
    Affinity(Vec<u32>),
    /// The task moves itself into a control group.
    Enter(usize),
    Policy(&'static str),
    /// Under this real-time policy for so many microseconds, and back.
    RealTime(&'static str, u64),
    /// With migration disabled: it runs for so many microseconds, sleeps as long and runs again.
    Kept(u64),
    /// Under the one lock.
    Critical(u64),
    Disk,
}

/// Another task changes the CPUs of a group's tasks, wherever these are, and gives them back what they had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warden {
    pub cpus: Vec<u32>,
    /// After so long, again and again.
    pub every_us: u64,
}

impl Action {
    pub fn takes_time(&self) -> bool {
        matches!(
            self,
            Self::Run(..)
                | Self::Sleep(..)
                | Self::Timer(_)
                | Self::Critical(_)
                | Self::Kept(_)
                | Self::RealTime(..)
        )
    }

    /// After which the task sleeps: what it could do over and over to stay ahead of all others.
    pub fn pauses(&self) -> bool {
        matches!(
            self,
            Self::Nice(_)
                | Self::Affinity(_)
                | Self::Enter(_)
                | Self::Policy(_)
                | Self::RealTime(..)
                | Self::Kept(_)
        )
    }
}

impl Case {
    /// Tasks in all.
    pub fn tasks(&self) -> u32 {
        let groups = self.groups.iter().map(|group| match group.kind {
            Kind::Plain | Kind::Threads => group.count,
            Kind::Pair => 2 * group.count,
            Kind::Herd | Kind::Family | Kind::Storm => 1 + group.count,
        });
        groups.sum::<u32>() + self.helpers() as u32
    }

    pub fn actions(&self) -> usize {
        let own: usize = self.groups.iter().map(|group| group.actions.len()).sum();
        own + self.helpers()
    }

    /// Tasks that change others, or control groups.
    fn helpers(&self) -> usize {
        let groups = self.groups.iter();
        let of_groups = groups
            .map(|group| usize::from(group.warden.is_some()) + usize::from(group.mover.is_some()));
        let keepers = (self.cgroups.iter()).filter(|cgroup| cgroup.keeper.is_some());
        of_groups.sum::<usize>() + keepers.count()
    }

    pub fn hotplug_script(&self) -> String {
        let script: Vec<String> = self.hotplug.iter().map(ToString::to_string).collect();
        script.join(",")
    }

    /// In a few words.
    pub fn summary(&self) -> String {
        let count = |n: usize, what: &str| {
            let es = if what.ends_with("ch") { "es" } else { "s" };
            format!("{n} {what}{}", if n == 1 { "" } else { es })
        };
        let mut parts = vec![
            count(self.machine.cpus() as usize, "CPU"),
            count(self.tasks() as usize, "task"),
            count(self.actions(), "action"),
            format!("{} ms", self.duration_ms),
        ];
        if !self.cgroups.is_empty() {
            parts.insert(3, count(self.cgroups.len(), "control group"));
        }
        if !self.hotplug.is_empty() {
            parts.push(format!("hotplug {}", self.hotplug_script()));
        }
        if let Interleaving::Listed(switches) = &self.interleaving {
            parts.push(count(switches.len(), "switch"));
        }
        for (name, value) in &self.tunables {
            parts.push(format!("{name}={value}"));
        }
        parts.join(", ")
    }
}
