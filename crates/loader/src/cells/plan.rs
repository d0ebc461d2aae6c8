// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything about a shard's cells that can be checked before the first of them runs.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use cell::{Cell, Files, Shard};
use policy::Setting;
use workload::Workload;
use workload::command::Command;
use workload::plan::Plan;

use crate::schedulers::{Scheduler, is_object};

/// The kernel's own scheduler.
const DEFAULT: &str = "default";

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
    let (scheduler, settings) = under(
        object.unwrap_or(&cell.scheduler),
        cell.tunables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    )?;
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
        again: again(cell, path),
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
pub fn under<'a>(
    name: &str,
    tunables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(Option<&'static Scheduler>, Vec<Setting>)> {
    if name == DEFAULT {
        return match tunables.into_iter().next() {
            None => Ok((None, Vec::new())),
            Some((tunable, _)) => Err(anyhow!(
                "tunables.{tunable}: the kernel's own scheduler has no tunables"
            )),
        };
    }
    let scheduler = Scheduler::named(name)?;
    let manifest = scheduler.manifest()?;
    let settings = tunables
        .into_iter()
        .map(|(tunable, value)| manifest.setting(scheduler.name, tunable, value));
    Ok((Some(scheduler), settings.collect::<Result<_>>()?))
}

fn again(cell: &Cell, workload: &Path) -> String {
    let list = |map: &std::collections::BTreeMap<String, String>, start: &str, between: &str| {
        let parts = map
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>();
        if parts.is_empty() {
            String::new()
        } else {
            format!("{start}{}", parts.join(between))
        }
    };
    format!(
        "schedlab-host exec {} --load {} --seed {} --scheduler {}{}{}",
        workload.display(),
        cell.load,
        cell.seed,
        cell.scheduler,
        list(&cell.tunables, ":", ","),
        list(&cell.params, " --param ", " --param "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cell::Digests;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    type Change<'a> = &'a dyn Fn(&mut Cell);

    const WORKLOAD: &str = "../../workloads/pipe.toml";

    fn cell() -> Cell {
        Cell {
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
