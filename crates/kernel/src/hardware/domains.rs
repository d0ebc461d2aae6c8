// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets of CPUs that searches for an idle one go through, from near to far.

use super::topology::{Place, Topology};
use crate::mask::{self, CpuMask};

pub struct Domains {
    pub llcs: Vec<CpuMask>,
    pub nodes: Vec<CpuMask>,
    pub cores: Vec<CpuMask>,
    /// Worth a search of its own: there are several, and they are not the nodes again.
    pub use_llc: bool,
    pub use_node: bool,
    /// So many words of a mask can have CPUs.
    pub words: usize,
}

impl Domains {
    pub fn new(topology: &Topology) -> Self {
        let masks = |count: usize, of: &dyn Fn(&Place) -> u32| -> Vec<CpuMask> {
            let mut masks = vec![mask::EMPTY; count];
            for (cpu, place) in topology.places().pairs() {
                mask::set(&mut masks[of(place) as usize], cpu);
            }
            masks
        };
        let (llcs, nodes) = (topology.llcs(), topology.nodes());
        Self {
            llcs: masks(llcs, &|place| place.llc),
            nodes: masks(nodes, &|place| place.node),
            cores: masks(topology.cores(), &|place| place.core),
            use_llc: llcs > 1,
            use_node: nodes > 1 && nodes != llcs,
            words: topology.places().len().div_ceil(64),
        }
    }
}
