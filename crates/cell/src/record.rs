// SPDX-License-Identifier: GPL-2.0-or-later
//! Records: what came out of a cell, one immutable JSON file each (`docs/records.md`).

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::histogram::{Buckets, Histogram};

pub const FORMAT: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    /// The watchdog or the policy's own error threw the scheduler out: a result.
    Ejected,
    /// The run broke.
    Failed,
    /// The scheduler was replaced or gone during the run.
    Void,
}

impl Status {
    /// As records and lines of progress have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Ejected => "ejected",
            Self::Failed => "failed",
            Self::Void => "void",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    pub place: String,
    pub engine: String,
    pub kernel: String,
    pub cpus: u32,
    pub hz: u32,
    pub tier: String,
    /// What a real kernel tells besides: preemption model, frequency governor, the scheduler as it named it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preempt: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub governor: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ops: String,
    /// Of which packages `energy_j` is the sum, or one sentence that says why there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub energy: String,
    /// What is known of those counters: the smallest step seen, and of an idle machine the mean power and how far apart
    /// its measurements lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_step_uj: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_idle_mw: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_idle_range_mw: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    pub wall_s: f64,
    pub events: u64,
    /// CPU time for each task that waits for the start signal, where tasks are real: the runner's to start it, its own to
    /// come to the start, and the runner's from the signal on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_fork_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_task_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_reap_us: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub format: u32,
    pub id: String,
    pub cell: Cell,
    pub status: Status,
    pub reason: String,
    pub metrics: BTreeMap<String, f64>,
    pub histograms: BTreeMap<String, Buckets>,
    pub trace_hash: String,
    pub provenance: Provenance,
    pub cost: Cost,
}

impl Record {
    /// A record of status `ok` without metrics, to be filled in.
    pub fn new(cell: Cell, provenance: Provenance) -> Self {
        Self {
            format: FORMAT,
            id: cell.id(),
            cell,
            status: Status::Ok,
            reason: String::new(),
            metrics: BTreeMap::new(),
            histograms: BTreeMap::new(),
            trace_hash: String::new(),
            provenance,
            cost: Cost::default(),
        }
    }

    pub fn set_histograms(&mut self, distributions: &BTreeMap<String, Histogram>) {
        self.histograms = distributions
            .iter()
            .map(|(name, distribution)| (name.clone(), distribution.to_buckets()))
            .collect();
    }

    pub fn path(dir: &Path, id: &str) -> PathBuf {
        dir.join(format!("{id}.json"))
    }

    /// Writes `DIR/ID.json` whole or not at all.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let path = Self::path(dir, &self.id);
        let text = self.line()?;
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(&format!(".{}.", self.id))
                .permissions(std::fs::Permissions::from_mode(0o666))
                .tempfile_in(dir)?;
            file.write_all(&text)?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|error| anyhow!("cannot write {}: {}", path.display(), remedied(&error)))
    }

    /// Prints it as a line, which no other thread's breaks in two.
    pub fn print(&self) -> Result<()> {
        let text = self.line()?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&text)?;
        Ok(stdout.flush()?)
    }

    /// In one piece: the serialiser writes every bracket by itself.
    fn line(&self) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// What is wrong, and what to do about it. The name of the file that would have become the record helps nobody.
fn remedied(error: &std::io::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at path ").next().unwrap_or_default();
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "; free some space and run the same command again (finished records are kept)"
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "; make the folder writable or choose another"
        }
        _ => "",
    };
    format!("{what}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cell;

    fn record() -> Record {
        let mut record = Record::new(
            cell(),
            Provenance {
                place: "host".into(),
                ..Default::default()
            },
        );
        record.metrics.insert("elapsed_s".into(), 1.25);
        let mut times = Histogram::default();
        for ns in [1250, 1250, 48_123_456] {
            times.record(ns);
        }
        record.set_histograms(&BTreeMap::from([("turnaround_us".into(), times)]));
        record
    }

    #[test]
    fn written_whole_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let record = record();
        record.write(dir.path()).unwrap();
        record.write(dir.path()).unwrap();
        let names: Vec<_> = dir
            .path()
            .read_dir()
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, [format!("{}.json", record.id).as_str()]);
        let text = std::fs::read_to_string(Record::path(dir.path(), &record.id)).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        assert!(text.contains(r#""status":"ok","reason":"""#), "{text}");
        assert!(text.contains(
            r#"{"count":3,"min_ns":1250,"max_ns":48123456,"sum_ns":48125956,"buckets_ns":[[1250,2],"#
        ));
    }

    #[test]
    fn a_directory_that_is_not_there_is_said_so() {
        let error = record().write(Path::new("/nonexistent/dir")).unwrap_err();
        assert!(
            format!("{error:#}").starts_with("cannot write /nonexistent/dir/"),
            "{error:#}"
        );
    }
}
