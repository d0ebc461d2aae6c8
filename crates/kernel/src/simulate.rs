// SPDX-License-Identifier: GPL-2.0-or-later
//! One simulation, from a machine, a plan and a policy to its outcome.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::Result;
use machine::Machine;
use policy::topology::Place;
use policy::{Native, TopologyGlobals};
use workload::plan::Plan;

use crate::options::Options;
use crate::outcome::Outcome;
use crate::sim::Sim;

/// The machine as its policy is told it.
fn globals(machine: &Machine) -> Result<TopologyGlobals> {
    let places: Vec<Place> = machine
        .topology
        .cpus
        .iter()
        .map(|cpu| Place {
            node: cpu.node,
            llc: cpu.llc,
            core: cpu.core,
        })
        .collect();
    TopologyGlobals::new(&places, machine.hz)
}

/// Run a plan on a machine under a policy with these tunables.
pub fn simulate(
    machine: &Machine,
    plan: Plan,
    native: &mut Native,
    scheduler: &str,
    tunables: &BTreeMap<String, String>,
    options: Options,
) -> Result<Outcome> {
    let topology = globals(machine)?;
    let settings = tunables
        .iter()
        .map(|(name, value)| native.manifest.setting(scheduler, name, value))
        .collect::<Result<Vec<_>>>()?;
    let prepare = |native: &mut Native| {
        for setting in &settings {
            native.set(setting)?;
        }
        native.set_topology(&topology)
    };
    let mut sim = Sim::new(machine, Rc::new(plan), native, &prepare, options)?;
    Ok(sim.run())
}
