// SPDX-License-Identifier: GPL-2.0-or-later
//! Profiles: what real tasks were measured to do (`schedlab calibrate`, `docs/recording.md`), to draw from.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use input::{Node, Table, one_line, suggest};

/// What a profile's task may have a distribution of.
const DISTRIBUTIONS: &[&str] = &["cpu", "run", "sleep", "wait", "blocked"];

#[derive(Clone, Debug)]
pub struct Profile {
    file: String,
    pub text: String,
    root: Node,
}

impl Profile {
    /// The one that a workload names, whose own file is `file`: the path begins there.
    pub fn read(name: &Node, file: &str) -> Result<Self> {
        let path = beside(Path::new(file), name.text()?);
        let text = input::read(&path, "a profile")
            .map_err(|error| name.error(format!("expected a profile's file: {error}")))?;
        let file = path.display().to_string();
        Ok(Self {
            root: Node::parse(&text, &file)?,
            text,
            file,
        })
    }

    /// What was measured of a task that `place` names.
    pub fn task(&self, place: &Node, name: &str) -> Result<Table<'_>> {
        let tasks = self.root.table()?.required("task")?.table()?;
        let Some(task) = tasks.optional(name) else {
            let hint = suggest(name, tasks.entries().iter().map(|(task, _)| task.as_str()));
            let name = one_line(name);
            return Err(place.error(format!("{} has no task {name}, {hint}", self.file)));
        };
        task.table()
    }

    /// Nanoseconds and weights of `TASK.DISTRIBUTION`.
    pub fn rows(&self, name: &Node) -> Result<Vec<(i64, u32)>> {
        let text = name.text()?;
        let Some((task, distribution)) = text.rsplit_once('.') else {
            return Err(name.expected("TASK.DISTRIBUTION"));
        };
        let table = self.task(name, task)?;
        let Some(node) = table.optional(distribution) else {
            let has = |name: &&&str| table.optional(name).is_some();
            let hint = suggest(distribution, DISTRIBUTIONS.iter().filter(has).copied());
            let distribution = one_line(distribution);
            return Err(name.error(format!(
                "{} has no {distribution} of {task}, {hint}",
                self.file
            )));
        };
        let table = node.table()?.required("ns")?.table()?.required("table")?;
        let row = |item: &Node| -> Result<(i64, u32)> {
            let [value, weight] = item.list()? else {
                return Err(item.expected("a list of two: nanoseconds and weight"));
            };
            let (value, weight) = (value.integer(0..=MAX_NS)?, weight.integer(0..=MAX_WEIGHT)?);
            Ok((value, weight as u32))
        };
        let rows = table.list()?.iter().map(row).collect::<Result<Vec<_>>>()?;
        let some = rows.iter().any(|(_, weight)| *weight > 0);
        ensure!(some, table.error("expected a weight above 0, found none"));
        Ok(rows)
    }
}

/// Eleven days, as in programs.
const MAX_NS: i64 = 1_000_000_000_000_000;
const MAX_WEIGHT: i64 = 1_000_000_000;

/// The path that a workload's file names from its own folder.
pub fn beside(file: &Path, name: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(name)
}
