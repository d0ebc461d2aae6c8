// SPDX-License-Identifier: GPL-2.0-or-later
//! A real application as a workload: its input is made once, then it runs in a folder of its own, kept by a process
//! that outlives nothing and lets nothing outlive it.

mod descendants;
mod frames;
pub mod input;
mod keeper;
mod script;
mod tools;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command as Process, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use cell::Histogram;
use serde::{Deserialize, Serialize};
use workload::command::{Command, FRAME_TIME};

use workload::plan::{Inst, Plan};

use crate::energy::Packages;
use crate::error::Interrupted;
use crate::tasks::{self, ExecOptions, Outcome};

pub use keeper::{SUBCOMMAND, keep};

/// Everything that must be there before the scheduler is loaded.
pub struct Ready<'a> {
    command: &'a Command,
    input: Option<PathBuf>,
}

/// What the keeper is told.
#[derive(Serialize, Deserialize)]
struct Task {
    command: Command,
    input: Option<PathBuf>,
    scratch: PathBuf,
    packages: Result<Packages, String>,
}

/// What the keeper says, a line each.
#[derive(Serialize, Deserialize)]
enum Said {
    Ready,
    Measured(Measured),
    Failed(String),
}

/// What one run came to.
#[derive(Serialize, Deserialize)]
struct Measured {
    metrics: BTreeMap<String, f64>,
    /// Of every frame, where the command leaves a file of them.
    frames_ns: Vec<u64>,
    /// As an outcome has it.
    energy: Result<f64, String>,
}

/// Looks for the tools and makes the input, if it is not there yet.
pub fn prepare<'a>(name: &str, command: &'a Command) -> Result<Ready<'a>> {
    tools::need(name, &command.tools)?;
    let input = match &command.input {
        None => None,
        Some(input) => Some(input::ensure(name, input)?),
    };
    Ok(Ready { command, input })
}

/// Runs it once; of the model, the tasks that it does not stand for run beside it.
pub fn run(ready: &Ready, plan: &Plan, options: &ExecOptions) -> Result<Outcome> {
    let mut keeper = Keeper::start(ready, options)?;
    match keeper.hear()? {
        Said::Ready => {}
        said => return Err(unexpected(said)),
    }
    keeper.tell("go")?;
    let mut histograms = match beside(ready.command, plan) {
        None => BTreeMap::new(),
        Some(plan) => {
            // The keeper measures what the processors take.
            let mut outcome = tasks::run(&plan, &ExecOptions::new(options.calibration))?;
            // What the kernel tells of all tasks it tells here of some alone.
            outcome
                .histograms
                .retain(|name, _| plan.distributions.contains(name));
            outcome.histograms
        }
    };
    match keeper.hear()? {
        Said::Measured(Measured {
            metrics,
            frames_ns,
            energy,
        }) => {
            if !frames_ns.is_empty() {
                let mut frames = Histogram::default();
                for ns in frames_ns {
                    frames.record(ns);
                }
                histograms.insert(FRAME_TIME.to_string(), frames);
            }
            Ok(Outcome {
                metrics,
                histograms,
                energy,
                runner: tasks::RunnerCost::default(),
            })
        }
        said => Err(unexpected(said)),
    }
}

fn unexpected(said: Said) -> anyhow::Error {
    match said {
        Said::Failed(reason) => anyhow!(reason),
        Said::Ready | Said::Measured(_) => anyhow!("the keeper spoke out of turn"),
    }
}

/// The model without the groups that the application stands for; `None` if it stands for all of it.
fn beside(command: &Command, plan: &Plan) -> Option<Plan> {
    if command.replaces.is_empty() {
        return None;
    }
    let mut plan = plan.clone();
    let replaced = |name: &String| command.replaces.contains(name);
    for group in plan.groups.iter_mut().filter(|group| replaced(&group.name)) {
        group.program = vec![Inst::Exit];
    }
    plan.promises
        .retain(|name| plan.distributions.contains(name));
    Some(plan)
}

/// The process that runs the scripts. When it is dropped, all is stopped and removed.
struct Keeper {
    child: Child,
    stdout: ChildStdout,
    heard: Vec<u8>,
}

impl Keeper {
    fn start(ready: &Ready, options: &ExecOptions) -> Result<Self> {
        let itself = std::env::current_exe().context("cannot find this program")?;
        let mut child = Process::new(itself)
            .arg(SUBCOMMAND)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the keeper")?;
        let stdout = child.stdout.take().expect("piped");
        let mut keeper = Self {
            child,
            stdout,
            heard: Vec::new(),
        };
        let task = Task {
            command: ready.command.clone(),
            input: ready.input.clone(),
            scratch: scratch(),
            packages: options.packages.clone(),
        };
        keeper.tell(&serde_json::to_string(&task)?)?;
        Ok(keeper)
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{line}").context("the keeper is gone")
    }

    /// The next line, or an interrupt.
    fn hear(&mut self) -> Result<Said> {
        loop {
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                return serde_json::from_slice(&line).context("the keeper said something strange");
            }
            let mut ready = libc::pollfd {
                fd: self.stdout.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: reads and writes one local.
            let found = unsafe { libc::poll(&raw mut ready, 1, 500) };
            if signals::caught() {
                return Err(Interrupted(libc::SIGINT).into());
            }
            if found > 0 && self.read()? == 0 {
                bail!("the keeper ended before its time");
            }
        }
    }

    fn read(&mut self) -> Result<usize> {
        let mut bytes = [0; 4096];
        let count = std::io::Read::read(&mut self.stdout, &mut bytes).context("the keeper")?;
        self.heard.extend_from_slice(&bytes[..count]);
        Ok(count)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Where a run has its folder: in memory where that is the machine's habit, so that no disk disturbs it.
fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match std::env::var_os("TMPDIR") {
        Some(folder) => folder.into(),
        None if memory.is_dir() => memory.into(),
        None => std::env::temp_dir(),
    }
}
