// SPDX-License-Identifier: GPL-2.0-or-later
//! The exec action: the running program replaces its image by itself and goes on where it was.
//!
//! What the task knows travels as JSON in memory that the new image finds by its descriptor; queues, shared memory and
//! the bell keep their descriptors.

use std::ffi::CString;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::arena::Arena;
use super::channels::Channels;
use super::context::Context;
use super::fault::{Fault, Kind};
use super::task::{self, State, Task};
use super::{Calibration, ExecOptions};
use workload::plan::Plan;

/// The new image's name, by which it knows what it is.
const NAME: &str = "schedlab-task";

/// Whether [`reenter`] was called.
static READY: AtomicBool = AtomicBool::new(false);

#[derive(Deserialize)]
struct Saved {
    plan: Plan,
    calibration: Calibration,
    scratch: PathBuf,
    cgroups: Option<PathBuf>,
    cpus: Vec<usize>,
    memory: RawFd,
    queues: Vec<Vec<(RawFd, RawFd)>>,
    bell: RawFd,
    state: State,
}

#[derive(Serialize)]
struct Saving<'a> {
    plan: &'a Plan,
    calibration: Calibration,
    scratch: &'a PathBuf,
    cgroups: Option<&'a Path>,
    cpus: &'a [usize],
    memory: RawFd,
    queues: Vec<Vec<(RawFd, RawFd)>>,
    bell: RawFd,
    state: &'a State,
}

/// To be called first in `main` by a program that runs plans with exec actions; does not return in a new image.
pub fn reenter() {
    READY.store(true, SeqCst);
    let mut arguments = std::env::args();
    if arguments.next().as_deref() != Some(NAME) {
        return;
    }
    let status = match arguments
        .next()
        .and_then(|number| number.parse().ok())
        .map(go_on)
    {
        Some(Ok(())) => 0,
        Some(Err(error)) => {
            eprintln!("{NAME}: {error:#}");
            1
        }
        None => {
            eprintln!("{NAME}: expected the number of a descriptor");
            2
        }
    };
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

pub fn can_replace() -> bool {
    READY.load(SeqCst)
}

/// Returns only if it cannot be done.
pub fn replace(task: &Task) -> Fault {
    match save(task) {
        Ok(saved) => {
            let number = CString::new(saved.as_raw_fd().to_string());
            if let (Ok(name), Ok(number)) = (CString::new(NAME), number) {
                let arguments = [name.as_ptr(), number.as_ptr(), std::ptr::null()];
                // SAFETY: a list of strings that ends with null.
                unsafe { libc::execv(c"/proc/self/exe".as_ptr(), arguments.as_ptr()) };
            }
            Fault::last(Kind::Exec)
        }
        Err(error) => Fault::os(Kind::Exec, &error),
    }
}

fn save(task: &Task) -> std::io::Result<File> {
    let context = task.context;
    let saving = Saving {
        plan: context.plan,
        calibration: context.options.calibration,
        scratch: &context.options.scratch,
        cgroups: context.cgroups,
        cpus: context.cpus,
        memory: context.arena.memory(),
        queues: context.channels.numbers(),
        bell: context.bell,
        state: &task.state,
    };
    // SAFETY: a name and flags; a new descriptor, owned at once.
    let mut file = unsafe {
        match libc::memfd_create(c"schedlab-state".as_ptr(), 0) {
            -1 => return Err(std::io::Error::last_os_error()),
            number => File::from_raw_fd(number),
        }
    };
    file.write_all(&serde_json::to_vec(&saving)?)?;
    file.seek(SeekFrom::Start(0))?;
    let queues = saving
        .queues
        .iter()
        .flatten()
        .flat_map(|&(reader, writer)| [reader, writer]);
    for number in queues.chain([saving.memory, saving.bell]) {
        // SAFETY: no memory.
        unsafe { libc::fcntl(number, libc::F_SETFD, 0) };
    }
    Ok(file)
}

fn go_on(number: RawFd) -> Result<()> {
    // SAFETY: the descriptor was left open for this.
    let saved = unsafe { File::from_raw_fd(number) };
    let saved: Saved = serde_json::from_reader(std::io::BufReader::new(saved))
        .context("expected a task's state")?;
    // SAFETY: the descriptors were left open for this, and are this process's own.
    let (memory, channels) = unsafe {
        (
            OwnedFd::from_raw_fd(saved.memory),
            Channels::from_numbers(&saved.queues),
        )
    };
    let arena = Arena::map(&saved.plan, memory)?;
    let options = ExecOptions {
        scratch: saved.scratch,
        limit: Duration::ZERO,
        cgroups: saved.cgroups,
        ..ExecOptions::new(saved.calibration)
    };
    let context = Context {
        plan: &saved.plan,
        options: &options,
        arena: &arena,
        channels: &channels,
        cgroups: options.cgroups.as_deref(),
        cpus: &saved.cpus,
        bell: saved.bell,
    };
    std::thread::scope(|scope| task::resume(&context, scope, saved.state));
    Ok(())
}
