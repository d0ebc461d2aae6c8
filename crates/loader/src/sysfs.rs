// SPDX-License-Identifier: GPL-2.0-or-later
//! What `/sys/kernel/sched_ext` says: the only truth about which scheduler runs. And how a file of `/sys` is read.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result as IoResult};
use std::path::Path;

use anyhow::{Result, anyhow};
use serde::Serialize;

pub const SCHED_EXT: &str = "/sys/kernel/sched_ext";
/// The types of the running kernel.
pub const BTF: &str = "/sys/kernel/btf/vmlinux";

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
            enable_seq: number(&dir.join("enable_seq"))?,
            nr_rejected: number(&dir.join("nr_rejected"))?,
            hotplug_seq: number(&dir.join("hotplug_seq"))?,
            switch_all: number(&dir.join("switch_all"))? != 0,
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

/// A file of `/sys`, without the white space around its text.
pub fn text(path: impl AsRef<Path>) -> IoResult<String> {
    in_one_read(&mut File::open(path)?)
}

/// The most that one `read` of such a file returns, by kernfs: a page of the smallest kind.
const MOST_BYTES: usize = 4096;

/// The kernel writes some files anew for every `read`, and answers with what lies behind the offset. A second `read`
/// would add the end of a newer text to the start of an older one: "0" and "0-1" make "0\n1".
fn in_one_read(file: &mut impl Read) -> IoResult<String> {
    let mut bytes = [0; MOST_BYTES];
    let count = file.read(&mut bytes)?;
    if count == MOST_BYTES {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("the text is longer than one read of {MOST_BYTES} bytes returns"),
        ));
    }
    let text = std::str::from_utf8(&bytes[..count])
        .map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    Ok(text.trim().to_owned())
}

fn number(path: &Path) -> Result<u64> {
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

    /// Answers every `read` from a newer text, as the kernel does.
    struct Rewritten {
        texts: Vec<&'static [u8]>,
        offset: usize,
    }

    impl Read for Rewritten {
        fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
            let mut rest = self.texts.remove(0).get(self.offset..).unwrap_or(&[]);
            let count = rest.read(buffer)?;
            self.offset += count;
            Ok(count)
        }
    }

    #[test]
    fn a_text_that_changes_between_two_reads_is_not_mixed() {
        let mut file = Rewritten {
            texts: vec![b"0\n", b"0-1\n", b"0-1\n"],
            offset: 0,
        };
        assert_eq!(in_one_read(&mut file).unwrap(), "0");
    }

    #[test]
    fn a_text_that_one_read_cannot_return_whole_is_an_error() {
        let longest = "0".repeat(MOST_BYTES - 1);
        assert_eq!(in_one_read(&mut longest.as_bytes()).unwrap(), longest);
        let error = in_one_read(&mut [b'0'; MOST_BYTES].as_slice()).unwrap_err();
        assert!(
            error.to_string().contains("longer than one read"),
            "{error}"
        );
    }

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
