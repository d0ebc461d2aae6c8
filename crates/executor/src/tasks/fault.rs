// SPDX-License-Identifier: GPL-2.0-or-later
//! What can go wrong in a task: told to the supervisor in three numbers, as a dying task should not do more.

use std::sync::atomic::Ordering;

use super::arena::Arena;
use workload::plan::Plan;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Send = 1,
    Receive,
    Poll,
    Index,
    Disk,
    Fork,
    ForkedTwice,
    Reap,
    Child,
    Nice,
    Policy,
    Affinity,
    Slice,
    Thread,
    Exec,
    Cpu,
    Cgroup,
}

const KINDS: &[(Kind, &str)] = &[
    (Kind::Send, "send"),
    (Kind::Receive, "recv"),
    (Kind::Poll, "poll"),
    (Kind::Index, "index out of range"),
    (Kind::Disk, "disk"),
    (Kind::Fork, "fork"),
    (Kind::ForkedTwice, "fork of a task that still lives"),
    (Kind::Reap, "reap"),
    (Kind::Child, "its child ended with wait status"),
    (Kind::Nice, "nice"),
    (Kind::Policy, "policy"),
    (Kind::Affinity, "affinity"),
    (Kind::Slice, "slice_us"),
    (Kind::Thread, "thread"),
    (Kind::Exec, "exec"),
    (Kind::Cpu, "a CPU that is not the run's"),
    (Kind::Cgroup, "control group"),
];

/// What mends a fault, where that is one thing.
fn remedy(code: u32, errno: i32) -> &'static str {
    const POLICY: u32 = Kind::Policy as u32;
    const NICE: u32 = Kind::Nice as u32;
    const DISK: u32 = Kind::Disk as u32;
    match (code, errno) {
        (POLICY, libc::EPERM) => {
            "; real-time policies need root, or `ulimit -r 99` (RLIMIT_RTPRIO) allowed by root"
        }
        (NICE, libc::EPERM | libc::EACCES) => {
            "; a lower value than the caller's own needs root, or `ulimit -e` (RLIMIT_NICE) allowed by root"
        }
        (DISK, libc::ENOSPC | libc::EDQUOT) => "; TMPDIR names a folder on another file system",
        _ => "",
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: Kind,
    pub errno: i32,
    pub value: i64,
}

impl Fault {
    /// With the error of the system call that just failed.
    pub fn last(kind: Kind) -> Self {
        Self::os(kind, &std::io::Error::last_os_error())
    }

    pub fn os(kind: Kind, error: &std::io::Error) -> Self {
        Self {
            kind,
            errno: error.raw_os_error().unwrap_or(0),
            value: -1,
        }
    }

    /// An interrupted system call is tried again; any other error of the call that just failed is a fault.
    pub fn unless_interrupted(kind: Kind) -> Result<(), Self> {
        let error = std::io::Error::last_os_error();
        if error.kind() == std::io::ErrorKind::Interrupted {
            Ok(())
        } else {
            Err(Self::os(kind, &error))
        }
    }

    pub fn value(kind: Kind, value: i64) -> Self {
        Self {
            kind,
            errno: 0,
            value,
        }
    }

    /// Leaves the fault for the supervisor, if it is the first.
    pub fn leave(self, arena: &Arena, slot: usize) {
        let shared = arena.shared();
        // Claimed with a mark that says nothing yet, so that a half-written fault is never read.
        let claimed =
            shared
                .fault
                .compare_exchange(0, u32::MAX, Ordering::SeqCst, Ordering::SeqCst);
        if claimed.is_ok() {
            shared.fault_slot.store(slot as u32, Ordering::SeqCst);
            shared
                .fault_errno
                .store(self.errno as u32, Ordering::SeqCst);
            shared.fault_value.store(self.value, Ordering::SeqCst);
            shared.fault.store(self.kind as u32, Ordering::SeqCst);
        }
    }
}

/// The first fault, in words.
pub fn read(arena: &Arena, plan: &Plan) -> Option<String> {
    let shared = arena.shared();
    let code = shared.fault.load(Ordering::SeqCst);
    let (_, what) = KINDS.iter().find(|(kind, _)| *kind as u32 == code)?;
    let task = name(
        arena,
        plan,
        shared.fault_slot.load(Ordering::SeqCst) as usize,
    );
    let value = shared.fault_value.load(Ordering::SeqCst);
    let why = match shared.fault_errno.load(Ordering::SeqCst) {
        0 => value.to_string(),
        errno => std::io::Error::from_raw_os_error(errno as i32).to_string(),
    };
    let errno = shared.fault_errno.load(Ordering::SeqCst) as i32;
    Some(format!("{task}: {what}: {why}{}", remedy(code, errno)))
}

/// `client[3]`
pub fn name(arena: &Arena, plan: &Plan, slot: usize) -> String {
    let (group, index) = arena.task_of(slot);
    format!("{}[{index}]", plan.groups[group].name)
}
