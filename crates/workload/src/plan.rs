// SPDX-License-Identifier: GPL-2.0-or-later
//! A workload fixed at one load: task groups with flat programs, queues, semaphores and locks.
//!
//! `interpreter` says what each instruction means, for simulated and for real tasks; none of them knows the workload's
//! name.

use serde::{Deserialize, Serialize};

/// A number known only while the task runs: locals are the task's own loop counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    Const(i64),
    /// Loop counter or other local, by slot.
    Local(u8),
    /// The task's index in its group.
    Me,
    Add(Box<(Value, Value)>),
    Sub(Box<(Value, Value)>),
    Mul(Box<(Value, Value)>),
    Div(Box<(Value, Value)>),
    Rem(Box<(Value, Value)>),
}

impl Value {
    /// How many terms are computed for it: numbers and operations, and none where it is only a number.
    pub fn terms(&self) -> u64 {
        match self {
            Self::Const(_) => 0,
            _ => self.nodes(),
        }
    }

    fn nodes(&self) -> u64 {
        match self {
            Self::Const(_) | Self::Local(_) | Self::Me => 1,
            Self::Add(pair)
            | Self::Sub(pair)
            | Self::Mul(pair)
            | Self::Div(pair)
            | Self::Rem(pair) => 1 + pair.0.nodes() + pair.1.nodes(),
        }
    }

    /// The value for task `me` with these locals; missing locals are 0, arithmetic wraps.
    ///
    /// Division rounds down. The builder lets only positive constant divisors through.
    pub fn eval(&self, me: i64, locals: &[i64]) -> i64 {
        let both = |pair: &(Self, Self)| (pair.0.eval(me, locals), pair.1.eval(me, locals));
        match self {
            Self::Const(value) => *value,
            Self::Local(slot) => locals.get(usize::from(*slot)).copied().unwrap_or(0),
            Self::Me => me,
            Self::Add(pair) => {
                let (a, b) = both(pair);
                a.wrapping_add(b)
            }
            Self::Sub(pair) => {
                let (a, b) = both(pair);
                a.wrapping_sub(b)
            }
            Self::Mul(pair) => {
                let (a, b) = both(pair);
                a.wrapping_mul(b)
            }
            Self::Div(pair) => {
                let (a, b) = both(pair);
                if b > 0 { a.div_euclid(b) } else { 0 }
            }
            Self::Rem(pair) => {
                let (a, b) = both(pair);
                if b > 0 { a.rem_euclid(b) } else { 0 }
            }
        }
    }
}

/// A duration or size that may be random. Draws come from the task's own stream ([`Plan::seed`], group, index).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Draw {
    Fixed(Value),
    /// Inclusive on both ends.
    Uniform(i64, i64),
    Exponential {
        mean: i64,
    },
    /// `exp(Normal(ln median, sigma))`, cut at `max`.
    LogNormal {
        median: i64,
        sigma_milli: u32,
        max: i64,
    },
    /// Values with weights, as calibration writes them.
    Table(Vec<(i64, u32)>),
}

/// Since when a [`Inst::Log`] or [`Inst::Elapsed`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Since {
    /// The task's own last [`Inst::Stamp`].
    Stamp,
    /// The stamp that came with the last message received or post waited for.
    Message,
    /// When the last sleep or timer was due.
    Due,
    /// The start signal.
    Start,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    Other,
    Batch,
    Idle,
    Fifo(u8),
    Rr(u8),
}

/// What a task does, one step. `u32` operands named `to` are instruction indices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Inst {
    /// Use the CPU for so many nanoseconds of an idle, full-speed core.
    Run {
        ns: Draw,
    },
    Sleep {
        ns: Draw,
    },
    /// Block until the next multiple of the period since the task's first `Timer` (drift-free). Multiples that are
    /// over already are skipped, or, without `skip`, come in their turn and at once.
    Timer {
        period_ns: Value,
        skip: bool,
    },
    /// Block until so long after the start signal; at once if that is over.
    Until {
        ns: Value,
    },
    /// Write `bytes` to a queue, with the task's stamp; blocks while it is full.
    Send {
        queue: QueueRef,
        bytes: Value,
    },
    /// Read one message; blocks while the queue is empty.
    Recv {
        queue: QueueRef,
    },
    /// Block until one of the queues of the range `first .. first + count` has a message; local `into` := its offset.
    Poll {
        first: QueueRef,
        count: Value,
        into: u8,
    },
    Lock {
        lock: u32,
        index: Value,
    },
    /// Take the same lock, but use the CPU until it is free.
    Spin {
        lock: u32,
        index: Value,
    },
    Unlock {
        lock: u32,
        index: Value,
    },
    /// Counting semaphore (futex).
    Wait {
        sem: u32,
        index: Value,
    },
    /// Wait for any semaphore of an array; local `into` := its index.
    WaitAny {
        sem: u32,
        into: u8,
    },
    /// With the task's stamp.
    Post {
        sem: u32,
        index: Value,
    },
    /// Let the lock go, if any, and wait for a signal that comes from then on. A `Lock` that takes it again follows.
    Await {
        condition: u32,
        index: Value,
        releases: Option<(u32, Value)>,
    },
    /// Wake who has awaited the condition longest, or all who do; nobody remembers it otherwise.
    Signal {
        condition: u32,
        index: Value,
        all: bool,
    },
    /// Add to a number that tasks share, at once for all who do; local `into` := the sum.
    Add {
        variable: u32,
        index: Value,
        by: Value,
        into: u8,
    },
    Store {
        variable: u32,
        index: Value,
        value: Value,
    },
    /// Write so much to memory: over and over to a buffer of the task's own.
    Fill {
        bytes: Value,
        buffer_bytes: u32,
    },
    /// Write to /dev/null: a system call that copies nothing.
    Discard {
        bytes: Value,
    },
    /// Read or write; `sync` waits for the device, otherwise the page cache takes it.
    Disk {
        bytes: Value,
        write: bool,
        sync: bool,
    },
    /// Start task `index` of a group that was declared `start = "fork"`; again only after it has ended.
    Fork {
        group: u32,
        index: Value,
    },
    /// Replace the program's image: costs an exec.
    Exec,
    Exit,
    /// Block until one child has exited; without a child the run fails.
    Reap,
    /// Local `into` := 1 if any child is alive, else 0 (does not block).
    Alive {
        into: u8,
    },
    Yield,
    Nice {
        nice: Value,
    },
    /// The same for another task, as `renice` does it from outside. One that does not live is left alone.
    NiceOf {
        group: u32,
        index: Value,
        nice: Value,
    },
    SetPolicy {
        policy: Policy,
    },
    /// The same for another task, as `chrt` does it from outside. One that does not live is left alone.
    SetPolicyOf {
        group: u32,
        index: Value,
        policy: Policy,
    },
    /// Allowed CPUs; empty = all.
    Affinity {
        cpus: Vec<u32>,
    },
    /// The same for another task, wherever it is: a cpuset that changes, or `taskset` from outside. One that does not
    /// live is left alone.
    Confine {
        group: u32,
        index: Value,
        cpus: Vec<u32>,
    },
    /// Move the task's process into a group, with all its threads; without one into the first of all, the kernel's root.
    Cgroup {
        cgroup: Option<u32>,
    },
    /// The same for another task. One that does not live is left alone.
    CgroupOf {
        group: u32,
        index: Value,
        cgroup: Option<u32>,
    },
    /// Change a group: what it gets of the CPUs beside its siblings, how much of them at most, and which.
    CgroupWeight {
        cgroup: u32,
        weight: Value,
    },
    CgroupMax {
        cgroup: u32,
        /// No limit without it.
        quota_us: Option<Value>,
        /// As before without them.
        period_us: Option<Value>,
        burst_us: Option<Value>,
    },
    CgroupCpus {
        cgroup: u32,
        cpus: Vec<u32>,
    },
    /// Make a group anew, as it was in the beginning. Nothing happens where it is there.
    MakeCgroup {
        cgroup: u32,
    },
    /// Nothing happens where somebody is in it, or it is not there. Nobody moves to a group that is not there, and
    /// nothing changes it.
    RemoveCgroup {
        cgroup: u32,
    },
    /// The task stays on its CPU until as many `MigrateEnable` have followed: the kernel's own sections, which programs
    /// enter through system calls.
    MigrateDisable,
    MigrateEnable,
    Stamp,
    /// Add `(now - since) / per` to the distribution `metric` (index into [`Plan::distributions`]).
    Log {
        metric: u32,
        since: Since,
        per: Value,
    },
    /// Local := `now - since` in whole units of so many nanoseconds.
    Elapsed {
        since: Since,
        unit_ns: i64,
        into: u8,
    },
    /// Local := the CPU the task runs on.
    Cpu {
        into: u8,
    },
    /// Add to the scalar `metric` (index into [`Plan::counters`]).
    Count {
        metric: u32,
        by: Value,
    },
    /// Local := a draw.
    Draw {
        value: Draw,
        into: u8,
    },
    /// Local := value.
    Set {
        local: u8,
        value: Value,
    },
    Jump {
        to: u32,
    },
    /// Jump if `left < right`.
    JumpLess {
        left: Value,
        right: Value,
        to: u32,
    },
}

impl Inst {
    /// How many steps it takes to interpret it: itself, and each term that it computes. A draw is one.
    pub fn steps(&self) -> u64 {
        1 + match self {
            Self::Send { queue, bytes } => queue.index.terms() + bytes.terms(),
            Self::Recv { queue } => queue.index.terms(),
            Self::Poll { first, count, .. } => first.index.terms() + count.terms(),
            Self::JumpLess { left, right, .. } => left.terms() + right.terms(),
            Self::NiceOf { index, nice, .. } => index.terms() + nice.terms(),
            Self::CgroupMax {
                quota_us,
                period_us,
                burst_us,
                ..
            } => [quota_us, period_us, burst_us]
                .into_iter()
                .flatten()
                .map(Value::terms)
                .sum(),
            Self::Add { index, by, .. } => index.terms() + by.terms(),
            Self::Store { index, value, .. } => index.terms() + value.terms(),
            Self::Await {
                index, releases, ..
            } => index.terms() + releases.as_ref().map_or(0, |(_, lock)| lock.terms()),
            Self::Timer {
                period_ns: value, ..
            }
            | Self::Until { ns: value }
            | Self::Lock { index: value, .. }
            | Self::Spin { index: value, .. }
            | Self::Unlock { index: value, .. }
            | Self::Wait { index: value, .. }
            | Self::Post { index: value, .. }
            | Self::Signal { index: value, .. }
            | Self::Disk { bytes: value, .. }
            | Self::Fill { bytes: value, .. }
            | Self::Discard { bytes: value }
            | Self::Fork { index: value, .. }
            | Self::Confine { index: value, .. }
            | Self::SetPolicyOf { index: value, .. }
            | Self::CgroupOf { index: value, .. }
            | Self::CgroupWeight { weight: value, .. }
            | Self::Nice { nice: value }
            | Self::Log { per: value, .. }
            | Self::Count { by: value, .. }
            | Self::Set { value, .. } => value.terms(),
            Self::Run { .. }
            | Self::Sleep { .. }
            | Self::WaitAny { .. }
            | Self::Exec
            | Self::Exit
            | Self::Reap
            | Self::Alive { .. }
            | Self::Yield
            | Self::SetPolicy { .. }
            | Self::Affinity { .. }
            | Self::Cgroup { .. }
            | Self::CgroupCpus { .. }
            | Self::MakeCgroup { .. }
            | Self::RemoveCgroup { .. }
            | Self::MigrateDisable
            | Self::MigrateEnable
            | Self::Stamp
            | Self::Elapsed { .. }
            | Self::Cpu { .. }
            | Self::Draw { .. }
            | Self::Jump { .. } => 0,
        }
    }
}

/// One queue of an array of queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRef {
    /// Index into [`Plan::queues`].
    pub array: u32,
    pub index: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueKind {
    Pipe,
    /// `AF_UNIX` stream socket pair.
    Socket,
    /// TCP over loopback.
    Tcp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueArray {
    pub name: String,
    pub kind: QueueKind,
    pub count: u32,
    /// Whole messages: as many as the kernel's own buffer holds of this size.
    pub capacity_bytes: u32,
    /// Every message of a queue has the same size.
    pub message_bytes: u32,
    /// Whether a receiver looks at the stamp, which then travels in the message.
    pub stamped: bool,
    /// The array whose connections these are in the other direction.
    pub back_of: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// Exists before the start signal and begins with it.
    Signal,
    /// Begins when another task forks it.
    Fork,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub name: String,
    pub count: u32,
    pub start: Start,
    /// Threads of one process share its memory, forked ones that of who forks them; otherwise each task is a process.
    pub threads: bool,
    pub nice: i32,
    pub policy: Policy,
    /// What a task asks for with `sched_setattr`; 0 = nothing.
    pub slice_us: u32,
    /// Allowed CPUs; empty = all.
    pub cpus: Vec<u32>,
    /// The control group that its tasks begin in, of [`Plan::cgroups`]; without one, that of whoever starts them.
    pub cgroup: Option<u32>,
    /// Policies see threads of the kernel's own. No program can be one, so that only simulated tasks are.
    pub kernel: bool,
    /// Working set, for the cache model.
    pub footprint_kib: u32,
    pub locals: u8,
    pub program: Vec<Inst>,
}

/// The kernel's `cpu.max`: so much CPU time in every period, or any. `cpu.max.burst`: how much of it may be kept for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuMax {
    pub quota_us: Option<u64>,
    pub period_us: u64,
    pub burst_us: u64,
}

impl CpuMax {
    /// The kernel's period where none is asked for.
    pub const PERIOD_US: u64 = 100_000;

    pub const NONE: Self = Self {
        quota_us: None,
        period_us: Self::PERIOD_US,
        burst_us: 0,
    };
}

/// A control group. What it does not say is the kernel's default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    pub name: String,
    /// Before it in [`Plan::cgroups`]; without one it is a group of the run's own.
    pub parent: Option<u32>,
    pub weight: Option<u32>,
    pub max: Option<CpuMax>,
    /// Allowed CPUs; empty = its parent's.
    pub cpus: Vec<u32>,
}

/// The kernel's controllers that a plan's groups need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controllers {
    /// Weights and limits: schedulers see the groups.
    pub cpu: bool,
    pub cpuset: bool,
}

/// When the workload is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// All tasks have exited.
    All,
    /// All tasks of this group have exited; the rest is killed.
    Group(u32),
    /// So long after the start signal; the rest is killed.
    After { ns: u64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub groups: Vec<Group>,
    /// Parents before their children, and all below one before its next sibling.
    pub cgroups: Vec<Cgroup>,
    pub queues: Vec<QueueArray>,
    /// Lengths of the lock and semaphore arrays, and the semaphores' initial counts.
    pub locks: Vec<u32>,
    pub semaphores: Vec<(u32, u32)>,
    /// Lengths of the arrays of conditions.
    pub conditions: Vec<u32>,
    /// Lengths of the arrays of variables, and what these begin with.
    pub variables: Vec<(u32, i64)>,
    pub end: End,
    /// Names of distributions (`…_us`) and counters that `Log` and `Count` refer to.
    pub distributions: Vec<String>,
    pub counters: Vec<String>,
    /// Counters divided by elapsed seconds into `throughput_per_s`: index into `counters`.
    pub throughput: Option<u32>,
    /// Metrics the workload promises; a run that lacks one has failed.
    pub promises: Vec<String>,
    pub seed: u64,
}

impl Plan {
    /// Whether a control group ever has another weight than its siblings, or might.
    pub fn weighs_cgroups(&self) -> bool {
        let weighs = |cgroup: &Cgroup| cgroup.weight.is_some();
        let changes = |inst: &Inst| matches!(inst, Inst::CgroupWeight { .. });
        self.cgroups.iter().any(weighs) || self.insts().any(changes)
    }

    /// Whether a control group ever has a limit, or might.
    pub fn limits_cgroups(&self) -> bool {
        let limits = |cgroup: &Cgroup| cgroup.max.is_some();
        let changes = |inst: &Inst| matches!(inst, Inst::CgroupMax { .. });
        self.cgroups.iter().any(limits) || self.insts().any(changes)
    }

    fn insts(&self) -> impl Iterator<Item = &Inst> {
        self.groups.iter().flat_map(|group| &group.program)
    }

    /// `cpu`, unless the groups have nothing but CPUs.
    pub fn controllers(&self) -> Controllers {
        let cpuset = self.cgroups.iter().any(|cgroup| !cgroup.cpus.is_empty())
            || (self.insts()).any(|inst| matches!(inst, Inst::CgroupCpus { .. }));
        let cpu = self.weighs_cgroups() || self.limits_cgroups() || !cpuset;
        Controllers {
            cpu: cpu && !self.cgroups.is_empty(),
            cpuset,
        }
    }
}
