// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPU shares what with which.

use crate::Distance;

/// One logical CPU. Ids of cores, LLCs and nodes count from 0 over the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    pub id: u32,
    pub core: u32,
    pub llc: u32,
    /// Socket and NUMA node: one of each per socket.
    pub node: u32,
    /// Speed relative to the fastest core, 1024 = full.
    pub capacity: u32,
}

impl Cpu {
    /// To another CPU: the least that both share.
    #[inline]
    pub fn distance_to(&self, other: &Self) -> Distance {
        if self.core == other.core {
            Distance::Core
        } else if self.llc == other.llc {
            Distance::Llc
        } else if self.node == other.node {
            Distance::Node
        } else {
            Distance::Remote
        }
    }
}

/// Which ids the hardware threads of one core have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Siblings stand side by side: 0 and 1, 2 and 3.
    Adjacent,
    /// First threads of all cores first: 0 and `cores`, 1 and `cores + 1`.
    Split,
}

/// A machine whose sockets, LLCs and cores are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub sockets: u32,
    pub llcs_per_socket: u32,
    pub cores_per_llc: u32,
    pub threads_per_core: u32,
    pub numbering: Numbering,
}

impl Shape {
    pub fn cores(&self) -> u64 {
        u64::from(self.sockets) * u64::from(self.llcs_per_socket) * u64::from(self.cores_per_llc)
    }

    pub fn cpus(&self) -> u64 {
        self.cores() * u64::from(self.threads_per_core)
    }
}

/// All CPUs, indexed by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub cpus: Vec<Cpu>,
    cores: Vec<Vec<u32>>,
    llcs: Vec<Vec<u32>>,
    nodes: Vec<Vec<u32>>,
}

impl Topology {
    /// CPUs in the order of their ids; ids of cores, LLCs and nodes without gaps.
    pub fn new(cpus: Vec<Cpu>) -> Self {
        let (mut cores, mut llcs, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for (index, cpu) in cpus.iter().enumerate() {
            assert_eq!(
                cpu.id as usize, index,
                "CPUs stand in the order of their ids"
            );
            for (lists, id) in [
                (&mut cores, cpu.core),
                (&mut llcs, cpu.llc),
                (&mut nodes, cpu.node),
            ] {
                let lists: &mut Vec<Vec<u32>> = lists;
                if lists.len() <= id as usize {
                    lists.resize(id as usize + 1, Vec::new());
                }
                lists[id as usize].push(cpu.id);
            }
        }
        Self {
            cpus,
            cores,
            llcs,
            nodes,
        }
    }

    /// A regular machine; `capacities` by core, 1024 where it is empty.
    pub fn regular(shape: Shape, capacities: &[u32]) -> Self {
        let cores = shape.cores() as u32;
        let threads = shape.threads_per_core;
        let cpu = |id: u32| {
            let core = match shape.numbering {
                Numbering::Adjacent => id / threads,
                Numbering::Split => id % cores,
            };
            let llc = core / shape.cores_per_llc;
            let node = llc / shape.llcs_per_socket;
            let capacity = capacities.get(core as usize).copied().unwrap_or(1024);
            Cpu {
                id,
                core,
                llc,
                node,
                capacity,
            }
        };
        Self::new((0..cores * threads).map(cpu).collect())
    }

    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    pub fn cpu(&self, id: u32) -> &Cpu {
        &self.cpus[id as usize]
    }

    /// The hardware threads of this CPU's core, itself included, in ascending order.
    pub fn siblings(&self, cpu: u32) -> &[u32] {
        &self.cores[self.cpu(cpu).core as usize]
    }

    pub fn core_cpus(&self, core: u32) -> &[u32] {
        &self.cores[core as usize]
    }

    pub fn llc_cpus(&self, llc: u32) -> &[u32] {
        &self.llcs[llc as usize]
    }

    pub fn node_cpus(&self, node: u32) -> &[u32] {
        &self.nodes[node as usize]
    }

    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    pub fn llcs(&self) -> usize {
        self.llcs.len()
    }

    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub fn has_smt(&self) -> bool {
        self.cores.iter().any(|threads| threads.len() > 1)
    }

    pub fn distance(&self, a: u32, b: u32) -> Distance {
        if a == b {
            return Distance::Same;
        }
        self.cpu(a).distance_to(self.cpu(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(numbering: Numbering) -> Shape {
        Shape {
            sockets: 2,
            llcs_per_socket: 2,
            cores_per_llc: 2,
            threads_per_core: 2,
            numbering,
        }
    }

    #[test]
    fn adjacent_siblings_stand_side_by_side() {
        let topology = Topology::regular(shape(Numbering::Adjacent), &[]);
        assert_eq!(topology.len(), 16);
        assert_eq!(topology.siblings(5), [4, 5]);
        assert_eq!(topology.llc_cpus(1), [4, 5, 6, 7]);
        assert_eq!(topology.node_cpus(1), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(
            (topology.cores(), topology.llcs(), topology.nodes()),
            (8, 4, 2)
        );
    }

    #[test]
    fn split_siblings_are_all_cores_apart() {
        let topology = Topology::regular(shape(Numbering::Split), &[]);
        assert_eq!(topology.siblings(13), [5, 13]);
        assert_eq!(topology.llc_cpus(1), [2, 3, 10, 11]);
        assert_eq!(topology.node_cpus(0), [0, 1, 2, 3, 8, 9, 10, 11]);
    }

    #[test]
    fn distance_grows_outwards_and_is_symmetric() {
        let topology = Topology::regular(shape(Numbering::Adjacent), &[]);
        let expected = [
            (0, Distance::Same),
            (1, Distance::Core),
            (2, Distance::Llc),
            (4, Distance::Node),
            (8, Distance::Remote),
        ];
        for (other, distance) in expected {
            assert_eq!(topology.distance(0, other), distance);
            assert_eq!(topology.distance(other, 0), distance);
        }
    }

    #[test]
    fn capacities_belong_to_cores() {
        let one = Shape {
            sockets: 1,
            llcs_per_socket: 1,
            ..shape(Numbering::Split)
        };
        let topology = Topology::regular(one, &[1024, 512]);
        let capacities: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.capacity).collect();
        assert_eq!(capacities, [1024, 512, 1024, 512]);
    }
}
