// SPDX-License-Identifier: GPL-2.0-or-later
//! A folder that is a file system of its own, full or read-only, for the tests of both runners.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the command with such a file system at `out`, and then the words of `after` there; none where nothing can be
/// mounted, as in a chroot or in a container without the right.
pub fn with_mount(command: &Command, out: &Path, options: &str, after: &str) -> Option<Output> {
    std::fs::create_dir_all(out).unwrap();
    let script = format!(
        "mount -t tmpfs -o {options} none \"$OUT\" || exit 99; \
         \"$@\"; status=$?; cd \"$OUT\"; {after}; exit $status"
    );
    let mut unshare = Command::new("unshare");
    // SAFETY: no memory.
    if unsafe { libc::geteuid() } != 0 {
        unshare.arg("--map-root-user");
    }
    let output = unshare
        .args(["--mount", "sh", "-c", &script, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env("OUT", out)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: no unshare here");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(99) || said.starts_with("unshare: ") {
        eprintln!("skipped: no file system of its own can be had here: {said}");
        return None;
    }
    Some(output)
}
