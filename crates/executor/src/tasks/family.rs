// SPDX-License-Identifier: GPL-2.0-or-later
//! The processes of a run, held so that none outlives it.
//!
//! All tasks are in the process group of the guardian, a process that waits until the supervisor is gone, however it
//! went, and then kills the group. Orphans come to the supervisor, which reaps the whole group when it is done.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Context as _, Result};

use super::fork::fork;

const INTERRUPTS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

pub struct Family {
    guardian: libc::pid_t,
    /// Forked by the supervisor and not reaped yet; the guardian is not among them.
    children: RefCell<BTreeSet<libc::pid_t>>,
    supervisor: libc::pid_t,
    /// As long as this is open somewhere, the guardian waits; only the supervisor keeps it.
    lifeline: OwnedFd,
    pub signals: OwnedFd,
    before: Before,
}

/// What of the calling process is changed during a run.
struct Before {
    mask: libc::sigset_t,
    child: libc::sigaction,
    subreaper: libc::c_int,
}

impl Before {
    fn change(set: &libc::sigset_t) -> Self {
        // SAFETY: the calls fill locals; zeroed C structs of integers are valid.
        unsafe {
            let mut before: Self = std::mem::zeroed();
            libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut before.subreaper);
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            // With SIGCHLD ignored, children would vanish unreaped.
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGCHLD, &raw const default, &raw mut before.child);
            libc::pthread_sigmask(libc::SIG_BLOCK, set, &raw mut before.mask);
            before
        }
    }

    fn put_back(&self) {
        // SAFETY: reads what `change` saved.
        unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, self.subreaper);
            libc::sigaction(libc::SIGCHLD, &raw const self.child, std::ptr::null_mut());
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.mask,
                std::ptr::null_mut(),
            );
        }
    }
}

/// SIGCHLD and the interrupts; what the user chose to ignore (nohup) stays ignored.
fn signals() -> libc::sigset_t {
    // SAFETY: the calls read and fill locals; zeroed C structs of integers are valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        for signal in INTERRUPTS {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&raw mut set, signal);
            }
        }
        set
    }
}

impl Family {
    pub fn new() -> Result<Self> {
        let (watched, lifeline) = io::pipe().context("cannot open a pipe")?;
        let set = signals();
        // SAFETY: reads a local; a new descriptor, owned at once.
        let signals = unsafe {
            match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => return Err(io::Error::last_os_error()).context("cannot watch signals"),
                number => OwnedFd::from_raw_fd(number),
            }
        };
        let mut family = Self {
            guardian: 0,
            children: RefCell::default(),
            // SAFETY: no memory.
            supervisor: unsafe { libc::getpid() },
            lifeline: lifeline.into(),
            signals,
            before: Before::change(&set),
        };
        let (watched, lifeline) = (watched.as_raw_fd(), family.lifeline.as_raw_fd());
        family.guardian = fork(|| guard(watched, lifeline)).context("cannot start the guardian")?;
        // SAFETY: no memory.
        unsafe { libc::setpgid(family.guardian, family.guardian) };
        Ok(family)
    }

    /// Forks a member of the group.
    pub fn fork(&self, body: impl FnOnce() -> i32) -> io::Result<libc::pid_t> {
        let child = fork(body)?;
        // By both sides, as either may come first; the child may even be gone.
        // SAFETY: no memory.
        unsafe { libc::setpgid(child, self.guardian) };
        self.children.borrow_mut().insert(child);
        Ok(child)
    }

    /// First of all in a new member: to be killed with the others, and to take signals as usual.
    pub fn join(&self) {
        // SAFETY: no memory but the saved mask; the lifeline is not used again in this process.
        unsafe {
            libc::setpgid(0, self.guardian);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != self.supervisor {
                libc::_exit(1);
            }
            libc::close(self.lifeline.as_raw_fd());
            for signal in INTERRUPTS {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mask = &raw const self.before.mask;
            libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
        }
    }

    /// Reaps one member that has ended: its id and wait status.
    pub fn reap(&self) -> Option<(libc::pid_t, libc::c_int)> {
        let mut status = 0;
        // SAFETY: writes to a local.
        let child = unsafe { libc::waitpid(-self.guardian, &raw mut status, libc::WNOHANG) };
        self.children.borrow_mut().remove(&child);
        (child > 0).then_some((child, status))
    }

    /// Is every process that the supervisor forked gone?
    pub fn all_reaped(&self) -> bool {
        self.children.borrow().is_empty()
    }

    pub fn is_guardian(&self, process: libc::pid_t) -> bool {
        process == self.guardian
    }

    /// The next signal that came, if any.
    pub fn signal(&self) -> Option<libc::c_int> {
        // SAFETY: a C struct of integers, filled by the call below, which writes no more than its size.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of_val(&info);
        // SAFETY: as above.
        let read = unsafe { libc::read(self.signals.as_raw_fd(), (&raw mut info).cast(), size) };
        (read == size as isize).then_some(info.ssi_signo as libc::c_int)
    }
}

/// The guardian: waits for the end of the lifeline, then takes the group with it.
fn guard(watched: libc::c_int, lifeline: libc::c_int) -> i32 {
    // SAFETY: no memory but one local byte; this process uses nothing else.
    unsafe {
        libc::setpgid(0, 0);
        libc::close(lifeline);
        let mut byte = 0u8;
        while libc::read(watched, (&raw mut byte).cast(), 1) < 0 {}
        libc::kill(0, libc::SIGKILL);
    }
    0
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.guardian > 0 {
            // SAFETY: no memory.
            unsafe {
                libc::kill(-self.guardian, libc::SIGKILL);
                // Until there is none: orphans of the group come here as well.
                while libc::waitpid(-self.guardian, std::ptr::null_mut(), 0) > 0
                    || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
                {
                }
            }
        }
        self.before.put_back();
    }
}
