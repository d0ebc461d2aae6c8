// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine: what its parts share and what things cost on it. Nothing of it changes during a run.

pub mod domains;
pub mod lock;
pub mod topology;

use machine::{Costs, Machine, RtGuard, RtKernel};

use domains::Domains;
use lock::LockCosts;
use topology::Topology;

pub struct Hardware {
    pub costs: Costs,
    pub locks: LockCosts,
    pub topology: Topology,
    pub domains: Domains,
    pub tick_ns: u64,
    pub rt_guard: RtGuard,
    pub rt_kernel: RtKernel,
}

impl Hardware {
    pub fn new(machine: &Machine, rt_guard: Option<RtGuard>) -> Self {
        let topology = Topology::new(&machine.topology);
        Self {
            domains: Domains::new(&topology),
            locks: LockCosts::new(&machine.costs),
            costs: machine.costs.clone(),
            topology,
            tick_ns: 1_000_000_000 / u64::from(machine.hz),
            rt_guard: rt_guard.unwrap_or(machine.rt_guard),
            rt_kernel: machine.rt_kernel,
        }
    }
}
