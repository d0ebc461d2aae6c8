// SPDX-License-Identifier: GPL-2.0-or-later
//! Fixes a workload at one load: sections of the file to the lists of a plan.

use anyhow::{Result, ensure};
use cell::{METRICS, Metric, Origin, metric};
use input::{Node, Table, suggest};

use crate::action;
use crate::compiler::Arrays;
use crate::plan::{End, Group, Inst, Plan, Policy, Start};
use crate::program::compile;
use crate::scope::Scope;
use crate::{cgroups, expr, queues};

/// Keys of the file that this reads.
pub const SECTIONS: &[&str] = &[
    "queue",
    "lock",
    "semaphore",
    "condition",
    "variable",
    "cgroup",
    "task",
    "end",
    "metrics",
];

/// Most tasks, queues, locks and semaphores of one plan.
const MAX_COUNT: i64 = 1_000_000;

/// `root`: the whole file.
pub fn plan(root: &Node, scope: &Scope, seed: u64) -> Result<Plan> {
    let table = root.table()?;
    let metrics = table.required("metrics")?;
    let throughput = match metrics.table()?.optional("throughput") {
        Some(node) => Some(node.text()?),
        None => None,
    };
    let mut arrays = Arrays {
        counters: action::counters(throughput),
        ..Arrays::default()
    };
    let mut queue_kinds = Vec::new();
    for node in section(&table, "queue")? {
        let queue = node.table()?;
        arrays.queues.push(named(&queue, scope, &arrays.queues)?);
        let kind = queues::kind(queue.required("kind")?, scope)?;
        queue_kinds.push((
            kind,
            queues::back_of(&queue, kind, &arrays.queues, &queue_kinds)?,
        ));
        queue.finish()?;
    }
    for node in section(&table, "lock")? {
        let lock = node.table()?;
        arrays.locks.push(named(&lock, scope, &arrays.locks)?);
        lock.finish()?;
    }
    for node in section(&table, "condition")? {
        let condition = node.table()?;
        arrays
            .conditions
            .push(named(&condition, scope, &arrays.conditions)?);
        condition.finish()?;
    }
    let semaphores = with_initial(&table, "semaphore", scope, 0, MAX_COUNT)?;
    let variables = with_initial(&table, "variable", scope, i64::MIN, i64::MAX)?;
    (arrays.semaphores, arrays.variables) = (semaphores.0, variables.0);
    let cgroups = cgroups::read(section(&table, "cgroup")?, scope)?;
    arrays.cgroups = cgroups::known(&cgroups);
    let tasks = section(&table, "task")?;
    ensure!(
        !tasks.is_empty(),
        root.error("task: expected at least one [[task]], found none")
    );
    for node in tasks {
        let task = node.table()?;
        let names: Vec<_> = arrays
            .groups
            .iter()
            .map(|(n, c, _)| (n.clone(), *c))
            .collect();
        let (name, count) = named(&task, scope, &names)?;
        arrays
            .groups
            .push((name, count, start(&task)? == Start::Fork));
    }
    let groups = tasks
        .iter()
        .zip(&arrays.groups)
        .map(|(node, (name, count, _))| group(node, name, *count, scope, &arrays))
        .collect::<Result<Vec<_>>>()?;
    let total: i64 = groups.iter().map(|group| i64::from(group.count)).sum();
    let many = format!("task: expected at most {MAX_COUNT} tasks, found {total}");
    ensure!(total <= MAX_COUNT, root.error(many));
    let mut plan = Plan {
        queues: queues::arrays(
            section(&table, "queue")?,
            &arrays.queues,
            &queue_kinds,
            &groups,
        )?,
        groups,
        cgroups,
        locks: arrays.locks.iter().map(|(_, len)| *len).collect(),
        semaphores: (arrays.semaphores.iter().zip(&semaphores.1))
            .map(|((_, len), initial)| (*len, *initial as u32))
            .collect(),
        conditions: arrays.conditions.iter().map(|(_, len)| *len).collect(),
        variables: (arrays.variables.iter().zip(&variables.1))
            .map(|((_, len), initial)| (*len, *initial))
            .collect(),
        end: table
            .optional("end")
            .map_or(Ok(End::All), |node| end(node, scope, &arrays))?,
        distributions: Origin::Logged.names().map(str::to_owned).collect(),
        counters: arrays.counters.clone(),
        throughput: throughput.map(|_| 0),
        promises: Vec::new(),
        seed,
    };
    keep_used_metrics(&mut plan);
    plan.promises = promises(metrics, &plan)?;
    forks(tasks, &plan)?;
    Ok(plan)
}

/// `[[name]]`, possibly none.
fn section<'a>(table: &Table<'a>, name: &str) -> Result<&'a [Node]> {
    table.optional(name).map_or(Ok(&[]), Node::list)
}

/// Names and lengths of arrays, and the numbers that their elements begin with.
type WithInitial = (Vec<(String, u32)>, Vec<i64>);

fn with_initial(
    table: &Table,
    name: &str,
    scope: &Scope,
    low: i64,
    high: i64,
) -> Result<WithInitial> {
    let (mut arrays, mut initial) = (Vec::new(), Vec::new());
    for node in section(table, name)? {
        let array = node.table()?;
        arrays.push(named(&array, scope, &arrays)?);
        let first = array.optional("initial");
        initial.push(first.map_or(Ok(0), |node| scope.known_in(node, low, high))?);
        array.finish()?;
    }
    Ok((arrays, initial))
}

/// Name and length of an array.
fn named(table: &Table, scope: &Scope, others: &[(String, u32)]) -> Result<(String, u32)> {
    let node = table.required("name")?;
    let name = node.text()?;
    ensure!(
        expr::is_name(name),
        node.expected("a name of a-z, 0-9 and _")
    );
    let taken = others.iter().any(|(other, _)| other == name);
    ensure!(
        !taken,
        node.error(format!("expected a new name, {name} is taken"))
    );
    let count = table.optional("count");
    let count = count.map_or(Ok(1), |node| scope.known_in(node, 1, MAX_COUNT))?;
    Ok((name.to_string(), count as u32))
}

fn start(table: &Table) -> Result<Start> {
    let Some(node) = table.optional("start") else {
        return Ok(Start::Signal);
    };
    match node.text()? {
        "signal" => Ok(Start::Signal),
        "fork" => Ok(Start::Fork),
        _ => Err(node.expected("\"signal\" or \"fork\"")),
    }
}

fn group(node: &Node, name: &str, count: u32, scope: &Scope, arrays: &Arrays) -> Result<Group> {
    let table = node.table()?;
    for key in ["name", "count"] {
        table.optional(key);
    }
    let known = |key, default, low, high| -> Result<i64> {
        table
            .optional(key)
            .map_or(Ok(default), |node| scope.known_in(node, low, high))
    };
    if let Some(models) = table.optional("models") {
        kinds(models, scope)?;
    }
    let start = start(&table)?;
    let threads = table.optional("threads").map_or(Ok(false), Node::bool)?;
    let (program, locals) = compile(table.required("program")?, count, scope, arrays)?;
    if let Some(node) = table
        .optional("threads")
        .filter(|_| threads && program.contains(&Inst::Exec))
    {
        return Err(node.error("expected processes where a program says exec"));
    }
    let group = Group {
        name: name.to_string(),
        count,
        start,
        threads,
        nice: known("nice", 0, -20, 19)? as i32,
        policy: table
            .optional("policy")
            .map_or(Ok(Policy::Other), |node| action::policy(node, scope))?,
        slice_us: known("slice_us", 0, 0, 100_000)? as u32,
        cpus: table
            .optional("cpus")
            .map_or(Ok(Vec::new()), |node| scope.cpus(node))?,
        cgroup: cgroup(&table, start, threads, scope, arrays)?,
        kernel: table.optional("kernel").map_or(Ok(false), Node::bool)?,
        footprint_kib: known("footprint_kib", 0, 0, 1 << 20)? as u32,
        locals,
        program,
    };
    if let Some(node) = table
        .optional("slice_us")
        .filter(|_| group.slice_us > 0 && !matches!(group.policy, Policy::Other | Policy::Batch))
    {
        return Err(node.error("expected policy \"other\" or \"batch\" beside it"));
    }
    table.finish()?;
    Ok(group)
}

/// The control group that tasks begin in, where the file says one.
fn cgroup(
    table: &Table,
    start: Start,
    threads: bool,
    scope: &Scope,
    arrays: &Arrays,
) -> Result<Option<u32>> {
    let Some(node) = table.optional("cgroup") else {
        return Ok(None);
    };
    let found = cgroups::of_tasks(node, scope, &arrays.cgroups)?;
    ensure!(
        !(threads && start == Start::Fork),
        node.error("expected processes beside it: a thread is where its process is")
    );
    let kernel = table.optional("kernel").map_or(Ok(false), Node::bool)?;
    ensure!(
        !kernel,
        node.error("expected no thread of the kernel's beside it: those stay in the first group")
    );
    Ok(Some(found))
}

/// Names of tasks of the profile that this one is the model of, for who compares them.
fn kinds(node: &Node, scope: &Scope) -> Result<()> {
    let profile = scope.profile(node)?;
    node.list()?
        .iter()
        .try_for_each(|name| profile.task(name, name.text()?).map(drop))
}

fn end(node: &Node, scope: &Scope, arrays: &Arrays) -> Result<End> {
    let table = node.table()?;
    let [(key, value)] = table.entries() else {
        return Err(node.error("expected one of after_s, after_ms, task"));
    };
    let end = match (
        key.as_str(),
        key.strip_prefix("after_").and_then(action::unit_ns),
    ) {
        ("task", _) => {
            let name = value.text()?;
            let group = arrays.groups.iter().position(|(group, ..)| group == name);
            let hint = || suggest(name, arrays.groups.iter().map(|(group, ..)| group.as_str()));
            let unknown = || value.error(format!("unknown task {name}, {}", hint()));
            End::Group(group.ok_or_else(unknown)? as u32)
        }
        (_, Some(unit_ns)) => {
            let longest = 1_000_000_000_000_000 / unit_ns;
            End::After {
                ns: (scope.known_in(value, 1, longest)? * unit_ns) as u64,
            }
        }
        _ => {
            let hint = suggest(key, ["after_s", "after_ms", "task"]);
            return Err(value.error(format!("unknown key, {hint}")));
        }
    };
    Ok(end)
}

/// Drops distributions and counters that no program produces.
fn keep_used_metrics(plan: &mut Plan) {
    let mut distributions: Vec<u32> = Vec::new();
    let mut counters: Vec<u32> = Vec::new();
    for inst in plan.groups.iter_mut().flat_map(|group| &mut group.program) {
        let (used, metric) = match inst {
            Inst::Log { metric, .. } => (&mut distributions, metric),
            Inst::Count { metric, .. } => (&mut counters, metric),
            _ => continue,
        };
        let position = used.iter().position(|known| known == metric);
        *metric = position.unwrap_or_else(|| {
            used.push(*metric);
            used.len() - 1
        }) as u32;
    }
    let names = |used: &[u32], all: &[String]| {
        used.iter()
            .map(|&metric| all[metric as usize].clone())
            .collect::<Vec<_>>()
    };
    plan.throughput = plan
        .throughput
        .and_then(|counter| counters.iter().position(|known| *known == counter))
        .map(|counter| counter as u32);
    plan.distributions = names(&distributions, &plan.distributions);
    plan.counters = names(&counters, &plan.counters);
}

/// Every promised metric is produced in every place.
fn promises(node: &Node, plan: &Plan) -> Result<Vec<String>> {
    let table = node.table()?;
    if let Some(node) = table.optional("throughput") {
        let counted = plan.throughput.is_some();
        ensure!(
            counted,
            node.error("expected a counter that a program counts")
        );
    }
    let mut promises = Vec::new();
    for item in table.required("promises")?.list()? {
        let name = item.text()?;
        let Some(Metric { origin, .. }) = metric(name) else {
            let known = METRICS
                .iter()
                .filter(|metric| metric.origin != Origin::PlaceDependent)
                .map(|metric| metric.name);
            let hint = suggest(name, known);
            return Err(item.error(format!("unknown metric {name}, {hint}")));
        };
        let has = |names: &[String]| names.iter().any(|known| known == name);
        let produced = match origin {
            Origin::Measured => true,
            Origin::Throughput => plan.throughput.is_some(),
            Origin::Logged => has(&plan.distributions),
            Origin::Counted => has(&plan.counters),
            Origin::PlaceDependent => {
                return Err(item.error(format!("expected a metric of every place, {name} is not")));
            }
        };
        ensure!(
            produced,
            item.error(format!(
                "expected a metric that the programs produce, {name} is not"
            ))
        );
        promises.push(name.to_string());
    }
    table.finish()?;
    Ok(promises)
}

/// Every task that is started by forking is forked by some program.
fn forks(tasks: &[Node], plan: &Plan) -> Result<()> {
    let insts = || plan.groups.iter().flat_map(|group| &group.program);
    for (index, (group, node)) in plan.groups.iter().zip(tasks).enumerate() {
        let forked = insts()
            .any(|inst| matches!(inst, Inst::Fork { group, .. } if *group as usize == index));
        let silent = group.start == Start::Fork && !forked;
        ensure!(
            !silent,
            node.error(format!("expected a program that forks {}", group.name))
        );
        // A new image would end them.
        let replaced = plan.groups.iter().find(|by| {
            let starts =
                |inst: &Inst| matches!(inst, Inst::Fork { group, .. } if *group as usize == index);
            by.program.contains(&Inst::Exec) && by.program.iter().any(starts)
        });
        if let Some(by) = replaced.filter(|_| group.threads) {
            return Err(node.error(format!("expected processes where {} says exec", by.name)));
        }
    }
    let signal = plan.groups.iter().any(|group| group.start == Start::Signal);
    ensure!(
        signal,
        tasks[0].error("expected a task that begins with the start signal, found none")
    );
    Ok(())
}
