// SPDX-License-Identifier: GPL-2.0-or-later
//! Ctrl-C and its kin: remembered by a handler, acted upon where it is safe; and a reader that goes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::poll::{PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction, signal};
use nix::unistd::{getpid, getppid};

/// Exit status of a program that a signal ended in order.
pub const INTERRUPTED: u8 = 130;

static CAUGHT: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_: i32) {
    CAUGHT.store(true, Ordering::SeqCst);
}

/// From now on SIGINT, SIGTERM and SIGHUP end the work in order instead of the process at once.
pub fn catch() {
    // Without SA_RESTART, so that waits end at once.
    let action = SigAction::new(
        SigHandler::Handler(remember),
        SaFlags::empty(),
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { sigaction(signal, &action) }.expect("these signals can be caught");
    }
}

/// Whoever only prints ends as soon as nobody reads it, instead of with a panic at the next line.
pub fn end_with_reader() {
    // SAFETY: no handler is involved.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.expect("SIGPIPE has a default");
}

/// As SIGTERM, when the process that started this one ends, however it ends.
pub fn with_parent(parent: u32) {
    set_pdeathsig(Signal::SIGTERM).expect("the kernel knows SIGTERM");
    // A parent that ended before that sends no signal.
    if getppid().as_raw() as u32 != parent {
        remember(0);
    }
}

pub fn caught() -> bool {
    CAUGHT.load(Ordering::SeqCst)
}

/// As SIGTERM from outside, by a thread that [`left_to_others`]: what the process waits for ends.
pub fn end() {
    let _ = kill(getpid(), Signal::SIGTERM);
}

/// From now on other threads than this one get these signals, and news of children, so that their waits end.
pub fn left_to_others() {
    let mine = [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGCHLD,
    ];
    let set: SigSet = mine.into_iter().collect();
    set.thread_block().expect("these signals can be blocked");
}

/// Sleep, or less if a signal comes.
pub fn wait(time: Duration) {
    // No file descriptors; the error is that a signal came.
    let _ = poll(
        &mut [],
        PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
    );
}
