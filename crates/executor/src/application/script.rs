// SPDX-License-Identifier: GPL-2.0-or-later
//! A workload's script: run by `sh` in a process group of its own, its output kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, anyhow};

/// Who runs it instead of root: nobody.
const NOBODY: u32 = 65_534;
const LAST_LINES: usize = 5;

/// What a script finds around it.
#[derive(Clone, Copy)]
pub enum Surroundings<'a> {
    /// A folder and an environment of the run's own, and perhaps nobody's rights.
    Own {
        folder: &'a Path,
        unprivileged: bool,
    },
    /// Those of whoever called.
    Callers,
}

/// Starts it with both outputs in `log`. It stops at the first command that fails.
pub fn start(
    text: &str,
    log: &Path,
    environment: &BTreeMap<String, String>,
    surroundings: Surroundings,
) -> Result<Child> {
    let output = File::create(log).with_context(|| log.display().to_string())?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-euc", text]);
    if let Surroundings::Own {
        folder,
        unprivileged,
    } = surroundings
    {
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .env("HOME", folder)
            .env("TMPDIR", folder)
            .env("LC_ALL", "C")
            .envs(environment);
        if unprivileged && is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
    }
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0);
    // SAFETY: one system call without memory.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.spawn().context("cannot start sh")
}

pub fn is_root() -> bool {
    // SAFETY: no memory.
    unsafe { libc::geteuid() == 0 }
}

/// Gives what root made to who runs the scripts.
pub fn give_away(folder: &Path) -> Result<()> {
    std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY))
        .with_context(|| folder.display().to_string())
}

/// Ends the group of a script that is not yet waited for.
pub fn kill(process: u32) {
    // SAFETY: no memory; a group that is gone is no harm, and no other has its id before the script is reaped.
    unsafe { libc::kill(-(process as libc::pid_t), libc::SIGKILL) };
}

/// An error that says how a script ended and shows its last lines.
pub fn judge(what: &str, status: ExitStatus, log: &Path) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let how = status.signal().map_or_else(
        || format!("exited with status {}", status.code().unwrap_or_default()),
        |signal| format!("was killed by signal {signal}"),
    );
    Err(anyhow!("{what} {how}; it said last: {}", last_lines(log)))
}

pub fn last_lines(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4096)..]).into_owned();
    let lines: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match lines.len() {
        0 => "nothing".to_string(),
        count => lines[count.saturating_sub(LAST_LINES)..].join(" | "),
    }
}
