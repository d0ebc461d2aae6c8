// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues, locks, semaphores and conditions between tasks.
//!
//! Who is woken tries again: another task may have been faster, as in the kernel. Locks and semaphores are futexes:
//! only who has to wait, or wakes another, makes a system call.

use std::collections::VecDeque;

use workload::plan::{Plan, QueueKind};

use crate::actor::Step;
use crate::ids::TaskId;
use crate::message::{Origin, Traffic};
use crate::sim::Sim;
use crate::task::Wait;
use crate::topology::Topology;

/// A pipe's writer is woken when so much of it is free: a page.
const PIPE_PAGE: u32 = 4_096;

struct Queue {
    kind: QueueKind,
    capacity: u32,
    used: u32,
    /// Size, stamp and origin of each message.
    messages: VecDeque<(u32, u64, Origin)>,
    receivers: VecDeque<TaskId>,
    senders: VecDeque<TaskId>,
    pollers: Vec<TaskId>,
}

impl Queue {
    /// Whether a blocked sender is worth waking.
    fn writable(&self) -> bool {
        self.used == 0
            || match self.kind {
                QueueKind::Pipe => self.capacity - self.used >= PIPE_PAGE.min(self.capacity),
                // A socket's buffer has to drain to a quarter.
                QueueKind::Socket | QueueKind::Tcp => {
                    u64::from(self.used) * 4 <= u64::from(self.capacity)
                }
            }
    }
}

#[derive(Default)]
struct Mutex {
    owner: Option<TaskId>,
    waiters: VecDeque<TaskId>,
    /// Those who use their CPUs, or wait for one, until it is free.
    spinners: Vec<TaskId>,
}

#[derive(Default)]
struct Semaphore {
    count: u64,
    /// Of the last post.
    stamp_ns: u64,
    waiters: VecDeque<TaskId>,
}

/// Work without end, that any rate can be divided into.
const SPIN: u64 = u64::MAX / 4;

/// Arrays flattened; each with the index of its first element and its length.
pub struct Ipc {
    queues: Vec<Queue>,
    traffic: Traffic,
    queue_arrays: Vec<(u32, u32)>,
    locks: Vec<Mutex>,
    lock_arrays: Vec<(u32, u32)>,
    semaphores: Vec<Semaphore>,
    semaphore_arrays: Vec<(u32, u32)>,
    /// Who waits for any semaphore of an array.
    any_waiters: Vec<VecDeque<TaskId>>,
    /// Who awaits each condition.
    conditions: Vec<VecDeque<TaskId>>,
    condition_arrays: Vec<(u32, u32)>,
}

impl Ipc {
    pub fn new(plan: &Plan, topology: &Topology) -> Self {
        let mut ipc = Self {
            queues: Vec::new(),
            traffic: Traffic::new(topology),
            queue_arrays: Vec::new(),
            locks: Vec::new(),
            lock_arrays: Vec::new(),
            semaphores: Vec::new(),
            semaphore_arrays: Vec::new(),
            any_waiters: vec![VecDeque::new(); plan.semaphores.len()],
            conditions: Vec::new(),
            condition_arrays: Vec::new(),
        };
        for array in &plan.queues {
            ipc.queue_arrays
                .push((ipc.queues.len() as u32, array.count));
            for _ in 0..array.count {
                ipc.queues.push(Queue {
                    kind: array.kind,
                    capacity: array.capacity_bytes,
                    used: 0,
                    messages: VecDeque::new(),
                    receivers: VecDeque::new(),
                    senders: VecDeque::new(),
                    pollers: Vec::new(),
                });
            }
        }
        for count in &plan.locks {
            ipc.lock_arrays.push((ipc.locks.len() as u32, *count));
            ipc.locks.extend((0..*count).map(|_| Mutex::default()));
        }
        for count in &plan.conditions {
            ipc.condition_arrays
                .push((ipc.conditions.len() as u32, *count));
            ipc.conditions.extend((0..*count).map(|_| VecDeque::new()));
        }
        for (count, initial) in &plan.semaphores {
            ipc.semaphore_arrays
                .push((ipc.semaphores.len() as u32, *count));
            ipc.semaphores.extend((0..*count).map(|_| Semaphore {
                count: u64::from(*initial),
                stamp_ns: 0,
                waiters: VecDeque::new(),
            }));
        }
        ipc
    }

    /// Out of range: [`u32::MAX`].
    pub fn queue(&self, array: u32, index: i64) -> u32 {
        element(&self.queue_arrays, array, index)
    }
}

fn element(arrays: &[(u32, u32)], array: u32, index: i64) -> u32 {
    match arrays.get(array as usize) {
        Some((first, count)) if index >= 0 && index < i64::from(*count) => first + index as u32,
        _ => u32::MAX,
    }
}

impl Sim<'_> {
    fn out_of_range(&mut self, id: TaskId, what: &str) -> Step {
        let label = self.label(id);
        let pc = self.tasks[id].pc;
        self.fail(format!(
            "{label}: instruction {pc} names a {what} that does not exist"
        ));
        Step::Pause
    }

    pub(crate) fn send(&mut self, id: TaskId, queue: u32, bytes: u32) -> Step {
        let stamp = self.tasks[id].stamp_ns;
        let Some(target) = self.ipc.queues.get_mut(queue as usize) else {
            return self.out_of_range(id, "queue");
        };
        if target.used > 0 && target.used + bytes > target.capacity {
            target.senders.push_back(id);
            return Step::Blocked(Wait::Queue);
        }
        let kind = target.kind;
        let cpu = self.tasks[id].cpu;
        let origin = self.ipc.traffic.sent(&self.topology, cpu, kind, bytes);
        target.used += bytes;
        target.messages.push_back((bytes, stamp, origin));
        let receiver = target.receivers.pop_front();
        let pollers = std::mem::take(&mut target.pollers);
        self.charge(self.message_ns(kind, bytes));
        if let Some(receiver) = receiver {
            self.wake(receiver, true);
        }
        for poller in &pollers {
            // It may have found another queue ready since, and wait for something else now.
            if self.tasks[*poller].wait == Wait::Poll {
                self.wake(*poller, true);
            }
        }
        if !pollers.is_empty() {
            let mut pollers = pollers;
            pollers.clear();
            self.ipc.queues[queue as usize].pollers = pollers;
        }
        Step::Next
    }

    /// What sending or receiving a message costs beyond the system call.
    fn message_ns(&self, kind: QueueKind, bytes: u32) -> u64 {
        let costs = &self.machine.costs;
        let kind_ns = match kind {
            QueueKind::Pipe => 0,
            QueueKind::Socket => costs.socket_ns,
            QueueKind::Tcp => costs.tcp_ns,
        };
        kind_ns + self.copy_ns(u64::from(bytes))
    }

    pub(crate) fn receive(&mut self, id: TaskId, queue: u32) -> Step {
        let Some(source) = self.ipc.queues.get_mut(queue as usize) else {
            return self.out_of_range(id, "queue");
        };
        let Some((bytes, stamp, origin)) = source.messages.pop_front() else {
            source.receivers.push_back(id);
            return Step::Blocked(Wait::Queue);
        };
        let kind = source.kind;
        source.used -= bytes;
        self.tasks[id].message_stamp_ns = stamp;
        let mut woken = 0;
        if source.writable() {
            woken = match source.kind {
                QueueKind::Pipe => 1.min(source.senders.len()),
                QueueKind::Socket | QueueKind::Tcp => source.senders.len(),
            };
        }
        // More messages than woken receivers: hand on.
        let receiver = if source.messages.is_empty() {
            None
        } else {
            source.receivers.pop_front()
        };
        let cpu = self.tasks[id].cpu;
        let traffic = &self.ipc.traffic;
        let fetch_ns = traffic.fetch_ns(
            &self.topology,
            &self.machine.costs,
            origin,
            cpu,
            kind,
            bytes,
        );
        self.charge(self.message_ns(kind, bytes) + fetch_ns);
        for _ in 0..woken {
            if let Some(sender) = self.ipc.queues[queue as usize].senders.pop_front() {
                self.wake(sender, true);
            }
        }
        if let Some(receiver) = receiver {
            self.wake(receiver, true);
        }
        Step::Next
    }

    /// The offset of the first queue of the range with a message; else the task is noted with all of them.
    pub(crate) fn poll(&mut self, id: TaskId, first: u32, count: u32) -> Option<u32> {
        let range = first as usize..(first as usize).saturating_add(count as usize);
        let Some(queues) = self.ipc.queues.get_mut(range) else {
            self.out_of_range(id, "queue");
            return Some(0);
        };
        let ready = queues.iter().position(|queue| !queue.messages.is_empty());
        if ready.is_none() {
            for queue in queues {
                if !queue.pollers.contains(&id) {
                    queue.pollers.push(id);
                }
            }
        }
        ready.map(|offset| offset as u32)
    }

    pub(crate) fn take_lock(&mut self, id: TaskId, array: u32, index: i64) -> Step {
        let lock = element(&self.ipc.lock_arrays, array, index);
        let Some(lock) = self.ipc.locks.get_mut(lock as usize) else {
            return self.out_of_range(id, "lock");
        };
        if lock.owner.is_some() {
            lock.waiters.push_back(id);
            self.charge(self.machine.costs.syscall_ns);
            return Step::Blocked(Wait::Lock);
        }
        lock.owner = Some(id);
        Step::Next
    }

    pub(crate) fn spin_lock(&mut self, id: TaskId, array: u32, index: i64) -> Step {
        let lock = element(&self.ipc.lock_arrays, array, index);
        let Some(lock) = self.ipc.locks.get_mut(lock as usize) else {
            return self.out_of_range(id, "lock");
        };
        if lock.owner.is_none() {
            lock.owner = Some(id);
            return Step::Next;
        }
        lock.spinners.push(id);
        self.tasks[id].work = SPIN;
        Step::Again
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

    pub(crate) fn drop_lock(&mut self, id: TaskId, array: u32, index: i64) -> Step {
        let lock = element(&self.ipc.lock_arrays, array, index);
        let Some(lock) = self.ipc.locks.get_mut(lock as usize) else {
            return self.out_of_range(id, "lock");
        };
        if lock.owner != Some(id) {
            let label = self.label(id);
            self.fail(format!("{label} unlocks a lock that it does not hold"));
            return Step::Pause;
        }
        lock.owner = None;
        let waiter = lock.waiters.pop_front();
        let spinners = std::mem::take(&mut lock.spinners);
        self.end_spinning(&spinners);
        if let Some(waiter) = waiter {
            self.charge(self.machine.costs.syscall_ns);
            self.wake(waiter, false);
        }
        Step::Next
    }

    pub(crate) fn wait_semaphore(&mut self, id: TaskId, array: u32, index: i64) -> Step {
        let semaphore = element(&self.ipc.semaphore_arrays, array, index);
        let Some(semaphore) = self.ipc.semaphores.get_mut(semaphore as usize) else {
            return self.out_of_range(id, "semaphore");
        };
        if semaphore.count == 0 {
            semaphore.waiters.push_back(id);
            self.charge(self.machine.costs.syscall_ns);
            return Step::Blocked(Wait::Semaphore);
        }
        semaphore.count -= 1;
        self.tasks[id].message_stamp_ns = semaphore.stamp_ns;
        Step::Next
    }

    /// The index of the first semaphore of the array that is posted, taken; else what the task does.
    pub(crate) fn wait_any(&mut self, id: TaskId, array: u32) -> Result<u32, Step> {
        let (first, count) = self.ipc.semaphore_arrays[array as usize];
        let range = first as usize..(first + count) as usize;
        let mut semaphores = self.ipc.semaphores[range].iter_mut();
        if let Some(index) = semaphores.position(|semaphore| semaphore.count > 0) {
            let semaphore = &mut self.ipc.semaphores[first as usize + index];
            semaphore.count -= 1;
            self.tasks[id].message_stamp_ns = semaphore.stamp_ns;
            return Ok(index as u32);
        }
        self.ipc.any_waiters[array as usize].push_back(id);
        self.charge(self.machine.costs.syscall_ns);
        Err(Step::Blocked(Wait::Semaphore))
    }

    pub(crate) fn post_semaphore(&mut self, id: TaskId, array: u32, index: i64) -> Step {
        let semaphore = element(&self.ipc.semaphore_arrays, array, index);
        let Some(semaphore) = self.ipc.semaphores.get_mut(semaphore as usize) else {
            return self.out_of_range(id, "semaphore");
        };
        semaphore.count += 1;
        semaphore.stamp_ns = self.tasks[id].stamp_ns;
        let waiter = semaphore.waiters.pop_front();
        if let Some(waiter) = waiter.or_else(|| self.ipc.any_waiters[array as usize].pop_front()) {
            self.charge(self.machine.costs.syscall_ns);
            self.wake(waiter, false);
        }
        Step::Next
    }

    /// The lock, if any, goes in the same instant; the task takes it again with its next instruction.
    pub(crate) fn await_condition(
        &mut self,
        id: TaskId,
        (array, index): (u32, i64),
        held: Option<(u32, i64)>,
    ) -> Step {
        let condition = element(&self.ipc.condition_arrays, array, index) as usize;
        if condition >= self.ipc.conditions.len() {
            return self.out_of_range(id, "condition");
        }
        if let Some((lock, index)) = held
            && let step @ Step::Pause = self.drop_lock(id, lock, index)
        {
            return step;
        }
        self.ipc.conditions[condition].push_back(id);
        self.charge(self.machine.costs.syscall_ns);
        Step::Asleep(Wait::Condition)
    }

    pub(crate) fn signal_condition(
        &mut self,
        id: TaskId,
        array: u32,
        index: i64,
        all: bool,
    ) -> Step {
        let condition = element(&self.ipc.condition_arrays, array, index);
        let Some(waiters) = self.ipc.conditions.get_mut(condition as usize) else {
            return self.out_of_range(id, "condition");
        };
        let count = if all {
            waiters.len()
        } else {
            waiters.len().min(1)
        };
        let woken: Vec<TaskId> = waiters.drain(..count).collect();
        if !woken.is_empty() {
            self.charge(self.machine.costs.syscall_ns);
        }
        for waiter in woken {
            self.wake(waiter, false);
        }
        Step::Next
    }
}
