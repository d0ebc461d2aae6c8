// SPDX-License-Identifier: GPL-2.0-or-later
//! The system calls `bpf()` of another program, each seen before it is carried out.
//!
//! A filter of system calls, which the program inherits before it is executed, makes the kernel ask for each of them
//! (`SECCOMP_RET_USER_NOTIF`). The program waits until it is told to go on.

use std::fs::File;
use std::io::{Error, Result as IoResult};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libbpf_rs::libbpf_sys::bpf_attr;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Where the program has the listener, which is its filter's other end: above what it opens itself before that.
const LISTENER: i32 = 100;

/// The calls of one program.
pub struct BpfCalls {
    listener: OwnedFd,
}

/// A call that waits.
pub struct Call {
    id: u64,
    thread: u32,
    /// One of `enum bpf_cmd`.
    pub command: u32,
    pub attributes: bpf_attr,
}

impl BpfCalls {
    /// Has the program's calls wait for whoever makes a [`BpfCalls`] of it.
    pub fn watch(command: &mut Command) {
        // SAFETY: system calls alone, which allocate nothing.
        unsafe { command.pre_exec(install) };
    }

    /// Of a program that was started with [`Self::watch`]; none where it has ended already, since what it had open went
    /// with it.
    pub fn of(child: &Child) -> Result<Option<Self>> {
        let listener = || -> IoResult<OwnedFd> {
            // SAFETY: numbers in, a descriptor of our own out.
            unsafe {
                let program = owned(libc::syscall(libc::SYS_pidfd_open, child.id(), 0))?;
                let program = program.as_raw_fd();
                owned(libc::syscall(libc::SYS_pidfd_getfd, program, LISTENER, 0))
            }
        };
        match listener() {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            found => {
                let listener = found.context("cannot watch the program's system calls")?;
                Ok(Some(Self { listener }))
            }
        }
    }

    /// The next call, if one comes within this time; none any more once the program is gone.
    pub fn next(&self, within: Duration) -> Result<Option<Call>> {
        let mut ready = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        let within = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
        match poll(&mut ready, within) {
            Err(Errno::EINTR) => return Ok(None),
            found => found.context("poll")?,
        };
        let events = ready[0].revents().unwrap_or(PollFlags::empty());
        if !events.contains(PollFlags::POLLIN) {
            return Ok(None);
        }
        // SAFETY: the kernel fills in a structure that must be zero before.
        let (failed, asked) = unsafe {
            let mut asked: libc::seccomp_notif = std::mem::zeroed();
            let listener = self.listener.as_raw_fd();
            let receive = libc::SECCOMP_IOCTL_NOTIF_RECV;
            (libc::ioctl(listener, receive, &raw mut asked) != 0, asked)
        };
        if failed {
            let error = Errno::last();
            // The thread that asked was ended meanwhile.
            ensure!(
                matches!(error, Errno::ENOENT | Errno::EINTR),
                "the program's system calls: {error}"
            );
            return Ok(None);
        }
        let [command, address, size, ..] = asked.data.args;
        let mut call = Call {
            id: asked.id,
            thread: asked.pid,
            command: command as u32,
            // SAFETY: numbers, all of them.
            attributes: unsafe { MaybeUninit::zeroed().assume_init() },
        };
        let bytes = call.read(address, (size as usize).min(size_of::<bpf_attr>()));
        let place: *mut u8 = (&raw mut call.attributes).cast();
        // SAFETY: no more than the structure holds.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        Ok(Some(call))
    }

    /// Has the program carry out its call.
    pub fn go_on(&self, call: &Call) {
        let answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        let listener = self.listener.as_raw_fd();
        // SAFETY: the kernel reads the structure. It fails where the program is gone.
        unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
    }
}

impl Call {
    /// The program's memory; empty where it cannot be read.
    pub fn read(&self, address: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        match memory.and_then(|memory| memory.read_exact_at(&mut bytes, address)) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    /// The process that the calling thread belongs to.
    pub fn process(&self) -> Result<u32> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.thread))?;
        number(&status, "Tgid").context("the program has gone")
    }

    /// The kernel's number of the map or program that a descriptor stands for.
    pub fn number(&self, key: &str, descriptor: u32) -> Option<u32> {
        let file = format!("/proc/{}/fdinfo/{descriptor}", self.thread);
        number(&std::fs::read_to_string(file).ok()?, key)
    }
}

/// The kernel's numbers of all maps (`map_id`) or programs (`prog_id`) that a process holds, in the order in which they
/// were made.
pub fn held(process: u32, key: &str) -> Result<Vec<u32>> {
    let folder = format!("/proc/{process}/fdinfo");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).context(folder)? {
        // What was closed meanwhile is not held.
        let text = std::fs::read_to_string(entry?.path()).unwrap_or_default();
        found.extend(number(&text, key));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn number(text: &str, key: &str) -> Option<u32> {
    let line = |line: &str| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned());
    text.lines().find_map(line)?.parse().ok()
}

/// In the child, before it becomes the program.
fn install() -> IoResult<()> {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    // SAFETY: the filter outlives the call that copies it; the other calls take numbers.
    unsafe {
        let mut filter = [
            // The system call's number comes first in what a filter sees.
            libc::BPF_STMT(load, 0),
            libc::BPF_JUMP(equal, libc::SYS_bpf as u32, 0, 1),
            libc::BPF_STMT(answer, libc::SECCOMP_RET_USER_NOTIF),
            libc::BPF_STMT(answer, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        let listener = owned(libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        ))?;
        // The copy stays open in the program, until it is taken from there.
        if libc::dup2(listener.as_raw_fd(), LISTENER) < 0 {
            return Err(Error::last_os_error());
        }
    }
    Ok(())
}

/// # Safety
/// A number that is no error is a descriptor that nobody else owns.
unsafe fn owned(result: libc::c_long) -> IoResult<OwnedFd> {
    if result < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    use nix::unistd::Pid;

    use super::{BpfCalls, number};

    #[test]
    fn a_program_that_has_ended_has_no_calls() {
        let mut command = Command::new("true");
        BpfCalls::watch(&mut command);
        let mut child = command.spawn().unwrap();
        let process = Id::Pid(Pid::from_raw(child.id() as i32));
        // It stays a zombie, as it is between its end and the first look at it.
        waitid(process, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        assert!(BpfCalls::of(&child).unwrap().is_none());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_descriptor_tells_its_number() {
        let text = "pos:\t0\nflags:\t02000002\nmap_type:\t2\nmap_id:\t17\n";
        assert_eq!(number(text, "map_id"), Some(17));
        assert_eq!(number(text, "prog_id"), None);
    }
}
