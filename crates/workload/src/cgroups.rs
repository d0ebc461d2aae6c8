// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[cgroup]]`: a tree of control groups, each below its parent, and the actions that change it while it is used.

use anyhow::{Result, ensure};
use input::{Kind, Node, Table, suggest};

use crate::compiler::{Compiler, KnownCgroup as Known};
use crate::plan::{Cgroup, CpuMax, Inst, Value};
use crate::scope::Scope;

const LEAST_WEIGHT: i64 = 1;
const MOST_WEIGHT: i64 = 10_000;
/// As the kernel takes them in `cpu.max`: a thousandth of a second at least, and periods of a second at most.
const LEAST_US: i64 = 1_000;
const MOST_PERIOD_US: i64 = 1_000_000;
const MOST_MAX_US: i64 = 1 << 40;

/// The kernel's first group, which has no name.
pub const ROOT: &str = "/";

const LONGEST_NAME: usize = 64;
/// The kernel's own files in a group's folder begin with these and a full stop.
const CONTROLLERS: &[&str] = &[
    "cgroup", "cpu", "cpuset", "dmem", "hugetlb", "io", "irq", "memory", "misc", "pids", "rdma",
];

/// The groups of a file, parents before their children and all below one parent before the next: the order in which
/// they are made, and in which a scheduler that is loaded later hears of them.
pub fn read(nodes: &[Node], scope: &Scope) -> Result<Vec<Cgroup>> {
    let mut named = Vec::new();
    for node in nodes {
        let table = node.table()?;
        let name = name(table.required("name")?)?;
        let taken = named.iter().any(|(other, _)| *other == name);
        ensure!(
            !taken,
            table
                .required("name")?
                .error(format!("expected a new name, {name} is taken"))
        );
        named.push((name, table.optional("parent").map(Node::text).transpose()?));
    }
    let place = |of: &str| named.iter().position(|(name, _)| *name == of);
    for (node, (name, parent)) in nodes.iter().zip(&named) {
        let Some(parent) = *parent else { continue };
        let at = node.table()?.required("parent")?;
        if place(parent).is_none() {
            let hint = suggest(parent, named.iter().map(|(name, _)| *name));
            return Err(at.error(format!("unknown cgroup {parent}, {hint}")));
        }
        let mut above = Some(parent);
        for _ in 0..named.len() {
            above = above.and_then(place).and_then(|place| named[place].1);
        }
        ensure!(
            above.is_none(),
            at.error(format!(
                "expected parents that end at a cgroup without one, {name} is in a circle"
            ))
        );
    }
    let mut order = Vec::new();
    append(None, &named, &mut order);
    let ordered = order.iter().map(|&place| {
        let parent = named[place].1.and_then(|parent| {
            let of_parent = |other: &&usize| named[**other].0 == parent;
            order.iter().position(|other| of_parent(&other))
        });
        cgroup(&nodes[place], named[place].0, parent, scope)
    });
    ordered.collect()
}

/// The groups as programs name them.
pub fn known(cgroups: &[Cgroup]) -> Vec<Known> {
    let is_parent = |place: usize| {
        let mut parents = cgroups.iter().filter_map(|cgroup| cgroup.parent);
        parents.any(|parent| parent as usize == place)
    };
    let groups = cgroups.iter().enumerate();
    groups
        .map(|(place, cgroup)| Known {
            name: cgroup.name.clone(),
            has_children: is_parent(place),
        })
        .collect()
}

/// The children of a parent, each with what is below it.
fn append(parent: Option<&str>, named: &[(&str, Option<&str>)], order: &mut Vec<usize>) {
    for (place, (name, own)) in named.iter().enumerate() {
        if *own == parent {
            order.push(place);
            append(Some(name), named, order);
        }
    }
}

fn name(node: &Node) -> Result<&str> {
    let name = node.text()?;
    let plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    ensure!(
        begins && name.len() <= LONGEST_NAME && name.chars().all(plain),
        node.expected("a name of a-z, 0-9, _, - and full stops, beginning with a letter or digit")
    );
    let own = name.split_once('.').map(|(first, _)| first);
    ensure!(
        own.is_none_or(|first| !CONTROLLERS.contains(&first)),
        node.expected("a name that no file of the kernel's in such a folder has")
    );
    Ok(name)
}

fn cgroup(node: &Node, name: &str, parent: Option<usize>, scope: &Scope) -> Result<Cgroup> {
    let table = node.table()?;
    for key in ["name", "parent"] {
        table.optional(key);
    }
    let weight = table.optional("weight");
    let weight = weight.map(|node| scope.known_in(node, LEAST_WEIGHT, MOST_WEIGHT));
    let cgroup = Cgroup {
        name: name.to_string(),
        parent: parent.map(|parent| parent as u32),
        weight: weight.transpose()?.map(|weight| weight as u32),
        max: max(&table, scope)?,
        cpus: match table.optional("cpus") {
            None => Vec::new(),
            Some(node) => cpus(scope, node)?,
        },
    };
    table.finish()?;
    Ok(cgroup)
}

fn max(table: &Table, scope: &Scope) -> Result<Option<CpuMax>> {
    let period = table.optional("period_us");
    let burst = table.optional("burst_us");
    let Some(node) = table.optional("max_us") else {
        return match period.or(burst) {
            None => Ok(None),
            Some(node) => Err(node.error("expected max_us beside it")),
        };
    };
    let quota_us = if is_no_limit(node) {
        None
    } else {
        Some(scope.known_in(node, LEAST_US, MOST_MAX_US)? as u64)
    };
    let burst_us = match burst {
        None => 0,
        Some(node) => scope.known_in(node, 0, most_burst(node, quota_us)?)? as u64,
    };
    let period_us = period.map(|node| scope.known_in(node, LEAST_US, MOST_PERIOD_US));
    Ok(Some(CpuMax {
        quota_us,
        period_us: period_us
            .transpose()?
            .map_or(CpuMax::PERIOD_US, |us| us as u64),
        burst_us,
    }))
}

/// The kernel keeps no more than a period's time for later.
fn most_burst(node: &Node, quota_us: Option<u64>) -> Result<i64> {
    let quota_us = quota_us.ok_or_else(|| node.error("expected a limit beside it, not \"max\""))?;
    Ok(quota_us as i64)
}

/// What the kernel's file has where there is no limit.
fn is_no_limit(node: &Node) -> bool {
    node.kind == Kind::Text("max".to_string())
}

/// A cpuset has CPUs: an empty list would take the parent's, which is what a group without the key does.
fn cpus(scope: &Scope, node: &Node) -> Result<Vec<u32>> {
    let cpus = scope.cpus(node)?;
    ensure!(
        !cpus.is_empty(),
        node.error("expected at least one CPU, found none")
    );
    Ok(cpus)
}

/// A group by its name, or by what the parameter of that name chooses.
fn find(node: &Node, scope: &Scope, known: &[Known]) -> Result<u32> {
    let name = scope.choice(node)?;
    let place = known.iter().position(|known| known.name == name);
    place.map(|place| place as u32).ok_or_else(|| {
        let hint = suggest(name, known.iter().map(|known| known.name.as_str()));
        node.error(format!("unknown cgroup {name}, {hint}"))
    })
}

/// One that tasks can be in.
pub fn of_tasks(node: &Node, scope: &Scope, known: &[Known]) -> Result<u32> {
    let found = find(node, scope, known)?;
    let Known { name, has_children } = &known[found as usize];
    ensure!(
        !has_children,
        node.error(format!(
            "expected a cgroup that is no other's parent, {name} is one"
        ))
    );
    Ok(found)
}

/// Where tasks can move: to one of these, or to the kernel's first group.
pub fn destination(node: &Node, scope: &Scope, known: &[Known]) -> Result<Option<u32>> {
    if scope.choice(node)? == ROOT && !known.is_empty() {
        return Ok(None);
    }
    of_tasks(node, scope, known).map(Some)
}

/// An action that changes a group, which `of` names.
pub fn change(compiler: &Compiler, action: &str, node: &Node, table: &Table) -> Result<Inst> {
    let (scope, known) = (compiler.scope, &compiler.arrays.cgroups);
    let cgroup = find(table.required("of")?, scope, known)?;
    Ok(match action {
        "weight" => Inst::CgroupWeight {
            cgroup,
            weight: value(compiler, node, LEAST_WEIGHT, MOST_WEIGHT)?,
        },
        "cpuset" => Inst::CgroupCpus {
            cgroup,
            cpus: cpus(scope, node)?,
        },
        _ => {
            let quota_us = if is_no_limit(node) {
                None
            } else {
                Some(value(compiler, node, LEAST_US, MOST_MAX_US)?)
            };
            let period = table.optional("period_us");
            let period = period.map(|node| value(compiler, node, LEAST_US, MOST_PERIOD_US));
            let burst = table.optional("burst_us");
            let burst = burst.map(|node| {
                let quota_us = match quota_us {
                    Some(Value::Const(us)) => Some(us as u64),
                    Some(_) => Some(MOST_MAX_US as u64),
                    None => None,
                };
                value(compiler, node, 0, most_burst(node, quota_us)?)
            });
            Inst::CgroupMax {
                cgroup,
                period_us: period.transpose()?,
                burst_us: burst.transpose()?,
                quota_us,
            }
        }
    })
}

/// A group comes or goes while the workload runs.
pub fn come_or_go(compiler: &Compiler, action: &str, node: &Node) -> Result<Inst> {
    let cgroup = of_tasks(node, compiler.scope, &compiler.arrays.cgroups)?;
    Ok(if action == "make_cgroup" {
        Inst::MakeCgroup { cgroup }
    } else {
        Inst::RemoveCgroup { cgroup }
    })
}

/// A number whose range is checked where it is known.
fn value(compiler: &Compiler, node: &Node, low: i64, high: i64) -> Result<Value> {
    let value = compiler.value(node)?;
    if let Value::Const(_) = value {
        compiler.scope.known_in(node, low, high)?;
    }
    Ok(value)
}

/// What a task computed for a weight or a limit, moved into the range that the kernel takes.
pub fn weight(value: i64) -> u32 {
    value.clamp(LEAST_WEIGHT, MOST_WEIGHT) as u32
}

pub fn quota_us(value: i64) -> u64 {
    value.clamp(LEAST_US, MOST_MAX_US) as u64
}

pub fn period_us(value: i64) -> u64 {
    value.clamp(LEAST_US, MOST_PERIOD_US) as u64
}

pub fn burst_us(value: i64, quota_us: u64) -> u64 {
    value.clamp(0, quota_us as i64) as u64
}
