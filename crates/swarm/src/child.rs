// SPDX-License-Identifier: GPL-2.0-or-later
//! The parent's end of a child: gives it runs, and tells its death from its answer.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use kernel::{Execution, Release};
use policy::Object;

use crate::job::{Job, Verdict};

/// A policy's object, what it is called, and whose interface it sees.
#[derive(Clone)]
pub struct Built {
    pub name: String,
    pub object: PathBuf,
    pub release: Release,
    /// A file of values that are set in the object first.
    pub values: Option<PathBuf>,
    /// What is executed of it is counted.
    pub counted: bool,
}

impl Built {
    /// With every access checked.
    pub fn execution(&self) -> Execution {
        if self.counted {
            Execution::Counted
        } else {
            Execution::Paranoid
        }
    }

    /// As it is to be linked.
    pub fn open(&self) -> Result<Object> {
        let mut object = Object::open(&self.name, &self.object)?;
        if let Some(file) = &self.values {
            object.set_up = Some((policy::values::of_file(&object.elf, file)?, None));
        }
        Ok(object)
    }
}

pub struct Runner {
    built: Built,
    child: Option<Running>,
}

struct Running {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Runner {
    pub fn new(built: &Built) -> Self {
        Self {
            built: built.clone(),
            child: None,
        }
    }

    /// Bad input is an error; whatever the policy does is a verdict.
    pub fn run(&mut self, job: &Job) -> Result<Verdict> {
        let child = match &mut self.child {
            Some(child) => child,
            None => self.child.insert(start(&self.built)?),
        };
        let mut line = serde_json::to_string(job)?;
        line.push('\n');
        let sent = child
            .to
            .write_all(line.as_bytes())
            .and_then(|()| child.to.flush());
        let mut answer = String::new();
        if sent.is_ok() && child.from.read_line(&mut answer)? > 0 && answer.ends_with('\n') {
            return serde_json::from_str(&answer).context("a child's answer");
        }
        let mut dead = self.child.take().context("a child that was there")?;
        let status = dead.process.wait()?;
        death(status)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.process.kill();
            let _ = child.process.wait();
        }
    }
}

fn start(built: &Built) -> Result<Running> {
    // This very program, even if another has taken its place on disk.
    let mut process = Command::new("/proc/self/exe")
        .arg("check-worker")
        .arg(&built.name)
        .arg(&built.object)
        .arg(built.release.to_string())
        .args(built.counted.then_some("--counted"))
        .args(&built.values)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start a child process")?;
    let (to, from) = (process.stdin.take(), process.stdout.take());
    Ok(Running {
        process,
        to: to.context("a pipe to the child")?,
        from: BufReader::new(from.context("a pipe from the child")?),
    })
}

/// What a child died of.
fn death(status: ExitStatus) -> Result<Verdict> {
    let Some(what) = status.signal().and_then(crash) else {
        bail!("the simulator itself ended with {status}");
    };
    Ok(Verdict {
        by: "crash".to_string(),
        reason: format!("the policy crashed ({status}): {what}"),
        ..Verdict::default()
    })
}

fn crash(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGSEGV | libc::SIGBUS => "it used memory that is not its own",
        libc::SIGABRT => "it broke memory that is not its own",
        _ => return None,
    })
}
