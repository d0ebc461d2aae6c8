// SPDX-License-Identifier: GPL-2.0-or-later
//! Bounded queues of messages: pipes and sockets.

use std::collections::VecDeque;

use workload::interpreter::Element;
use workload::plan::{Plan, QueueArray, QueueKind};

use super::message::{Origin, Traffic};
use crate::ids::TaskId;
use crate::sim::Sim;
use crate::task::Wait;
use crate::topology::Topology;

/// A pipe's writer is woken when so much of it is free: a page.
const PIPE_PAGE: u32 = 4_096;

struct Queue {
    kind: QueueKind,
    capacity: u32,
    used: u32,
    messages: VecDeque<Message>,
    receivers: VecDeque<TaskId>,
    senders: VecDeque<TaskId>,
    pollers: Vec<TaskId>,
}

struct Message {
    bytes: u32,
    stamp_ns: u64,
    origin: Origin,
}

impl Queue {
    fn new(array: &QueueArray) -> Self {
        Self {
            kind: array.kind,
            capacity: array.capacity_bytes,
            used: 0,
            messages: VecDeque::new(),
            receivers: VecDeque::new(),
            senders: VecDeque::new(),
            pollers: Vec::new(),
        }
    }

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

pub struct Queues {
    arrays: Vec<Vec<Queue>>,
    traffic: Traffic,
}

impl Queues {
    pub fn new(plan: &Plan, topology: &Topology) -> Self {
        let queues = |array: &QueueArray| (0..array.count).map(|_| Queue::new(array)).collect();
        Self {
            arrays: plan.queues.iter().map(queues).collect(),
            traffic: Traffic::new(topology),
        }
    }

    fn at(&mut self, at: Element) -> &mut Queue {
        &mut self.arrays[at.array][at.index]
    }
}

impl Sim<'_> {
    pub(crate) fn send(
        &mut self,
        id: TaskId,
        queue: Element,
        bytes: u32,
        stamp_ns: u64,
    ) -> Option<()> {
        let cpu = self.tasks[id].cpu;
        let Queues { arrays, traffic } = &mut self.ipc.queues;
        let target = &mut arrays[queue.array][queue.index];
        if target.used > 0 && target.used + bytes > target.capacity {
            target.senders.push_back(id);
            return None;
        }
        let kind = target.kind;
        target.used += bytes;
        target.messages.push_back(Message {
            bytes,
            stamp_ns,
            origin: traffic.sent(&self.topology, cpu, kind, bytes),
        });
        let receiver = target.receivers.pop_front();
        let mut pollers = std::mem::take(&mut target.pollers);
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
            // Its memory serves the next who poll.
            pollers.clear();
            self.ipc.queues.at(queue).pollers = pollers;
        }
        Some(())
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

    /// What the kernel takes to copy so much to or from a task's memory.
    pub(crate) fn copy_ns(&self, bytes: u64) -> u64 {
        self.machine.costs.copy_kib_ns * bytes / 1024
    }

    /// The message's stamp.
    pub(crate) fn receive(&mut self, id: TaskId, queue: Element) -> Option<u64> {
        let source = self.ipc.queues.at(queue);
        let Some(message) = source.messages.pop_front() else {
            source.receivers.push_back(id);
            return None;
        };
        let kind = source.kind;
        source.used -= message.bytes;
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
        let fetch_ns = self.ipc.queues.traffic.fetch_ns(
            &self.topology,
            &self.machine.costs,
            message.origin,
            self.tasks[id].cpu,
            kind,
            message.bytes,
        );
        self.charge(self.message_ns(kind, message.bytes) + fetch_ns);
        for _ in 0..woken {
            if let Some(sender) = self.ipc.queues.at(queue).senders.pop_front() {
                self.wake(sender, true);
            }
        }
        if let Some(receiver) = receiver {
            self.wake(receiver, true);
        }
        Some(message.stamp_ns)
    }

    /// The offset of the first queue of the range with a message; a task that waits is noted with all of them.
    pub(crate) fn poll(&mut self, id: TaskId, first: Element, count: u32) -> Option<u32> {
        let range = first.index..first.index + count as usize;
        let queues = &mut self.ipc.queues.arrays[first.array][range];
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
}
