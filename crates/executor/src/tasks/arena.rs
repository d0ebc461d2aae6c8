// SPDX-License-Identifier: GPL-2.0-or-later
//! Memory that the supervisor and all tasks share: the gate, one slot per task, counters, distributions, locks.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use anyhow::{Result, bail};

use super::futex::{Condition, Posts, Semaphore};
use super::tally::{self, Tally};
use workload::plan::{Plan, Start};

/// Not measured.
pub const UNKNOWN: u64 = u64::MAX;

pub const FORKED: u32 = 1;
pub const RUNNING: u32 = 2;

#[repr(C)]
pub struct Shared {
    /// Tasks wait at the gate, are counted while they are moved to `go`, and run when `go` is 1.
    pub gate: AtomicU32,
    pub go: AtomicU32,
    /// When the gate opened, by the monotonic clock.
    pub start_ns: AtomicU64,
    /// The end has come: tasks that still live count and log no more.
    pub over: AtomicU32,
    /// Tasks that began, or are about to, and have not ended.
    pub live: AtomicU32,
    /// The first fault, if any: see `fault`.
    pub fault: AtomicU32,
    pub fault_slot: AtomicU32,
    pub fault_errno: AtomicU32,
    pub fault_value: AtomicI64,
}

/// What one task tells of itself. Lines of their own, so that tasks do not slow each other.
#[repr(C, align(128))]
pub struct Slot {
    /// 0, then `FORKED` if another task starts it, then `RUNNING`.
    pub begun: AtomicU32,
    pub process: AtomicU32,
    pub thread: AtomicU32,
    /// Monotonic clock; 0 = not ended.
    pub ended_ns: AtomicU64,
    /// As read when the task began, then what it used since.
    pub cpu_ns: AtomicU64,
    pub voluntary: AtomicU64,
    pub involuntary: AtomicU64,
    pub waiting_ns: AtomicU64,
    pub migrations: AtomicU64,
    /// What it used in earlier lives, if it was forked again.
    pub earlier: [AtomicU64; 5],
    /// CPU time with which it came to the start signal; 0 where it waits for none.
    pub start_cpu_ns: AtomicU64,
}

pub struct Arena {
    memory: OwnedFd,
    base: *mut u8,
    bytes: usize,
    /// First slot of each group, and after the last.
    first: Vec<usize>,
    counters: usize,
    counter_stride: usize,
    slots_at: usize,
    counters_at: usize,
    tallies_at: usize,
    alive_at: usize,
    locks_at: usize,
    lock_first: Vec<usize>,
    semaphores_at: usize,
    semaphore_first: Vec<usize>,
    posts_at: usize,
    conditions_at: usize,
    condition_first: Vec<usize>,
    variables_at: usize,
    variable_first: Vec<usize>,
}

// SAFETY: everything in the mapping is atomic, and the rest does not change.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

/// Running sums, the total last.
fn sums(counts: impl IntoIterator<Item = u32>) -> Vec<usize> {
    let mut sums = vec![0];
    for count in counts {
        sums.push(sums.last().unwrap_or(&0) + count as usize);
    }
    sums
}

impl Arena {
    pub fn new(plan: &Plan) -> Result<Self> {
        // SAFETY: a name and flags; a new descriptor, owned at once.
        let memory = unsafe { libc::memfd_create(c"schedlab".as_ptr(), libc::MFD_CLOEXEC) };
        if memory < 0 {
            bail!("cannot share memory: {}", std::io::Error::last_os_error());
        }
        // SAFETY: as above.
        let arena = Self::map(plan, unsafe { OwnedFd::from_raw_fd(memory) })?;
        arena.fill(plan);
        Ok(arena)
    }

    /// Maps the memory of an arena for the same plan.
    pub fn map(plan: &Plan, memory: OwnedFd) -> Result<Self> {
        let first = sums(plan.groups.iter().map(|group| group.count));
        let lock_first = sums(plan.locks.iter().copied());
        let semaphore_first = sums(plan.semaphores.iter().map(|(len, _)| *len));
        let condition_first = sums(plan.conditions.iter().copied());
        let variable_first = sums(plan.variables.iter().map(|(len, _)| *len));
        let tasks = *first.last().unwrap_or(&0);
        let counters = plan.counters.len();
        // Whole cache lines per task.
        let counter_stride = counters.next_multiple_of(16);
        let mut bytes = 0usize;
        let mut part = |size: usize| {
            let at = bytes;
            bytes = (bytes + size).next_multiple_of(128);
            at
        };
        part(size_of::<Shared>());
        let slots_at = part(tasks * size_of::<Slot>());
        let counters_at = part(tasks * counter_stride * 8);
        // The last one takes what the kernel tells of waiting.
        let tallies_at = part((plan.distributions.len() + 1) * tally::WORDS * 8);
        let alive_at = part(plan.groups.len() * 4);
        let locks_at = part(lock_first.last().unwrap_or(&0) * 4);
        let semaphores_at = part(semaphore_first.last().unwrap_or(&0) * size_of::<Semaphore>());
        let posts_at = part(plan.semaphores.len() * size_of::<Posts>());
        let conditions_at = part(condition_first.last().unwrap_or(&0) * size_of::<Condition>());
        let variables_at = part(variable_first.last().unwrap_or(&0) * 8);
        // SAFETY: a mapping of its own, of memory that is as large as that.
        let base = unsafe {
            libc::ftruncate(memory.as_raw_fd(), bytes as libc::off_t);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                memory.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            bail!("cannot share {bytes} bytes of memory: {error}");
        }
        Ok(Self {
            memory,
            base: base.cast(),
            bytes,
            first,
            counters,
            counter_stride,
            slots_at,
            counters_at,
            tallies_at,
            alive_at,
            locks_at,
            lock_first,
            semaphores_at,
            semaphore_first,
            posts_at,
            conditions_at,
            condition_first,
            variables_at,
            variable_first,
        })
    }

    pub fn memory(&self) -> RawFd {
        self.memory.as_raw_fd()
    }

    fn fill(&self, plan: &Plan) {
        let mut live = 0;
        for (index, group) in plan.groups.iter().enumerate() {
            self.alive(index).store(group.count, Relaxed);
            live += if group.start == Start::Signal {
                group.count
            } else {
                0
            };
        }
        self.shared().live.store(live, Relaxed);
        for (array, (len, initial)) in plan.semaphores.iter().enumerate() {
            for index in 0..*len {
                self.semaphore(array, index as usize)
                    .count
                    .store(*initial, Relaxed);
            }
        }
        for (array, (len, begin)) in plan.variables.iter().enumerate() {
            for index in 0..*len {
                self.variable(array, index as usize).store(*begin, Relaxed);
            }
        }
    }

    /// The `index`th `T` from an offset.
    fn at<T>(&self, offset: usize, index: usize) -> &T {
        debug_assert!(offset + (index + 1) * size_of::<T>() <= self.bytes);
        // SAFETY: `new` laid the parts out, aligned to 128 bytes; all of `T`s fields are atomic and valid when zero.
        unsafe { &*self.base.add(offset).cast::<T>().add(index) }
    }

    pub fn shared(&self) -> &Shared {
        self.at(0, 0)
    }

    pub fn tasks(&self) -> usize {
        *self.first.last().unwrap_or(&0)
    }

    pub fn slot_of(&self, group: usize, index: usize) -> usize {
        self.first[group] + index
    }

    /// Slots of a group.
    pub fn group_slots(&self, group: usize) -> std::ops::Range<usize> {
        self.first[group]..self.first[group + 1]
    }

    /// Group and index of a slot.
    pub fn task_of(&self, slot: usize) -> (usize, usize) {
        let group = self.first.partition_point(|&first| first <= slot) - 1;
        (group, slot - self.first[group])
    }

    pub fn slot(&self, slot: usize) -> &Slot {
        self.at(self.slots_at, slot)
    }

    pub fn counter(&self, slot: usize, counter: usize) -> &AtomicI64 {
        self.at(self.counters_at, slot * self.counter_stride + counter)
    }

    /// Sum over all tasks.
    pub fn counted(&self, counter: usize) -> i64 {
        debug_assert!(counter < self.counters);
        let value = |slot| self.counter(slot, counter).load(Relaxed);
        (0..self.tasks()).map(value).sum()
    }

    /// From then on nothing is counted or logged.
    pub fn end(&self) {
        self.shared().over.store(1, Relaxed);
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.shared().over.load(Relaxed) != 0
    }

    pub fn tally(&self, tally: usize) -> Tally<'_> {
        let first: &AtomicU64 = self.at(self.tallies_at, tally * tally::WORDS);
        // SAFETY: `new` laid out that many words for each tally.
        Tally(unsafe { std::slice::from_raw_parts(first, tally::WORDS) })
    }

    /// Tasks of a group that have not ended.
    pub fn alive(&self, group: usize) -> &AtomicU32 {
        self.at(self.alive_at, group)
    }

    pub fn lock(&self, array: usize, index: usize) -> &AtomicU32 {
        self.at(self.locks_at, self.lock_first[array] + index)
    }

    pub fn semaphore(&self, array: usize, index: usize) -> &Semaphore {
        self.at(self.semaphores_at, self.semaphore_first[array] + index)
    }

    pub fn semaphores(&self, array: usize) -> Vec<&Semaphore> {
        let range = self.semaphore_first[array]..self.semaphore_first[array + 1];
        range
            .map(|index| self.at(self.semaphores_at, index))
            .collect()
    }

    pub fn condition(&self, array: usize, index: usize) -> &Condition {
        self.at(self.conditions_at, self.condition_first[array] + index)
    }

    pub fn variable(&self, array: usize, index: usize) -> &AtomicI64 {
        self.at(self.variables_at, self.variable_first[array] + index)
    }

    pub fn posts(&self, array: usize) -> &Posts {
        self.at(self.posts_at, array)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nobody borrows from it any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
