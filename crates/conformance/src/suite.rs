// SPDX-License-Identifier: GPL-2.0-or-later
//! The tests of a kernel tree, each with a verdict.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use policy::Object;
use serde::Serialize;

use crate::run::differences;
use crate::table::{Kind, Test, tests};

/// Where a kernel tree has them.
const FOLDER: &str = "tools/testing/selftests/sched_ext";
/// Sources there that are no tests.
const NO_TESTS: [&str; 2] = ["runner", "util"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    Fail,
    NotApplicable,
    NotKnown,
}

/// A test with its verdict; `why` says what differs, and which parts were left out.
#[derive(Clone, Debug, Serialize)]
pub struct Tested {
    pub name: String,
    pub verdict: Verdict,
    pub why: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub folder: PathBuf,
    pub tests: Vec<Tested>,
    /// Of the table, but not of this tree.
    pub absent: Vec<String>,
}

impl Report {
    pub fn count(&self, verdict: Verdict) -> usize {
        let tests = self.tests.iter();
        tests.filter(|test| test.verdict == verdict).count()
    }
}

/// Run the tests of a kernel tree, or of its folder of them; `told` hears of each verdict as it comes.
pub fn run(directory: &Path, mut told: impl FnMut(&Tested)) -> Result<Report> {
    let folder = folder(directory)?;
    let names = names(&folder)?;
    ensure!(
        !names.is_empty(),
        "{}: expected tests of sched_ext there (NAME.bpf.c or NAME.c), found none",
        folder.display()
    );
    let table = tests()?;
    let mut report = Report {
        folder: folder.clone(),
        tests: Vec::new(),
        absent: Vec::new(),
    };
    for name in &names {
        let known = table.iter().find(|test| test.name == *name);
        let tested = match known {
            Some(test) => judge(test, &folder),
            None => Tested {
                name: name.clone(),
                verdict: Verdict::NotKnown,
                why: vec!["nothing is written down that it should show".to_owned()],
            },
        };
        told(&tested);
        report.tests.push(tested);
    }
    let absent = table.into_iter().map(|test| test.name);
    report.absent = absent.filter(|name| !names.contains(name)).collect();
    Ok(report)
}

fn folder(directory: &Path) -> Result<PathBuf> {
    let inner = directory.join(FOLDER);
    if inner.is_dir() {
        return Ok(inner);
    }
    let is_folder = directory.is_dir() && directory.join("scx_test.h").is_file();
    ensure!(
        is_folder,
        "{}: expected a kernel tree, which has {FOLDER}, or that folder",
        directory.display()
    );
    Ok(directory.to_owned())
}

fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let file = entry?.file_name();
        let file = file.to_string_lossy();
        let name = file.strip_suffix(".bpf.c").or(file.strip_suffix(".c"));
        names.extend(
            name.filter(|name| !NO_TESTS.contains(name))
                .map(str::to_owned),
        );
    }
    Ok(names)
}

fn judge(test: &Test, folder: &Path) -> Tested {
    let (verdict, why) = match &test.kind {
        Kind::NotApplicable(why) => (Verdict::NotApplicable, vec![why.clone()]),
        Kind::Cases(_) => match cases(test, folder) {
            Ok((true, left_out)) => (Verdict::Pass, left_out),
            Ok((false, why)) => (Verdict::Fail, why),
            Err(error) => (Verdict::Fail, vec![input::one_line(&format!("{error:#}"))]),
        },
    };
    Tested {
        name: test.name.clone(),
        verdict,
        why,
    }
}

/// Whether all cases hold, and what differs or is left out.
fn cases(test: &Test, folder: &Path) -> Result<(bool, Vec<String>)> {
    let Kind::Cases(cases) = &test.kind else {
        unreachable!("the caller has looked")
    };
    let object = Object::load(&folder.join(format!("{}.bpf.c", test.name)))?;
    let mut all_hold = true;
    let mut why = Vec::new();
    for case in cases {
        let prefix = if case.name.is_empty() {
            String::new()
        } else {
            format!("{}: ", case.name)
        };
        if let Some(reason) = &case.not_applicable {
            why.push(format!("{prefix}not applicable: {reason}"));
            continue;
        }
        let differs = match differences(&object, case) {
            Ok(differs) => differs,
            Err(error) => vec![input::one_line(&format!("{error:#}"))],
        };
        all_hold &= differs.is_empty();
        why.extend(differs.into_iter().map(|what| format!("{prefix}{what}")));
    }
    Ok((all_hold, why))
}
