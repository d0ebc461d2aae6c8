// SPDX-License-Identifier: GPL-2.0-or-later
//! What `/sys/kernel/sched_ext` says: the only truth about which scheduler runs.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde::Serialize;

pub const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// One reading of the kernel's state files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct State {
    /// `disabled`, `enabling`, `enabled` or `disabling`.
    pub state: String,
    /// Name of the running scheduler, empty without one.
    pub ops: String,
    /// Counts every scheduler that was enabled since boot.
    pub enable_seq: u64,
    /// Tasks refused because `init_task` asked for it.
    pub nr_rejected: u64,
    /// Counts CPUs that came and went.
    pub hotplug_seq: u64,
    /// Whether all normal tasks run under the scheduler, not just those of `SCHED_EXT`.
    pub switch_all: bool,
}

impl State {
    pub fn read() -> Result<Self> {
        Self::read_from(Path::new(SCHED_EXT))
    }

    pub fn read_from(dir: &Path) -> Result<Self> {
        let state = text(dir.join("state")).map_err(|_| {
            anyhow!(
                "this kernel has no sched_ext: {} is missing",
                dir.join("state").display()
            )
        })?;
        Ok(Self {
            state,
            // The folder of the root scheduler exists only while there is one.
            ops: text(dir.join("root/ops")).unwrap_or_default(),
            enable_seq: number(dir.join("enable_seq"))?,
            nr_rejected: number(dir.join("nr_rejected"))?,
            hotplug_seq: number(dir.join("hotplug_seq"))?,
            switch_all: number(dir.join("switch_all"))? != 0,
        })
    }

    pub fn is_enabled(&self) -> bool {
        self.state == "enabled"
    }

    /// Whether no scheduler is there, on its way in or on its way out.
    pub fn is_disabled(&self) -> bool {
        self.state == "disabled"
    }
}

fn text(path: PathBuf) -> std::io::Result<String> {
    Ok(std::fs::read_to_string(path)?.trim().to_owned())
}

fn number(path: PathBuf) -> Result<u64> {
    let shown = path.display().to_string();
    let text = text(path).map_err(|error| anyhow!("{shown}: {error}"))?;
    text.parse()
        .map_err(|_| anyhow!("{shown}: expected a number, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        dir
    }

    const IDLE: [(&str, &str); 5] = [
        ("state", "disabled\n"),
        ("enable_seq", "3\n"),
        ("nr_rejected", "0\n"),
        ("hotplug_seq", "2\n"),
        ("switch_all", "0\n"),
    ];

    #[test]
    fn without_a_scheduler_there_is_no_name() {
        let dir = fake(&IDLE);
        let state = State::read_from(dir.path()).unwrap();
        assert!(state.is_disabled() && !state.is_enabled());
        assert_eq!(
            (state.ops.as_str(), state.enable_seq, state.hotplug_seq),
            ("", 3, 2)
        );
    }

    #[test]
    fn a_running_scheduler_is_named() {
        let mut files = IDLE.to_vec();
        files[0].1 = "enabled\n";
        files[4].1 = "1\n";
        files.push(("root/ops", "bfs_0.1.0_x86_64\n"));
        let dir = fake(&files);
        let state = State::read_from(dir.path()).unwrap();
        assert!(state.is_enabled() && state.switch_all);
        assert_eq!(state.ops, "bfs_0.1.0_x86_64");
    }

    #[test]
    fn a_kernel_without_sched_ext_and_a_broken_file_are_said_so() {
        let none = tempfile::tempdir().unwrap();
        let error = State::read_from(none.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("this kernel has no sched_ext: "),
            "{error}"
        );
        let mut files = IDLE.to_vec();
        files[1].1 = "many\n";
        let error = State::read_from(fake(&files).path())
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("enable_seq: expected a number, found \"many\""),
            "{error}"
        );
    }
}
