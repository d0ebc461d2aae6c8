// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine as a policy is told it: the globals of `include/policy.h`.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// Most CPUs a policy can be told of (`MAX_CPUS` in `include/policy.h`).
pub const MAX_CPUS: usize = 1024;

/// One CPU's place. Ids need not be dense; equal ids mean shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub node: u32,
    pub llc: u32,
    pub core: u32,
}

/// Values for the policy's topology globals, arrays indexed by CPU except [`Self::cpu_by_llc`] and [`Self::llc_first`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyGlobals {
    pub nr_cpus: u32,
    pub nr_llcs: u32,
    pub nr_nodes: u32,
    pub tick_hz: u32,
    pub cpu_llc: Vec<u16>,
    pub cpu_node: Vec<u16>,
    pub cpu_core: Vec<u16>,
    pub cpu_sibling: Vec<u16>,
    pub cpu_by_llc: Vec<u16>,
    pub llc_first: Vec<u16>,
}

impl TopologyGlobals {
    /// `places[cpu]` for every possible CPU.
    pub fn new(places: &[Place], tick_hz: u32) -> Result<Self> {
        if places.is_empty() || places.len() > MAX_CPUS {
            bail!(
                "a policy can be told of 1 to {MAX_CPUS} CPUs, not {}",
                places.len()
            );
        }
        let cpu_llc = dense(places.iter().map(|place| (place.node, place.llc)));
        let cpu_core = dense(
            places
                .iter()
                .map(|place| (place.node, place.llc, place.core)),
        );
        let cpu_node = dense(places.iter().map(|place| place.node));
        let mut cpu_by_llc: Vec<u16> = (0..places.len() as u16).collect();
        cpu_by_llc.sort_by_key(|cpu| (cpu_llc[usize::from(*cpu)], *cpu));
        let nr_llcs = count(&cpu_llc);
        let llc_first = (0..=nr_llcs)
            .map(|llc| {
                cpu_by_llc.partition_point(|cpu| u32::from(cpu_llc[usize::from(*cpu)]) < llc) as u16
            })
            .collect();
        let mut cpu_sibling: Vec<u16> = (0..places.len() as u16).collect();
        let mut first_of_core = vec![None; places.len()];
        let mut last_of_core = vec![0; places.len()];
        for cpu in 0..places.len() {
            let core = usize::from(cpu_core[cpu]);
            let first = *first_of_core[core].get_or_insert(cpu);
            if first != cpu {
                let last: usize = last_of_core[core];
                cpu_sibling[last] = cpu as u16;
                cpu_sibling[cpu] = first as u16;
            }
            last_of_core[core] = cpu;
        }
        Ok(Self {
            nr_cpus: places.len() as u32,
            nr_llcs,
            nr_nodes: count(&cpu_node),
            tick_hz,
            cpu_llc,
            cpu_node,
            cpu_core,
            cpu_sibling,
            cpu_by_llc,
            llc_first,
        })
    }

    /// Ticks per second.
    pub fn hz(&self) -> u32 {
        self.tick_hz
    }

    /// Name and value of every 32-bit global.
    pub fn numbers(&self) -> [(&'static str, u32); 4] {
        [
            ("nr_cpus", self.nr_cpus),
            ("nr_llcs", self.nr_llcs),
            ("nr_nodes", self.nr_nodes),
            ("tick_hz", self.tick_hz),
        ]
    }

    /// Name and values of every array of `u16`.
    pub fn arrays(&self) -> [(&'static str, &[u16]); 6] {
        [
            ("cpu_llc", &self.cpu_llc),
            ("cpu_node", &self.cpu_node),
            ("cpu_core", &self.cpu_core),
            ("cpu_sibling", &self.cpu_sibling),
            ("cpu_by_llc", &self.cpu_by_llc),
            ("llc_first", &self.llc_first),
        ]
    }
}

/// Whether a global of this name is a fact of the machine.
pub fn is_told(name: &str) -> bool {
    let none = TopologyGlobals::default();
    let numbers = none.numbers();
    let mut numbers = numbers.iter().map(|(told, _)| *told);
    numbers.any(|told| told == name) || none.arrays().iter().any(|(told, _)| *told == name)
}

/// Number the distinct keys 0, 1, … in order of their first CPU.
fn dense<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<u16> {
    let mut seen = BTreeMap::new();
    keys.map(|key| {
        let next = seen.len() as u16;
        *seen.entry(key).or_insert(next)
    })
    .collect()
}

fn count(ids: &[u16]) -> u32 {
    ids.iter().max().map_or(0, |max| u32::from(*max) + 1)
}
