// SPDX-License-Identifier: GPL-2.0-or-later
//! `schedlab-sim run`: the cells of a shard, several at a time.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow, ensure};
use cell::{Cell, Files, Record, Shard, Status};
use clap::Args;
use kernel::Options;
use signals::INTERRUPTED;

use crate::arguments::simulated;
use crate::cells::{self, Cache, Sources};

#[derive(Args)]
pub struct RunArgs {
    /// Shard: files and cells (docs/records.md)
    shard: PathBuf,
    /// Directory of the records, a file each; - prints them, a line each, as they come
    #[arg(long, required_unless_present = "build_only")]
    out: Option<PathBuf>,
    /// Check the shard and build what its cells need, print where that is kept, a line each, and run none of them
    #[arg(long)]
    build_only: bool,
    /// Cells at a time; default: one a CPU of this machine
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Stop when this process, which started the shard, is gone
    #[arg(long, value_name = "PID")]
    parent: Option<u32>,
}

/// A cell failed.
const FAILED: u8 = 1;

/// Where records go.
enum Kept<'a> {
    Files(&'a Path),
    Lines,
}

pub fn run(args: &RunArgs) -> Result<u8> {
    let path = args.shard.as_path();
    if let Some(parent) = args.parent {
        signals::with_parent(parent);
    }
    let shard = Shard::read(path)?;
    let mut work = Vec::new();
    for (index, (id, cell)) in shard.cells.iter().enumerate() {
        let key = format!("{}: cells[{index}]", path.display());
        ensure!(
            cell.place == "sim",
            "{key}.place: expected sim, found {:?}",
            cell.place
        );
        cells::release(cell).with_context(|| format!("{key}.api"))?;
        work.push((
            id.as_str(),
            cell,
            sources(&shard.files, cell).with_context(|| key)?,
        ));
    }
    let built = check(&work)?;
    let kept = match args.out.as_deref() {
        _ if args.build_only => {
            for file in built {
                println!("{}", file.display());
            }
            return Ok(0);
        }
        Some(out) if out.as_os_str() != "-" => {
            std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
            Kept::Files(out)
        }
        _ => Kept::Lines,
    };
    signals::catch();
    let jobs = match args.jobs {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let broken = AtomicBool::new(false);
    let bad_input = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(work.len()) {
            scope.spawn(|| {
                let mut cache = Cache::default();
                while !signals::caught() && !broken.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((id, cell, sources)) = work.get(index) else {
                        break;
                    };
                    match one(id, cell, sources, &kept, &mut cache) {
                        Ok(failure) => failed.fetch_or(failure, Ordering::Relaxed),
                        Err(error) => {
                            *bad_input
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                            broken.swap(true, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
    });
    if let Some(error) = bad_input
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        return Err(error);
    }
    if signals::caught() {
        return Ok(INTERRUPTED);
    }
    Ok(if failed.load(Ordering::Relaxed) {
        FAILED
    } else {
        0
    })
}

/// Everything that can be wrong with the input is found before the first cell runs. Returns where the code of the
/// policies is kept.
fn check(work: &[(&str, &Cell, Sources)]) -> Result<BTreeSet<PathBuf>> {
    let mut cache = Cache::default();
    let mut built = BTreeSet::new();
    let mut plans = BTreeSet::new();
    let mut settings = BTreeSet::new();
    for (_, cell, sources) in work {
        let plan = (
            (&sources.workload, &sources.machine),
            (cell.load, &cell.params),
            (cells::is_the_kernels_own(cell), cell.built_in),
        );
        if plans.insert(plan) {
            let machine = cache.machine(&sources.machine)?;
            cells::plan(&*cache.workload(&sources.workload)?, &machine, cell)?;
        }
        if settings.insert((&sources.scheduler, &cell.api, &cell.tunables)) {
            let program = cache.policy(&sources.scheduler, cell)?;
            built.extend(program.kept().map(Path::to_owned));
            for (name, value) in &cell.tunables {
                program.manifest.setting(&cell.scheduler, name, value)?;
            }
        }
    }
    Ok(built)
}

fn sources(files: &Files, cell: &Cell) -> Result<Sources> {
    let find = |map: &std::collections::BTreeMap<String, PathBuf>, kind: &str, name: &str| {
        map.get(name)
            .cloned()
            .ok_or_else(|| anyhow!("files.{kind}.{name}: expected this key, found none"))
    };
    // A shard may say itself what `default` is.
    let scheduler = if files.schedulers.contains_key(&cell.scheduler) {
        &cell.scheduler
    } else {
        simulated(&cell.scheduler)
    };
    Ok(Sources {
        scheduler: find(&files.schedulers, "schedulers", scheduler)?,
        workload: find(&files.workloads, "workloads", &cell.workload)?,
        machine: find(&files.machines, "machines", &cell.machine)?,
    })
}

/// Runs a cell unless it has a record; true if it failed.
fn one(id: &str, cell: &Cell, sources: &Sources, kept: &Kept, cache: &mut Cache) -> Result<bool> {
    if let Kept::Files(out) = kept
        && Record::path(out, id).exists()
    {
        say(id, "skipped");
        return Ok(false);
    }
    let options = Options {
        stop: Some(signals::caught),
        ..Options::default()
    };
    let (record, outcome) = cells::run(cell, sources, cache, options)?;
    if outcome.reason == kernel::INTERRUPTED {
        return Ok(false);
    }
    match kept {
        Kept::Files(out) => record.write(out)?,
        // Whoever reads them is all that keeps them.
        Kept::Lines => record.print().context("standard output")?,
    }
    if record.status == Status::Failed {
        eprintln!("schedlab-sim: {id}: {}", record.reason);
    }
    if let Kept::Files(_) = kept {
        say(id, record.status.name());
    }
    Ok(record.status == Status::Failed)
}

fn say(id: &str, status: &str) {
    let line = serde_json::json!({"done": id, "status": status});
    let mut stdout = std::io::stdout().lock();
    // A reader that has gone is no reason to lose results.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
