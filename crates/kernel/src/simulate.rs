// SPDX-License-Identifier: GPL-2.0-or-later
//! One simulation, from a machine, a plan and a policy to its outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::Result;
use bpf::image::Outside;
use machine::Machine;
use policy::topology::Place;
use policy::{Object, TopologyGlobals};
use workload::plan::Plan;

use crate::boundary::enumerations;
use crate::boundary::execution::Execution;
use crate::boundary::program::{self, Program};
use crate::boundary::release::Release;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::sim::{Loaded, Sim};

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

/// What policies may call that see this release: as an image names it, and by its name.
pub fn calls(release: Release) -> Vec<(Outside, &'static str)> {
    program::calls::<Sim>(release)
}

/// A constant of the kernel's interface by its name, such as `SCX_EXIT_UNREG`.
pub fn constant(name: &str, release: Release) -> Option<u64> {
    enumerations::constant(&format!("__{name}"), release)
}

/// A policy's object, ready to run in simulations, which show it the interface of this release.
pub fn link(object: &Object, execution: Execution, release: Release) -> Result<Program> {
    Program::link::<Sim>(object, execution, release)
}

/// The same from a policy's folder, source or object.
pub fn load(path: &Path, execution: Execution, release: Release) -> Result<Program> {
    link(&Object::load(path)?, execution, release)
}

/// Run a plan on a machine under a policy with these tunables.
pub fn simulate(
    machine: &Machine,
    plan: Plan,
    program: &Program,
    scheduler: &str,
    tunables: &BTreeMap<String, String>,
    options: Options,
) -> Result<Outcome> {
    let settings = tunables
        .iter()
        .map(|(name, value)| program.manifest.setting(scheduler, name, value))
        .collect::<Result<Vec<_>>>()?;
    program.ensure_fits(machine.cpus())?;
    let data = program.data(&settings, &globals(machine)?)?;
    let loaded = Loaded { program, data };
    let mut sim = Sim::new(machine, Rc::new(plan), loaded, options)?;
    Ok(sim.run())
}
