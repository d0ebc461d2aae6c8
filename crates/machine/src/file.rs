// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading machine files (`docs/machines.md`).

use anyhow::{Result, ensure};
use input::{Node, Table};

use crate::{
    Costs, IdleState, MAX_CPUS, Machine, Numbering, RtGuard, RtKernel, Shape, Spreads, Topology,
    frequency_file,
};

/// A cost of ten seconds is a slip of the pen.
const MAX_COST: i64 = 10_000_000_000;
/// A cost is never nothing because of its spread.
const MAX_SPREAD_PCT: i64 = 90;

pub(crate) fn machine(text: &str, file: &str) -> Result<Machine> {
    let root = Node::parse(text, file)?;
    let table = root.table()?;
    let name = table.required("name")?;
    let mut machine = Machine {
        name: name.text()?.to_string(),
        title: table.required("title")?.text()?.to_string(),
        hz: {
            table.required("source")?.text()?;
            table.required("hz")?.integer(1..=10_000)? as u32
        },
        nohz_full: Vec::new(),
        one_clock: table.optional("one_clock").map_or(Ok(false), Node::bool)?,
        rt_guard: table
            .optional("rt_guard")
            .map_or(Ok(RtGuard::default()), rt_guard)?,
        rt_kernel: rt_kernel(&table)?,
        ttwu_queue: table.optional("ttwu_queue").map_or(Ok(true), Node::bool)?,
        topology: topology(table.required("topology")?)?,
        frequency: None,
        power: None,
        costs: table
            .optional("costs")
            .map_or_else(|| Ok(Costs::default()), costs)?,
        spreads: table
            .optional("spread_pct")
            .map_or_else(|| Ok(Spreads::default()), spreads)?,
    };
    if let Some(list) = table.optional("nohz_full") {
        machine.nohz_full = nohz_full(list, machine.cpus())?;
    }
    if let Some(node) = table.optional("frequency") {
        machine.frequency = Some(frequency_file::frequency(node, machine.one_clock)?);
    }
    if let Some(node) = table.optional("power") {
        machine.power = Some(frequency_file::power(node, machine.frequency.as_ref())?);
    }
    ensure!(
        is_name(&machine.name),
        name.expected("a name of a-z, 0-9 and -")
    );
    table.finish()?;
    Ok(machine)
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(plain)
}

fn topology(node: &Node) -> Result<Topology> {
    let table = node.table()?;
    let count =
        |key| -> Result<u32> { Ok(table.required(key)?.integer(1..=MAX_CPUS as i64)? as u32) };
    let shape = Shape {
        sockets: count("sockets")?,
        llcs_per_socket: count("llcs_per_socket")?,
        cores_per_llc: count("cores_per_llc")?,
        threads_per_core: count("threads_per_core")?,
        numbering: table
            .optional("numbering")
            .map_or(Ok(Numbering::Adjacent), numbering)?,
    };
    let capacities = table
        .optional("capacities")
        .map_or(Ok(Vec::new()), |list| {
            list.list()?
                .iter()
                .map(|item| Ok(item.integer(1..=1024)? as u32))
                .collect::<Result<_>>()
        })?;
    if let Some(list) = table.optional("capacities") {
        let cores = shape.cores();
        ensure!(
            capacities.len() as u64 == cores,
            list.expected(&format!("{cores} capacities, one a core"))
        );
        let fastest = capacities.iter().max();
        ensure!(
            fastest == Some(&1024),
            list.error("expected the fastest core at 1024")
        );
    }
    table.finish()?;
    ensure!(
        shape.cpus() <= MAX_CPUS as u64,
        node.error(format!(
            "expected at most {MAX_CPUS} CPUs, found {}",
            shape.cpus()
        ))
    );
    Ok(Topology::regular(shape, &capacities))
}

/// The kernel leaves itself at least one CPU to keep the time with.
fn nohz_full(node: &Node, cpus: usize) -> Result<Vec<u32>> {
    let items = node.list()?.iter();
    let last = cpus as i64 - 1;
    let mut found = items
        .map(|item| Ok(item.integer(0..=last)? as u32))
        .collect::<Result<Vec<u32>>>()?;
    found.sort_unstable();
    found.dedup();
    ensure!(
        found.len() < cpus,
        node.expected("a list of CPUs, not of all")
    );
    Ok(found)
}

fn rt_guard(node: &Node) -> Result<RtGuard> {
    RtGuard::named(node.text()?).ok_or_else(|| node.expected(&RtGuard::names()))
}

fn rt_kernel(table: &Table) -> Result<RtKernel> {
    let mut kernel = RtKernel::default();
    if let Some(node) = table.optional("rt_highest_sought") {
        kernel.highest_sought = node.integer(0..=99)? as u8;
    }
    if let Some(node) = table.optional("rt_lockup_look_ms") {
        kernel.lockup_look_ms = node.integer(0..=60_000)? as u32;
    }
    Ok(kernel)
}

fn numbering(node: &Node) -> Result<Numbering> {
    match node.text()? {
        "adjacent" => Ok(Numbering::Adjacent),
        "split" => Ok(Numbering::Split),
        _ => Err(node.expected("\"adjacent\" or \"split\"")),
    }
}

fn costs(node: &Node) -> Result<Costs> {
    let table = node.table()?;
    let mut costs = Costs::default();
    for (key, cost) in costs.scalars() {
        if let Some(node) = table.optional(key) {
            *cost = node.integer(0..=MAX_COST)? as u64;
        }
    }
    // A hardware thread beside a busy sibling still runs, and never faster than alone.
    if let Some(node) = table.optional("smt_speed_pct") {
        costs.smt_speed_pct = node.integer(1..=100)? as u64;
    }
    for (key, values) in costs.by_distance() {
        by_distance(&table, key, values)?;
    }
    if let Some(node) = table.optional("idle_states_ns") {
        costs.idle_states = deeper(node, costs.idle_exit_ns)?;
    }
    table.finish()?;
    Ok(costs)
}

fn spreads(node: &Node) -> Result<Spreads> {
    let table = node.table()?;
    let mut found = Spreads::default();
    let mut costs = Costs::default();
    let scalars = costs.scalars().map(|(key, _)| key);
    let lists = costs.by_distance().map(|(key, _)| key);
    for key in scalars.into_iter().chain(lists) {
        if let Some(node) = table.optional(key) {
            found.set(key, node.integer(1..=MAX_SPREAD_PCT)? as u32);
        }
    }
    table.finish()?;
    Ok(found)
}

/// Each state is slower to leave than the one before, and pays later.
fn deeper(node: &Node, mut least_exit_ns: u64) -> Result<Vec<IdleState>> {
    let mut least_residency_ns = 0;
    let mut states = Vec::new();
    for item in node.list()? {
        let [exit, residency] = item.list()? else {
            return Err(item.expected(
                "a list of two: to leave the state, and the idle time from which it pays",
            ));
        };
        let exit_ns = exit.integer(least_exit_ns as i64 + 1..=MAX_COST)? as u64;
        let residency_ns = residency.integer(least_residency_ns as i64 + 1..=MAX_COST)? as u64;
        states.push(IdleState {
            exit_ns,
            residency_ns,
        });
        (least_exit_ns, least_residency_ns) = (exit_ns, residency_ns);
    }
    Ok(states)
}

fn by_distance(table: &Table, key: &str, costs: &mut [u64; 5]) -> Result<()> {
    let Some(node) = table.optional(key) else {
        return Ok(());
    };
    let items = node.list()?;
    let what = "five costs: same CPU, SMT sibling, LLC, node, remote";
    ensure!(items.len() == 5, node.expected(what));
    for (cost, item) in costs.iter_mut().zip(items) {
        *cost = item.integer(0..=MAX_COST)? as u64;
    }
    Ok(())
}
