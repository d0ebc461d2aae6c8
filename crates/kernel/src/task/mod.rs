// SPDX-License-Identifier: GPL-2.0-or-later
//! A simulated task, and where it may be in its life.
//!
//! ```text
//!            fork / start                    picked                 blocks
//!   Unborn ───────────────► Queued ◄───────────────────► Running ──────────► Blocked
//!      ▲                      ▲      preempted, slice       │                   │
//!      │ forked again         │      used, yields           │ exits             │
//!      │                      └──────────────┐              ▼                   │
//!      └──────────────────── Dead ◄──────────┼─────────── (zombie               │
//!                              reaped        │             until reaped)        │
//!                                            └──────────────────────────────────┘
//!                                                         woken
//!   While Queued an ext task is in exactly one of these places (Place):
//!
//!     Policy ──insert──► User DSQ ──move_to_local──► Local DSQ ──picked──► (Running)
//!       │                   ▲  │  dsq_move                ▲
//!       └──insert───────────┘  └─► another user DSQ       │
//!       └──insert─────────────────────────────────────────┘   (and Global likewise)
//!
//!   The policy has custody (ops.dequeue is owed) in Policy and in a User DSQ.
//! ```

mod attributes;
mod groups;

use workload::interpreter::Registers;
use workload::plan::Policy;

use crate::ids::{CpuId, DsqIndex, IDLE, NO_CPU, TaskId};
use crate::queue::dsq::Key;

pub use attributes::{Class, class_of, scx_weight, weight_of};
pub use groups::Groups;

/// Process ids begin above those of a booted kernel's own.
const FIRST_PID: i32 = 1_000;

pub fn pid_of(id: TaskId) -> i32 {
    id.0 as i32 + FIRST_PID
}

/// Whose id it would be.
pub fn task_of_pid(pid: i32) -> Option<TaskId> {
    let id = u32::try_from(pid.checked_sub(FIRST_PID)?).ok()?;
    Some(TaskId(id))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Unborn,
    Queued,
    Running,
    Blocked,
    /// Woken, and in the list of the CPU that is to make it runnable.
    Waking,
    Dead,
}

/// Where a queued ext task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Nowhere,
    /// With the policy, which has not inserted it anywhere.
    Policy,
    /// In the shared queue with this index.
    Dsq(DsqIndex),
    /// In the local queue of this CPU.
    Local(CpuId),
}

/// What a task does when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It comes to the start; or it is the runner's or the kernel's own, which have no program.
    Start,
    Program,
    /// It notes what it has used.
    Accounts,
    Exit,
}

/// What a blocked task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    None,
    Sleep,
    Queue,
    Poll,
    Lock,
    Semaphore,
    Condition,
    Disk,
    Child,
    /// For the start signal.
    Start,
}

/// A decision of `select_cpu` or enqueue to insert directly, not yet carried out.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    pub dsq_id: u64,
    pub slice: u64,
    pub vtime: u64,
    pub enq_flags: u64,
}

#[allow(
    clippy::struct_excessive_bools,
    reason = "independent states, each with its own meaning"
)]
pub struct Task {
    pub state: State,
    pub class: Class,
    pub wait: Wait,
    pub cpu: CpuId,
    /// The CPU it last ran on.
    pub last_cpu: CpuId,

    // With sched_ext.
    pub place: Place,
    pub dsq_key: Key,
    /// Insertion count of its queue when it was inserted.
    pub dsq_seq: u32,
    pub custody: bool,
    /// Counts hand-overs to the policy, so that a late insert of an earlier one is void.
    pub qseq: u32,
    pub verdict: Option<Verdict>,
    pub enabled: bool,
    /// It has ended and only has to leave its CPU.
    pub exiting: bool,
    pub stage: Stage,
    /// Since when it has waited, as the watchdog sees it.
    pub runnable_at_ns: u64,
    /// The next wait counts afresh: it ran in between.
    pub reset_runnable_at: bool,

    // With the real-time class.
    pub rt_prio: u8,
    pub rr_left_ns: u64,
    /// It goes behind its equals when it is put back.
    pub rt_tail: bool,

    /// The control group that it moves itself into, first of all.
    pub enters: Option<usize>,

    // Its work.
    /// Left of the present burst, in nanoseconds × [`crate::cpu::FULL_RATE`].
    pub work: u64,
    /// Part of `work` that refills caches.
    pub refill: u64,
    pub group: u32,
    pub index: u32,
    /// How far it is in its program.
    pub registers: Registers,
    /// The message that it sends has taken its time, and has only to be handed over.
    pub message_made: bool,
    pub policy: Policy,
    pub nice: i32,
    pub footprint_kib: u32,
    /// What its core's cache had been through when it last left it.
    pub cache_mark: u64,
    /// Of its timer's event; 0 where it has none.
    pub sleep_seq: u64,

    // Family.
    pub parent: TaskId,
    /// The first thread of its process.
    pub leader: TaskId,
    /// Threads of the process that it leads and that have not ended.
    pub threads: u32,
    pub children_alive: u32,
    pub zombies: u32,

    // Accounts.
    /// Service in its present life.
    pub exec_ns: u64,
}

impl Task {
    pub fn new(group: u32, index: u32, registers: Registers) -> Self {
        Self {
            state: State::Unborn,
            class: Class::Ext,
            wait: Wait::None,
            cpu: CpuId(0),
            last_cpu: NO_CPU,
            place: Place::Nowhere,
            dsq_key: Key::default(),
            dsq_seq: 0,
            custody: false,
            qseq: 0,
            verdict: None,
            enabled: false,
            exiting: false,
            stage: Stage::Program,
            runnable_at_ns: 0,
            reset_runnable_at: true,
            rt_prio: 0,
            rr_left_ns: 0,
            rt_tail: false,
            enters: None,
            work: 0,
            refill: 0,
            group,
            index,
            registers,
            message_made: false,
            policy: Policy::Other,
            nice: 0,
            footprint_kib: 0,
            cache_mark: 0,
            sleep_seq: 0,
            parent: IDLE,
            leader: IDLE,
            threads: 0,
            children_alive: 0,
            zombies: 0,
            exec_ns: 0,
        }
    }

    /// Wants a CPU.
    pub fn runnable(&self) -> bool {
        matches!(self.state, State::Queued | State::Running)
    }

    pub fn alive(&self) -> bool {
        self.runnable() || matches!(self.state, State::Blocked | State::Waking)
    }
}
