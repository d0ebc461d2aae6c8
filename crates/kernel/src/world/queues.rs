// SPDX-License-Identifier: GPL-2.0-or-later
//! Bounded queues of messages between tasks, as pipes and sockets are, and who waits for them.
//!
//! A task that finds a queue full or empty is noted as one that waits, and tries again when it is woken: another may
//! have been faster, as in the kernel.

use std::collections::VecDeque;

use machine::Costs;
use workload::interpreter::Element;
use workload::plan::{Plan, QueueArray, QueueKind};

use super::message::{Origin, Traffic};
use super::slab::Slab;
use crate::hardware::topology::Topology;
use crate::ids::{CpuId, TaskId};

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

    /// A message that is larger than all there is gets an empty queue to itself.
    fn has_room(&self, bytes: u32) -> bool {
        self.used == 0 || self.used + bytes <= self.capacity
    }

    /// How many blocked senders are worth waking.
    fn writers(&self) -> usize {
        match self.kind {
            QueueKind::Pipe => {
                let free = self.capacity - self.used;
                let writable = self.used == 0 || free >= PIPE_PAGE.min(self.capacity);
                usize::from(writable).min(self.senders.len())
            }
            // A socket's buffer has to drain to a quarter.
            QueueKind::Socket | QueueKind::Tcp => {
                let writable = u64::from(self.used) * 4 <= u64::from(self.capacity);
                if writable { self.senders.len() } else { 0 }
            }
        }
    }
}

/// A message has been sent.
pub struct Sent {
    pub kind: QueueKind,
    /// How far its memory comes from new slabs.
    pub new_pct: u64,
    /// Who waits for it.
    pub receiver: Option<TaskId>,
    pub pollers: Vec<TaskId>,
}

/// A message has been received.
pub struct Received {
    pub kind: QueueKind,
    pub bytes: u32,
    pub stamp_ns: u64,
    /// Its memory goes back to its slabs.
    pub goes_back: bool,
    /// What fetching it from where it was costs.
    pub fetch_ns: u64,
    /// How many of those who wait to send may try again.
    pub writers: usize,
    /// Who waits for one of the messages that are left.
    pub receiver: Option<TaskId>,
}

pub struct Queues {
    arrays: Vec<Vec<Queue>>,
    traffic: Traffic,
    slab: Slab,
}

impl Queues {
    pub fn new(plan: &Plan, topology: &Topology, warm_messages: u64) -> Self {
        let queues = |array: &QueueArray| (0..array.count).map(|_| Queue::new(array)).collect();
        Self {
            arrays: plan.queues.iter().map(queues).collect(),
            traffic: Traffic::new(topology),
            slab: Slab::new(topology.places().len(), warm_messages),
        }
    }

    fn at(&mut self, at: Element) -> &mut Queue {
        &mut self.arrays[at.array][at.index]
    }

    pub fn kind(&self, queue: Element) -> QueueKind {
        self.arrays[queue.array][queue.index].kind
    }

    /// Whether so much can be sent at once.
    pub fn has_room(&self, queue: Element, bytes: u32) -> bool {
        self.arrays[queue.array][queue.index].has_room(bytes)
    }

    /// A task sends from a CPU.
    pub fn send(
        &mut self,
        topology: &Topology,
        (id, cpu): (TaskId, CpuId),
        queue: Element,
        bytes: u32,
        stamp_ns: u64,
    ) -> Option<Sent> {
        let target = &mut self.arrays[queue.array][queue.index];
        if !target.has_room(bytes) {
            target.senders.push_back(id);
            return None;
        }
        let kind = target.kind;
        target.used += bytes;
        target.messages.push_back(Message {
            bytes,
            stamp_ns,
            origin: self.traffic.sent(topology, cpu, kind, bytes),
        });
        Some(Sent {
            kind,
            new_pct: match kind {
                QueueKind::Socket => self.slab.take(cpu),
                _ => 0,
            },
            receiver: target.receivers.pop_front(),
            pollers: std::mem::take(&mut target.pollers),
        })
    }

    /// The pollers of a message that was sent have been woken: their list's memory serves the next.
    pub fn polled(&mut self, queue: Element, mut pollers: Vec<TaskId>) {
        pollers.clear();
        self.at(queue).pollers = pollers;
    }

    /// A task receives on a CPU.
    pub fn receive(
        &mut self,
        topology: &Topology,
        costs: &Costs,
        (id, cpu): (TaskId, CpuId),
        queue: Element,
    ) -> Option<Received> {
        let source = &mut self.arrays[queue.array][queue.index];
        let Some(message) = source.messages.pop_front() else {
            source.receivers.push_back(id);
            return None;
        };
        let (kind, bytes) = (source.kind, message.bytes);
        source.used -= bytes;
        let receiver = if source.messages.is_empty() {
            None
        } else {
            source.receivers.pop_front()
        };
        Some(Received {
            kind,
            bytes,
            stamp_ns: message.stamp_ns,
            goes_back: kind == QueueKind::Socket && self.slab.give(cpu),
            fetch_ns: (self.traffic).fetch_ns(topology, costs, message.origin, cpu, kind, bytes),
            writers: source.writers(),
            receiver,
        })
    }

    /// Who of those that wait to send is woken next: who has waited longest for a pipe, where writers wait one behind the
    /// other (`wait_event_interruptible_exclusive`), and who came last to a socket (`prepare_to_wait` puts it at the head).
    pub fn next_sender(&mut self, queue: Element) -> Option<TaskId> {
        let queue = self.at(queue);
        match queue.kind {
            QueueKind::Pipe => queue.senders.pop_front(),
            QueueKind::Socket | QueueKind::Tcp => queue.senders.pop_back(),
        }
    }

    /// The offset of the first queue of the range with a message; a task that waits is noted with all of them.
    pub fn poll(&mut self, id: TaskId, first: Element, count: u32) -> Option<u32> {
        let range = first.index..first.index + count as usize;
        let queues = &mut self.arrays[first.array][range];
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
