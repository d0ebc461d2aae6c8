// SPDX-License-Identifier: GPL-2.0-or-later
//! One campaign at a time on a machine: a locked file that says who, and is gone afterwards.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::error::NotHere;

const FOLDERS: [&str; 2] = ["/run/lock", "/run"];
const NAME: &str = "schedlab-host.lock";
/// Of what the holder wrote about itself.
const MOST_BYTES: u64 = 300;

/// Dropped, it is free. The kernel drops it with the process, however that ends; then the file stays, unlocked.
pub struct MachineLock {
    path: PathBuf,
    _file: File,
}

impl MachineLock {
    pub fn take(who: &str) -> Result<Self> {
        let folder = FOLDERS.iter().map(Path::new).find(|path| path.is_dir());
        let folder = folder.context("neither /run/lock nor /run is there, for a lock")?;
        Self::take_in(folder, who)
    }

    pub fn take_in(folder: &Path, who: &str) -> Result<Self> {
        let path = folder.join(NAME);
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o644)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&path)
                .with_context(|| format!("cannot open {}", path.display()))?;
            // SAFETY: the descriptor is open.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                let error = std::io::Error::last_os_error();
                if error.kind() == ErrorKind::WouldBlock {
                    return Err(NotHere(format!("in use: {}", holder(&file))).into());
                }
                return Err(error).context("cannot lock the machine");
            }
            // Whoever held it may have removed it between our two calls: then it keeps nobody out.
            let named = std::fs::metadata(&path).map(|found| found.ino()).ok();
            if named != Some(file.metadata()?.ino()) {
                continue;
            }
            file.set_len(0)?;
            write!(file, "{who}, since {}", utc(SystemTime::now()))?;
            return Ok(Self { path, _file: file });
        }
    }
}

impl Drop for MachineLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Who holds it, in its own words, on a line.
fn holder(file: &File) -> String {
    let mut text = Vec::new();
    let _ = file.take(MOST_BYTES).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    let line: String = text.chars().filter(|letter| !letter.is_control()).collect();
    if line.is_empty() {
        "another campaign begins".to_owned()
    } else {
        line
    }
}

/// 2026-11-26 07:01:02 UTC
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs() as libc::time_t);
    // SAFETY: all zeros is a time, and the call fills it in.
    let tm = unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut tm);
        tm
    };
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
        tm.tm_year + 1900,
        tm.tm_mon + 1,
        tm.tm_mday,
        tm.tm_hour,
        tm.tm_min,
        tm.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_second_one_is_told_who_and_since_when_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let held = MachineLock::take_in(folder.path(), "ann@desk\n, process 7").unwrap();
        let refused = MachineLock::take_in(folder.path(), "bob").err().unwrap();
        assert!(refused.is::<NotHere>());
        let said = refused.to_string();
        assert!(
            said.starts_with("in use: ann@desk, process 7, since 20"),
            "{said}"
        );
        assert!(said.ends_with(" UTC"), "{said}");
        drop(held);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        MachineLock::take_in(folder.path(), "bob").unwrap();
    }

    #[test]
    fn what_an_ended_process_left_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(NAME);
        std::fs::write(
            &file,
            "a name that is longer than the next one, since long ago",
        )
        .unwrap();
        let held = MachineLock::take_in(folder.path(), "bob").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("bob, since "), "{text}");
        drop(held);
    }

    #[test]
    fn times_are_told_in_utc() {
        let at = |s| utc(SystemTime::UNIX_EPOCH + Duration::from_secs(s));
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_827_696), "2000-02-29 12:34:56 UTC");
    }
}
