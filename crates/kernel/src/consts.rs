// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers of the sched_ext interface, as Linux 7.2 has them. A policy's are relocated to these, or to those
//! of the release that it is shown (`boundary/enumerations.rs`).

pub const DSQ_BUILTIN: u64 = 1 << 63;
pub const DSQ_LOCAL_FLAG: u64 = 1 << 62;
pub const DSQ_GLOBAL: u64 = DSQ_BUILTIN | 1;
pub const DSQ_LOCAL: u64 = DSQ_BUILTIN | 2;
pub const DSQ_LOCAL_ON: u64 = DSQ_BUILTIN | DSQ_LOCAL_FLAG;

pub const SLICE_DFL: u64 = 20_000_000;
pub const SLICE_INF: u64 = u64::MAX;

pub const KICK_IDLE: u64 = 1;
pub const KICK_PREEMPT: u64 = 2;
pub const KICK_WAIT: u64 = 4;

pub const PICK_IDLE_CORE: u64 = 1;
pub const PICK_IDLE_IN_NODE: u64 = 2;

pub const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
pub const OPS_ENQ_LAST: u64 = 1 << 1;
pub const OPS_ENQ_EXITING: u64 = 1 << 2;
pub const OPS_ENQ_MIGRATION_DISABLED: u64 = 1 << 4;
pub const OPS_ALLOW_QUEUED_WAKEUP: u64 = 1 << 5;
pub const OPS_IDLE_PER_NODE: u64 = 1 << 6;
pub const OPS_ALWAYS_ENQ_IMMED: u64 = 1 << 7;

pub const ENQ_WAKEUP: u64 = 1;
/// The kernel's own `ENQUEUE_RESTORE` and `DEQUEUE_SAVE`.
pub const ENQ_RESTORE: u64 = 2;
pub const DEQ_SAVE: u64 = 2;
/// The kernel's own `ENQUEUE_MOVE` and `DEQUEUE_MOVE`.
pub const MOVE: u64 = 4;
pub const ENQ_HEAD: u64 = 1 << 16;
pub const ENQ_CPU_SELECTED: u64 = 1 << 20;
pub const ENQ_PREEMPT: u64 = 1 << 32;
/// On the CPU at once, or back to the policy.
pub const ENQ_IMMED: u64 = 1 << 33;
/// Back to the policy, out of a local queue.
pub const ENQ_REENQ: u64 = 1 << 40;
pub const ENQ_LAST: u64 = 1 << 41;
/// The kernel's internal marks begin here; a policy that sets one is in error.
pub const ENQ_INTERNAL: u64 = 0xff << 56;
/// Internal: by virtual time.
pub const ENQ_PRIQ: u64 = 1 << 57;

/// A walk over a queue from its end.
pub const DSQ_ITER_REV: u64 = 1 << 16;
/// What is taken out of a queue and enqueued again: whatever is there.
pub const REENQ_ANY: u64 = 1;

pub const DEQ_SLEEP: u64 = 1;
pub const DEQ_SCHED_CHANGE: u64 = 1 << 33;

pub const WAKE_FORK: u64 = 4;
pub const WAKE_TTWU: u64 = 8;
pub const WAKE_SYNC: u64 = 16;

pub const PF_IDLE: u32 = 0x2;
/// In `p->scx.flags`.
pub const TASK_QUEUED: u32 = 1;
/// It came to its local queue with `ENQ_IMMED`.
pub const TASK_IMMED: u32 = 1 << 5;
/// Why a task is enqueued again: a kfunc asked for it, it could not run at once, or a higher class took its CPU.
pub const TASK_REENQ_MASK: u32 = 3 << 12;
pub const TASK_REENQ_KFUNC: u32 = 1 << 12;
pub const TASK_REENQ_IMMED: u32 = 2 << 12;
pub const TASK_REENQ_PREEMPTED: u32 = 3 << 12;
pub const PF_EXITING: u32 = 0x4;
pub const PF_KTHREAD: u32 = 0x20_0000;

/// In `p->__state`.
pub const TASK_RUNNING: u32 = 0;
pub const TASK_INTERRUPTIBLE: u32 = 1;
pub const TASK_UNINTERRUPTIBLE: u32 = 2;
pub const TASK_DEAD: u32 = 0x80;
pub const TASK_WAKING: u32 = 0x200;
pub const TASK_NEW: u32 = 0x800;

pub const DISPATCH_BATCH: usize = 32;
pub const DISPATCH_LOOPS: u32 = 32;
/// So often the tasks of a local queue go back to a policy that puts them there again.
pub const REENQ_LOCAL_REPEATS: u32 = 256;

/// A CPU at its full speed (`SCX_CPUPERF_ONE`).
pub const CPUPERF_ONE: u32 = 1_024;

pub const WATCHDOG_MAX_MS: u32 = 30_000;

pub const ENOENT: i32 = -2;
pub const EBUSY: i32 = -16;
pub const EEXIST: i32 = -17;
pub const EACCES: i32 = -13;
pub const EFAULT: i32 = -14;
pub const EINVAL: i32 = -22;
pub const ERANGE: i32 = -34;
pub const E2BIG: i32 = -7;

/// Exit codes of the kernel's: the loader is to load the policy anew, because of a CPU.
pub const ECODE_RSN_HOTPLUG: i64 = 1 << 32;
pub const ECODE_ACT_RESTART: i64 = 1 << 48;
