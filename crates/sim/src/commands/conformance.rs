// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim conformance`: the kernel's own tests of sched_ext, in the simulator.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use conformance::{Report, Tested, Verdict};
use serde_json::json;

#[derive(Args)]
pub struct ConformanceArgs {
    /// A kernel tree, or its folder `tools/testing/selftests/sched_ext`
    directory: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const FAILED: u8 = 1;

pub fn run(args: &ConformanceArgs) -> Result<u8> {
    let report = conformance::run(&args.directory, |tested| {
        if !args.json {
            println!("{}", line(tested));
        }
    })?;
    let failed = report.count(Verdict::Fail);
    if args.json {
        let mut data = serde_json::to_value(&report)?;
        data["counts"] = VERDICTS
            .iter()
            .map(|(verdict, name)| (name.replace(' ', "_"), json!(report.count(*verdict))))
            .collect();
        println!("{data}");
    } else {
        println!("{}", summary(&report));
    }
    Ok(if failed > 0 { FAILED } else { 0 })
}

const VERDICTS: [(Verdict, &str); 4] = [
    (Verdict::Pass, "pass"),
    (Verdict::Fail, "fail"),
    (Verdict::NotApplicable, "not applicable"),
    (Verdict::NotKnown, "not known"),
];

fn line(tested: &Tested) -> String {
    let (_, word) = VERDICTS
        .into_iter()
        .find(|(verdict, _)| *verdict == tested.verdict)
        .expect("all verdicts have a word");
    let why = if tested.why.is_empty() {
        String::new()
    } else {
        format!(": {}", tested.why.join("; "))
    };
    format!("{word:<16}{}{why}", tested.name)
}

fn summary(report: &Report) -> String {
    let counts = VERDICTS.map(|(verdict, name)| format!("{} {name}", report.count(verdict)));
    let mut text = format!(
        "{} tests in {}: {}",
        report.tests.len(),
        report.folder.display(),
        counts.join(", ")
    );
    if !report.absent.is_empty() {
        let _ = write!(text, "; known, but not there: {}", report.absent.join(", "));
    }
    text
}
