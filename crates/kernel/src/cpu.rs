// SPDX-License-Identifier: GPL-2.0-or-later
//! A CPU: what it runs, and when it next has to act.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::hardware::lock::Lock;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::queue::dsq::Dsq;
use crate::queue::rt::RtQueue;
use crate::task::Class;

/// Work done per nanosecond by a full-speed core on its own.
pub const FULL_RATE: u64 = 1024 * 100;
/// The work of so many nanoseconds of an idle, full-speed core.
pub fn work_of(ns: u64) -> u64 {
    ns.min(u64::MAX / FULL_RATE) * FULL_RATE
}

/// Not scheduled.
pub const NEVER: u64 = u64::MAX;

/// A task's timer. It is void when the task's `sleep_seq` is another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    pub latest_ns: u64,
    pub seq: u64,
    pub task: TaskId,
    pub due_ns: u64,
}

/// A task that is to become runnable on the CPU which has this in its list.
#[derive(Clone, Copy)]
pub struct Wakeup {
    pub task: TaskId,
    pub enq_flags: u64,
}

#[allow(
    clippy::struct_excessive_bools,
    reason = "independent states, each with its own meaning"
)]
pub struct Cpu {
    pub curr: TaskId,
    /// The task before, as long as the next one is only picked: the kernel's `rq->curr` is that one until it switches.
    pub switching_from: Option<TaskId>,
    pub presence: Presence,
    /// The policy was loaded while it left, and takes it for gone.
    pub unseen: bool,
    /// Its task is to be preempted at the end of the present operation.
    pub need_resched: bool,
    /// The same of a scheduler that is built in, in a system call that goes on: at the call's end, or at the next tick
    /// (`TIF_NEED_RESCHED_LAZY`).
    pub need_resched_lazy: bool,
    /// Its run queue's clock, where a wake-up has read it and asked for a reschedule, which then does not read it again:
    /// the kernel's `rq_clock_skip_update()`.
    pub kept_clock_ns: Option<u64>,
    /// When an interrupt that asks it to reschedule arrives.
    pub resched_at_ns: u64,
    /// Wake-ups that are left to it, oldest first: the kernel's `wake_entry` list.
    pub wake_list: VecDeque<Wakeup>,
    /// When the interrupt arrives in which it carries them out.
    pub wakes_at_ns: u64,
    /// The kernel runs on it, not to be interrupted, until then.
    pub kernel_until_ns: u64,
    pub next_tick_ns: u64,
    /// The posted event, by sequence number and time; others are stale.
    pub event_seq: u64,
    pub event_at_ns: u64,
    /// `work` of its task is up to date at this time.
    pub progress_at_ns: u64,
    pub rate: u64,
    /// Service of its task is accounted up to this time.
    pub exec_start_ns: u64,
    pub local: Dsq,
    /// The run queue's lock.
    pub lock: Lock,
    pub rt: RtQueue,
    /// Of tasks that went to sleep here: the next is that which has to expire first.
    pub timers: BinaryHeap<Reverse<Timer>>,
    pub in_dispatch: bool,
    /// The class that runs here or is about to: that of the task picked last, or a higher one that woke since. `None` is
    /// idleness (`rq->next_class`).
    pub next_class: Option<Class>,
    /// Tasks of its local queue that are to run at once.
    pub nr_immed: u32,
    /// A higher class took it from sched_ext, which has not had it back.
    pub released: bool,
    /// Its task was moved away by force; what follows is no return from idleness.
    pub stopper: bool,
    /// CPUs that wait for this one to reschedule (`SCX_KICK_WAIT`).
    pub waited_for_by: Vec<CpuId>,
    /// CPUs this one still waits for.
    pub waits_for: u32,
    /// Where the search for any CPU of a set last ended.
    pub distribute: CpuId,
    /// Footprints run on this CPU's core, KiB in total: kept at the core's first CPU.
    pub cache_churn: u64,
    pub idle_since_ns: u64,
    pub idle_ns: u64,
}

/// Whether a CPU is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Active,
    /// About to go offline, which the policy is not told: it is asked for tasks, but what runs here is pushed off.
    Inactive,
    /// The same, until the RCU grace period is over before which no CPU goes offline.
    Going,
    /// The policy was told, and is asked no more; tasks that must stay here still run.
    Leaving,
    Offline,
}

impl Cpu {
    pub fn online(&self) -> bool {
        self.presence != Presence::Offline
    }

    pub fn active(&self) -> bool {
        self.presence == Presence::Active
    }

    /// Whether it has nothing to run.
    pub fn empty(&self) -> bool {
        self.curr == IDLE && self.local.is_empty() && self.rt.len == 0
    }

    /// When an interrupt from another CPU arrives.
    pub fn interrupted_at_ns(&self) -> u64 {
        self.resched_at_ns.min(self.wakes_at_ns)
    }

    /// As far as the policy was told.
    pub fn told_online(&self) -> bool {
        !matches!(self.presence, Presence::Leaving | Presence::Offline)
    }

    /// What policies are shown as its task.
    pub fn current(&self) -> TaskId {
        self.switching_from.unwrap_or(self.curr)
    }

    pub fn new() -> Self {
        Self {
            curr: IDLE,
            switching_from: None,
            presence: Presence::Active,
            unseen: false,
            need_resched: false,
            need_resched_lazy: false,
            resched_at_ns: NEVER,
            wake_list: VecDeque::new(),
            wakes_at_ns: NEVER,
            kept_clock_ns: None,
            kernel_until_ns: 0,
            next_tick_ns: NEVER,
            event_seq: 0,
            event_at_ns: NEVER,
            progress_at_ns: 0,
            rate: 0,
            exec_start_ns: 0,
            local: Dsq::new(crate::consts::DSQ_LOCAL),
            lock: Lock::default(),
            rt: RtQueue::default(),
            timers: BinaryHeap::new(),
            in_dispatch: false,
            next_class: None,
            nr_immed: 0,
            released: false,
            stopper: false,
            waited_for_by: Vec::new(),
            waits_for: 0,
            distribute: CpuId(0),
            cache_churn: 0,
            idle_since_ns: 0,
            idle_ns: 0,
        }
    }
}
