// SPDX-License-Identifier: GPL-2.0-or-later
//! What happens next: events in the total order of (time, sequence).
//!
//! An event is one 128-bit number, time above sequence above subject, so that order is one comparison. Events are
//! never removed: whoever posts a new one for the same subject remembers its sequence number and ignores older ones.

use super::near::Near;
use crate::ids::{CpuId, TaskId};

/// What happens, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A CPU has something to do: its task's work ends, a tick, an interrupt to reschedule.
    Cpu(CpuId),
    /// A task's sleep is over.
    Sleep(TaskId),
    /// A timer of the policy, by its number.
    PolicyTimer(u32),
    /// The disk has finished its oldest request.
    Disk,
    /// The watchdog looks for tasks that nobody runs.
    Watchdog,
    /// The checkers look at everybody who waits.
    Audit,
    /// A CPU's own watchdog looks whether the CPU is stuck.
    LockupLook(CpuId),
    /// The workload's time is over.
    End,
    /// A CPU goes or comes, by its line of the script.
    Hotplug(u32),
    /// A real-time budget of a CPU is spent or renewed.
    RtBudget(CpuId),
    /// A user half has the kernel run a program of the policy's, by its number.
    Program(u32),
    /// A CPU's turn is over, where they take turns.
    Turn,
    /// It writes into the policy's data, by the number of the write.
    Write(u32),
    /// A clock goes at another frequency, by the number of its policy.
    Frequency(u32),
}

impl Event {
    fn packed(self) -> u64 {
        let (kind, index) = match self {
            Self::Cpu(cpu) => (0, cpu.0),
            Self::Sleep(task) => (1, task.0),
            Self::PolicyTimer(timer) => (2, timer),
            Self::Disk => (3, 0),
            Self::Watchdog => (4, 0),
            Self::Audit => (5, 0),
            Self::LockupLook(cpu) => (6, cpu.0),
            Self::End => (7, 0),
            Self::Hotplug(line) => (8, line),
            Self::RtBudget(cpu) => (9, cpu.0),
            Self::Program(run) => (10, run),
            Self::Write(write) => (11, write),
            Self::Turn => (12, 0),
            Self::Frequency(policy) => (13, policy),
        };
        kind << INDEX_BITS | u64::from(index)
    }

    fn unpacked(packed: u64) -> Self {
        let index = (packed & ((1 << INDEX_BITS) - 1)) as u32;
        match packed >> INDEX_BITS & ((1 << KIND_BITS) - 1) {
            0 => Self::Cpu(CpuId(index)),
            1 => Self::Sleep(TaskId(index)),
            2 => Self::PolicyTimer(index),
            3 => Self::Disk,
            4 => Self::Watchdog,
            5 => Self::Audit,
            6 => Self::LockupLook(CpuId(index)),
            7 => Self::End,
            8 => Self::Hotplug(index),
            9 => Self::RtBudget(CpuId(index)),
            10 => Self::Program(index),
            11 => Self::Write(index),
            13 => Self::Frequency(index),
            _ => Self::Turn,
        }
    }
}

const INDEX_BITS: u32 = 21;
const KIND_BITS: u32 = 4;
const SUBJECT_BITS: u32 = INDEX_BITS + KIND_BITS;

/// Most subjects of one kind of event.
pub const MAX_SUBJECTS: usize = 1 << INDEX_BITS;

/// An event whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub at_ns: u64,
    pub seq: u64,
    pub event: Event,
}

/// Later than every event.
const VACANT: u128 = u128::MAX;

/// Those to come soon in slots of time, the others in a heap of four children a node: half as deep as a binary one, and
/// the children share a cache line.
///
/// Behind the last event the heap is filled up with vacant places, so that a node has either four children or none. The
/// place of an event that was taken stays open, because its handler nearly always posts another one, and soon: that
/// goes in at the top and sinks little.
#[derive(Default)]
pub struct Events {
    near: Near,
    heap: Vec<u128>,
    /// Places in use, the open one included.
    len: usize,
    /// The first entry has been taken.
    open: bool,
    seq: u64,
}

impl Events {
    /// Returns the event's sequence number, never 0.
    pub fn post(&mut self, at_ns: u64, event: Event) -> u64 {
        self.seq += 1;
        let low = self.seq << SUBJECT_BITS | event.packed();
        let key = u128::from(at_ns) << 64 | u128::from(low);
        if !self.near.keep(key) {
            if std::mem::take(&mut self.open) {
                self.sift_down(key);
            } else {
                self.push(key);
            }
        }
        self.seq
    }

    /// What was taken comes back in its place.
    pub fn put_back(&mut self, due: Due) {
        let low = due.seq << SUBJECT_BITS | due.event.packed();
        let key = u128::from(due.at_ns) << 64 | u128::from(low);
        if self.open {
            self.close();
        }
        self.push(key);
    }

    fn push(&mut self, key: u128) {
        if self.len == self.heap.len() {
            let more = if self.len == 0 { 1 } else { 4 };
            self.heap.resize(self.len + more, VACANT);
        }
        let mut at = self.len;
        self.len += 1;
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] < key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<Due> {
        if self.open {
            self.close();
        }
        let far = self.heap.first().copied().unwrap_or(VACANT);
        let key = match self.near.take_before(far) {
            Some(near) => near,
            None if far == VACANT => return None,
            None => {
                self.open = true;
                far
            }
        };
        self.near.move_on(key);
        let low = key as u64;
        Some(Due {
            at_ns: (key >> 64) as u64,
            seq: low >> SUBJECT_BITS,
            event: Event::unpacked(low),
        })
    }

    /// When the next event is due, which may be one that its poster no longer waits for; the largest time if there is none.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        // Behind the open place come its children.
        let first = if self.open { 1..5 } else { 0..1 };
        let far = self.heap.get(first).and_then(|keys| keys.iter().min());
        let near = self.near.first_key();
        let key = near.unwrap_or(VACANT).min(far.copied().unwrap_or(VACANT));
        (key >> 64) as u64
    }

    /// Nothing came into the open place: the last entry does.
    fn close(&mut self) {
        self.open = false;
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], VACANT);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Put `key` in the place of the first.
    fn sift_down(&mut self, key: u128) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        while let Some(child) = heap.get(at * 4 + 1..).and_then(<[u128]>::first_chunk::<4>) {
            let left = usize::from(child[1] < child[0]);
            let right = 2 + usize::from(child[3] < child[2]);
            let best = if child[right] < child[left] {
                right
            } else {
                left
            };
            let least = child[best];
            if key < least {
                break;
            }
            heap[at] = least;
            at = at * 4 + 1 + best;
        }
        heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::NEVER;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_posting(
            posts in prop::collection::vec((delays(), 0..3usize), 0..200)
        ) {
            let mut events = Events::default();
            let mut model: Vec<(u64, u64)> = Vec::new();
            let mut now_ns = 0;
            for (delay_ns, pops) in posts {
                let time = now_ns + delay_ns;
                let seq = events.post(time, Event::Sleep(TaskId((time % 7) as u32)));
                model.push((time, seq));
                model.sort_unstable();
                for _ in 0..pops.min(model.len()) {
                    prop_assert_eq!(events.next_ns(), model[0].0);
                    let event = events.pop().unwrap();
                    prop_assert_eq!((event.at_ns, event.seq), model.remove(0));
                    prop_assert_eq!(event.event, Event::Sleep(TaskId((event.at_ns % 7) as u32)));
                    now_ns = event.at_ns;
                }
            }
            model.sort_unstable();
            for expected in model {
                let event = events.pop().unwrap();
                prop_assert_eq!((event.at_ns, event.seq), expected);
            }
            prop_assert_eq!(events.next_ns(), NEVER);
            prop_assert_eq!(events.pop(), None);
        }
    }

    /// At once, soon, about as far away as slots reach, and further.
    fn delays() -> impl Strategy<Value = u64> {
        prop_oneof![
            0..20u64,
            0..20_000u64,
            1_000_000..1_100_000u64,
            0..10_000_000u64
        ]
    }
}
