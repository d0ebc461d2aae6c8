// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduler that a program of its own loads: started, watched by the kernel's word, and stopped as with Ctrl-C.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cell::OPTIONS;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::{Interrupted, NotHere};
use crate::kernel_log::KernelLog;
use crate::running;
use crate::sysfs::{SCHED_EXT, State};
use crate::told;

const LOOK: Duration = Duration::from_millis(20);
/// Verifying and switching every task over takes an emulated machine its time.
const ENABLED_WITHIN: Duration = Duration::from_secs(120);
/// After Ctrl-C, and again after a signal that nobody can ignore.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);
const LAST_LINES: usize = 5;

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub options: Vec<String>,
}

impl Program {
    /// With its options as a cell's tunables have them, in a shell's words.
    pub fn new(path: &Path, tunables: &BTreeMap<String, String>) -> Result<Self> {
        let shown = path.display();
        let mut options = Vec::new();
        for (name, value) in tunables {
            ensure!(
                name == OPTIONS,
                "{shown}: unknown tunable '{name}'; a program has {OPTIONS} alone"
            );
            options = shlex::split(value).with_context(|| {
                format!("{shown}: {OPTIONS}={value}: expected words, every quotation mark closed")
            })?;
        }
        Ok(Self {
            path: path.to_owned(),
            options,
        })
    }

    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// Enabled; dropped, the program is stopped.
pub struct Started {
    name: String,
    pub child: Child,
    said: File,
    log: KernelLog,
    /// The kernel's state before it was started.
    before: State,
    /// As `/sys/kernel/sched_ext/root/ops` shows it.
    pub ops: String,
}

impl Started {
    /// The program, once the kernel runs under its scheduler.
    pub fn start(program: &Program) -> Result<Self> {
        let mut started = Self::spawn(program, |_| ())?;
        started.wait_until_enabled(&mut || {
            signals::wait(LOOK);
            Ok(())
        })?;
        Ok(started)
    }

    /// The program, just started; `prepare` may add to how.
    pub fn spawn(program: &Program, prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let name = program.name();
        let before = running::ready(&name)?;
        let said = tempfile::tempfile()?;
        let mut command = Command::new(&program.path);
        command
            .args(&program.options)
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?)
            // Ctrl-C reaches it from here alone.
            .process_group(0);
        // SAFETY: a system call, which allocates nothing.
        unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
        prepare(&mut command);
        let log = KernelLog::from_now();
        let child = command
            .spawn()
            .with_context(|| format!("{} cannot be started", program.path.display()))?;
        Ok(Self {
            name,
            child,
            said,
            log,
            before,
            ops: String::new(),
        })
    }

    /// Until the kernel runs under its scheduler; `meanwhile` is done again and again, and takes a moment.
    pub fn wait_until_enabled(&mut self, meanwhile: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let name = self.name.clone();
        let deadline = Instant::now() + ENABLED_WITHIN;
        while Instant::now() < deadline {
            let state = State::read()?;
            if state.is_enabled()
                && state.enable_seq != self.before.enable_seq
                && !state.ops.is_empty()
            {
                self.ops = state.ops;
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "{name} ended before its scheduler was enabled: {}",
                    self.last(status)
                );
            }
            if signals::caught() {
                return Err(Interrupted(libc::SIGINT).into());
            }
            meanwhile()?;
        }
        let said = self.last_lines();
        bail!(
            "{name} did not get its scheduler enabled within {} s: {said}",
            ENABLED_WITHIN.as_secs()
        )
    }

    /// Why the kernel threw the scheduler out, if it did. Where its log may not be read, the program knows.
    pub fn ejection(&mut self) -> Option<String> {
        (self.log.ejection(&self.ops)).or_else(|| told::ejection(&self.text()))
    }

    /// How the program ended, if it has.
    pub fn end(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        Some(format!("{} ended: {}", self.name, self.last(status)))
    }

    /// As with Ctrl-C. The kernel's own scheduler is back afterwards, or this is an error.
    pub fn stop(mut self) -> Result<()> {
        self.end_child();
        let deadline = Instant::now() + STOPPED_WITHIN;
        loop {
            let state = State::read()?;
            if state.is_disabled() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let text = format!(
                    "{} has ended, and {SCHED_EXT}/state says: {}",
                    self.name, state.state
                );
                return Err(NotHere(text).into());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn end_child(&mut self) {
        for signal in [Signal::SIGINT, Signal::SIGKILL] {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            // Not yet waited for, so that nobody else has its number.
            let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
            let deadline = Instant::now() + STOPPED_WITHIN;
            while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
                // A signal to this process must not cut it short.
                std::thread::sleep(LOOK);
            }
        }
    }

    fn last(&self, status: ExitStatus) -> String {
        format!("{status}: {}", self.last_lines())
    }

    /// All that the program has said.
    fn text(&self) -> String {
        let length = self.said.metadata().map_or(0, |about| about.len());
        let mut bytes = vec![0; length as usize];
        // The program writes at the file's own position, which stays where it is.
        let _ = self.said.read_exact_at(&mut bytes, 0);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn last_lines(&self) -> String {
        let text = self.text();
        if let Some(why) = told::ejection(&text) {
            return why;
        }
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        if lines.is_empty() {
            return "it said nothing".to_owned();
        }
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end_child();
    }
}
