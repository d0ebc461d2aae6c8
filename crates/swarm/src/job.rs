// SPDX-License-Identifier: GPL-2.0-or-later
//! What goes to a child process and what comes back: one line of JSON each.

use std::collections::BTreeMap;

use anyhow::Result;
use kernel::{Bounds, Program};
use serde::{Deserialize, Serialize};
use workload::plan::Plan;

use crate::interleaving::{Interleaving, Made};

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub machine: String,
    pub workload: String,
    pub seed: u64,
    pub hotplug: String,
    pub interleaving: Interleaving,
    pub tunables: BTreeMap<String, String>,
    pub limits: Limits,
    /// Where every decision is written down.
    pub trace: Option<String>,
}

/// The bounds that are options, as options give them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub idle_ms: u64,
    pub starvation_ms: u64,
    pub share_ms: u64,
    /// Million operations that one callback may execute; it should take thousands.
    pub callback_mops: u64,
}

/// A run of this many events is cut short; the largest cases have some hundred thousand.
pub const MAX_EVENTS: u64 = 3_000_000;
const AUDIT_NS: u64 = 50_000_000;
/// The kernel's own watchdog speaks after 30 s.
const PATIENCE_NS: u64 = 25_000_000_000;
/// A tick of no more than 100 Hz: 32 of them are a third of a second.
const SLIVERS: u32 = 32;
/// No run is so long.
const NEVER_NS: u64 = 1 << 60;

impl Limits {
    /// Tasks of control groups wait by declaration where the policy knows of a weight or a limit: for a light group's
    /// turn, or for the next period beside an idle CPU.
    pub fn bounds(
        &self,
        program: &Program,
        plan: &Plan,
        tunables: &BTreeMap<String, String>,
    ) -> Result<Bounds> {
        let mut bounds = self.of_all_groups();
        let limits = plan.limits_cgroups() && program.heeds_limits();
        if limits || program.heeds_weights() && plan.controllers().cpu {
            bounds.starvation_ns = PATIENCE_NS;
        }
        if limits {
            (bounds.idle_ns, bounds.lost_ns) = (NEVER_NS, NEVER_NS);
        }
        bounds.limits = limits && program.keeps_limits(tunables)?;
        Ok(bounds)
    }

    fn of_all_groups(self) -> Bounds {
        Bounds {
            idle_ns: self.idle_ms * 1_000_000,
            starvation_ns: self.starvation_ms * 1_000_000,
            share_ns: self.share_ms * 1_000_000,
            patience_ns: PATIENCE_NS,
            slivers: SLIVERS,
            audit_ns: AUDIT_NS,
            ..Bounds::default()
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Who found something: a checker, the kernel's own checks, the watchdog, or the end of the child; empty: nobody.
    pub by: String,
    pub reason: String,
    pub events: u64,
    /// The run was cut short after so many events that it would have taken too long.
    pub cut: bool,
    pub hash: u64,
    /// Operations that were broken off, and for what.
    pub switches: Vec<Made>,
    /// What was executed of the policy, where it is [counted](kernel::Execution::Counted).
    pub counts: Vec<u64>,
}

impl Verdict {
    pub fn found(&self) -> bool {
        !self.by.is_empty()
    }
}
