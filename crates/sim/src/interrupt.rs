// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C, noticed at the next good moment.

use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status of an interrupted program.
pub const INTERRUPTED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_interrupt(_signal: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

pub fn catch() {
    // SAFETY: the handler only sets a flag.
    unsafe {
        let handler = on_interrupt as extern "C" fn(libc::c_int);
        libc::signal(libc::SIGINT, handler as libc::sighandler_t);
        libc::signal(libc::SIGTERM, handler as libc::sighandler_t);
    }
}

/// As an interrupt, when the process that started this one ends, however it ends.
pub fn with_parent(parent: u32) {
    // SAFETY: plain system calls; whoever ended before the first of them is no longer the parent.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() as u32 != parent {
            STOP.store(true, Ordering::Relaxed);
        }
    }
}

pub fn caught() -> bool {
    STOP.load(Ordering::Relaxed)
}
