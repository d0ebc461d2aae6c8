// SPDX-License-Identifier: GPL-2.0-or-later
//! What of an image was executed, in functions, lines and branches of its source.
//!
//! Code that is translated with [`Options::counted`](crate::Options::counted) has counters for each block that anything
//! leads to: how often it was entered, and how often the branch at its end was taken. What nothing leads to once the
//! object is linked, such as the way round a kfunc that is there, is not in question and in no total.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use crate::blocks::blocks;
use crate::image::{Function, Image};
use crate::op::Op;
use crate::pointers::states;

/// Of each block: entered, taken.
pub const COUNTERS: usize = 2;

/// By the names of files, as the object gives them.
#[derive(Debug, Default)]
pub struct Coverage {
    pub files: BTreeMap<String, File>,
}

/// How often what was executed.
#[derive(Debug, Default)]
pub struct File {
    /// By first line and name.
    pub functions: BTreeMap<(u32, String), u64>,
    /// A line's count is that of its most executed block.
    pub lines: BTreeMap<u32, u64>,
    /// Of each branch of a line: gone on, and taken.
    pub branches: BTreeMap<u32, Vec<[u64; 2]>>,
}

/// The blocks of a function that anything leads to.
pub fn counted(function: &Function) -> Vec<Range<usize>> {
    let blocks = blocks(function);
    let states = states(&function.ops, &blocks, &[]);
    let reached = states.iter().map(Option::is_some).collect::<Vec<_>>();
    blocks
        .into_iter()
        .zip(reached)
        .filter_map(|(block, reached)| reached.then_some(block))
        .collect()
}

impl Image {
    /// How many counters there are.
    pub fn counters(&self) -> usize {
        let blocks = self
            .functions
            .iter()
            .map(|function| counted(function).len());
        blocks.sum::<usize>() * COUNTERS
    }

    /// `counts` are those of [`Native::counts`](crate::Native::counts), of one run or of many added up.
    pub fn coverage(&self, counts: &[u64]) -> Coverage {
        let mut coverage = Coverage::default();
        let mut counts = counts.chunks_exact(COUNTERS);
        for function in &self.functions {
            for block in counted(function) {
                let count = counts.next().unwrap_or(&[0; COUNTERS]);
                self.add(&mut coverage, function, &block, count[0], count[1]);
            }
        }
        coverage
    }

    fn add(
        &self,
        coverage: &mut Coverage,
        function: &Function,
        block: &Range<usize>,
        entered: u64,
        taken: u64,
    ) {
        let place = |op: usize| {
            let (file, line) = function.line_of(op as u32)?;
            let name = self.files.get(file as usize)?;
            // Line 0 is code that the compiler made up.
            (line > 0).then(|| (name.clone(), line))
        };
        if block.start == 0
            && let Some((file, line)) = place(0)
        {
            let file = coverage.files.entry(file).or_default();
            file.functions
                .insert((line, function.name.clone()), entered);
        }
        for (file, line) in block.clone().filter_map(place) {
            let lines = &mut coverage.files.entry(file).or_default().lines;
            let count = lines.entry(line).or_default();
            *count = entered.max(*count);
        }
        let last = block.end - 1;
        if matches!(function.ops[last], Op::Branch { .. })
            && let Some((file, line)) = place(last)
        {
            let branches = &mut coverage.files.entry(file).or_default().branches;
            let ways = [entered.saturating_sub(taken), taken];
            branches.entry(line).or_default().push(ways);
        }
    }
}

impl Coverage {
    /// As lcov's tools read it. `name` says what a file is called, and leaves out those that are not in question.
    pub fn lcov(&self, name: impl Fn(&str) -> Option<String>) -> String {
        let mut text = String::new();
        for (file, found) in &self.files {
            if let Some(name) = name(file) {
                _ = writeln!(text, "TN:\nSF:{name}");
                found.write(&mut text);
                text.push_str("end_of_record\n");
            }
        }
        text
    }
}

impl File {
    fn write(&self, text: &mut String) {
        for (line, name) in self.functions.keys() {
            _ = writeln!(text, "FN:{line},{name}");
        }
        for ((_, name), count) in &self.functions {
            _ = writeln!(text, "FNDA:{count},{name}");
        }
        let reached = self.functions.values().filter(|count| **count > 0).count();
        _ = write!(text, "FNF:{}\nFNH:{reached}\n", self.functions.len());
        for (line, branches) in &self.branches {
            for (block, ways) in branches.iter().enumerate() {
                let executed = ways.iter().any(|count| *count > 0);
                for (way, count) in ways.iter().enumerate() {
                    let count = if executed {
                        count.to_string()
                    } else {
                        "-".to_owned()
                    };
                    _ = writeln!(text, "BRDA:{line},{block},{way},{count}");
                }
            }
        }
        let (found, hit) = self.ways();
        _ = write!(text, "BRF:{found}\nBRH:{hit}\n");
        for (line, count) in &self.lines {
            _ = writeln!(text, "DA:{line},{count}");
        }
        let hit = self.lines.values().filter(|count| **count > 0).count();
        _ = write!(text, "LF:{}\nLH:{hit}\n", self.lines.len());
    }

    /// Ways that branches may go, and those gone.
    pub fn ways(&self) -> (usize, usize) {
        let ways: Vec<u64> = self
            .branches
            .values()
            .flatten()
            .flatten()
            .copied()
            .collect();
        let gone = ways.iter().filter(|count| **count > 0).count();
        (ways.len(), gone)
    }
}
