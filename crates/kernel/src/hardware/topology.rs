// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPU shares what with which, in the model's own ids: one small row a CPU, because every lock asks it.

use machine::Distance;

use crate::ids::{CpuId, PerCpu};

pub use machine::Cpu as Place;

pub struct Topology {
    places: PerCpu<Place>,
    /// By core: its hardware threads, ascending.
    cores: Vec<Box<[CpuId]>>,
    llcs: usize,
    nodes: usize,
    smt: bool,
}

impl Topology {
    pub fn new(machine: &machine::Topology) -> Self {
        let threads = |core| machine.core_cpus(core).iter().map(|cpu| CpuId(*cpu));
        Self {
            places: machine.cpus.iter().copied().collect(),
            cores: (0..machine.cores() as u32)
                .map(|core| threads(core).collect())
                .collect(),
            llcs: machine.llcs(),
            nodes: machine.nodes(),
            smt: machine.has_smt(),
        }
    }

    #[inline]
    pub fn place(&self, cpu: CpuId) -> &Place {
        &self.places[cpu]
    }

    pub fn places(&self) -> &PerCpu<Place> {
        &self.places
    }

    /// The hardware threads of this CPU's core, itself included, in ascending order.
    #[inline]
    pub fn siblings(&self, cpu: CpuId) -> &[CpuId] {
        &self.cores[self.places[cpu].core as usize]
    }

    /// The CPU that stands for a core where something is kept for all its threads.
    #[inline]
    pub fn first_sibling(&self, cpu: CpuId) -> CpuId {
        if self.smt { self.siblings(cpu)[0] } else { cpu }
    }

    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    pub fn llcs(&self) -> usize {
        self.llcs
    }

    pub fn nodes(&self) -> usize {
        self.nodes
    }

    pub fn smt(&self) -> bool {
        self.smt
    }

    #[inline]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        if a == b {
            return Distance::Same;
        }
        self.places[a].distance_to(&self.places[b])
    }
}
