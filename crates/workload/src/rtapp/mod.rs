// SPDX-License-Identifier: GPL-2.0-or-later
//! rt-app's JSON as a workload: what it says is read whole, and what this language cannot say is an error.
//!
//! `workgen` reads the text with the liberties that rt-app's own script of that name allows, `read` holds the file as
//! rt-app sees it, `forks` counts what `fork` events start, `program` turns events into actions (`waits` and `timers`
//! those that wait), `shared` names what tasks share, `taskgroups` says in which groups they are, `remarks` says what has no effect, and this file puts the sections
//! of a workload around them. Every value is made from one of the file, so
//! that errors found later still name the place in the JSON.

mod attributes;
mod forks;
mod names;
mod program;
mod read;
mod remarks;
mod shared;
mod taskgroups;
mod timers;
mod waits;
mod workgen;

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use input::{Kind, Node};

use forks::Forks;
use read::File;
use shared::Shared;

/// How long what never ends runs by default, in seconds.
const ENDLESS_S: i64 = 10;
/// What an int of rt-app holds.
const MAX_US: i64 = i32::MAX as i64;

/// The workload, as the file of this path would say it in TOML, and remarks on it.
pub fn workload(json: &str, path: &Path) -> Result<(Node, Vec<String>)> {
    let shown = path.display().to_string();
    let root = Node::parse_json(&workgen::filled(json), &shown)?;
    let name = name(path).ok_or_else(|| {
        anyhow!("{shown}: expected a file name that begins with a letter, the workload is called after it")
    })?;
    let file = File::read(&root)?;
    let forks = Forks::count(&file)?;
    let remarks = remarks::remarks(&file, &forks);
    let mut shared = Shared::default();
    let mut groups = Vec::new();
    for task in &file.tasks {
        if task.instances > 0 {
            groups.push(program::group(&file, task, &forks, None, &mut shared)?);
        }
        let forked = forks.of(task);
        if forked > 0 {
            groups.push(program::group(
                &file,
                task,
                &forks,
                Some(forked),
                &mut shared,
            )?);
        }
    }
    ensure!(
        file.tasks.iter().any(|task| task.instances > 0),
        file.tasks_node
            .error("expected a task with an instance, found none")
    );
    let word = |value: &str| text(&root, value);
    let param = |default: i64, max: i64, about: &str| {
        let about = word(about);
        let number = |value| int(&root, value);
        let entries = vec![
            ("default", number(default)),
            ("min", number(1)),
            ("max", number(max)),
            ("about", about),
        ];
        table(&root, entries)
    };
    let mut params = vec![(
        "copies",
        param(1, 1_000, "how often the file runs at the same time"),
    )];
    let mut sections = vec![
        ("name", word(&name)),
        (
            "title",
            word(&format!("{name}: tasks as rt-app describes them")),
        ),
        ("source", word("an rt-app file")),
        ("load", word("copies")),
        ("loads", list(&root, vec![int(&root, 1)])),
    ];
    let endless = file.endless(&forks).map(|_| ENDLESS_S);
    if let Some(duration_s) = file.global.duration_s.or(endless) {
        params.push((
            "duration_s",
            param(duration_s, 1_000_000, "length of the run"),
        ));
        let end = vec![("after_s", word("duration_s"))];
        sections.push(("end", table(&root, end)));
    }
    sections.push(("params", table(&root, params)));
    sections.extend(shared.sections(&root));
    sections.extend(shared.taskgroups.section(&root));
    sections.push(("task", list(&root, groups)));
    let promised = ["elapsed_s", "cpu_s", "throughput_per_s"];
    let metrics = vec![
        ("promises", list(&root, promised.map(word).to_vec())),
        ("throughput", word("loops")),
    ];
    sections.push(("metrics", table(&root, metrics)));
    Ok((table(&root, sections), remarks))
}

/// What a workload of this file is called: its stem in small letters, everything else as `-`.
fn name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?.to_ascii_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    Some(stem.chars().map(plain).collect())
        .filter(|name: &String| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn int(at: &Node, value: i64) -> Node {
    at.made(Kind::Integer(value))
}

fn text(at: &Node, value: &str) -> Node {
    at.made(Kind::Text(value.to_string()))
}

fn flag(at: &Node) -> Node {
    at.made(Kind::Bool(true))
}

fn list(at: &Node, items: Vec<Node>) -> Node {
    at.made(Kind::List(items))
}

fn table(at: &Node, entries: Vec<(&str, Node)>) -> Node {
    let entries = entries
        .into_iter()
        .map(|(key, node)| (key.to_string(), node));
    at.made(Kind::Table(entries.collect()))
}

fn set(at: &Node, local: &str, value: Node) -> Node {
    table(at, vec![("set", text(at, local)), ("value", value)])
}

/// What a sleep is late is logged.
fn logged(at: &Node) -> Vec<(&'static str, Node)> {
    vec![
        ("log", text(at, "wakeup_latency_us")),
        ("since", text(at, "due")),
    ]
}
