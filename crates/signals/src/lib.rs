// SPDX-License-Identifier: GPL-2.0-or-later
//! Ctrl-C and its kin: remembered by a handler, acted upon where it is safe.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Exit status of a program that a signal ended in order.
pub const INTERRUPTED: u8 = 130;

static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn remember(signal: libc::c_int) {
    CAUGHT.store(signal, Ordering::SeqCst);
}

/// From now on SIGINT, SIGTERM and SIGHUP end the work in order instead of the process at once.
pub fn catch() {
    // SAFETY: the handler only stores to an atomic; no SA_RESTART, so that waits end at once.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = remember as extern "C" fn(libc::c_int) as usize;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// As SIGTERM, when the process that started this one ends, however it ends.
pub fn with_parent(parent: u32) {
    // SAFETY: plain system calls; whoever ended before the first of them is no longer the parent.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() as u32 != parent {
            remember(libc::SIGTERM);
        }
    }
}

pub fn caught() -> bool {
    CAUGHT.load(Ordering::SeqCst) != 0
}

/// Sleep, or less if a signal comes.
pub fn wait(time: Duration) {
    // SAFETY: no file descriptors.
    unsafe { libc::poll(std::ptr::null_mut(), 0, time.as_millis() as libc::c_int) };
}
