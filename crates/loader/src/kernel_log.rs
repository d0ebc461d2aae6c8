// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel's log says about a scheduler that ended, where nobody but its own program sees its `exit_info`.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// One `read` returns one message, no longer than this.
const MOST_BYTES: usize = 8192;
/// `KERN_ERR`: as such the kernel tells of a scheduler that it threw out, and in lower levels of all other ends.
const ERROR: u32 = 3;

/// The messages from now on. None are seen where the log may not be read.
pub struct KernelLog {
    file: Option<File>,
    /// With their levels.
    lines: Vec<(u32, String)>,
}

impl KernelLog {
    pub fn from_now() -> Self {
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open("/dev/kmsg").and_then(|mut file| {
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        });
        Self {
            file: file.ok(),
            lines: Vec::new(),
        }
    }

    /// Why the kernel threw out the scheduler of this name, if it did.
    pub fn ejection(&mut self, ops: &str) -> Option<String> {
        self.read();
        ejection(&self.lines, ops)
    }

    fn read(&mut self) {
        let mut bytes = [0; MOST_BYTES];
        while let Some(file) = &mut self.file {
            match file.read(&mut bytes) {
                // No log at all: some containers have /dev/null there.
                Ok(0) => break,
                Ok(count) => {
                    let text = String::from_utf8_lossy(&bytes[..count]);
                    self.lines.extend(parsed(&text));
                }
                // Messages were overwritten before they were read: there are later ones.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
    }
}

/// `PRIORITY,NUMBER,TIME,FLAGS;TEXT`, and lines for programs below it.
fn parsed(record: &str) -> Option<(u32, String)> {
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    Some((priority & 7, text.lines().next()?.to_owned()))
}

fn ejection(lines: &[(u32, String)], ops: &str) -> Option<String> {
    let disabled = format!("sched_ext: BPF scheduler \"{ops}\" disabled (");
    let message = format!("sched_ext: {ops}: ");
    let at = lines
        .iter()
        .position(|(level, line)| *level == ERROR && line.starts_with(&disabled))?;
    let reason = lines[at].1[disabled.len()..].trim_end_matches(')');
    let more = (lines[at + 1..].iter()).find_map(|(_, line)| line.strip_prefix(&message));
    Some(match more {
        Some(more) => format!("{reason} ({more})"),
        None => reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: [&str; 3] = [
        "6,900,1,-;sched_ext: BPF scheduler \"mine\" enabled\n",
        "3,901,2,-;sched_ext: BPF scheduler \"mine\" disabled (runnable task stall)\n",
        "3,902,2,-;sched_ext: mine: sh[9] failed to run for 5.1s\n SUBSYSTEM=x\n",
    ];

    fn told(records: &[&str], ops: &str) -> Option<String> {
        let lines: Vec<_> = records.iter().filter_map(|record| parsed(record)).collect();
        ejection(&lines, ops)
    }

    #[test]
    fn an_ejection_is_told_with_its_message() {
        let expected = "runnable task stall (sh[9] failed to run for 5.1s)";
        assert_eq!(told(&STALL, "mine").unwrap(), expected);
        assert_eq!(told(&STALL[..2], "mine").unwrap(), "runnable task stall");
    }

    #[test]
    fn other_ends_and_other_schedulers_are_none() {
        assert_eq!(told(&STALL, "min"), None);
        let record =
            "6,903,3,-;sched_ext: BPF scheduler \"mine\" disabled (unregistered from user space)\n";
        assert_eq!(told(&[record], "mine"), None);
    }
}
