// SPDX-License-Identifier: GPL-2.0-or-later
//! A process of its own for some code.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exit status of a process that panicked.
const PANICKED: i32 = 101;

/// Forks; the child runs `body` and exits with what it returns, without running anything of the parent's.
pub fn fork(body: impl FnOnce() -> i32) -> io::Result<libc::pid_t> {
    // SAFETY: the child returns to nothing of the parent's code; glibc and musl make malloc safe after fork.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let status = catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED);
            // SAFETY: ends the process.
            unsafe { libc::_exit(status) }
        }
        child => Ok(child),
    }
}
