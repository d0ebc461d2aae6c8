// SPDX-License-Identifier: GPL-2.0-or-later
//! What happens in the model, as observers are told it: each fact once, with all that they need to know of it.

use workload::plan::{CpuMax, Policy};

use crate::hotplug::Change;
use crate::ids::{CpuId, TaskId};
use crate::mask::CpuMask;
use crate::task::Place;

/// When and where something happens.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// The time of the event that is being handled: nothing earlier can happen any more.
    pub now_ns: u64,
    /// The time at which this happens, at or after that of the event; of a switch the run queue's clock, which may be that
    /// of the wake-up that has asked for it.
    pub at_ns: u64,
    /// The CPU that does it.
    pub on: CpuId,
}

/// Why a CPU changes its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It has rescheduled.
    Schedule,
    /// It goes offline.
    Hotplug,
    /// The stopper thread moves the task, which may not run here any more.
    Stopper,
}

/// In which state a task leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// It still wants to run. Also said of the idle task.
    Runnable,
    Blocked,
    Exiting,
}

#[derive(Clone, Copy, Debug)]
pub enum Happened<'a> {
    /// A task comes into being, blocked. The runner's own figures are not the workload's.
    Born {
        task: TaskId,
        measured: bool,
    },
    /// The start signal: what is measured begins, after so much idle time of all CPUs.
    Begins {
        idle_ns: u64,
    },
    /// A task has these attributes from now on; it has had so much service.
    Attributes {
        task: TaskId,
        policy: Policy,
        nice: i32,
        /// As `sched_switch` prints it.
        prio: i32,
        /// As policies see it.
        weight: u32,
        served_ns: u64,
    },
    /// A task may use these CPUs from now on.
    Affinity {
        task: TaskId,
        allowed: &'a CpuMask,
    },
    /// A task's migration is disabled from now on, or enabled.
    Stays {
        task: TaskId,
        stays: bool,
    },
    /// A task is in this control group of the plan from now on, or in none of them.
    InCgroup {
        task: TaskId,
        cgroup: Option<u32>,
    },
    /// A control group of the plan has this limit from now on, and the policy has been told of it.
    Limited {
        cgroup: u32,
        max: CpuMax,
    },
    /// A blocked task is woken, which took its time since `waits_since_ns`; it was last on CPU `was_on`.
    Woken {
        task: TaskId,
        was_on: CpuId,
        waits_since_ns: u64,
    },
    /// A new task is started by its parent.
    Forked {
        task: TaskId,
        was_on: CpuId,
    },
    /// A task wants a CPU from now on; it has had so much service in its life.
    Wants {
        task: TaskId,
        served_ns: u64,
    },
    /// A task is enqueued and in no queue: the policy keeps it.
    Kept {
        cpu: CpuId,
        task: TaskId,
    },
    /// A task is put into a dispatch queue, with the slice and virtual time it has there.
    Queued {
        task: TaskId,
        to: Place,
        dsq_id: u64,
        slice_ns: u64,
        vtime: u64,
        by_vtime: bool,
        head: bool,
    },
    /// A real-time task is enqueued.
    QueuedRt {
        cpu: CpuId,
        task: TaskId,
    },
    /// A real-time task is put back, or moved to another CPU's lists.
    RequeuedRt {
        task: TaskId,
    },
    /// A task leaves the queue it is in.
    Unqueued {
        task: TaskId,
    },
    /// A CPU takes a task out of a shared queue, which it leaves, to run it.
    Taken {
        task: TaskId,
        dsq: crate::ids::DsqIndex,
        cpu: CpuId,
    },
    /// A running task that still wants its CPU has to wait again.
    PutBack {
        task: TaskId,
    },
    /// A CPU changes from one task to another; the one that leaves has had so much service.
    Switched {
        cpu: CpuId,
        prev: TaskId,
        next: TaskId,
        leaves: Leaves,
        cause: Cause,
        served_ns: u64,
    },
    /// A task of the sched_ext class goes on, with this slice.
    Slice {
        cpu: CpuId,
        task: TaskId,
        slice_ns: u64,
    },
    /// A tick finds a task of the sched_ext class on a CPU.
    Ticked {
        cpu: CpuId,
    },
    /// A task goes on a CPU; its own code continues at `runs_ns`.
    Started {
        cpu: CpuId,
        task: TaskId,
        runs_ns: u64,
        moved: bool,
        served_ns: u64,
    },
    /// A running task takes down what it has used, so much service in its life: what follows is not the workload's.
    Settles {
        task: TaskId,
        served_ns: u64,
    },
    /// A running task ends, and has only to leave its CPU.
    Exits {
        task: TaskId,
    },
    /// A task has ended, after so much service.
    Died {
        task: TaskId,
        served_ns: u64,
    },
    Kicked {
        cpu: CpuId,
    },
    /// A CPU is about to go or to come.
    Hotplug {
        cpu: CpuId,
        change: Change,
    },
    Online {
        cpu: CpuId,
    },
    Offline {
        cpu: CpuId,
    },
    /// A CPU's clock goes at this frequency from now on.
    Clocked {
        cpu: CpuId,
        khz: u32,
    },
    /// A callback of the policy is called.
    /// The policy says something to whoever reads the trace.
    Printed {
        text: &'a str,
    },
    Called {
        op: &'static str,
    },
    /// A program measures something.
    Logged {
        metric: u32,
        ns: u64,
    },
    Counted {
        metric: u32,
        by: i64,
    },
    /// A task has waited for the disk.
    DiskWait {
        ns: u64,
    },
    /// Time to look at everybody who waits.
    Audit,
    /// The run ends: the model's own figures of a task and of a CPU. The CPU's time is accounted up to `until_ns`.
    TaskTotal {
        task: TaskId,
        served_ns: u64,
    },
    CpuTotal {
        cpu: CpuId,
        idle_ns: u64,
        until_ns: u64,
    },
}
