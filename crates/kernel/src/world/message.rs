// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a message's memory is when it is received, and what fetching it costs.
//!
//! The sender leaves it in its core's caches; messages sent after it push it out, first of those, then of the last-level
//! cache. The receiver fetches it from as far as the sender's CPU, at `refill_kib_ns`; what has left the last-level cache
//! comes from memory, which is as far as another socket. Whoever is the next to use that memory for a message pays for
//! it once more in the kernel; here all of it is the receiver's.

use machine::{Costs, Distance};
use workload::plan::QueueKind;

use crate::hardware::topology::Topology;
use crate::ids::CpuId;

/// A socket's message has a head and a slab of its own around the bytes, in a power of two.
const HEAD_BYTES: u64 = 576;
/// Their lines lead from one to the next, so that one miss is in flight where `refill_kib_ns` counts on four.
const HEAD_MISSES: u64 = 4;

/// A message's sender, and how much had been sent from its core and its cache by then.
#[derive(Clone, Copy)]
pub struct Origin {
    cpu: CpuId,
    core_bytes: u64,
    llc_bytes: u64,
}

/// Bytes of memory that messages took so far.
pub struct Traffic {
    cores: Vec<u64>,
    llcs: Vec<u64>,
}

impl Traffic {
    pub fn new(topology: &Topology) -> Self {
        Self {
            cores: vec![0; topology.cores()],
            llcs: vec![0; topology.llcs()],
        }
    }

    pub fn sent(&mut self, topology: &Topology, cpu: CpuId, kind: QueueKind, bytes: u32) -> Origin {
        let (core, llc) = places(topology, cpu);
        let taken = u64::from(bytes) + head_bytes(kind);
        self.cores[core] += taken;
        self.llcs[llc] += taken;
        Origin {
            cpu,
            core_bytes: self.cores[core],
            llc_bytes: self.llcs[llc],
        }
    }

    pub fn fetch_ns(
        &self,
        topology: &Topology,
        costs: &Costs,
        from: Origin,
        cpu: CpuId,
        kind: QueueKind,
        bytes: u32,
    ) -> u64 {
        let (core, llc) = places(topology, from.cpu);
        let distance = if self.llcs[llc] - from.llc_bytes >= costs.llc_kib * 1024 {
            Distance::Remote
        } else {
            topology.distance(from.cpu, cpu)
        };
        let kept = self.cores[core] - from.core_bytes < costs.private_cache_kib * 1024;
        if kept && distance <= Distance::Core {
            return 0;
        }
        let misses = u64::from(bytes) + head_bytes(kind) * HEAD_MISSES;
        costs.refill_kib_ns[distance as usize] * misses / 1024
    }
}

fn places(topology: &Topology, cpu: CpuId) -> (usize, usize) {
    let place = topology.place(cpu);
    (place.core as usize, place.llc as usize)
}

fn head_bytes(kind: QueueKind) -> u64 {
    match kind {
        QueueKind::Pipe => 0,
        QueueKind::Socket | QueueKind::Tcp => HEAD_BYTES,
    }
}
