// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of tests: what the user half of each does before, and what holds afterwards.

use anyhow::{Result, bail};
use input::{Node, Table};
use kernel::hotplug::{self, Change, Hotplug};

use crate::expectation::{Expectation, numeral};

const FILE: &str = "crates/conformance/src/tests.toml";
const TEXT: &str = include_str!("tests.toml");

pub struct Test {
    pub name: String,
    pub kind: Kind,
}

pub enum Kind {
    /// Why it cannot be judged here.
    NotApplicable(String),
    Cases(Vec<Case>),
}

/// One run.
pub struct Case {
    pub name: String,
    /// A part of the kernel's test that the simulator has not, and why.
    pub not_applicable: Option<String>,
    pub workload: String,
    pub cpus: u32,
    pub nodes: u32,
    /// CPUs that stop their tick for one task.
    pub nohz_full: Vec<i64>,
    /// Values of the policy's constants and variables.
    pub set: Option<Node>,
    /// Values of its variables in the middle of the run.
    pub later: Option<Node>,
    /// Instead of those of the object.
    pub flags: Option<u64>,
    /// Which of the object's schedulers, where it holds several.
    pub attach: Option<String>,
    pub hotplug: Vec<Hotplug>,
    /// A program of type `syscall`, in the middle of the run; its argument is the process id of the first task.
    pub program: Option<String>,
    pub ends: Ends,
    /// Of a policy that is refused: what stands in the reason.
    pub reason: String,
    pub expect: Vec<Expectation>,
    /// Metrics of the run, with the least that each has to be.
    pub metrics: Vec<(String, f64)>,
}

impl Case {
    /// CPUs that come before they go were not there when the policy was loaded.
    pub fn offline(&self) -> Vec<u32> {
        let mut seen = Vec::new();
        let mut offline = Vec::new();
        for event in &self.hotplug {
            if !seen.contains(&event.cpu) {
                seen.push(event.cpu);
                offline.extend((event.change == Change::Online).then_some(event.cpu));
            }
        }
        offline
    }
}

/// How the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// With its workload.
    Well,
    /// The policy is thrown out, or goes by itself.
    Ejected,
    /// Before it begins: the kernel does not load the policy.
    Refused,
}

pub fn tests() -> Result<Vec<Test>> {
    let root = Node::parse(TEXT, FILE)?;
    let root = root.table()?;
    let tests = root.required("test")?.list()?;
    let tests = tests.iter().map(test).collect::<Result<_>>()?;
    root.finish()?;
    Ok(tests)
}

fn test(node: &Node) -> Result<Test> {
    let table = node.table()?;
    let name = table.required("name")?.text()?.to_owned();
    let kind = match table.optional("not_applicable") {
        Some(why) => Kind::NotApplicable(why.text()?.to_owned()),
        None => match table.optional("case") {
            Some(cases) => Kind::Cases(
                cases
                    .list()?
                    .iter()
                    .map(|one| case(&one.table()?, &table))
                    .collect::<Result<_>>()?,
            ),
            None => Kind::Cases(vec![case(&table, &table)?]),
        },
    };
    for key in KEYS {
        table.optional(key);
    }
    table.finish()?;
    Ok(Test { name, kind })
}

/// What cases of a test may share.
const KEYS: [&str; 14] = [
    "workload",
    "cpus",
    "nodes",
    "nohz_full",
    "set",
    "later",
    "flags",
    "attach",
    "hotplug",
    "program",
    "ends",
    "reason",
    "expect",
    "metrics",
];

fn numbers(list: &Node) -> Result<Vec<i64>> {
    let items = list.list()?.iter();
    items.map(|item| item.integer(0..=63)).collect()
}

/// A case has what its test has and it has not itself.
fn case(own: &Table, shared: &Table) -> Result<Case> {
    let [
        workload,
        cpus,
        nodes,
        nohz_full,
        set,
        later,
        flags,
        attach,
        hotplug,
        program,
        ends,
        reason,
        expect,
        metrics,
    ] = KEYS.map(|key| own.optional(key).or_else(|| shared.optional(key)));
    let number = |node: Option<&Node>, default: u32| {
        node.map_or(Ok(default), |node| {
            node.integer(1..=64).map(|number| number as u32)
        })
    };
    let text = |node: Option<&Node>| node.map(|node| node.text().map(str::to_owned)).transpose();
    let (cpus, nodes) = (number(cpus, 4)?, number(nodes, 1)?);
    let flags = flags.map(|node| {
        let value = numeral(node.text()?).and_then(|value| u64::try_from(value).ok());
        value.ok_or_else(|| node.expected("constants of the interface with | between them"))
    });
    let not_applicable = text(own.optional("not_applicable"))?;
    let ends = match (ends, ends.map(Node::text).transpose()?) {
        (_, Some("well")) => Ends::Well,
        (_, Some("ejected")) => Ends::Ejected,
        (_, Some("refused")) => Ends::Refused,
        (Some(node), _) => bail!(node.expected("well, ejected or refused")),
        (None, _) if not_applicable.is_some() => Ends::Well,
        (None, _) => bail!(own.node().error("expected ends, or not_applicable")),
    };
    let reason = text(reason)?.unwrap_or_default();
    if ends == Ends::Refused && reason.is_empty() {
        bail!(
            own.node()
                .error("expected reason, which says why it is refused")
        );
    }
    let expect = expect.map(|list| list.list()?.iter().map(Expectation::of).collect());
    let metrics = metrics.map(|table| {
        let entries = table.table()?;
        let entries = entries.entries().iter();
        entries
            .map(|(name, least)| Ok((name.clone(), least.integer(0..=i64::MAX)? as f64)))
            .collect::<Result<Vec<_>>>()
    });
    let mut name = own.text_or("name", "")?.to_owned();
    if std::ptr::eq(own, shared) {
        name.clear();
    }
    Ok(Case {
        name,
        not_applicable,
        workload: text(workload)?.unwrap_or_else(|| "sleepers".to_owned()),
        cpus,
        nodes,
        nohz_full: match nohz_full {
            Some(list) => numbers(list)?,
            None => Vec::new(),
        },
        set: set.cloned(),
        later: later.cloned(),
        flags: flags.transpose()?,
        attach: text(attach)?,
        hotplug: match hotplug {
            Some(script) => hotplug::parse(script.text()?, cpus as usize)?,
            None => Vec::new(),
        },
        program: text(program)?,
        ends,
        reason,
        expect: expect.transpose()?.unwrap_or_default(),
        metrics: metrics.transpose()?.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;

    #[test]
    fn the_table_is_whole() {
        let tests = tests().unwrap();
        let names: Vec<&String> = tests.iter().map(|test| &test.name).collect();
        assert!(names.is_sorted() && names.windows(2).all(|two| two[0] != two[1]));
        for test in &tests {
            if let Kind::Cases(cases) = &test.kind {
                for case in cases.iter().filter(|case| case.not_applicable.is_none()) {
                    run::plan(case).unwrap();
                }
            }
        }
    }
}
