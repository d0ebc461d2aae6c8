// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast each CPU's clock goes, and what was asked for: the state of cpufreq and its governor.

use machine::{Clocked, Frequency, Governor, Machine};

use crate::consts::CPUPERF_ONE;
use crate::ids::{CpuId, PerCpu};

/// On a machine whose clocks change; others have none of it.
pub struct Speeds {
    pub of: Frequency,
    pub policies: Vec<Policy>,
    /// By CPU, the index of its policy.
    policy_of: PerCpu<usize>,
    /// What the scheduler asks for (`rq->scx.cpuperf_target`). A scheduler that is enabled begins with all.
    pub targets: PerCpu<u32>,
}

/// CPUs with one clock (`struct cpufreq_policy`).
pub struct Policy {
    pub cpus: Vec<CpuId>,
    /// The governor's last choice, and when it made it.
    pub next_khz: u32,
    pub changed_at_ns: Option<u64>,
    /// How fast the clock goes.
    pub khz: u32,
    /// It is about to change.
    pub changes: bool,
}

impl Speeds {
    pub fn of(machine: &Machine) -> Option<Self> {
        let of = machine.frequency.clone()?;
        let place = |cpu: &machine::Cpu| match of.clocked {
            Clocked::Core => cpu.core,
            Clocked::Llc => cpu.llc,
            Clocked::Socket => cpu.node,
        };
        let cpus = &machine.topology.cpus;
        let policy_of: PerCpu<usize> = cpus.iter().map(|cpu| place(cpu) as usize).collect();
        let count = policy_of.iter().max().map_or(0, |last| last + 1);
        let mut policies: Vec<Policy> = Vec::new();
        policies.resize_with(count, || Policy {
            cpus: Vec::new(),
            next_khz: of.max_khz,
            changed_at_ns: None,
            khz: of.max_khz,
            changes: false,
        });
        for cpu in policy_of.ids() {
            policies[policy_of[cpu]].cpus.push(cpu);
        }
        Some(Self {
            targets: PerCpu::filled(cpus.len(), || CPUPERF_ONE),
            of,
            policies,
            policy_of,
        })
    }

    pub fn follows_the_scheduler(&self) -> bool {
        self.of.governor == Governor::Schedutil
    }

    /// The index of a CPU's policy.
    pub fn policy_of(&self, cpu: CpuId) -> usize {
        self.policy_of[cpu]
    }

    pub fn khz(&self, cpu: CpuId) -> u32 {
        self.policies[self.policy_of[cpu]].khz
    }
}
