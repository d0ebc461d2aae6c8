// SPDX-License-Identifier: GPL-2.0-or-later
//! What this process says when a policy's code breaks it. Translated code is checked for NULL alone: an object that no
//! verifier has seen may touch memory that is not its own.

use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    static LAST_WORDS: Cell<(*const u8, usize)> = const { Cell::new((std::ptr::null(), 0)) };
}

extern "C" fn tell(signal: c_int) {
    let (words, bytes) = LAST_WORDS.get();
    // SAFETY: the words live while they are set, and both calls may be made in a handler of signals.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.cast(), bytes);
        libc::signal(signal, libc::SIG_DFL);
    }
    // What was interrupted goes on where it was, and ends the process now.
}

/// These are this thread's last words, should it crash in this work.
pub fn saying<T>(words: &str, work: impl FnOnce() -> T) -> T {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: all of it may be zeros, and the handler is one for a signal alone.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = tell as extern "C" fn(c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    LAST_WORDS.set((words.as_ptr(), words.len()));
    let done = work();
    LAST_WORDS.set((std::ptr::null(), 0));
    done
}
