// SPDX-License-Identifier: GPL-2.0-or-later
//! Locks, semaphores, conditions and variables between tasks, and who waits for them.
//!
//! A task that does not get what it wants is noted as one that waits, and tries again when it is woken: another may
//! have been faster, as in the kernel.

use std::collections::VecDeque;

use workload::interpreter::Element;
use workload::plan::Plan;

use crate::ids::TaskId;

#[derive(Clone, Default)]
struct Mutex {
    owner: Option<TaskId>,
    waiters: VecDeque<TaskId>,
    /// Those who use their CPUs, or wait for one, until it is free.
    spinners: Vec<TaskId>,
}

#[derive(Clone, Default)]
struct Semaphore {
    count: u64,
    /// Of the last post.
    stamp_ns: u64,
    waiters: VecDeque<TaskId>,
}

/// Who may have a lock that has become free.
pub struct Released {
    /// Who has waited longest.
    pub waiter: Option<TaskId>,
    pub spinners: Vec<TaskId>,
}

pub struct Futexes {
    locks: Vec<Vec<Mutex>>,
    semaphores: Vec<Vec<Semaphore>>,
    /// Who waits for any semaphore of an array.
    any_waiters: Vec<VecDeque<TaskId>>,
    /// Who awaits each condition.
    conditions: Vec<Vec<VecDeque<TaskId>>>,
    variables: Vec<Vec<i64>>,
}

impl Futexes {
    pub fn new(plan: &Plan) -> Self {
        let semaphores = |(len, initial): &(u32, u32)| {
            let semaphore = Semaphore {
                count: u64::from(*initial),
                ..Semaphore::default()
            };
            vec![semaphore; *len as usize]
        };
        Self {
            locks: arrays(&plan.locks),
            semaphores: plan.semaphores.iter().map(semaphores).collect(),
            any_waiters: vec![VecDeque::new(); plan.semaphores.len()],
            conditions: arrays(&plan.conditions),
            variables: (plan.variables.iter())
                .map(|(len, begin)| vec![*begin; *len as usize])
                .collect(),
        }
    }

    fn lock(&mut self, at: Element) -> &mut Mutex {
        &mut self.locks[at.array][at.index]
    }

    pub fn take_lock(&mut self, id: TaskId, lock: Element) -> Option<()> {
        let lock = self.lock(lock);
        if lock.owner.is_some() {
            lock.waiters.push_back(id);
            return None;
        }
        lock.owner = Some(id);
        Some(())
    }

    /// The same for a task that uses its CPU while it waits.
    pub fn spin_lock(&mut self, id: TaskId, lock: Element) -> Option<()> {
        let lock = self.lock(lock);
        if lock.owner.is_some() {
            lock.spinners.push(id);
            return None;
        }
        lock.owner = Some(id);
        Some(())
    }

    /// Nothing if the task does not hold the lock.
    pub fn unlock(&mut self, id: TaskId, lock: Element) -> Option<Released> {
        let lock = self.lock(lock);
        if lock.owner != Some(id) {
            return None;
        }
        lock.owner = None;
        Some(Released {
            waiter: lock.waiters.pop_front(),
            spinners: std::mem::take(&mut lock.spinners),
        })
    }

    /// The stamp of the last post.
    pub fn take(&mut self, id: TaskId, semaphore: Element) -> Option<u64> {
        let semaphore = &mut self.semaphores[semaphore.array][semaphore.index];
        if semaphore.count == 0 {
            semaphore.waiters.push_back(id);
            return None;
        }
        semaphore.count -= 1;
        Some(semaphore.stamp_ns)
    }

    /// The index of the first semaphore of the array that is posted, and the stamp of its last post.
    pub fn take_any(&mut self, id: TaskId, array: u32) -> Option<(u32, u64)> {
        let array = array as usize;
        let mut semaphores = (0..).zip(&mut self.semaphores[array]);
        if let Some((index, semaphore)) = semaphores.find(|(_, semaphore)| semaphore.count > 0) {
            semaphore.count -= 1;
            return Some((index, semaphore.stamp_ns));
        }
        self.any_waiters[array].push_back(id);
        None
    }

    /// Whom the post wakes: who waits for this semaphore goes before who waits for any of its array.
    pub fn post(&mut self, semaphore: Element, stamp_ns: u64) -> Option<TaskId> {
        let any_waiters = &mut self.any_waiters[semaphore.array];
        let semaphore = &mut self.semaphores[semaphore.array][semaphore.index];
        semaphore.count += 1;
        semaphore.stamp_ns = stamp_ns;
        let waiter = semaphore.waiters.pop_front();
        waiter.or_else(|| any_waiters.pop_front())
    }

    pub fn await_signal(&mut self, id: TaskId, condition: Element) {
        self.conditions[condition.array][condition.index].push_back(id);
    }

    pub fn variable(&mut self, at: Element) -> &mut i64 {
        &mut self.variables[at.array][at.index]
    }

    /// Whom the signal wakes: who has waited longest, or all.
    pub fn signal(&mut self, condition: Element, all: bool) -> Vec<TaskId> {
        let waiters = &mut self.conditions[condition.array][condition.index];
        let count = if all {
            waiters.len()
        } else {
            waiters.len().min(1)
        };
        waiters.drain(..count).collect()
    }
}

fn arrays<T: Clone + Default>(lens: &[u32]) -> Vec<Vec<T>> {
    let array = |len: &u32| vec![T::default(); *len as usize];
    lens.iter().map(array).collect()
}
