// SPDX-License-Identifier: GPL-2.0-or-later
//! A dispatch queue: first in, first out, or by virtual time, never both at once.
//!
//! Entries are kept sorted in one ring by (key, order). A FIFO has equal keys and its order is the place in the queue;
//! by virtual time the key is the time, compared so that it may wrap, and equal times leave in the order of insertion.
//! Most tasks come in near the end and leave at the front, where a ring moves little.

use std::collections::VecDeque;

use crate::hardware::lock::Lock;
use crate::ids::TaskId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: u64,
    pub order: i64,
    pub task: TaskId,
    /// Count of insertions into the queue when this one was made: iterators skip what came after they began.
    pub seq: u32,
}

impl Entry {
    fn before(&self, key: u64, order: i64) -> bool {
        match self.key.wrapping_sub(key) as i64 {
            0 => self.order < order,
            difference => difference < 0,
        }
    }
}

/// By what a task is found in its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub key: u64,
    pub order: i64,
}

#[derive(Debug, Default)]
pub struct Dsq {
    pub id: u64,
    pub entries: VecDeque<Entry>,
    by_vtime: bool,
    last_order: i64,
    first_order: i64,
    seq: u32,
    pub lock: Lock,
}

/// The queue already holds tasks of the other order.
#[derive(Debug, PartialEq, Eq)]
pub struct MixedOrder;

impl Dsq {
    pub fn new(id: u64) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn by_vtime(&self) -> bool {
        self.by_vtime
    }

    pub fn seq(&self) -> u32 {
        self.seq
    }

    pub fn push(&mut self, task: TaskId, head: bool) -> Result<Key, MixedOrder> {
        if self.by_vtime {
            if !self.entries.is_empty() {
                return Err(MixedOrder);
            }
            self.by_vtime = false;
        }
        Ok(self.push_fifo(task, head))
    }

    /// The same where nothing is ever sorted by virtual time.
    #[inline]
    pub fn push_fifo(&mut self, task: TaskId, head: bool) -> Key {
        debug_assert!(!self.by_vtime);
        let key = 0;
        self.seq = self.seq.wrapping_add(1);
        let seq = self.seq;
        let order = if head {
            self.first_order -= 1;
            let order = self.first_order;
            self.entries.push_front(Entry {
                key,
                order,
                task,
                seq,
            });
            order
        } else {
            self.last_order += 1;
            let order = self.last_order;
            self.entries.push_back(Entry {
                key,
                order,
                task,
                seq,
            });
            order
        };
        Key { key, order }
    }

    pub fn push_vtime(&mut self, task: TaskId, key: u64) -> Result<Key, MixedOrder> {
        if !self.by_vtime {
            if !self.entries.is_empty() {
                return Err(MixedOrder);
            }
            self.by_vtime = true;
        }
        self.seq = self.seq.wrapping_add(1);
        self.last_order += 1;
        let order = self.last_order;
        let entry = Entry {
            key,
            order,
            task,
            seq: self.seq,
        };
        match self.entries.back() {
            Some(last) if !last.before(key, order) => {
                let index = self.search(key, order);
                self.entries.insert(index, entry);
            }
            _ => self.entries.push_back(entry),
        }
        Ok(Key { key, order })
    }

    /// The first entry not before this place.
    pub fn search(&self, key: u64, order: i64) -> usize {
        self.entries
            .partition_point(|entry| entry.before(key, order))
    }

    #[inline]
    pub fn remove(&mut self, place: Key, task: TaskId) {
        let removed = match self.entries.front() {
            // Nearly always: nothing behind it has to move.
            Some(first) if first.task == task => self.entries.pop_front(),
            _ => {
                let index = self.search(place.key, place.order);
                self.entries.remove(index)
            }
        };
        assert_eq!(
            removed.map(|entry| entry.task),
            Some(task),
            "a task's place in its queue"
        );
    }

    /// The entry at this index leaves; nearly always the first, where nothing behind it has to move.
    #[inline]
    pub fn take(&mut self, index: usize) {
        if index == 0 {
            self.entries.pop_front();
        } else {
            self.entries.remove(index);
        }
    }

    /// The entry after a place that need no longer be taken; `hint` is where it was.
    pub fn after(&self, place: Key, hint: usize) -> usize {
        match self.entries.get(hint) {
            Some(entry) if entry.key == place.key && entry.order == place.order => hint + 1,
            _ => {
                let index = self.search(place.key, place.order);
                let taken = self
                    .entries
                    .get(index)
                    .is_some_and(|entry| entry.key == place.key && entry.order == place.order);
                index + usize::from(taken)
            }
        }
    }
}
