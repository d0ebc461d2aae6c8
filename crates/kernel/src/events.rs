// SPDX-License-Identifier: GPL-2.0-or-later
//! What happens next: events in the total order of (time, sequence).
//!
//! An event is one 128-bit number, time above sequence above subject, so that order is one comparison. Events are
//! never removed: whoever posts a new one for the same subject remembers its sequence number and ignores older ones.

/// Whom an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A CPU has something to do: its task's work ends, a tick, an interrupt to reschedule.
    Cpu = 0,
    /// A task's sleep is over.
    Sleep = 1,
    /// A timer of the policy.
    PolicyTimer = 2,
    /// The disk has finished its oldest request.
    Disk = 3,
    Watchdog = 4,
    /// The workload's time is over.
    End = 5,
    /// A CPU goes or comes, as scripted.
    Hotplug = 6,
    /// A real-time budget of a CPU is spent or renewed.
    RtBudget = 7,
}

const KINDS: [Kind; 8] = [
    Kind::Cpu,
    Kind::Sleep,
    Kind::PolicyTimer,
    Kind::Disk,
    Kind::Watchdog,
    Kind::End,
    Kind::Hotplug,
    Kind::RtBudget,
];

const INDEX_BITS: u32 = 21;
const SUBJECT_BITS: u32 = INDEX_BITS + 3;

/// Most subjects of one kind.
pub const MAX_SUBJECTS: usize = 1 << INDEX_BITS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub at_ns: u64,
    pub seq: u64,
    pub kind: Kind,
    pub index: u32,
}

/// A heap of four children a node: half as deep as a binary one, and the children share a cache line.
///
/// The place of an event that was taken stays open, because its handler nearly always posts another one, and soon: that
/// goes in at the top and sinks little.
#[derive(Default)]
pub struct Events {
    heap: Vec<u128>,
    /// The first entry has been taken.
    open: bool,
    seq: u64,
}

impl Events {
    /// Returns the event's sequence number, never 0.
    pub fn post(&mut self, at_ns: u64, kind: Kind, index: u32) -> u64 {
        self.seq += 1;
        let low = self.seq << SUBJECT_BITS | u64::from(kind as u8) << INDEX_BITS | u64::from(index);
        let key = u128::from(at_ns) << 64 | u128::from(low);
        if std::mem::take(&mut self.open) {
            self.sift_down(key);
            return self.seq;
        }
        let mut at = self.heap.len();
        self.heap.push(key);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] < key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
        self.seq
    }

    pub fn pop(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.open) {
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        let key = *self.heap.first()?;
        self.open = true;
        let low = key as u64;
        Some(Event {
            at_ns: (key >> 64) as u64,
            seq: low >> SUBJECT_BITS,
            kind: KINDS[(low >> INDEX_BITS & 7) as usize],
            index: (low & ((1 << INDEX_BITS) - 1)) as u32,
        })
    }

    /// Put `key` in the place of the first.
    fn sift_down(&mut self, key: u128) {
        let heap = &mut self.heap[..];
        let len = heap.len();
        let mut at = 0;
        loop {
            let first = at * 4 + 1;
            let mut best;
            if first + 4 <= len {
                let child = &heap[first..first + 4];
                let left = usize::from(child[1] < child[0]);
                let right = 2 + usize::from(child[3] < child[2]);
                best = if child[right] < child[left] {
                    right
                } else {
                    left
                };
                best += first;
            } else if first < len {
                best = first;
                for child in first + 1..len {
                    if heap[child] < heap[best] {
                        best = child;
                    }
                }
            } else {
                break;
            }
            if key < heap[best] {
                break;
            }
            heap[at] = heap[best];
            at = best;
        }
        heap[at] = key;
    }

    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.open)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_posting(times in prop::collection::vec((0u64..20, any::<bool>()), 0..200)) {
            let mut events = Events::default();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (time, pop) in times {
                let seq = events.post(time, Kind::Sleep, (time % 7) as u32);
                model.push((time, seq));
                if pop {
                    model.sort_unstable();
                    let event = events.pop().unwrap();
                    prop_assert_eq!((event.at_ns, event.seq), model.remove(0));
                    prop_assert_eq!(u64::from(event.index), event.at_ns % 7);
                    prop_assert_eq!(event.kind, Kind::Sleep);
                }
            }
            model.sort_unstable();
            for expected in model {
                let event = events.pop().unwrap();
                prop_assert_eq!((event.at_ns, event.seq), expected);
            }
            prop_assert!(events.is_empty());
        }
    }
}
