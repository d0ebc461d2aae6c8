// SPDX-License-Identifier: GPL-2.0-or-later
//! One case: the policy set up as the test's user half does it, run, and judged.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use cell::Status;
use input::Node;
use kernel::{Execution, GlobalWrite, Options, Outcome, ProgramRun, Release};
use machine::Machine;
use policy::set_up::Bytes;
use policy::{Object, SetUp, values};
use workload::Workload;
use workload::plan::Plan;

use crate::globals::Globals;
use crate::table::{Case, Ends};

/// When the user half acts, within workloads of a second: a program of type `syscall` runs, variables are set.
const LATER_NS: u64 = 100_000_000;
/// A run of this many events is a failure of the table.
const MAX_EVENTS: u64 = 20_000_000;
const SEED: u64 = 1;

/// What runs meanwhile.
const WORKLOADS: [(&str, &str); 9] = [
    ("blocked", include_str!("workloads/blocked.toml")),
    ("children", include_str!("workloads/children.toml")),
    ("one_cpu", include_str!("workloads/one_cpu.toml")),
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
    let program = match (
        kernel::link(&object, Execution::Paranoid, Release::default()),
        case.ends,
    ) {
        (linked, Ends::Refused) => return Ok(refusal(linked.err(), &case.reason)),
        (linked, Ends::Well | Ends::Ejected) => linked?,
    };
    let plan = plan(case)?;
    let pid = kernel::pid_of(kernel::TaskId(0));
    let runs = case.program.iter().map(|program| ProgramRun {
        at_ns: LATER_NS,
        program: program.clone(),
        context: i64::from(pid).to_le_bytes().to_vec(),
    });
    let options = Options {
        hotplug: case.hotplug.clone(),
        offline: case.offline(),
        ends_at_restart: true,
        runs: runs.collect(),
        writes: writes(&object, case)?,
        max_events: MAX_EVENTS,
        ..Options::default()
    };
    let machine = machine(case)?;
    let tunables = BTreeMap::new();
    let outcome = kernel::simulate(&machine, plan, &program, &object.name, &tunables, options)?;
    let globals = Globals::new(&program, &object.elf, outcome.data.bytes())?;
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

/// What the user half sets while the policy is loaded.
fn writes(object: &Object, case: &Case) -> Result<Vec<GlobalWrite>> {
    let Some(node) = &case.later else {
        return Ok(Vec::new());
    };
    let mut data = values::of(&object.elf, node)?.data;
    let globals = policy::globals(&object.elf)?;
    let entries = node.table()?.entries();
    let write = |(name, _): &(String, Node)| {
        let global = globals.get(name);
        let place = global.and_then(|global| global.slice(&mut data.get_mut(&global.section)?.0));
        Ok(GlobalWrite {
            at_ns: LATER_NS,
            global: name.clone(),
            bytes: place.with_context(|| name.clone())?.to_vec(),
        })
    };
    entries.iter().map(write).collect()
}

fn refusal(error: Option<anyhow::Error>, reason: &str) -> Vec<String> {
    let found = error.map_or("it is loaded".to_owned(), |error| {
        input::one_line(&format!("{error:#}"))
    });
    let holds = found.contains(reason);
    let differs = format!("expected that it is refused, because: {reason}; found: {found}");
    if holds { Vec::new() } else { vec![differs] }
}

fn end(expected: Ends, outcome: &Outcome) -> Option<String> {
    let (wanted, holds) = match expected {
        Ends::Well => ("with its workload", outcome.status == Status::Ok),
        Ends::Ejected => ("with the policy's exit", outcome.status == Status::Ejected),
        Ends::Refused => unreachable!("it has not begun"),
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
        "name = \"conformance\"\ntitle = \"a machine for the table\"\nsource = \"generic\"\nhz = 250\n\
         nohz_full = {:?}\n[topology]\nsockets = {}\nllcs_per_socket = 1\ncores_per_llc = {}\nthreads_per_core = 1\n",
        case.nohz_full,
        case.nodes,
        case.cpus / case.nodes
    );
    Machine::from_toml(&text, "the machine of the table")
}
