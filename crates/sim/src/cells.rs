// SPDX-License-Identifier: GPL-2.0-or-later
//! Cells as the simulator runs them: from their names to their records.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Result, ensure};
use cell::{Arm, Cell, Cost, DEFAULT, Provenance, Record, Status, quoted};
use kernel::{Execution, NOT_BUILT_IN, Options, Outcome, Program, Release, simulate};
use machine::{Governor, Machine};
use workload::Workload;
use workload::plan::Plan;

use crate::arguments::simulated;
use crate::crash;

/// Where a cell's three parts lie.
#[derive(Clone, Debug)]
pub struct Sources {
    pub scheduler: PathBuf,
    pub workload: PathBuf,
    pub machine: PathBuf,
}

/// What one thread has read so far: policies, workloads and machines.
#[derive(Default)]
pub struct Cache {
    execution: Execution,
    policies: BTreeMap<(PathBuf, Release), Rc<Program>>,
    workloads: BTreeMap<PathBuf, Rc<Workload>>,
    machines: BTreeMap<PathBuf, Rc<Machine>>,
}

impl Cache {
    /// Policies are executed this way.
    pub fn executing(execution: Execution) -> Self {
        Self {
            execution,
            ..Self::default()
        }
    }

    /// What of it differs from the default, as `schedlab-sim cell` takes it.
    fn arguments(&self) -> String {
        if self.execution == Execution::default() {
            String::new()
        } else {
            format!(" --execute {}", self.execution)
        }
    }

    pub fn workload(&mut self, path: &Path) -> Result<Rc<Workload>> {
        if let Some(known) = self.workloads.get(path) {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(Workload::read(path)?);
        self.workloads.insert(path.to_owned(), Rc::clone(&read));
        Ok(read)
    }

    pub fn machine(&mut self, path: &Path) -> Result<Rc<Machine>> {
        if let Some(known) = self.machines.get(path) {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(Machine::read(path)?);
        self.machines.insert(path.to_owned(), Rc::clone(&read));
        Ok(read)
    }

    /// A policy as it is linked against the interface that the cell names.
    pub fn policy(&mut self, path: &Path, cell: &Cell) -> Result<Rc<Program>> {
        let release = release(cell)?;
        let key = (path.to_owned(), release);
        if let Some(known) = self.policies.get(&key) {
            return Ok(Rc::clone(known));
        }
        let linked = Rc::new(kernel::load(path, self.execution, release)?);
        self.policies.insert(key, Rc::clone(&linked));
        Ok(linked)
    }
}

/// The release whose interface a cell asks for.
pub fn release(cell: &Cell) -> Result<Release> {
    match &cell.api {
        None => Ok(Release::default()),
        Some(text) => text.parse().map_err(anyhow::Error::msg),
    }
}

/// Whether a cell's scheduler stands for the kernel's own.
pub fn is_the_kernels_own(cell: &Cell) -> bool {
    cell.scheduler == DEFAULT || cell.built_in && cell.scheduler == simulated(DEFAULT)
}

/// The plan that a cell means on a machine.
pub fn plan(workload: &Workload, machine: &Machine, cell: &Cell) -> Result<Plan> {
    let follows = |frequency: &machine::Frequency| frequency.governor == Governor::Schedutil;
    ensure!(
        !cell.built_in || !machine.frequency.as_ref().is_some_and(follows),
        "{}: {NOT_BUILT_IN}",
        machine.name
    );
    workload.plan(cell.load, &cell.params, machine.cpus() as u32, cell.seed)
}

/// Bad input is an error; a run that breaks is a record of status `failed`.
pub fn run(
    cell: &Cell,
    sources: &Sources,
    cache: &mut Cache,
    mut options: Options,
) -> Result<(Record, Outcome)> {
    ensure!(
        !cell.modelled,
        "modelled: the simulator runs nothing else; only a real kernel's cells say so"
    );
    options.built_in = cell.built_in;
    let started = Instant::now();
    let mut machine = cache.machine(&sources.machine)?;
    if !cell.exact_costs && !machine.spreads.is_empty() {
        machine = Rc::new(machine.drawn(cell.seed));
    }
    let workload = cache.workload(&sources.workload)?;
    let plan = plan(&workload, &machine, cell)?;
    let program = cache.policy(&sources.scheduler, cell)?;
    let arguments = options.arguments();
    let checked = reproduce(cell, sources, &format!("{arguments} --execute paranoid"));
    let arguments = arguments + &cache.arguments();
    let crashed = format!(
        "schedlab-sim: {}: its code touched memory that is not its own, which ends this process; where: {checked}\n",
        cell.scheduler
    );
    let outcome = crash::saying(&crashed, || {
        simulate(
            &machine,
            plan,
            &program,
            &cell.scheduler,
            &cell.tunables,
            options,
        )
    })?;
    let provenance = Provenance {
        place: cell.place.clone(),
        engine: engine(),
        cpus: machine.cpus() as u32,
        hz: machine.hz,
        ..Provenance::default()
    };
    let mut record = Record::new(cell.clone(), provenance);
    record.status = outcome.status;
    record.reason.clone_from(&outcome.reason);
    if outcome.status == Status::Failed {
        record.reason = format!(
            "{}; reproduce: {}",
            outcome.reason,
            reproduce(cell, sources, &arguments)
        );
    }
    record.metrics.clone_from(&outcome.metrics);
    record.set_histograms(&outcome.distributions);
    record.trace_hash = format!("{:016x}", outcome.trace_hash);
    record.cost = Cost {
        wall_s: started.elapsed().as_secs_f64(),
        events: outcome.events,
        ..Cost::default()
    };
    Ok((record, outcome))
}

pub fn engine() -> String {
    format!("schedlab-sim {}", env!("CARGO_PKG_VERSION"))
}

/// The command line that runs a cell again; `arguments` are those of its options.
pub fn reproduce(cell: &Cell, sources: &Sources, arguments: &str) -> String {
    let arm = Arm {
        scheduler: sources.scheduler.display().to_string(),
        tunables: cell.tunables.clone(),
    };
    let mut line = format!(
        "schedlab-sim cell --scheduler {} --workload {} --load {} --machine {} --seed {}",
        quoted(&arm.to_string()),
        quoted(&sources.workload.display().to_string()),
        cell.load,
        quoted(&sources.machine.display().to_string()),
        cell.seed
    );
    if let Some(api) = &cell.api {
        let _ = write!(line, " --api {api}");
    }
    if cell.exact_costs {
        line += " --exact-costs";
    }
    for (name, value) in &cell.params {
        let _ = write!(line, " --param {}", quoted(&format!("{name}={value}")));
    }
    line + arguments
}
