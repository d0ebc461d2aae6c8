// SPDX-License-Identifier: GPL-2.0-or-later
//! One action of a program to one instruction.

use anyhow::{Result, ensure};
use cell::Origin;
use input::{Kind, Node, Table, suggest};

use crate::cgroups;
use crate::compiler::Compiler;
use crate::expr::combine;
use crate::plan::{Draw, Inst, Policy, QueueRef, Since, Value};
use crate::scope::Scope;

pub const ACTIONS: &[&str] = &[
    "run_ns",
    "run_us",
    "run_ms",
    "run_s",
    "draw_ns",
    "draw_us",
    "draw_ms",
    "draw_s",
    "sleep_ns",
    "sleep_us",
    "sleep_ms",
    "sleep_s",
    "timer_ns",
    "timer_us",
    "timer_ms",
    "timer_s",
    "until_ns",
    "until_us",
    "until_ms",
    "until_s",
    "elapsed_ns",
    "elapsed_us",
    "elapsed_ms",
    "elapsed_s",
    "send",
    "recv",
    "poll",
    "lock",
    "spin",
    "unlock",
    "wait",
    "post",
    "await",
    "signal",
    "add",
    "store",
    "fill",
    "read",
    "write",
    "fork",
    "exec",
    "exit",
    "reap",
    "alive",
    "yield",
    "nice",
    "policy",
    "affinity",
    "confine",
    "cgroup",
    "make_cgroup",
    "remove_cgroup",
    "weight",
    "max_us",
    "cpuset",
    "cpu",
    "stamp",
    "log",
    "count",
    "set",
];

/// Eleven days: what lies beyond is a slip of the pen.
const MAX_NS: i64 = 1_000_000_000_000_000;
/// A buffer that any machine has room for.
const MAX_BUFFER: i64 = 1 << 30;
/// What one write to a pipe or socket may carry.
const MAX_MESSAGE: i64 = 65_536;

pub fn compile(compiler: &mut Compiler, action: &str, node: &Node, table: &Table) -> Result<Inst> {
    if let "weight" | "max_us" | "cpuset" = action {
        return cgroups::change(compiler, action, node, table);
    }
    if let Some((action, unit_ns)) = split_unit(action) {
        return timed(compiler, action, unit_ns, node, table);
    }
    let arrays = compiler.arrays;
    Ok(match action {
        "send" => {
            let queue = queue(compiler, node)?;
            let bytes = table.required("bytes")?;
            let bytes = Value::Const(compiler.scope.known_in(bytes, 1, MAX_MESSAGE)?);
            Inst::Send { queue, bytes }
        }
        "recv" => Inst::Recv {
            queue: queue(compiler, node)?,
        },
        "poll" => poll(compiler, node, table)?,
        "lock" => {
            let (lock, index) = compiler.element(node, "lock", &arrays.locks)?;
            Inst::Lock { lock, index }
        }
        "spin" => {
            let (lock, index) = compiler.element(node, "lock", &arrays.locks)?;
            Inst::Spin { lock, index }
        }
        "unlock" => {
            let (lock, index) = compiler.element(node, "lock", &arrays.locks)?;
            Inst::Unlock { lock, index }
        }
        "wait" => wait(compiler, node, table)?,
        "post" => {
            let (sem, index) = compiler.element(node, "semaphore", &arrays.semaphores)?;
            Inst::Post { sem, index }
        }
        "await" => wait_condition(compiler, node, table)?,
        "signal" => {
            let (condition, index) = compiler.element(node, "condition", &arrays.conditions)?;
            let all = table.optional("all").map_or(Ok(false), Node::bool)?;
            Inst::Signal {
                condition,
                index,
                all,
            }
        }
        "add" | "store" => variable(compiler, action == "add", node, table)?,
        "fill" => fill(compiler, node, table)?,
        "read" | "write" => disk(compiler, action == "write", node, table)?,
        "fork" => fork(compiler, node)?,
        "alive" => Inst::Alive {
            into: compiler.target(node)?,
        },
        "cpu" => cpu(compiler, node)?,
        "nice" => nice(compiler, node, table)?,
        "policy" => set_policy(compiler, node, table)?,
        "affinity" => Inst::Affinity {
            cpus: compiler.scope.cpus(node)?,
        },
        "confine" => {
            let (group, index) = task(compiler, node)?;
            Inst::Confine {
                group,
                index,
                cpus: compiler.scope.cpus(table.required("cpus")?)?,
            }
        }
        "cgroup" => move_to_cgroup(compiler, node, table)?,
        "make_cgroup" | "remove_cgroup" => cgroups::come_or_go(compiler, action, node)?,
        "log" => log(compiler, node, table)?,
        "count" => {
            let by = table
                .optional("by")
                .map_or(Ok(Value::Const(1)), |n| compiler.value(n))?;
            Inst::Count {
                metric: counter(compiler, node)?,
                by,
            }
        }
        "set" => {
            let value = compiler.value(table.required("value")?)?;
            Inst::Set {
                local: compiler.target(node)?,
                value,
            }
        }
        _ => {
            Compiler::alone(node)?;
            match action {
                "exec" => Inst::Exec,
                "exit" => Inst::Exit,
                "reap" => Inst::Reap,
                "yield" => Inst::Yield,
                "stamp" => Inst::Stamp,
                _ => return Err(node.error("unknown action")),
            }
        }
    })
}

fn variable(compiler: &mut Compiler, add: bool, node: &Node, table: &Table) -> Result<Inst> {
    let (variable, index) = compiler.element(node, "variable", &compiler.arrays.variables)?;
    if !add {
        let value = compiler.value(table.required("value")?)?;
        return Ok(Inst::Store {
            variable,
            index,
            value,
        });
    }
    let by = compiler.value(table.required("by")?)?;
    let into = compiler.target(table.required("into")?)?;
    Ok(Inst::Add {
        variable,
        index,
        by,
        into,
    })
}

fn fill(compiler: &Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let buffer = table.required("buffer")?;
    Ok(Inst::Fill {
        bytes: compiler.value(node)?,
        buffer_bytes: compiler.scope.known_in(buffer, 1, MAX_BUFFER)? as u32,
    })
}

fn disk(compiler: &Compiler, write: bool, node: &Node, table: &Table) -> Result<Inst> {
    let bytes = compiler.value(node)?;
    let flag = |key| table.optional(key).map_or(Ok(false), Node::bool);
    if write && flag("null")? {
        return Ok(Inst::Discard { bytes });
    }
    let sync = flag("sync")?;
    Ok(Inst::Disk { bytes, write, sync })
}

/// What carries its unit in its name.
fn timed(
    compiler: &mut Compiler,
    action: &str,
    unit_ns: i64,
    node: &Node,
    table: &Table,
) -> Result<Inst> {
    Ok(match action {
        "run" => Inst::Run {
            ns: draw(compiler, node, unit_ns)?,
        },
        "draw" => Inst::Draw {
            value: draw_units(compiler, table.required("from")?, unit_ns)?,
            into: compiler.target(node)?,
        },
        "sleep" => Inst::Sleep {
            ns: draw(compiler, node, unit_ns)?,
        },
        "elapsed" => Inst::Elapsed {
            since: since(compiler, node, table)?,
            unit_ns,
            into: compiler.target(node)?,
        },
        "until" => Inst::Until {
            ns: duration(compiler, node, unit_ns, 0)?,
        },
        _ => Inst::Timer {
            period_ns: duration(compiler, node, unit_ns, 1)?,
            skip: table.optional("skip").map_or(Ok(true), Node::bool)?,
        },
    })
}

/// `run_us` is `run`, counted in 1,000 ns.
fn split_unit(action: &str) -> Option<(&str, i64)> {
    let (name, unit) = action.split_once('_')?;
    Some((name, unit_ns(unit)?))
}

pub fn unit_ns(unit: &str) -> Option<i64> {
    match unit {
        "ns" => Some(1),
        "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        _ => None,
    }
}

/// A value in nanoseconds; what is known must lie between `low` units and eleven days.
fn duration(compiler: &Compiler, node: &Node, unit_ns: i64, low: i64) -> Result<Value> {
    let value = compiler.value(node)?;
    if let Value::Const(_) = value {
        compiler.scope.known_in(node, low, MAX_NS / unit_ns)?;
    }
    combine('*', value, Value::Const(unit_ns)).map_err(|message| node.error(message))
}

/// A draw of nanoseconds; its numbers are in units.
fn draw(compiler: &Compiler, node: &Node, unit_ns: i64) -> Result<Draw> {
    if !matches!(node.kind, Kind::Table(_)) {
        return Ok(Draw::Fixed(duration(compiler, node, unit_ns, 0)?));
    }
    if node.table()?.optional("profile").is_some() {
        return Ok(Draw::Table(measured(compiler, node)?));
    }
    literal(compiler, node, unit_ns)
}

/// A draw of units, for a local.
fn draw_units(compiler: &Compiler, node: &Node, unit_ns: i64) -> Result<Draw> {
    if node.table()?.optional("profile").is_none() {
        return literal(compiler, node, 1);
    }
    let in_units = |(ns, weight): (i64, u32)| ((ns + unit_ns / 2) / unit_ns, weight);
    Ok(Draw::Table(
        measured(compiler, node)?
            .into_iter()
            .map(in_units)
            .collect(),
    ))
}

/// From the file's profile: so many thousandths of one of so many parts of each value, less what is charged besides.
fn measured(compiler: &Compiler, node: &Node) -> Result<Vec<(i64, u32)>> {
    let table = node.table()?;
    let name = table.required("profile")?;
    let profile = compiler.scope.profile(name)?;
    let known = |key, default, low, high| -> Result<i64> {
        let node = table.optional(key);
        node.map_or(Ok(default), |node| compiler.scope.known_in(node, low, high))
    };
    let permille = known("permille", 1000, 0, MAX_NS)?;
    let parts = known("of", 1, 1, MAX_NS)?;
    let less_ns = known("less_us", 0, 0, MAX_NS / 1000)? * 1000;
    table.finish()?;
    let names = match &name.kind {
        Kind::List(names) => names.as_slice(),
        _ => std::slice::from_ref(name),
    };
    let mut rows = Vec::new();
    for name in names {
        rows.extend(profile.rows(name)?);
    }
    ensure!(!rows.is_empty(), name.expected("at least one name"));
    let scaled = |(ns, weight): (i64, u32)| {
        let ns = i128::from(ns) * i128::from(permille) / 1000 / i128::from(parts);
        let ns = ns - i128::from(less_ns);
        (ns.clamp(0, MAX_NS.into()) as i64, weight)
    };
    Ok(rows.into_iter().map(scaled).collect())
}

fn literal(compiler: &Compiler, node: &Node, unit_ns: i64) -> Result<Draw> {
    let known = |node: &Node, low| -> Result<i64> {
        Ok(compiler.scope.known_in(node, low, MAX_NS / unit_ns)? * unit_ns)
    };
    let kinds = ["uniform", "exponential", "lognormal", "table", "profile"];
    let [(kind, value)] = node.table()?.entries() else {
        return Err(node.expected("one of uniform, exponential, lognormal, table, profile"));
    };
    match kind.as_str() {
        "uniform" => {
            let [low, high] = value.list()? else {
                return Err(value.expected("a list of two: least and greatest"));
            };
            let (low, high) = (known(low, 0)?, known(high, 0)?);
            let order = "expected the least first and the greatest second";
            ensure!(
                low <= high,
                value.error(format!("{order}, found {low} ns and {high} ns"))
            );
            Ok(Draw::Uniform(low, high))
        }
        "exponential" => Ok(Draw::Exponential {
            mean: known(value, 1)?,
        }),
        "lognormal" => {
            let table = value.table()?;
            let median = known(table.required("median")?, 1)?;
            let sigma_milli = table.required("sigma")?.thousandths(0..=10_000)? as u32;
            let max = known(table.required("max")?, 1)?;
            table.finish()?;
            Ok(Draw::LogNormal {
                median,
                sigma_milli,
                max,
            })
        }
        "table" => {
            let row = |item: &Node| -> Result<(i64, u32)> {
                let [value, weight] = item.list()? else {
                    return Err(item.expected("a list of two: value and weight"));
                };
                Ok((known(value, 0)?, weight.integer(0..=1_000_000_000)? as u32))
            };
            let rows = value.list()?.iter().map(row).collect::<Result<Vec<_>>>()?;
            let some = rows.iter().any(|(_, weight)| *weight > 0);
            ensure!(some, value.error("expected a weight above 0, found none"));
            Ok(Draw::Table(rows))
        }
        _ => Err(value.error(format!("unknown draw, {}", suggest(kind, kinds)))),
    }
}

fn queue(compiler: &Compiler, node: &Node) -> Result<QueueRef> {
    let (array, index) = compiler.element(node, "queue", &compiler.arrays.queues)?;
    Ok(QueueRef { array, index })
}

/// A whole array of queues, or so many of them (`of`) from `first`.
fn poll(compiler: &mut Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let queues = &compiler.arrays.queues;
    let array = Compiler::array(node, "queue", node.text()?, queues)?;
    let len = queues[array as usize].1;
    let (index, count) = match table.optional("first") {
        None => (Value::Const(0), i64::from(len)),
        Some(first) => {
            let index = compiler.value(first)?;
            if let Some(index) = compiler.locals.misses(&index, len) {
                let last = len - 1;
                return Err(
                    first.error(format!("expected an index from 0 to {last}, found {index}"))
                );
            }
            (
                index,
                compiler
                    .scope
                    .known_in(table.required("of")?, 1, len.into())?,
            )
        }
    };
    let into = compiler.target(table.required("into")?)?;
    compiler.locals.slots[usize::from(into)].range = Some((0, count - 1));
    Ok(Inst::Poll {
        first: QueueRef { array, index },
        count: Value::Const(count),
        into,
    })
}

/// One task of a group.
fn task(compiler: &Compiler, node: &Node) -> Result<(u32, Value)> {
    let groups = compiler.arrays.groups.iter();
    let counts: Vec<_> = groups
        .map(|(name, count, _)| (name.clone(), *count))
        .collect();
    compiler.element(node, "task", &counts)
}

/// The task's own, or with `of` another's.
fn nice(compiler: &Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let nice = compiler.value(node)?;
    let Some(of) = table.optional("of") else {
        return Ok(Inst::Nice { nice });
    };
    let (group, index) = task(compiler, of)?;
    Ok(Inst::NiceOf { group, index, nice })
}

/// The task's own, or with `of` another's.
fn set_policy(compiler: &Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let policy = policy(node, compiler.scope)?;
    let Some(of) = table.optional("of") else {
        return Ok(Inst::SetPolicy { policy });
    };
    let (group, index) = task(compiler, of)?;
    Ok(Inst::SetPolicyOf {
        group,
        index,
        policy,
    })
}

/// The task's own process, or with `of` another's.
fn move_to_cgroup(compiler: &Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let cgroup = cgroups::destination(node, compiler.scope, &compiler.arrays.cgroups)?;
    let Some(of) = table.optional("of") else {
        return Ok(Inst::Cgroup { cgroup });
    };
    let (group, index) = task(compiler, of)?;
    Ok(Inst::CgroupOf {
        group,
        index,
        cgroup,
    })
}

fn fork(compiler: &Compiler, node: &Node) -> Result<Inst> {
    let (group, index) = task(compiler, node)?;
    let (name, _, forked) = &compiler.arrays.groups[group as usize];
    ensure!(
        *forked,
        node.error(format!(
            "expected a task with start = \"fork\", {name} has not"
        ))
    );
    Ok(Inst::Fork { group, index })
}

/// One of an array of semaphores, or with `into` whichever of them is posted.
fn wait(compiler: &mut Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let semaphores = &compiler.arrays.semaphores;
    let Some(into) = table.optional("into") else {
        let (sem, index) = compiler.element(node, "semaphore", semaphores)?;
        return Ok(Inst::Wait { sem, index });
    };
    let sem = Compiler::array(node, "semaphore", node.text()?, semaphores)?;
    let last = i64::from(semaphores[sem as usize].1) - 1;
    let into = compiler.target(into)?;
    compiler.locals.slots[usize::from(into)].range = Some((0, last));
    Ok(Inst::WaitAny { sem, into })
}

fn wait_condition(compiler: &Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let arrays = compiler.arrays;
    let (condition, index) = compiler.element(node, "condition", &arrays.conditions)?;
    let releases = match table.optional("holding") {
        None => None,
        Some(lock) => Some(compiler.element(lock, "lock", &arrays.locks)?),
    };
    Ok(Inst::Await {
        condition,
        index,
        releases,
    })
}

fn cpu(compiler: &mut Compiler, node: &Node) -> Result<Inst> {
    let last = i64::from(compiler.scope.cpus) - 1;
    let into = compiler.target(node)?;
    compiler.locals.slots[usize::from(into)].range = Some((0, last));
    Ok(Inst::Cpu { into })
}

/// A policy, or a parameter that chooses one; without a priority it is the highest.
pub fn policy(node: &Node, scope: &Scope) -> Result<Policy> {
    let text = scope.choice(node)?;
    let what = "other, batch, idle, fifo:PRIORITY or rr:PRIORITY, priorities from 1 to 99";
    let priority = |text: &str| {
        let priority = text
            .parse()
            .ok()
            .filter(|priority| (1..=99).contains(priority));
        priority.ok_or_else(|| node.expected(what))
    };
    match text {
        "other" => Ok(Policy::Other),
        "batch" => Ok(Policy::Batch),
        "idle" => Ok(Policy::Idle),
        "fifo" => Ok(Policy::Fifo(99)),
        "rr" => Ok(Policy::Rr(99)),
        _ => match text.split_once(':') {
            Some(("fifo", text)) => Ok(Policy::Fifo(priority(text)?)),
            Some(("rr", text)) => Ok(Policy::Rr(priority(text)?)),
            _ => Err(node.expected(what)),
        },
    }
}

fn log(compiler: &Compiler, node: &Node, table: &Table) -> Result<Inst> {
    let name = node.text()?;
    let Some(metric) = Origin::Logged.names().position(|known| known == name) else {
        let hint = suggest(name, Origin::Logged.names());
        return Err(node.error(format!("unknown distribution {name}, {hint}")));
    };
    Ok(Inst::Log {
        metric: metric as u32,
        since: since(compiler, node, table)?,
        per: match table.optional("per") {
            None => Value::Const(1),
            Some(node) => per(compiler, node)?,
        },
    })
}

/// What a logged time is divided by: at least 1 wherever that is known.
fn per(compiler: &Compiler, node: &Node) -> Result<Value> {
    let value = compiler.value(node)?;
    match value {
        Value::Const(number) => {
            ensure!(number > 0, node.expected("a number above 0"));
            Ok(value)
        }
        _ => Ok(value),
    }
}

fn since(compiler: &Compiler, node: &Node, table: &Table) -> Result<Since> {
    let since = table.required("since")?;
    let (since, needs, found) = match since.text()? {
        "stamp" => (
            Since::Stamp,
            "stamp",
            compiler.has(|inst| matches!(inst, Inst::Stamp)),
        ),
        "message" => {
            let brings = |inst: &_| {
                matches!(
                    inst,
                    Inst::Recv { .. } | Inst::Wait { .. } | Inst::WaitAny { .. }
                )
            };
            (Since::Message, "recv or wait", compiler.has(brings))
        }
        "due" => {
            let waits = |inst: &_| {
                matches!(
                    inst,
                    Inst::Sleep { .. } | Inst::Timer { .. } | Inst::Until { .. }
                )
            };
            (Since::Due, "sleep or timer", compiler.has(waits))
        }
        "start" => (Since::Start, "", true),
        _ => return Err(since.expected("stamp, message, due or start")),
    };
    ensure!(
        found,
        node.error(format!("expected a {needs} before it, found none"))
    );
    Ok(since)
}

fn counter(compiler: &Compiler, node: &Node) -> Result<u32> {
    let name = node.text()?;
    let counters = &compiler.arrays.counters;
    let metric = counters.iter().position(|known| known == name);
    metric.map(|metric| metric as u32).ok_or_else(|| {
        let hint = suggest(name, counters.iter().map(String::as_str));
        node.error(format!("unknown counter {name}, {hint}"))
    })
}

impl Compiler<'_> {
    fn has(&self, wanted: impl Fn(&Inst) -> bool) -> bool {
        self.program.iter().any(wanted)
    }
}

/// Counters a workload may count: what its throughput counts, and the fixed ones.
pub fn counters(throughput: Option<&str>) -> Vec<String> {
    let counted = Origin::Counted.names().map(str::to_owned);
    throughput
        .map(str::to_owned)
        .into_iter()
        .chain(counted)
        .collect()
}
