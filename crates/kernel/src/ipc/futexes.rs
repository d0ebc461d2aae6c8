// SPDX-License-Identifier: GPL-2.0-or-later
//! Locks, semaphores and conditions: futexes, so only a task that has to wait, or wakes another, makes a system call.

use std::collections::VecDeque;

use workload::interpreter::Element;
use workload::plan::Plan;

use crate::ids::TaskId;
use crate::sim::Sim;

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

/// Work without end, that any rate can be divided into.
const SPIN: u64 = u64::MAX / 4;

pub struct Futexes {
    locks: Vec<Vec<Mutex>>,
    semaphores: Vec<Vec<Semaphore>>,
    /// Who waits for any semaphore of an array.
    any_waiters: Vec<VecDeque<TaskId>>,
    /// Who awaits each condition.
    conditions: Vec<Vec<VecDeque<TaskId>>>,
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
        }
    }

    fn lock(&mut self, at: Element) -> &mut Mutex {
        &mut self.locks[at.array][at.index]
    }
}

fn arrays<T: Clone + Default>(lens: &[u32]) -> Vec<Vec<T>> {
    let array = |len: &u32| vec![T::default(); *len as usize];
    lens.iter().map(array).collect()
}

impl Sim<'_> {
    /// The call that waits for a futex or wakes somebody.
    fn charge_futex(&mut self) {
        self.charge(self.machine.costs.syscall_ns);
    }

    pub(crate) fn take_lock(&mut self, id: TaskId, lock: Element) -> Option<()> {
        let lock = self.ipc.futexes.lock(lock);
        if lock.owner.is_some() {
            lock.waiters.push_back(id);
            self.charge_futex();
            return None;
        }
        lock.owner = Some(id);
        Some(())
    }

    /// A task that does not get the lock works until it is free.
    pub(crate) fn spin_lock(&mut self, id: TaskId, lock: Element) -> Option<()> {
        let lock = self.ipc.futexes.lock(lock);
        if lock.owner.is_some() {
            lock.spinners.push(id);
            self.tasks[id].work = SPIN;
            return None;
        }
        lock.owner = Some(id);
        Some(())
    }

    /// A lock is free: all who spin see it, the first to run takes it.
    fn end_spinning(&mut self, spinners: &[TaskId]) {
        for &id in spinners {
            let task = &self.tasks[id];
            let cpu = task.cpu;
            let runs = self.cpus[cpu].curr == id;
            if runs {
                self.progress(cpu);
            }
            let task = &mut self.tasks[id];
            // Caches that were cold are filled meanwhile, or have to be first.
            task.work = task.refill;
            if runs {
                self.post(cpu);
            }
        }
    }

    pub(crate) fn drop_lock(&mut self, id: TaskId, lock: Element) -> Result<(), String> {
        let lock = self.ipc.futexes.lock(lock);
        if lock.owner != Some(id) {
            return Err("unlocks a lock that it does not hold".to_string());
        }
        lock.owner = None;
        let waiter = lock.waiters.pop_front();
        let spinners = std::mem::take(&mut lock.spinners);
        self.end_spinning(&spinners);
        if let Some(waiter) = waiter {
            self.charge_futex();
            self.wake(waiter, false);
        }
        Ok(())
    }

    /// The stamp of the last post.
    pub(crate) fn take_semaphore(&mut self, id: TaskId, semaphore: Element) -> Option<u64> {
        let semaphore = &mut self.ipc.futexes.semaphores[semaphore.array][semaphore.index];
        if semaphore.count == 0 {
            semaphore.waiters.push_back(id);
            self.charge_futex();
            return None;
        }
        semaphore.count -= 1;
        Some(semaphore.stamp_ns)
    }

    /// The index of the first semaphore of the array that is posted, and the stamp of its last post.
    pub(crate) fn take_any_semaphore(&mut self, id: TaskId, array: u32) -> Option<(u32, u64)> {
        let array = array as usize;
        let mut semaphores = (0..).zip(&mut self.ipc.futexes.semaphores[array]);
        if let Some((index, semaphore)) = semaphores.find(|(_, semaphore)| semaphore.count > 0) {
            semaphore.count -= 1;
            return Some((index, semaphore.stamp_ns));
        }
        self.ipc.futexes.any_waiters[array].push_back(id);
        self.charge_futex();
        None
    }

    pub(crate) fn post_semaphore(&mut self, semaphore: Element, stamp_ns: u64) {
        let Futexes {
            semaphores,
            any_waiters,
            ..
        } = &mut self.ipc.futexes;
        let any_waiters = &mut any_waiters[semaphore.array];
        let semaphore = &mut semaphores[semaphore.array][semaphore.index];
        semaphore.count += 1;
        semaphore.stamp_ns = stamp_ns;
        let waiter = semaphore.waiters.pop_front();
        if let Some(waiter) = waiter.or_else(|| any_waiters.pop_front()) {
            self.charge_futex();
            self.wake(waiter, false);
        }
    }

    /// The task waits for the condition. The lock, if any, goes in the same instant; the task takes it again with its
    /// next instruction.
    pub(crate) fn await_condition(
        &mut self,
        id: TaskId,
        condition: Element,
        releases: Option<Element>,
    ) -> Result<(), String> {
        if let Some(lock) = releases {
            self.drop_lock(id, lock)?;
        }
        self.ipc.futexes.conditions[condition.array][condition.index].push_back(id);
        self.charge_futex();
        Ok(())
    }

    pub(crate) fn signal_condition(&mut self, condition: Element, all: bool) {
        let waiters = &mut self.ipc.futexes.conditions[condition.array][condition.index];
        let count = if all {
            waiters.len()
        } else {
            waiters.len().min(1)
        };
        let woken: Vec<TaskId> = waiters.drain(..count).collect();
        if !woken.is_empty() {
            self.charge_futex();
        }
        for waiter in woken {
            self.wake(waiter, false);
        }
    }
}
