// SPDX-License-Identifier: GPL-2.0-or-later
//! Whose turn it is, on machines whose CPUs take turns on one clock; by which rules says `sched::turns`.

use machine::Machine;
use workload::draw::Stream;
use workload::plan::Plan;

use super::events::Due;
use crate::cpu::NEVER;
use crate::ids::{CpuId, PerCpu};

pub struct Turns {
    /// Nobody's, while all CPUs idle.
    pub holder: Option<CpuId>,
    /// The share of each CPU in this round; 0: the next turn begins another.
    pub share_ns: u64,
    pub ends_ns: u64,
    /// The event that ends it.
    pub event_at_ns: u64,
    pub event_seq: u64,
    pub held: PerCpu<Option<Held>>,
    /// What happens to CPUs as soon as they have their turn.
    pub waiting: PerCpu<Vec<Due>>,
    pub timers: PerCpu<Programmed>,
    pub rounding: Stream,
}

/// When a CPU's timer was last set to expire, and how much later it does.
#[derive(Clone, Copy)]
pub struct Programmed {
    pub at_ns: u64,
    pub late_ns: u64,
}

/// What a CPU without its turn was about to do, and how long that takes.
pub struct Held {
    pub kernel_ns: u64,
    /// Until its task goes on.
    pub task_ns: u64,
}

impl Turns {
    pub fn of(machine: &Machine, plan: &Plan) -> Option<Self> {
        let cpus = machine.cpus();
        (machine.one_clock && cpus > 1).then(|| Self {
            holder: None,
            share_ns: 0,
            ends_ns: NEVER,
            event_at_ns: NEVER,
            event_seq: 0,
            held: PerCpu::filled(cpus, || None),
            waiting: PerCpu::filled(cpus, Vec::new),
            timers: PerCpu::filled(cpus, || Programmed {
                at_ns: NEVER,
                late_ns: 0,
            }),
            rounding: plan.stream(u32::MAX, 2),
        })
    }
}
