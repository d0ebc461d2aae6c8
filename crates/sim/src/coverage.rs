// SPDX-License-Identifier: GPL-2.0-or-later
//! What of a policy's source the swarm reached: a file for lcov's tools, and a summary.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use kernel::{Coverage, FileCoverage};

pub fn write(coverage: &Coverage, file: &Path) -> Result<()> {
    let text = coverage.lcov(name);
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(file, text))
        .with_context(|| file.display().to_string())
}

/// Relative to where the command runs, if it lies below. The headers that policies are offered, whose names are relative,
/// and those of the system are nobody's policy.
fn name(file: &str) -> Option<String> {
    let path = plain(Path::new(file));
    if !path.is_absolute() || path.starts_with("/usr") {
        return None;
    }
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(here).unwrap_or(&path);
    Some(path.display().to_string())
}

/// Without the `..` of an `#include`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// The totals, and of each file what was not reached.
pub fn summary(coverage: &Coverage) -> String {
    let files: BTreeMap<String, &FileCoverage> = (coverage.files.iter())
        .filter_map(|(file, found)| Some((name(file)?, found)))
        .collect();
    let total = |count: fn(&FileCoverage) -> (usize, usize)| {
        let counts = files.values().map(|file| count(file));
        let (found, reached) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        format!("{reached} of {found}")
    };
    let mut text = format!(
        "reached: {} functions, {} lines, {} ways of branches\n",
        total(|file| of(&file.functions)),
        total(|file| of(&file.lines)),
        total(FileCoverage::ways),
    );
    for (name, file) in files {
        let (found, reached) = of(&file.lines);
        let _ = write!(text, "  {name}: {reached} of {found} lines");
        for (what, names) in [
            ("functions", functions(file)),
            ("lines", ranges(&file.lines)),
        ] {
            if !names.is_empty() {
                let _ = write!(text, "; {what} not reached: {}", names.join(", "));
            }
        }
        text.push('\n');
    }
    text
}

/// How many there are, and how many were reached.
fn of<K>(counts: &BTreeMap<K, u64>) -> (usize, usize) {
    let reached = counts.values().filter(|count| **count > 0).count();
    (counts.len(), reached)
}

fn functions(file: &FileCoverage) -> Vec<String> {
    let unreached = file.functions.iter().filter(|(_, count)| **count == 0);
    unreached.map(|((_, name), _)| name.clone()).collect()
}

/// Lines that were not reached: those with nothing but lines without code between them are one range.
fn ranges(lines: &BTreeMap<u32, u64>) -> Vec<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut goes_on = false;
    for (line, count) in lines {
        match ranges.last_mut() {
            Some(range) if goes_on && *count == 0 => range.1 = *line,
            _ if *count == 0 => ranges.push((*line, *line)),
            _ => {}
        }
        goes_on = *count == 0;
    }
    let range = |(from, to): (u32, u32)| {
        if from == to {
            from.to_string()
        } else {
            format!("{from}-{to}")
        }
    };
    ranges.into_iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreached_lines_are_ranges() {
        let of = |lines: &[(u32, u64)]| ranges(&lines.iter().copied().collect()).join(", ");
        assert_eq!(of(&[]), "");
        assert_eq!(
            of(&[(1, 0), (3, 0), (9, 0), (10, 5), (12, 0), (14, 1)]),
            "1-9, 12"
        );
        assert_eq!(of(&[(1, 1), (2, 0)]), "2");
    }

    #[test]
    fn headers_are_no_policy() {
        assert_eq!(name("include/scx.h"), None);
        assert_eq!(name("/usr/include/bpf/bpf_helpers.h"), None);
        assert_eq!(name("/a/bfs/../lib/x.h").as_deref(), Some("/a/lib/x.h"));
        assert_eq!(
            name("/elsewhere/x.bpf.c").as_deref(),
            Some("/elsewhere/x.bpf.c")
        );
        let here = std::env::current_dir().unwrap().join("a/x.bpf.c");
        assert_eq!(name(here.to_str().unwrap()).as_deref(), Some("a/x.bpf.c"));
    }
}
