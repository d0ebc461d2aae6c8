// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything about a shard's cells that can be checked before the first of them runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use cell::{Arm, Cell, DEFAULT, Files, Shard, quoted};
use policy::{Setting, Source};
use workload::Workload;
use workload::command::Command;
use workload::plan::Plan;

use crate::program::Program;
use crate::schedulers::{Scheduler, is_object};

const PLACES: [&str; 5] = ["host", "ssh", "vm-exact", "vm-virtual", "vm-emulated"];

/// What a cell runs under.
pub enum Under {
    /// The kernel's own scheduler.
    Default,
    Policy {
        scheduler: &'static Scheduler,
        settings: Vec<Setting>,
    },
    Program(Program),
}

/// A cell, ready to run.
pub struct Job {
    pub id: String,
    pub cell: Cell,
    pub under: Under,
    pub plan: Plan,
    /// The application that runs instead of the plan.
    pub command: Option<Command>,
    /// The command that runs this cell by itself.
    pub again: String,
    /// A scheduler under which no ordinary task runs for so long is taken away.
    pub frozen_after: Option<Duration>,
}

/// The shard's cells that belong on a real kernel. An error names the cell and the key.
pub fn jobs(shard: &Shard, file: &Path, cpus: u32) -> Result<Vec<Job>> {
    let cells = shard
        .cells
        .iter()
        .enumerate()
        .filter(|(_, (_, cell))| cell.place != "sim");
    let ms = |ms: NonZeroU32| Duration::from_millis(u64::from(ms.get()));
    let frozen_after = shard.frozen_after_ms.map(ms);
    cells
        .map(|(index, (id, cell))| {
            let job = job(&shard.files, id, cell, cpus);
            let job = job.with_context(|| format!("{}: cells[{index}]", file.display()))?;
            Ok(Job {
                frozen_after,
                ..job
            })
        })
        .collect()
}

fn job(files: &Files, id: &str, cell: &Cell, cpus: u32) -> Result<Job> {
    ensure!(
        PLACES.contains(&cell.place.as_str()),
        "place: expected sim, host, ssh, vm-exact, vm-virtual or vm-emulated, found {:?}",
        cell.place
    );
    ensure!(
        cell.api.is_none(),
        "api: only the simulator shows another release's interface, and place is {}",
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
    let file = (files.schedulers.get(&cell.scheduler))
        .and_then(|path| path.to_str())
        .filter(|path| is_object(path) || policy::is_program(Path::new(path)));
    let named = file.unwrap_or(&cell.scheduler);
    let under = under(named, &cell.tunables)?;
    let digest = &cell.digests.scheduler;
    match &under {
        Under::Policy { scheduler, .. } if file.is_none() => same(digest, scheduler.digest, || {
            let name = scheduler.name;
            format!("this program holds another version of {name}: make build")
        }),
        Under::Program(program) => {
            let found = Source::find(&program.path)?.id()?;
            same(digest, &found, || format!("{named} has changed since"))
        }
        // An object beside this program is what its campaign built: it carries no digest of its sources.
        Under::Policy { .. } | Under::Default => Ok(()),
    }
    .context("digests.scheduler")?;
    let plan = workload.plan(cell.load, &cell.params, cpus, cell.seed)?;
    let command = workload.command(cell.load, &cell.params, cpus, cell.seed)?;
    let command = command.filter(|_| !cell.modelled);
    Ok(Job {
        id: id.to_owned(),
        cell: cell.clone(),
        under,
        plan,
        command,
        again: again(cell, named, path),
        frozen_after: None,
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

/// A scheduler by name, object or program, and its tunables as a user wrote them.
pub fn under(name: &str, tunables: &BTreeMap<String, String>) -> Result<Under> {
    if name == DEFAULT {
        return match tunables.keys().next() {
            None => Ok(Under::Default),
            Some(tunable) => Err(anyhow!(
                "tunables.{tunable}: the kernel's own scheduler has no tunables"
            )),
        };
    }
    let file = Path::new(name);
    if name.contains('/') && policy::is_program(file) {
        return Program::new(file, tunables).map(Under::Program);
    }
    let scheduler = Scheduler::named(name)?;
    let manifest = scheduler.manifest()?;
    let settings = tunables
        .iter()
        .map(|(tunable, value)| manifest.setting(scheduler.name, tunable, value));
    Ok(Under::Policy {
        scheduler,
        settings: settings.collect::<Result<_>>()?,
    })
}

/// The command that runs the cell again. `scheduler` is its name, or the path of its object or program.
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
    if cell.modelled {
        line.push_str(" --modelled");
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
            api: None,
            built_in: false,
            digests: Digests::default(),
            exact_costs: false,
            kernel: None,
            load: 1,
            machine: "host".into(),
            modelled: false,
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
            frozen_after_ms: NonZeroU32::new(700),
        };
        jobs(&shard, Path::new("s.json"), 2)
    }

    #[test]
    fn a_good_cell_is_ready_and_says_how_to_run_it_again() {
        let jobs = try_cell(|_| ()).unwrap();
        assert!(matches!(jobs[0].under, Under::Default));
        assert_eq!(jobs[0].frozen_after, Some(Duration::from_millis(700)));
        assert_eq!(
            jobs[0].again,
            format!("schedlab-host exec {WORKLOAD} --load 1 --seed 1 --scheduler default")
        );
        let jobs = try_cell(|cell| cell.scheduler = "vtime".into()).unwrap();
        let Under::Policy { scheduler, .. } = &jobs[0].under else {
            panic!("vtime is a policy")
        };
        assert_eq!(scheduler.name, "vtime");
    }

    #[test]
    fn a_program_is_started_with_its_options_and_takes_nothing_else() {
        let path = std::env::current_exe().unwrap();
        let read = |tunables: &[(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            under(
                path.to_str().unwrap(),
                &tunables.iter().map(owned).collect(),
            )
        };
        let started = |options: &[&str]| Program {
            path: path.clone(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        let Under::Program(program) = read(&[]).unwrap() else {
            panic!("a program is one")
        };
        assert_eq!(program, started(&[]));
        let Under::Program(program) = read(&[("options", "-m 'a b',c --v")]).unwrap() else {
            panic!("a program is one")
        };
        assert_eq!(program, started(&["-m", "a b,c", "--v"]));
        for (name, value, message) in [
            (
                "options",
                "'",
                "options=': expected words, every quotation mark closed",
            ),
            (
                "rules",
                "1",
                "unknown tunable 'rules'; a program has options alone",
            ),
        ] {
            let error = read(&[(name, value)]).err().unwrap().to_string();
            assert_eq!(error, format!("{}: {message}", path.display()));
        }
    }

    #[test]
    fn a_program_that_was_built_anew_is_another_scheduler() {
        let program = std::env::current_exe().unwrap();
        let mut cell = cell();
        cell.scheduler = "mine".into();
        let mut files = Files {
            workloads: BTreeMap::from([("pipe".into(), PathBuf::from(WORKLOAD))]),
            schedulers: BTreeMap::from([("mine".into(), program.clone())]),
            ..Files::default()
        };
        let digest = Source::find(&program).unwrap().id().unwrap();
        for (given, expected) in [
            (digest.as_str(), None),
            ("beef", Some("expected beef, found ")),
        ] {
            cell.digests.scheduler = given.into();
            let cells = vec![(cell.id(), cell.clone())];
            let shard = Shard {
                files: std::mem::take(&mut files),
                cells,
                frozen_after_ms: None,
            };
            let read = jobs(&shard, Path::new("s.json"), 2).map_err(|error| format!("{error:#}"));
            assert_eq!(read.is_ok(), expected.is_none());
            if let (Err(error), Some(expected)) = (read, expected) {
                assert!(error.contains(expected), "{error}");
            }
            files = shard.files;
        }
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
    fn a_modelled_cell_runs_the_tasks_of_an_application() {
        let path = PathBuf::from("../../workloads/lrzip.toml");
        let job = |modelled| {
            let cell = Cell {
                modelled,
                workload: "lrzip".into(),
                ..cell()
            };
            let files = Files {
                workloads: BTreeMap::from([("lrzip".into(), path.clone())]),
                ..Files::default()
            };
            let cells = vec![(cell.id(), cell)];
            let shard = Shard {
                files,
                cells,
                frozen_after_ms: None,
            };
            jobs(&shard, Path::new("s.json"), 2).unwrap()
        };
        assert!(job(false)[0].command.is_some());
        assert!(job(true)[0].command.is_none());
        assert!(job(true)[0].again.ends_with(" --modelled"));
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
                "place: expected sim, host, ssh, vm-exact, vm-virtual or vm-emulated, found \"moon\""
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
