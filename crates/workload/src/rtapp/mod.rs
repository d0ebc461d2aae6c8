// SPDX-License-Identifier: GPL-2.0-or-later
//! rt-app's JSON as a workload: what it says is read whole, and what this language cannot say is an error.
//!
//! `read` holds the file as rt-app sees it, `forks` counts what `fork` events start, `program` turns events into
//! actions, and this file puts the sections of a workload around them. Every value is made from one of the file, so
//! that errors found later still name the place in the JSON.

mod attributes;
mod forks;
mod program;
mod read;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use input::{Kind, Node};

use forks::Forks;
use read::File;

/// The workload, as the file of this path would say it in TOML.
pub fn workload(json: &str, path: &Path) -> Result<Node> {
    let shown = path.display().to_string();
    let root = Node::parse_json(json, &shown)?;
    let name = name(path).ok_or_else(|| {
        anyhow!("{shown}: expected a file name that begins with a letter, the workload is called after it")
    })?;
    let file = File::read(&root)?;
    let forks = Forks::count(&file)?;
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
    if let Some(duration_s) = file.duration_s {
        params.push((
            "duration_s",
            param(duration_s, 1_000_000, "length of the run"),
        ));
        let end = vec![("after_s", word("duration_s"))];
        sections.push(("end", table(&root, end)));
    } else if let Some(task) = file
        .tasks
        .iter()
        .find(|task| task.endless() && forks.runs(task))
    {
        let place = file.duration_node.unwrap_or(task.node);
        let what = "expected global.duration in seconds";
        return Err(place.error(format!("{what}, as {} never ends", task.name)));
    }
    sections.push(("params", table(&root, params)));
    let arrays = |names: &BTreeMap<String, String>| {
        let array = |name: &String| {
            let count = ("count", word("copies"));
            table(&root, vec![("name", word(name)), count])
        };
        list(&root, names.values().map(array).collect())
    };
    sections.extend([
        ("lock", arrays(&shared.locks)),
        ("semaphore", arrays(&shared.semaphores)),
        ("condition", arrays(&shared.conditions)),
        ("task", list(&root, groups)),
    ]);
    let promised = ["elapsed_s", "cpu_s", "throughput_per_s"];
    let metrics = vec![
        ("promises", list(&root, promised.map(word).to_vec())),
        ("throughput", word("loops")),
    ];
    sections.push(("metrics", table(&root, metrics)));
    Ok(table(&root, sections))
}

/// What a workload of this file is called: its stem in small letters, everything else as `-`.
fn name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?.to_ascii_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    Some(stem.chars().map(plain).collect())
        .filter(|name: &String| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Resources that tasks share, by the file's name for them and by ours.
#[derive(Default)]
struct Shared {
    locks: BTreeMap<String, String>,
    semaphores: BTreeMap<String, String>,
    conditions: BTreeMap<String, String>,
}

/// Our name for one of the file's: plain, and different from all others.
fn plain_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut base: String = name.to_ascii_lowercase().chars().map(plain).collect();
    if !base.starts_with(|c: char| c.is_ascii_lowercase()) {
        base.insert(0, 'x');
    }
    let mut made = base.clone();
    let mut number = 2;
    while taken(&made) {
        made = format!("{base}_{number}");
        number += 1;
    }
    made
}

fn named(names: &mut BTreeMap<String, String>, name: &str) -> String {
    if let Some(known) = names.get(name) {
        return known.clone();
    }
    let made = plain_name(name, |made| names.values().any(|other| other == made));
    names.insert(name.to_string(), made.clone());
    made
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
