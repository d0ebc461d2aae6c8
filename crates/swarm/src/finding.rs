// SPDX-License-Identifier: GPL-2.0-or-later
//! A finding: the files that show it, and reading them again.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use input::Node;
use kernel::{Release, Switch};
use machine::Machine;
use workload::Workload;

use crate::child::{Built, Runner};
use crate::interleaving::{Interleaving, Made};
use crate::job::{Job, Limits, Verdict};
use crate::meaning::{self, Trace};

/// Beside the case, where values were set.
const VALUES: &str = "values.toml";
/// Lines of the trace that are kept.
const KEPT: usize = 2_000;

/// A finding, run once more with its trace.
pub struct Told {
    pub verdict: Verdict,
    /// With names for tasks.
    pub reason: String,
    pub last: Vec<String>,
}

/// Runs a job and leaves the end of its trace in a folder.
pub fn tell(built: &Built, job: &Job, dir: &Path) -> Result<Told> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let path = dir.join("trace.txt");
    let traced = Job {
        trace: Some(path.display().to_string()),
        ..job.clone()
    };
    let verdict = Runner::new(built).run(&traced)?;
    let trace = Trace::read(&path);
    let kept = &trace.lines()[trace.lines().len().saturating_sub(KEPT)..];
    std::fs::write(&path, format!("# tracer: nop\n#\n{}\n", kept.join("\n")))
        .with_context(|| path.display().to_string())?;
    let machine = Machine::from_toml(&job.machine, "machine.toml")?;
    let workload = Workload::from_toml(&job.workload, "workload.toml")?;
    let load = workload.least_load(machine.cpus() as u32)?;
    let plan = workload.plan(load, &BTreeMap::new(), machine.cpus() as u32, job.seed)?;
    let mut reason = meaning::with_labels(&verdict.reason, &plan);
    if let Some(callback) = &trace.callback
        && matches!(verdict.by.as_str(), "fault" | "crash" | "endless loop")
    {
        let _ = write!(reason, ", in ops.{callback}()");
    }
    let last = trace
        .last(&reason)
        .into_iter()
        .map(str::to_string)
        .collect();
    Ok(Told {
        verdict,
        reason,
        last,
    })
}

/// A case to run again.
pub struct Case {
    pub job: Job,
    pub release: Release,
    pub values: Option<PathBuf>,
}

/// Writes what runs it again; returns the file that `--replay` takes.
pub fn write(job: &Job, told: &Told, built: &Built, policy: &str, dir: &Path) -> Result<PathBuf> {
    let file = dir.join("case.toml");
    let mut text = String::from("# SPDX-License-Identifier: GPL-2.0-or-later\n");
    let _ = writeln!(
        text,
        "# Run it again: schedlab check {policy} --replay {}",
        quoted(&file)
    );
    let _ = writeln!(text, "found = {}", literal(&told.verdict.by));
    let _ = writeln!(text, "what = {}", literal(&told.reason));
    let _ = writeln!(
        text,
        "machine = \"machine.toml\"\nworkload = \"workload.toml\"\nseed = {}",
        job.seed
    );
    let _ = writeln!(text, "hotplug = {}", literal(&job.hotplug));
    let _ = writeln!(text, "api = {}", literal(&built.release.to_string()));
    if let Some(values) = &built.values {
        let _ = writeln!(text, "rodata = {}", literal(VALUES));
        let copy = dir.join(VALUES);
        // It may be the file itself, of an earlier finding.
        let set = std::fs::read(values).with_context(|| values.display().to_string())?;
        std::fs::write(&copy, set).with_context(|| copy.display().to_string())?;
    }
    if job.interleaving != Interleaving::Off {
        text.push_str("switches = [\n");
        for Made { switch, what } in &told.verdict.switches {
            let _ = writeln!(text, "    {}, # {what}", literal(switch));
        }
        text.push_str("]\n");
    }
    text.push_str("\n[tunables]\n");
    for (name, value) in &job.tunables {
        let _ = writeln!(text, "{name} = {}", literal(value));
    }
    let Limits {
        idle_ms,
        starvation_ms,
        share_ms,
        callback_mops,
    } = job.limits;
    let _ = write!(
        text,
        "\n[limits]\nidle_ms = {idle_ms}\nstarvation_ms = {starvation_ms}\nshare_ms = {share_ms}\ncallback_mops = {callback_mops}\n"
    );
    for (name, text) in [
        ("machine.toml", &job.machine),
        ("workload.toml", &job.workload),
        ("case.toml", &text),
    ] {
        let path = dir.join(name);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(file)
}

/// A case that was written, or made by hand. The error names file, line and key.
pub fn read(file: &Path) -> Result<Case> {
    let text = input::read(file, "a case of schedlab check")?;
    let root = Node::parse(&text, &file.display().to_string())?;
    let table = root.table()?;
    let _ = (table.optional("found"), table.optional("what"));
    let beside = |key: &str| -> Result<PathBuf> {
        let name = table.required(key)?.text()?;
        Ok(file.parent().unwrap_or(Path::new(".")).join(name))
    };
    let (machine, workload) = (beside("machine")?, beside("workload")?);
    Machine::read(&machine)?;
    Workload::read(&workload)?;
    let mut tunables = BTreeMap::new();
    if let Some(node) = table.optional("tunables") {
        for (name, value) in node.table()?.entries() {
            tunables.insert(name.clone(), value.text()?.to_string());
        }
    }
    let limits = table.required("limits")?.table()?;
    let number =
        |key: &str| -> Result<u64> { Ok(limits.required(key)?.integer(0..=10_000_000)? as u64) };
    let job = Job {
        machine: std::fs::read_to_string(machine)?,
        workload: std::fs::read_to_string(workload)?,
        seed: table.required("seed")?.integer(0..=i64::MAX)? as u64,
        hotplug: table.text_or("hotplug", "")?.to_string(),
        interleaving: match table.optional("switches") {
            None => Interleaving::Off,
            Some(node) => Interleaving::Listed(switches(node)?),
        },
        tunables,
        limits: Limits {
            idle_ms: number("idle_ms")?,
            starvation_ms: number("starvation_ms")?,
            share_ms: number("share_ms")?,
            callback_mops: number("callback_mops")?,
        },
        trace: None,
    };
    let release = match table.optional("api") {
        None => Release::default(),
        Some(node) => (node.text()?.parse()).map_err(|error: String| node.error(&error))?,
    };
    let values = match table.optional("rodata") {
        None => None,
        Some(_) => Some(beside("rodata")?),
    };
    limits.finish()?;
    table.finish()?;
    Ok(Case {
        job,
        release,
        values,
    })
}

fn switches(list: &Node) -> Result<Vec<String>> {
    let switch = |node: &Node| -> Result<String> {
        let text = node.text()?;
        Switch::from_str(text).map_err(|error| node.error(error))?;
        Ok(text.to_owned())
    };
    list.list()?.iter().map(switch).collect()
}

fn literal(text: &str) -> String {
    // JSON's strings are TOML's.
    serde_json::Value::from(text).to_string()
}

pub fn quoted(path: &Path) -> String {
    cell::quoted(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let case = crate::generate::case(
            1,
            1,
            crate::generate::Draws::default(),
            &policy::Manifest::default(),
            &BTreeMap::new(),
        );
        let job = Job {
            machine: crate::files::machine(&case.machine),
            workload: crate::files::workload(&case),
            seed: 9,
            hotplug: "10ms:-1,20ms:+1".into(),
            interleaving: Interleaving::Listed(vec!["17.3 cpu 1".into()]),
            tunables: BTreeMap::from([("rules".to_string(), "424".to_string())]),
            limits: Limits {
                idle_ms: 1,
                starvation_ms: 2,
                share_ms: 3,
                callback_mops: 4,
            },
            trace: None,
        };
        let told = Told {
            verdict: Verdict {
                switches: vec![Made {
                    switch: "17.3 cpu 1".into(),
                    what: "CPU 0 as ops.tick() returns: CPU 1 has its tick".into(),
                }],
                ..Verdict::default()
            },
            reason: "\"quoted\"\nand broken".into(),
            last: Vec::new(),
        };
        let built = Built {
            name: "p".into(),
            object: "p.bpf.o".into(),
            release: "6.12".parse().unwrap(),
            values: Some(dir.path().join("mine.toml")),
            counted: false,
        };
        std::fs::write(dir.path().join("mine.toml"), "x = 1\n").unwrap();
        let file = write(&job, &told, &built, "p.bpf.c", dir.path()).unwrap();
        let again = read(&file).unwrap();
        assert_eq!(format!("{:?}", again.job), format!("{job:?}"));
        assert_eq!(again.release, built.release);
        let values = std::fs::read_to_string(again.values.unwrap()).unwrap();
        assert_eq!(values, "x = 1\n");
        let text = std::fs::read_to_string(&file).unwrap();
        let said_of = |from: &str, to: &str| {
            std::fs::write(&file, text.replace(from, to)).unwrap();
            read(&file).err().unwrap().to_string()
        };
        let error = said_of("seed", "sead");
        assert!(error.contains("seed: expected this key"), "{error}");
        let error = said_of("17.3 cpu 1", "17.3 disk 1");
        assert!(
            error.contains("expected a switch such as \"4711.3 cpu 2\""),
            "{error}"
        );
        let error = said_of("6.12", "5.4");
        assert!(error.contains("api: expected one of 6.12, "), "{error}");
    }
}
