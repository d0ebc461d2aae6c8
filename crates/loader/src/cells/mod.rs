// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the cells of a shard on the running kernel, one at a time (`docs/records.md`).

mod counters;
mod freeze;
mod measure;
mod plan;
mod record;
mod serve;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use cell::{Record, Shard, Status};
use executor::energy::POWERCAP;
use executor::tasks::Calibration;
use serde_json::json;

pub use counters::Counters;
pub use measure::{Measured, measure};
pub use plan::{Job, Under, under};
pub use record::record;
pub use serve::serve;

use crate::error::{Interrupted, bad_input};
use crate::kernel::{AutogroupOff, Kernel};
use crate::running;

/// Returns whether every cell came to a result. A finished record stays, whatever happens later.
pub fn run(shard_file: &Path, out: &Path, mut stream: Option<File>) -> Result<bool> {
    let shard = Shard::read(shard_file).map_err(bad_input)?;
    let kernel = Kernel::read();
    let jobs = plan::jobs(&shard, shard_file, kernel.cpus).map_err(bad_input)?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;

    let (done, todo): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .partition(|job| Record::path(out, &job.id).exists());
    for job in done {
        say(&job.id, "skipped")?;
    }
    if todo.is_empty() {
        return Ok(true);
    }
    one_by_one(&todo, &kernel, |record| {
        record.write(out)?;
        if let Some(stream) = &mut stream {
            send(stream, record)?;
        }
        say(&record.id, record.status.name())
    })
}

/// Returns whether every cell came to a result; `keep` gets each record as soon as it is there.
fn one_by_one(
    jobs: &[Job],
    kernel: &Kernel,
    mut keep: impl FnMut(&Record) -> Result<()>,
) -> Result<bool> {
    running::vacant()?;
    let _autogroup = AutogroupOff::hold();
    let calibration = Calibration::measure();
    let counters = Counters::look(Path::new(POWERCAP));
    let mut all_good = true;
    for job in jobs {
        if signals::caught() {
            return Err(Interrupted(libc::SIGINT).into());
        }
        // Several CPUs of the exact tier share the speed of one.
        let in_turn = job.cell.modelled && job.cell.place == "vm-exact";
        let speed = calibration.in_turn(if in_turn { kernel.cpus } else { 1 });
        let measured = measure(job, speed, &counters.packages)?;
        let record = record(job, measured, kernel, &counters);
        all_good &= matches!(record.status, Status::Ok | Status::Ejected);
        if record.status != Status::Ok {
            eprintln!("{}: {}", job.id, record.reason);
        }
        keep(&record)?;
    }
    Ok(all_good)
}

/// A record as one line, for whoever has no file system in common with us.
fn send(stream: &mut File, record: &Record) -> Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    stream.write_all(&line).context("cannot send a record")
}

fn say(id: &str, status: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", json!({"done": id, "status": status}))?;
    stdout.flush().context("standard output")
}
