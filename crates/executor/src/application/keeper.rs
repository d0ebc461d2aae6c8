// SPDX-License-Identifier: GPL-2.0-or-later
//! The keeper: runs a workload's scripts one after the other, measures the middle one, and then stops and removes
//! everything, also when the other end of its standard input is gone, however that went.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use regex_lite::Regex;
use workload::command::Command;

use super::frames::Frames;
use super::script::Surroundings;
use super::{Measured, Said, Task, descendants, script};
use crate::energy::{self, Packages};

pub const SUBCOMMAND: &str = "keep-application";

/// Longest for a script, and for the one that stops everything.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// The script that an end from outside also ends; 0 for none.
static RUNNING: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicBool = AtomicBool::new(false);

pub fn keep() -> Result<ExitCode> {
    signals::catch();
    // SAFETY: no memory.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let mut stdin = BufReader::new(std::io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let task: Task = serde_json::from_str(&line).context("keep-application: expected a task")?;
    let (go, may_go) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while stdin.read_line(&mut line).is_ok_and(|count| count > 0) {
            let _ = go.send(());
        }
        ENDED.store(true, SeqCst);
        end_script();
    });
    let folder = tempfile::Builder::new()
        .prefix("schedlab-run-")
        .tempdir_in(&task.scratch);
    let folder =
        folder.with_context(|| format!("cannot make a folder in {}", task.scratch.display()))?;
    let stage = Stage::new(&task, folder.path());
    let measured = stage.and_then(|stage| {
        let measured = stage.measure(&may_go);
        stage.stop();
        measured
    });
    descendants::end_all();
    let said = measured.map_or_else(|error| Said::Failed(format!("{error:#}")), Said::Measured);
    folder.close().with_context(|| {
        format!(
            "cannot remove the folder of the run in {}",
            task.scratch.display()
        )
    })?;
    say(&said)?;
    Ok(ExitCode::SUCCESS)
}

fn say(said: &Said) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    serde_json::to_writer(&mut stdout, said)?;
    writeln!(stdout)?;
    Ok(stdout.flush()?)
}

fn end_script() {
    match RUNNING.load(SeqCst) {
        0 => {}
        process => script::kill(process),
    }
}

struct Stage<'a> {
    command: &'a Command,
    /// Where scripts work, and beside it what they print.
    work: PathBuf,
    logs: PathBuf,
    environment: BTreeMap<String, String>,
    packages: Result<Packages, String>,
}

struct Usage {
    elapsed_s: f64,
    own: libc::rusage,
}

impl<'a> Stage<'a> {
    fn new(task: &'a Task, folder: &Path) -> Result<Self> {
        let command = &task.command;
        let work = folder.join("work");
        std::fs::create_dir(&work)?;
        if command.unprivileged && script::is_root() {
            // The folder itself is root's alone, and must be passed through.
            std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
            script::give_away(&work)?;
        }
        let mut environment = command.environment.clone();
        if let Some(input) = &task.input {
            environment.insert("input".into(), input.display().to_string());
        }
        Ok(Self {
            command,
            work,
            logs: folder.to_path_buf(),
            environment,
            packages: task.packages.clone(),
        })
    }

    fn measure(&self, may_go: &mpsc::Receiver<()>) -> Result<Measured> {
        self.script("setup", &self.command.setup, LIMIT)?;
        say(&Said::Ready)?;
        may_go.recv().map_err(|_| anyhow!("interrupted"))?;
        let frames = self.command.frames.as_ref();
        let frames = frames.map(|path| Frames::before(&self.folder().join(path)));
        let before_s = descendants::cpu_s();
        let run = || self.script("run", &self.command.run, LIMIT);
        let (usage, energy) = energy::during(self.packages.clone(), run);
        let usage = usage?;
        let after_s = descendants::cpu_s();
        let frames_ns = frames.map_or_else(|| Ok(Vec::new()), |frames| frames.after())?;
        let mut metrics = self.printed()?;
        let mut put = |name: &str, value: f64| metrics.insert(name.to_string(), value);
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let own_s = seconds(usage.own.ru_utime) + seconds(usage.own.ru_stime);
        let cpu_s = own_s + after_s.unwrap_or(0.0) - before_s.unwrap_or(0.0);
        put("elapsed_s", usage.elapsed_s);
        put("cpu_s", cpu_s);
        put("cpu_usage_pct", cpu_s / usage.elapsed_s * 100.0);
        // The kernel does not add up the switches of a server that lives on.
        if before_s.is_none() && after_s.is_none() {
            put("switches_voluntary", usage.own.ru_nvcsw as f64);
            put("switches_involuntary", usage.own.ru_nivcsw as f64);
        }
        Ok(Measured {
            metrics,
            frames_ns,
            energy,
        })
    }

    /// What `run` printed, by the patterns; the last match counts.
    fn printed(&self) -> Result<BTreeMap<String, f64>> {
        let log = self.log("run");
        let text = String::from_utf8_lossy(&std::fs::read(&log)?).replace('\r', "\n");
        let mut metrics = BTreeMap::new();
        for (name, pattern) in &self.command.metrics {
            let regex = Regex::new(pattern)?;
            let found = regex.captures_iter(&text).last();
            let value = found.and_then(|found| found.get(1)?.as_str().parse::<f64>().ok());
            let Some(value) = value.filter(|value| value.is_finite()) else {
                bail!(
                    "run: no number matches the pattern of {name}, '{pattern}'; it said last: {}",
                    script::last_lines(&log)
                );
            };
            metrics.insert(name.clone(), value);
        }
        Ok(metrics)
    }

    /// Where scripts work.
    fn folder(&self) -> &Path {
        if self.command.here {
            Path::new("")
        } else {
            &self.work
        }
    }

    fn log(&self, what: &str) -> PathBuf {
        self.logs.join(format!("{what}.log"))
    }

    fn script(&self, what: &str, text: &str, limit: Duration) -> Result<Usage> {
        let log = self.log(what);
        let stopping = what == "stop";
        let start = Instant::now();
        let surroundings = if self.command.here {
            Surroundings::Callers
        } else {
            Surroundings::Own {
                folder: &self.work,
                unprivileged: self.command.unprivileged,
            }
        };
        let child = script::start(text, &log, &self.environment, surroundings)?;
        let process = child.id();
        if !stopping {
            RUNNING.store(process, SeqCst);
            if ENDED.load(SeqCst) {
                end_script();
            }
        }
        let (over, is_over) = mpsc::channel::<()>();
        // Its name and life tell `schedlab calibrate` which of all processes are the script's.
        let watch = std::thread::Builder::new().name(what.into());
        let watch = watch.spawn(move || {
            let late = is_over.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                script::kill(process);
            }
            late
        })?;
        let mut status = 0;
        // SAFETY: a C struct of integers, filled by the call below.
        let mut own: libc::rusage = unsafe { std::mem::zeroed() };
        // Seen, but not yet reaped: until then its id is nobody else's.
        wait(process, stopping);
        let elapsed_s = start.elapsed().as_secs_f64();
        RUNNING.store(0, SeqCst);
        drop(over);
        let late = watch.join().unwrap_or(false);
        // SAFETY: writes to locals; our own child, which has ended.
        unsafe { libc::wait4(process as libc::pid_t, &raw mut status, 0, &raw mut own) };
        if ENDED.load(SeqCst) && !stopping {
            bail!("interrupted");
        }
        if late {
            bail!(
                "{what} was not over after {} s; it said last: {}",
                limit.as_secs(),
                script::last_lines(&log)
            );
        }
        script::judge(
            what,
            std::os::unix::process::ExitStatusExt::from_raw(status),
            &log,
        )?;
        Ok(Usage { elapsed_s, own })
    }

    /// A failure to stop in order is no failure of the run: what is left is killed.
    fn stop(&self) {
        if !self.command.stop.is_empty()
            && let Err(error) = self.script("stop", &self.command.stop, STOP_LIMIT)
        {
            eprintln!("{error:#}");
        }
    }
}

/// Until the script has ended; a signal to us ends it.
fn wait(process: u32, stopping: bool) {
    loop {
        // SAFETY: a C struct of integers, filled by the call; no reaping.
        let done = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(
                libc::P_PID,
                process,
                &raw mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        if done == 0 {
            return;
        }
        if signals::caught() && !stopping {
            ENDED.store(true, SeqCst);
            end_script();
        }
    }
}
