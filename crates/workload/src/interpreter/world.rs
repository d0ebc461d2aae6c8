// SPDX-License-Identifier: GPL-2.0-or-later
//! What a program needs of the world that its task lives in.

use super::registers::Registers;
use crate::plan::Policy;

/// Why a task does not go on with its program at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// The call is not done. When the task goes on, it tries the same instruction again.
    Before,
    /// The call is done. When the task goes on, it does so with the next instruction.
    After,
    /// The program cannot go on.
    Failed(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

/// The answer to a call on a world.
pub type Call<W, T = ()> = Result<T, Stop<<W as World>::Error>>;

/// One lock, queue, semaphore, condition or variable of an array, or one task of a group; the index is inside its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    pub array: usize,
    pub index: usize,
}

/// One task and what it can do. A world of real tasks blocks in a call and returns when the call is done; a world of
/// simulated tasks returns at once, with a [`Stop`] where the task has to wait or to work.
pub trait World {
    type Error;

    fn registers(&mut self) -> &mut Registers;

    /// The clock that due times and stamps are read from.
    fn time_ns(&self) -> u64;
    /// The start signal, by the same clock.
    fn start_ns(&self) -> u64;

    /// The program asked for something at an index that its array does not have.
    fn out_of_range(&mut self, what: &str, index: i64, len: u32) -> Self::Error;

    /// A system call begins, as it does once however often its task has to wait in it. Locks, semaphores and conditions
    /// are futexes, which enter the kernel only to wait or to wake somebody: this is not called for them.
    fn enter_kernel(&mut self) {}

    /// Use the CPU for so many nanoseconds of an idle, full-speed core.
    fn run(&mut self, ns: u64) -> Call<Self>;
    /// Not at all if that time is over. A task that stops here does so [`Stop::After`] the call.
    fn sleep_until(&mut self, due_ns: u64) -> Call<Self>;
    fn yield_cpu(&mut self) -> Call<Self>;

    fn send(&mut self, queue: Element, bytes: u32, stamp_ns: u64) -> Call<Self>;
    /// The stamp that came with the message, if the queue carries stamps.
    fn receive(&mut self, queue: Element) -> Call<Self, u64>;
    /// Wait for a message in any of so many queues from the first on: the offset of one that has a message.
    fn poll(&mut self, first: Element, count: u32) -> Call<Self, u32>;

    fn lock(&mut self, lock: Element) -> Call<Self>;
    fn spin(&mut self, lock: Element) -> Call<Self>;
    fn unlock(&mut self, lock: Element) -> Call<Self>;

    /// The stamp of the last post.
    fn wait(&mut self, semaphore: Element) -> Call<Self, u64>;
    /// Wait for any semaphore of an array: its index, and the stamp of its last post.
    fn wait_any(&mut self, array: u32) -> Call<Self, (u32, u64)>;
    fn post(&mut self, semaphore: Element, stamp_ns: u64) -> Call<Self>;

    fn await_signal(&mut self, condition: Element, releases: Option<Element>) -> Call<Self>;
    fn signal(&mut self, condition: Element, all: bool) -> Call<Self>;

    /// Add to a number that tasks share: the sum.
    fn add(&mut self, variable: Element, by: i64) -> Call<Self, i64>;
    fn store(&mut self, variable: Element, value: i64) -> Call<Self>;

    /// Write so much to a buffer of the task's own.
    fn fill(&mut self, bytes: u64, buffer_bytes: u32) -> Call<Self>;
    /// Write so much to /dev/null.
    fn discard(&mut self, bytes: u64) -> Call<Self>;
    fn disk(&mut self, bytes: u64, write: bool, sync: bool) -> Call<Self>;

    fn fork(&mut self, task: Element) -> Call<Self>;
    fn exec(&mut self) -> Call<Self>;
    fn reap(&mut self) -> Call<Self>;
    fn has_child(&mut self) -> Call<Self, bool>;

    fn set_nice(&mut self, nice: i32) -> Call<Self>;
    /// The same for another task; nothing happens if it does not live.
    fn set_nice_of(&mut self, task: Element, nice: i32) -> Call<Self>;
    fn set_policy(&mut self, policy: Policy) -> Call<Self>;
    /// The same for another task; nothing happens if it does not live.
    fn set_policy_of(&mut self, task: Element, policy: Policy) -> Call<Self>;
    /// No CPU stands for all.
    fn set_affinity(&mut self, cpus: &[u32]) -> Call<Self>;
    /// The same for another task; nothing happens if it does not live.
    fn confine(&mut self, task: Element, cpus: &[u32]) -> Call<Self>;
    /// Move the task's process into a control group of the plan, or into the kernel's root.
    fn set_cgroup(&mut self, cgroup: Option<u32>) -> Call<Self>;
    /// The same for another task; nothing happens if it does not live.
    fn set_cgroup_of(&mut self, task: Element, cgroup: Option<u32>) -> Call<Self>;
    fn set_cgroup_weight(&mut self, cgroup: u32, weight: u32) -> Call<Self>;
    /// Without a quota there is no limit; without a period or a burst these stay as they are.
    fn set_cgroup_max(
        &mut self,
        cgroup: u32,
        quota_us: Option<u64>,
        period_us: Option<u64>,
        burst_us: Option<u64>,
    ) -> Call<Self>;
    fn set_cgroup_cpus(&mut self, cgroup: u32, cpus: &[u32]) -> Call<Self>;
    /// As it was in the beginning; nothing happens if it is there.
    fn make_cgroup(&mut self, cgroup: u32) -> Call<Self>;
    /// Nothing happens if somebody is in it, or it is not there.
    fn remove_cgroup(&mut self, cgroup: u32) -> Call<Self>;
    fn migrate_disable(&mut self) -> Call<Self>;
    fn migrate_enable(&mut self) -> Call<Self>;
    /// The CPU that the task runs on.
    fn cpu(&mut self) -> Call<Self, u32>;

    /// Add to a distribution of the plan.
    fn log(&mut self, distribution: u32, ns: u64);
    /// Add to a counter of the plan.
    fn count(&mut self, counter: u32, by: i64);
}

/// A system call begins, unless its instruction is only tried again.
pub(super) fn enter<W: World>(world: &mut W) {
    if !world.registers().begun {
        world.enter_kernel();
    }
}
