// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything about a shard's cells that can be checked before the first of them runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use cell::{Arm, Cell, DEFAULT, Files, Shard, quoted};
use policy::Setting;
use workload::Workload;
use workload::command::Command;
use workload::plan::Plan;

use crate::schedulers::{Scheduler, is_object};

/// A cell, ready to run.
pub struct Job {
    pub id: String,
    pub cell: Cell,
    /// `None`: the kernel's own.
    pub scheduler: Option<&'static Scheduler>,
    pub settings: Vec<Setting>,
    pub plan: Plan,
    /// The application that runs instead of the plan.
    pub command: Option<Command>,
    /// The command that runs this cell by itself.
    pub again: String,
}

/// The shard's cells that belong on a real kernel. An error names the cell and the key.
pub fn jobs(shard: &Shard, file: &Path, cpus: u32) -> Result<Vec<Job>> {
    let cells = shard
        .cells
        .iter()
        .enumerate()
        .filter(|(_, (_, cell))| cell.place != "sim");
    cells
        .map(|(index, (id, cell))| {
            job(&shard.files, id, cell, cpus)
                .with_context(|| format!("{}: cells[{index}]", file.display()))
        })
        .collect()
}

fn job(files: &Files, id: &str, cell: &Cell, cpus: u32) -> Result<Job> {
    ensure!(
        ["host", "vm-exact", "vm-virtual", "vm-emulated"].contains(&cell.place.as_str()),
        "place: expected sim, host, vm-exact, vm-virtual or vm-emulated, found {:?}",
        cell.place
    );
    let path = files.workloads.get(&cell.workload);
    let path =
        path.with_context(|| format!("workload: files.workloads has no {:?}", cell.workload))?;
    let workload = Workload::read(path)?;
    same(&cell.digests.workload, &workload.digest, || {
        format!("{} has changed since", path.display())
    })
    .context("digests.workload")?;
    let object = (files.schedulers.get(&cell.scheduler))
        .and_then(|path| path.to_str())
        .filter(|path| is_object(path));
    let named = object.unwrap_or(&cell.scheduler);
    let (scheduler, settings) = under(named, &cell.tunables)?;
    // An object beside this program is what its campaign built: it carries no digest of its sources.
    if let Some(scheduler) = scheduler.filter(|_| object.is_none()) {
        same(&cell.digests.scheduler, scheduler.digest, || {
            format!(
                "this program holds another version of {}: make build",
                scheduler.name
            )
        })
        .context("digests.scheduler")?;
    }
    let plan = workload.plan(cell.load, &cell.params, cpus, cell.seed)?;
    let command = workload.command(cell.load, &cell.params, cpus, cell.seed)?;
    Ok(Job {
        id: id.to_owned(),
        cell: cell.clone(),
        scheduler,
        settings,
        plan,
        command,
        again: again(cell, named, path),
    })
}

/// A digest that is not given is not checked.
fn same(expected: &str, found: &str, otherwise: impl Fn() -> String) -> Result<()> {
    ensure!(
        expected.is_empty() || expected == found,
        "expected {expected}, found {found}: {}",
        otherwise()
    );
    Ok(())
}

/// A scheduler by name or object, and its tunables as a user wrote them.
pub fn under(
    name: &str,
    tunables: &BTreeMap<String, String>,
) -> Result<(Option<&'static Scheduler>, Vec<Setting>)> {
    if name == DEFAULT {
        return match tunables.keys().next() {
            None => Ok((None, Vec::new())),
            Some(tunable) => Err(anyhow!(
                "tunables.{tunable}: the kernel's own scheduler has no tunables"
            )),
        };
    }
    let scheduler = Scheduler::named(name)?;
    let manifest = scheduler.manifest()?;
    let settings = tunables
        .iter()
        .map(|(tunable, value)| manifest.setting(scheduler.name, tunable, value));
    Ok((Some(scheduler), settings.collect::<Result<_>>()?))
}

/// The command that runs the cell again. `scheduler` is its name, or the path of its object.
fn again(cell: &Cell, scheduler: &str, workload: &Path) -> String {
    let arm = Arm {
        scheduler: scheduler.to_owned(),
        tunables: cell.tunables.clone(),
    };
    let mut line = format!(
        "schedlab-host exec {} --load {} --seed {} --scheduler {}",
        quoted(&workload.display().to_string()),
        cell.load,
        cell.seed,
        quoted(&arm.to_string()),
    );
    for (name, value) in &cell.params {
        let _ = write!(line, " --param {}", quoted(&format!("{name}={value}")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use cell::Digests;
    use std::path::PathBuf;

    type Change<'a> = &'a dyn Fn(&mut Cell);

    const WORKLOAD: &str = "../../workloads/pipe.toml";

    fn cell() -> Cell {
        Cell {
            built_in: false,
            digests: Digests::default(),
            load: 1,
            machine: "host".into(),
            params: BTreeMap::new(),
            place: "host".into(),
            repetition: 0,
            scheduler: "default".into(),
            seed: 1,
            tunables: BTreeMap::new(),
            workload: "pipe".into(),
        }
    }

    fn try_cell(change: impl Fn(&mut Cell)) -> Result<Vec<Job>> {
        let mut cell = cell();
        change(&mut cell);
        let files = Files {
            workloads: BTreeMap::from([("pipe".into(), PathBuf::from(WORKLOAD))]),
            ..Files::default()
        };
        let shard = Shard {
            files,
            cells: vec![(cell.id(), cell)],
        };
        jobs(&shard, Path::new("s.json"), 2)
    }

    #[test]
    fn a_good_cell_is_ready_and_says_how_to_run_it_again() {
        let jobs = try_cell(|_| ()).unwrap();
        assert!(jobs[0].scheduler.is_none());
        assert_eq!(
            jobs[0].again,
            format!("schedlab-host exec {WORKLOAD} --load 1 --seed 1 --scheduler default")
        );
        let jobs = try_cell(|cell| cell.scheduler = "vtime".into()).unwrap();
        assert_eq!(jobs[0].scheduler.unwrap().name, "vtime");
    }

    #[test]
    fn the_line_that_runs_it_again_is_one_that_a_shell_takes() {
        let mut cell = cell();
        cell.tunables = BTreeMap::from([("b".into(), "1".into()), ("a".into(), "x y".into())]);
        cell.params = BTreeMap::from([("command".into(), "it's".into())]);
        assert_eq!(
            again(
                &cell,
                "my policies/mine.bpf.o",
                Path::new("my work/pipe.toml")
            ),
            "schedlab-host exec 'my work/pipe.toml' --load 1 --seed 1 \
             --scheduler 'my policies/mine.bpf.o:a=x y+b=1' --param 'command=it'\\''s'"
        );
    }

    #[test]
    fn cells_of_the_simulator_are_not_ours() {
        assert!(
            try_cell(|cell| cell.place = "sim".into())
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn mistakes_name_the_cell_and_the_key() {
        let vtime = Scheduler::find("vtime").unwrap().digest;
        let cases: [(Change, String); 8] = [
            (
                &|c| c.place = "moon".into(),
                "place: expected sim, host, vm-exact, vm-virtual or vm-emulated, found \"moon\""
                    .into(),
            ),
            (
                &|c| c.scheduler = "bsf".into(),
                "unknown scheduler 'bsf'; there are ".into(),
            ),
            (
                &|c| _ = c.tunables.insert("x".into(), "1".into()),
                "tunables.x: the kernel's own scheduler has no tunables".into(),
            ),
            (
                &|c| {
                    c.scheduler = "vtime".into();
                    c.tunables.insert("x".into(), "1".into());
                },
                "vtime: unknown tunable 'x'".into(),
            ),
            (
                &|c| c.workload = "latt".into(),
                "workload: files.workloads has no \"latt\"".into(),
            ),
            (
                &|c| c.load = -1,
                "pipe: load: expected an integer from 1".into(),
            ),
            (
                &|c| {
                    c.scheduler = "vtime".into();
                    c.digests.scheduler = "beef".into();
                },
                format!(
                    "digests.scheduler: expected beef, found {vtime}: this program holds another version of vtime"
                ),
            ),
            (
                &|c| c.digests.workload = "beef".into(),
                "digests.workload: expected beef, found ".into(),
            ),
        ];
        for (change, message) in cases {
            let error = format!("{:#}", try_cell(change).err().unwrap());
            assert!(
                error.starts_with(&format!("s.json: cells[0]: {message}")),
                "{error}"
            );
        }
    }
}
