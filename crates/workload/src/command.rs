// SPDX-License-Identifier: GPL-2.0-or-later
//! `[command]`: the real application that a workload's tasks are the model of (`docs/workloads.md`).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use cell::{Origin, metric};
use input::{Node, Table};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::profile;
use crate::scope::{Scope, Setting};

const MEMORY_MIB: i64 = 3_072;

/// The metric that `frames` gives its values.
pub const FRAME_TIME: &str = "frame_time_us";

/// The application at one load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Programs it needs, each with the Debian package that has it.
    pub tools: BTreeMap<String, String>,
    /// Debian packages of which a guest needs every file, beside the tools and their libraries.
    pub packages: Vec<String>,
    /// Memory of a guest that has all this, files and all.
    pub memory_mib: u32,
    pub input: Option<Input>,
    /// Scripts for `sh`, in a folder made for the run: before, what is timed, and after, whatever happened.
    pub setup: String,
    pub run: String,
    pub stop: String,
    /// Nobody runs it, not root.
    pub unprivileged: bool,
    /// It runs in the folder and the environment of whoever called, not in ones of its own.
    pub here: bool,
    /// A file of frame times that it leaves behind, or a folder in which it leaves one.
    pub frames: Option<String>,
    /// The groups of the model that it stands for; where it names some, the others run beside it.
    pub replaces: Vec<String>,
    /// Metrics and the patterns whose first group has their value in what `run` prints.
    pub metrics: BTreeMap<String, String>,
    /// What the scripts find in their environment: every parameter, `cpus` and `seed`.
    pub environment: BTreeMap<String, String>,
}

/// Files that are made once and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub tools: BTreeMap<String, String>,
    /// Run in an empty folder, whose files are then the input.
    pub make: String,
    /// The parameters it depends on.
    pub environment: BTreeMap<String, String>,
    /// Files of the workload that `make` finds in a folder `$beside`: names and text.
    pub beside: BTreeMap<String, String>,
}

/// The files that an input is made with: paths from the workload's own folder, in the file's order, and text.
pub type Beside = Vec<(String, String)>;

pub fn beside(table: &Table, file: &str) -> Result<Beside> {
    let command = table.optional("command").map(Node::table).transpose()?;
    let input = command
        .as_ref()
        .and_then(|command| command.optional("input"));
    let input = input.map(Node::table).transpose()?;
    let files = input.as_ref().and_then(|input| input.optional("files"));
    let mut found = Beside::new();
    for item in files.map_or(Ok(&[][..]), Node::list)? {
        let path = item.text()?;
        let same = |(other, _): &(String, String)| name(other) == name(path);
        ensure!(
            !name(path).is_empty() && !found.iter().any(same),
            item.expected("a file of a name of its own")
        );
        let text = input::read(&profile::beside(Path::new(file), path), "a file")
            .map_err(|error| item.error(format!("expected a file of the workload: {error}")))?;
        found.push((path.to_string(), text));
    }
    Ok(found)
}

/// What a path ends in.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Reads the table at one load; `promises` must all be kept.
pub fn command(
    node: &Node,
    scope: &Scope,
    seed: u64,
    groups: &[String],
    promises: &Node,
    beside: &Beside,
) -> Result<Command> {
    let table = node.table()?;
    let environment = environment(scope, seed);
    let input = match table.optional("input") {
        None => None,
        Some(node) => Some(input(node, &environment, beside)?),
    };
    let mut replaces = Vec::new();
    for item in table.optional("replaces").map_or(Ok(&[][..]), Node::list)? {
        let group = item.text()?;
        let known = groups.iter().any(|known| known == group);
        ensure!(known, item.expected("the name of a task"));
        replaces.push(group.to_string());
    }
    let metrics = match table.optional("metrics") {
        None => BTreeMap::new(),
        Some(node) => patterns(node)?,
    };
    for promise in promises.list()? {
        let name = promise.text()?;
        let measured = match metric(name).map(|metric| metric.origin) {
            Some(Origin::Measured) => true,
            Some(Origin::Logged) if name == FRAME_TIME && table.optional("frames").is_some() => {
                true
            }
            Some(Origin::Logged) => !replaces.is_empty(),
            _ => metrics.contains_key(name),
        };
        ensure!(
            measured,
            node.error(format!("expected a pattern for {name}, which is promised"))
        );
    }
    let command = Command {
        tools: tools(table.required("tools")?)?,
        packages: texts(&table, "packages")?,
        memory_mib: memory_mib(&table)?,
        input,
        setup: table.text_or("setup", "")?.to_string(),
        run: table.required("run")?.text()?.to_string(),
        stop: table.text_or("stop", "")?.to_string(),
        unprivileged: table
            .optional("unprivileged")
            .map_or(Ok(false), Node::bool)?,
        here: table.optional("here").map_or(Ok(false), Node::bool)?,
        frames: frames(&table)?,
        replaces,
        metrics,
        environment,
    };
    table.finish()?;
    Ok(command)
}

fn environment(scope: &Scope, seed: u64) -> BTreeMap<String, String> {
    let text = |setting: &Setting| match setting {
        Setting::Number(value) => value.to_string(),
        Setting::Choice(choice) => choice.clone(),
    };
    let params = scope.params.iter();
    let mut all: BTreeMap<_, _> = params
        .map(|(name, value)| (name.clone(), text(value)))
        .collect();
    all.insert("cpus".into(), scope.cpus.to_string());
    all.insert("seed".into(), seed.to_string());
    all
}

fn input(node: &Node, all: &BTreeMap<String, String>, beside: &Beside) -> Result<Input> {
    let table = node.table()?;
    // Read with the workload.
    table.optional("files");
    let mut environment = BTreeMap::new();
    for item in table.optional("given").map_or(Ok(&[][..]), Node::list)? {
        let name = item.text()?;
        let value = all
            .get(name)
            .ok_or_else(|| item.expected("the name of a parameter"))?;
        environment.insert(name.to_string(), value.clone());
    }
    let input = Input {
        tools: tools(table.required("tools")?)?,
        make: table.required("make")?.text()?.to_string(),
        environment,
        beside: beside
            .iter()
            .map(|(path, text)| (name(path).to_string(), text.clone()))
            .collect(),
    };
    table.finish()?;
    Ok(input)
}

fn tools(node: &Node) -> Result<BTreeMap<String, String>> {
    let entries = node.table()?;
    let entries = entries.entries().iter();
    entries
        .map(|(tool, package)| Ok((tool.clone(), package.text()?.to_string())))
        .collect()
}

fn memory_mib(table: &Table) -> Result<u32> {
    let node = table.optional("memory_mib");
    let mib = node.map_or(Ok(MEMORY_MIB), |node| node.integer(512..=1 << 20))?;
    Ok(mib as u32)
}

fn frames(table: &Table) -> Result<Option<String>> {
    let Some(node) = table.optional("frames") else {
        return Ok(None);
    };
    let path = node.text()?;
    ensure!(!path.is_empty(), node.expected("the path of a file"));
    Ok(Some(path.to_string()))
}

fn texts(table: &Table, key: &str) -> Result<Vec<String>> {
    let items = table.optional(key).map_or(Ok(&[][..]), Node::list)?;
    items
        .iter()
        .map(|item| Ok(item.text()?.to_string()))
        .collect()
}

fn patterns(node: &Node) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (name, pattern) in node.table()?.entries() {
        let known: Vec<&str> = Origin::Throughput
            .names()
            .chain(Origin::Counted.names())
            .collect();
        ensure!(
            known.contains(&name.as_str()),
            pattern.error(format!("expected {}", known.join(", ")))
        );
        let text = pattern.text()?;
        let groups = Regex::new(text).map_or(0, |regex| regex.captures_len());
        ensure!(
            groups == 2,
            pattern.expected("a regular expression with one group")
        );
        found.insert(name.clone(), text.to_string());
    }
    Ok(found)
}
