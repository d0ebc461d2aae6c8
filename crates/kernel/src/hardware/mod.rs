// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine: what its parts share and what things cost on it. Nothing of it changes during a run.

pub mod domains;
pub mod lock;
pub mod message;
pub mod parts;
pub mod topology;

use machine::{Costs, Machine, RtGuard, RtKernel};

use domains::Domains;
use lock::LockCosts;
use parts::{SwitchParts, WakeupParts};
use topology::Topology;

use crate::ids::CpuId;
use crate::mask::{self, CpuMask};

pub struct Hardware {
    pub costs: Costs,
    pub switch: SwitchParts,
    pub wakeup: WakeupParts,
    pub locks: LockCosts,
    pub topology: Topology,
    pub domains: Domains,
    pub tick_ns: u64,
    /// CPUs that need no tick for a task that runs as long as it likes.
    pub nohz_full: CpuMask,
    pub rt_guard: RtGuard,
    pub rt_kernel: RtKernel,
    /// Wake-ups may be left to the CPU that is to run the task.
    pub ttwu_queue: bool,
    /// The scheduler is part of the kernel, and no BPF policy.
    pub built_in: bool,
}

impl Hardware {
    pub fn new(machine: &Machine, rt_guard: Option<RtGuard>, built_in: bool) -> Self {
        let topology = Topology::new(&machine.topology);
        let mut costs = machine.costs.clone();
        if built_in {
            // It asks its CPUs to reschedule by itself.
            costs.kick_ns = 0;
        } else {
            costs.wakeup_ns += costs.ext_wakeup_ns;
            costs.switch_ns += costs.ext_switch_ns;
        }
        Self {
            domains: Domains::new(&topology),
            locks: LockCosts::new(&costs),
            switch: SwitchParts::of(costs.switch_ns),
            wakeup: WakeupParts::of(costs.wakeup_ns),
            costs,
            topology,
            tick_ns: 1_000_000_000 / u64::from(machine.hz),
            nohz_full: mask::of(machine.nohz_full.iter().map(|cpu| CpuId(*cpu))),
            rt_guard: rt_guard.unwrap_or(machine.rt_guard),
            rt_kernel: machine.rt_kernel,
            ttwu_queue: machine.ttwu_queue,
            built_in,
        }
    }
}
