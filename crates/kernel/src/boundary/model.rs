// SPDX-License-Identifier: GPL-2.0-or-later
//! What the boundary asks of the model.

use bpf::host::Host;

use super::price::Work;
use super::shown::CpuMask;
use super::{Boundary, Callback};
use crate::end::Ejection;
use crate::ids::{CpuId, DsqIndex, TaskId};
use crate::task::Verdict;

/// What a policy can ask the time, and where it runs.
pub struct Moment {
    /// What `scx_bpf_now()` says, and what the clock says.
    pub now_ns: u64,
    pub ktime_ns: u64,
    pub cpu: CpuId,
    pub in_interrupt: bool,
    pub current: TaskId,
}

/// The model as policies use it.
pub trait Kernel: Sized {
    fn boundary(&mut self) -> &mut Boundary;
    fn moment(&self) -> Moment;
    /// A callback is about to be called.
    fn calls(&mut self, callback: Callback);
    /// The policy is about to call this, or to return: the operation under way may be broken off.
    fn seam(&mut self, call: &'static str);
    /// What comes in between wants a lock of an operation that is broken off, and would wait for ever.
    fn cannot_wait(&mut self);
    /// A callback of the policy has done so much.
    fn charge_policy(&mut self, work: Work);
    /// The policy is thrown out for what the kernel does not allow.
    fn eject(&mut self, message: String);
    /// The policy is thrown out.
    fn throw_out(&mut self, ejection: Ejection);
    /// The policy's code did what the verifier would have refused.
    fn fault(&mut self, fault: &Host);

    fn create_dsq(&mut self, id: u64, node: i32) -> i32;
    fn destroy_dsq(&mut self, id: u64);
    fn insert(&mut self, task: TaskId, verdict: Verdict);
    fn move_to_local(&mut self, dsq_id: u64, enq_flags: u64) -> bool;
    fn nr_queued(&self, dsq_id: u64) -> i32;
    fn walk(&self, dsq_id: u64, is_reversed: bool) -> Option<Walk>;
    fn walk_on(&self, walk: &mut Walk) -> Option<TaskId>;
    /// `None`: the task or the walk does not exist.
    fn move_walked(&mut self, what: Option<(TaskId, Walk)>, dsq_id: u64, enq_flags: u64) -> bool;

    fn kick(&mut self, cpu: i32, flags: u64);
    /// The CPU, and whether it was idle and is claimed.
    fn select_cpu_dfl(&mut self, task: TaskId, prev_cpu: i32, wake_flags: u64) -> (i32, bool);
    fn pick_idle_cpu(&mut self, allowed: &CpuMask, flags: u64) -> i32;
    fn pick_any_cpu(&mut self, allowed: &CpuMask, flags: u64) -> i32;
    /// Among the CPUs of a node, then, unless told otherwise, among those of others.
    fn pick_idle_cpu_node(&mut self, allowed: &CpuMask, node: i32, flags: u64) -> i32;
    fn pick_any_cpu_node(&mut self, allowed: &CpuMask, node: i32, flags: u64) -> i32;
    /// The CPUs of a node; `None`, and the policy is thrown out, where it may not ask.
    fn node_cpus(&mut self, node: i32) -> Option<CpuMask>;
    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool;

    /// The default choice among these CPUs only: a CPU that is claimed, or an error.
    fn select_cpu_and(
        &mut self,
        task: TaskId,
        prev_cpu: i32,
        wake_flags: u64,
        allowed: &CpuMask,
        flags: u64,
    ) -> i32;
    /// What an existing CPU runs; `IDLE` for the idle task.
    fn current_of(&mut self, cpu: i32) -> Option<TaskId>;
    fn node_of(&mut self, cpu: i32) -> i32;
    /// The first task of a queue.
    fn peek(&self, dsq_id: u64) -> Option<TaskId>;
    /// How many more tasks the policy may insert in this `ops.dispatch()`.
    fn dispatch_slots(&self) -> u32;
    /// Forgets what the policy inserted last.
    fn cancel_dispatch(&mut self);
    /// What waits in a CPU's local queue goes back to the policy, at once, from `cpu_release`, which is told how many.
    fn reenqueue_local(&mut self) -> u32;
    /// What waits in a queue, local or the policy's own, goes back to the policy at the end of the operation.
    fn reenqueue_later(&mut self, dsq_id: u64);
    fn nodes(&self) -> u32;
    /// Of the fastest CPU's speed, and of its own, 1024 parts.
    fn capacity_of(&mut self, cpu: i32) -> u32;
    fn speed_of(&mut self, cpu: i32) -> u32;
    /// Let a CPU go at so many of 1024 parts of the fastest one's speed.
    fn ask_for_speed(&mut self, cpu: i32, target: u32);
    /// Text of the policy for whoever reads the trace.
    fn print(&mut self, text: &str);

    /// `None`: the idle task.
    fn task_cpu(&self, task: Option<TaskId>) -> CpuId;
    fn task_running(&self, task: TaskId) -> bool;
    fn task_with_pid(&self, pid: i32) -> Option<TaskId>;
    /// Let a timer of the policy go off after this time; the number tells a later start from an earlier one.
    fn start_timer(&mut self, index: usize, ns: u64);
}

/// A walk through a dispatch queue, in the words of `struct bpf_iter_scx_dsq`.
#[derive(Clone, Copy)]
pub struct Walk {
    pub dsq: DsqIndex,
    /// The queue's count of insertions when the walk began: what came in later is not part of it.
    pub limit: u32,
    /// Where the walk is: index, key and order of the last task seen.
    pub at: Option<(u32, u64, i64)>,
    pub slice_ns: Option<u64>,
    pub vtime: Option<u64>,
    /// From the last task to the first.
    pub is_reversed: bool,
}

// [queue + 1 | flags << 32, insertion limit | index << 32, key, order, slice, vtime].
const STARTED: u64 = 1 << 32;
pub const HAS_SLICE: u64 = 1 << 33;
pub const HAS_VTIME: u64 = 1 << 34;
const REVERSED: u64 = 1 << 35;

impl Walk {
    pub fn read(words: &[u64; 6]) -> Option<Self> {
        let flags = words[0];
        Some(Self {
            dsq: DsqIndex((flags as u32).checked_sub(1)?),
            limit: words[1] as u32,
            at: (flags & STARTED != 0).then(|| {
                let index = (words[1] >> 32) as u32;
                (index, words[2], words[3].cast_signed())
            }),
            slice_ns: (flags & HAS_SLICE != 0).then_some(words[4]),
            vtime: (flags & HAS_VTIME != 0).then_some(words[5]),
            is_reversed: flags & REVERSED != 0,
        })
    }

    /// Write down where the walk is.
    pub fn write(&self, words: &mut [u64; 6]) {
        words[0] = words[0] & !u64::from(u32::MAX) | u64::from(self.dsq.0 + 1);
        if self.is_reversed {
            words[0] |= REVERSED;
        }
        words[1] = u64::from(self.limit);
        if let Some((index, key, order)) = self.at {
            words[0] |= STARTED;
            words[1] |= u64::from(index) << 32;
            words[2] = key;
            words[3] = order.cast_unsigned();
        }
    }
}
