// SPDX-License-Identifier: GPL-2.0-or-later
//! What a run may be told beside machine, workload and policy.

use std::fmt::Write as _;
use std::io::Write;

use machine::RtGuard;

use crate::boundary::Run;
use crate::hotplug::Hotplug;
use crate::interleave::Interleave;
use crate::observe::Bounds;

/// The reason of a run that was broken off.
pub const INTERRUPTED: &str = "interrupted";

/// What a run may be told beside machine, workload and policy.
#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent settings, each with its own meaning"
)]
pub struct Options {
    /// Text of every scheduling decision goes here.
    pub trace: Option<Box<dyn Write>>,
    /// What a policy may do but a good one does not is an error too: idle CPUs beside waiting tasks, starvation.
    pub strict: bool,
    pub bounds: Bounds,
    /// The policy's code costs what it would as part of the kernel.
    pub built_in: bool,
    /// Write the trace as it comes, not in order: nothing is lost if the policy crashes.
    pub trace_at_once: bool,
    /// Instead of the machine's own.
    pub rt_guard: Option<RtGuard>,
    pub hotplug: Vec<Hotplug>,
    /// Operations may be broken off at the policy's calls, and others come in between.
    pub interleave: Option<Interleave>,
    /// CPUs that are offline when the policy is loaded.
    pub offline: Vec<u32>,
    /// Nobody loads a policy anew that CPU hotplug makes restart: its run ends.
    pub ends_at_restart: bool,
    /// What a user half has the kernel run while the workload runs.
    pub runs: Vec<ProgramRun>,
    /// What a user half writes into the policy's variables while the workload runs.
    pub writes: Vec<GlobalWrite>,
    /// Stop a run that takes more events; 0: never.
    pub max_events: u64,
    /// A callback of the policy that executes more is an endless loop; 0: as many as 2³².
    pub max_callback_operations: u64,
    /// Asked now and then: is the run to be broken off?
    pub stop: Option<fn() -> bool>,
}

impl Options {
    /// What differs from the default, as `schedlab-sim cell` takes it.
    pub fn arguments(&self) -> String {
        let mut line = String::new();
        if self.built_in {
            line.push_str(" --built-in");
        }
        if self.strict {
            line.push_str(" --strict");
        }
        if let Some(guard) = self.rt_guard {
            let _ = write!(line, " --rt-guard {guard}");
        }
        if !self.hotplug.is_empty() {
            let script: Vec<String> = self.hotplug.iter().map(ToString::to_string).collect();
            let _ = write!(line, " --hotplug {}", script.join(","));
        }
        if !self.offline.is_empty() {
            let cpus: Vec<String> = self.offline.iter().map(ToString::to_string).collect();
            let _ = write!(line, " --offline {}", cpus.join(","));
        }
        line
    }
}

/// A program of type `syscall`, run on CPU 0 at this time after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRun {
    pub at_ns: u64,
    pub program: String,
    /// What its argument points to.
    pub context: Vec<u8>,
}

/// A variable of the policy's gets other contents at this time after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalWrite {
    pub at_ns: u64,
    pub global: String,
    pub bytes: Vec<u8>,
}

/// What of it ends or disturbs a run.
pub struct Limits {
    /// How often everybody who waits is looked at; `None`: only as often as the watchdog looks.
    pub audit_ns: Option<u64>,
    pub hotplug: Vec<Hotplug>,
    pub offline: Vec<u32>,
    pub ends_at_restart: bool,
    pub runs: Vec<LaterRun>,
    pub writes: Vec<LaterWrite>,
    pub max_events: u64,
    pub stop: Option<fn() -> bool>,
}

/// When a program of the policy's object runs.
pub struct LaterRun {
    pub at_ns: u64,
    pub run: Run,
}

/// When which place of the policy's global data gets which contents.
pub struct LaterWrite {
    pub at_ns: u64,
    pub offset: usize,
    pub bytes: Vec<u8>,
}
