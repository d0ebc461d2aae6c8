// SPDX-License-Identifier: GPL-2.0-or-later
//! One case: the policy set up as the test's user half does it, run, and judged.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use cell::Status;
use kernel::{Execution, Options, Outcome, ProgramRun, Release};
use machine::Machine;
use policy::set_up::Bytes;
use policy::{Object, SetUp, values};
use workload::Workload;
use workload::plan::Plan;

use crate::globals::Globals;
use crate::table::{Case, Ends};

/// Where a program of type `syscall` runs, within workloads of a second.
const PROGRAM_NS: u64 = 100_000_000;
/// A run of this many events is a failure of the table.
const MAX_EVENTS: u64 = 20_000_000;
const SEED: u64 = 1;

/// What runs meanwhile.
const WORKLOADS: [(&str, &str); 8] = [
    ("blocked", include_str!("workloads/blocked.toml")),
    ("children", include_str!("workloads/children.toml")),
    ("pinned", include_str!("workloads/pinned.toml")),
    ("preempted", include_str!("workloads/preempted.toml")),
    ("realtime", include_str!("workloads/realtime.toml")),
    ("sleepers", include_str!("workloads/sleepers.toml")),
    ("workers", include_str!("workloads/workers.toml")),
    ("yielders", include_str!("workloads/yielders.toml")),
];

/// What differs from what is expected; an error where the case could not be run.
pub fn differences(object: &Object, case: &Case) -> Result<Vec<String>> {
    let mut object = object.clone();
    let cpus = case.cpus;
    object.set_up = Some((set_up(&object, case)?, Some(cpus)));
    object.attach.clone_from(&case.attach);
    let program = kernel::link(&object, Execution::Paranoid, Release::default())?;
    let plan = plan(case)?;
    let pid = kernel::pid_of(kernel::TaskId(0));
    let runs = case.program.iter().map(|program| ProgramRun {
        at_ns: PROGRAM_NS,
        program: program.clone(),
        context: i64::from(pid).to_le_bytes().to_vec(),
    });
    let options = Options {
        hotplug: case.hotplug.clone(),
        offline: case.offline(),
        ends_at_restart: true,
        runs: runs.collect(),
        max_events: MAX_EVENTS,
        ..Options::default()
    };
    let machine = machine(case)?;
    let tunables = BTreeMap::new();
    let outcome = kernel::simulate(&machine, plan, &program, &object.name, &tunables, options)?;
    let globals = Globals::new(&program, &object.elf, &outcome.data)?;
    let mut differs: Vec<String> = end(case.ends, &outcome).into_iter().collect();
    for expectation in &case.expect {
        differs.extend(expectation.differs(&globals)?);
    }
    for (name, least) in &case.metrics {
        let found = outcome.metrics.get(name).copied().unwrap_or(0.0);
        if found < *least {
            differs.push(format!("expected {name} >= {least}, found {found}"));
        }
    }
    Ok(differs)
}

fn set_up(object: &Object, case: &Case) -> Result<SetUp> {
    let mut set_up = match &case.set {
        Some(node) => values::of(&object.elf, node)?,
        None => SetUp::default(),
    };
    if let Some(flags) = case.flags {
        let bytes = Bytes(flags.to_le_bytes().to_vec());
        set_up.members.insert("flags".to_owned(), bytes);
    }
    Ok(set_up)
}

fn end(expected: Ends, outcome: &Outcome) -> Option<String> {
    let (wanted, holds) = match expected {
        Ends::Well => ("with its workload", outcome.status == Status::Ok),
        Ends::Ejected => ("with the policy's exit", outcome.status == Status::Ejected),
    };
    let reason = match outcome.status {
        Status::Ok => "with its workload",
        _ => outcome.reason.as_str(),
    };
    (!holds).then(|| format!("expected an end {wanted}, found: {reason}"))
}

/// What runs meanwhile, on the case's machine.
pub fn plan(case: &Case) -> Result<Plan> {
    let name = &case.workload;
    let found = WORKLOADS.iter().find(|(known, _)| *known == *name);
    let (_, text) = found.with_context(|| format!("{name}: no such workload of the table"))?;
    let file = format!("crates/conformance/src/workloads/{name}.toml");
    Workload::from_toml(text, &file)?.plan(1, &BTreeMap::new(), case.cpus, SEED)
}

fn machine(case: &Case) -> Result<Machine> {
    let text = format!(
        "name = \"conformance\"\ntitle = \"a machine for the table\"\nsource = \"generic\"\nhz = 250\n[topology]\n\
         sockets = {}\nllcs_per_socket = 1\ncores_per_llc = {}\nthreads_per_core = 1\n",
        case.nodes,
        case.cpus / case.nodes
    );
    Machine::from_toml(&text, "the machine of the table")
}
