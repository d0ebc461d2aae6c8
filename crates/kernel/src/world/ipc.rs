// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks send to each other, hold and wait: what it costs, and who is woken.
//!
//! Locks, semaphores and conditions are futexes: only a task that has to wait, or wakes another, makes a system call.

use workload::interpreter::Element;
use workload::plan::QueueKind;

use crate::hardware::message::{
    after_waking_ns, memory_back_ns, new_memory_ns, receive_ns, send_ns,
};
use crate::ids::TaskId;
use crate::sim::Sim;
use crate::task::Wait;

/// Work without end, that any rate can be divided into.
const SPIN: u64 = u64::MAX / 4;

impl Sim<'_> {
    pub(super) fn send(
        &mut self,
        id: TaskId,
        queue: Element,
        bytes: u32,
        stamp_ns: u64,
    ) -> Option<()> {
        let from = (id, self.tasks[id].cpu);
        let sent = (self.queues).send(&self.machine.topology, from, queue, bytes, stamp_ns)?;
        let costs = &self.machine.costs;
        let after_ns = after_waking_ns(costs, sent.kind);
        self.charge(new_memory_ns(costs) * sent.new_pct / 100);
        self.reads_if_socket(sent.kind);
        if let Some(receiver) = sent.receiver {
            self.wake(receiver, true);
        }
        for poller in &sent.pollers {
            // It may have found another queue ready since, and wait for something else now.
            if self.tasks[*poller].wait == Wait::Poll {
                self.wake(*poller, true);
            }
        }
        if !sent.pollers.is_empty() {
            self.queues.polled(queue, sent.pollers);
        }
        self.charge(after_ns);
        Some(())
    }

    /// What a sender does until the message is there and its receiver is woken, beyond the system call.
    pub(super) fn until_sent_ns(&self, kind: QueueKind, bytes: u32) -> u64 {
        let costs = &self.machine.costs;
        send_ns(costs, kind) - after_waking_ns(costs, kind) + self.copy_ns(bytes.into())
    }

    /// The message's stamp.
    pub(super) fn receive(&mut self, id: TaskId, queue: Element) -> Option<u64> {
        let to = (id, self.tasks[id].cpu);
        let received =
            (self.queues).receive(&self.machine.topology, &self.machine.costs, to, queue)?;
        let costs = &self.machine.costs;
        let back_ns = u64::from(received.goes_back) * memory_back_ns(costs);
        let receive_ns = receive_ns(costs, received.kind) + self.copy_ns(received.bytes.into());
        self.charge(receive_ns + back_ns + received.fetch_ns);
        self.reads_if_socket(received.kind);
        for _ in 0..received.writers {
            if let Some(sender) = self.queues.next_sender(queue) {
                self.wake(sender, true);
            }
        }
        if let Some(receiver) = received.receiver {
            self.wake(receiver, true);
        }
        Some(received.stamp_ns)
    }

    /// Who is woken over a socket is woken within an RCU reader's section (`ip_queue_xmit`, as seen in a guest; of
    /// `AF_UNIX` `sock_def_readable` and `unix_write_space` *(memory)*), and what is to preempt the waker at once does so
    /// there. A scheduler that is built in waits until the system call returns.
    fn reads_if_socket(&mut self, kind: QueueKind) {
        self.clock.in_reader = kind != QueueKind::Pipe && !self.machine.built_in;
    }

    /// What the kernel takes to copy so much to or from a task's memory.
    pub(super) fn copy_ns(&self, bytes: u64) -> u64 {
        self.machine.costs.copy_kib_ns * bytes / 1024
    }

    /// What a task got of a futex, which makes a system call if it has to wait.
    fn futex<T>(&mut self, got: Option<T>) -> Option<T> {
        if got.is_none() {
            self.charge(self.machine.costs.syscall_ns);
        }
        got
    }

    /// A system call wakes those who wait for a futex, if any do.
    fn wake_futex(&mut self, waiters: impl IntoIterator<Item = TaskId>) {
        let mut waiters = waiters.into_iter().peekable();
        if waiters.peek().is_some() {
            self.charge(self.machine.costs.syscall_ns);
        }
        for waiter in waiters {
            self.wake(waiter, false);
        }
    }

    pub(super) fn take_lock(&mut self, id: TaskId, lock: Element) -> Option<()> {
        let taken = self.futexes.take_lock(id, lock);
        self.futex(taken)
    }

    /// A task that does not get the lock works until it is free.
    pub(super) fn spin_lock(&mut self, id: TaskId, lock: Element) -> Option<()> {
        let taken = self.futexes.spin_lock(id, lock);
        if taken.is_none() {
            self.tasks[id].work = SPIN;
        }
        taken
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

    pub(super) fn drop_lock(&mut self, id: TaskId, lock: Element) -> Result<(), String> {
        let Some(released) = self.futexes.unlock(id, lock) else {
            return Err("unlocks a lock that it does not hold".to_string());
        };
        self.end_spinning(&released.spinners);
        self.wake_futex(released.waiter);
        Ok(())
    }

    /// The stamp of the last post.
    pub(super) fn take_semaphore(&mut self, id: TaskId, semaphore: Element) -> Option<u64> {
        let stamp_ns = self.futexes.take(id, semaphore);
        self.futex(stamp_ns)
    }

    /// The index of the first semaphore of the array that is posted, and the stamp of its last post.
    pub(super) fn take_any_semaphore(&mut self, id: TaskId, array: u32) -> Option<(u32, u64)> {
        let taken = self.futexes.take_any(id, array);
        self.futex(taken)
    }

    pub(super) fn post_semaphore(&mut self, semaphore: Element, stamp_ns: u64) {
        let waiter = self.futexes.post(semaphore, stamp_ns);
        self.wake_futex(waiter);
    }

    /// The task waits for the condition. The lock, if any, goes in the same instant; the task takes it again with its
    /// next instruction.
    pub(super) fn await_condition(
        &mut self,
        id: TaskId,
        condition: Element,
        releases: Option<Element>,
    ) -> Result<(), String> {
        if let Some(lock) = releases {
            self.drop_lock(id, lock)?;
        }
        self.futexes.await_signal(id, condition);
        self.charge(self.machine.costs.syscall_ns);
        Ok(())
    }

    pub(super) fn signal_condition(&mut self, condition: Element, all: bool) {
        let woken = self.futexes.signal(condition, all);
        self.wake_futex(woken);
    }
}
