// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks send, hold and wait for between each other.
//!
//! A call answers what the task got. If it got nothing, it has been noted as one that waits, and whoever wakes it lets
//! it try again: another task may have been faster, as in the kernel.

mod futexes;
mod message;
mod queues;

use workload::plan::Plan;

use crate::topology::Topology;
use futexes::Futexes;
use queues::Queues;

pub struct Ipc {
    queues: Queues,
    futexes: Futexes,
}

impl Ipc {
    pub fn new(plan: &Plan, topology: &Topology) -> Self {
        Self {
            queues: Queues::new(plan, topology),
            futexes: Futexes::new(plan),
        }
    }
}
