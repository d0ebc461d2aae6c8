// SPDX-License-Identifier: GPL-2.0-or-later
//! A CPU's real-time tasks: one list a priority, highest first.

use std::collections::VecDeque;

use super::rt_budget::Budget;
use crate::ids::TaskId;

#[derive(Default)]
pub struct RtQueue {
    pub lists: Vec<VecDeque<TaskId>>,
    levels: u128,
    pub len: u32,
    /// The CPU has served real-time tasks since it last picked one.
    pub served: bool,
    /// The running task makes room for the first of its priority, which can run nowhere else.
    pub makes_room: bool,
    pub budget: Budget,
}

impl RtQueue {
    pub fn push(&mut self, id: TaskId, prio: u8, head: bool) {
        if self.lists.is_empty() {
            self.lists.resize(100, VecDeque::new());
        }
        let list = &mut self.lists[usize::from(prio)];
        if head {
            list.push_front(id);
        } else {
            list.push_back(id);
        }
        self.levels |= 1 << prio;
        self.len += 1;
    }

    pub fn remove(&mut self, id: TaskId, prio: u8) {
        let list = &mut self.lists[usize::from(prio)];
        if let Some(index) = list.iter().position(|other| *other == id) {
            list.remove(index);
            self.len -= 1;
            if list.is_empty() {
                self.levels &= !(1 << prio);
            }
        }
    }

    /// The highest priority queued.
    pub fn best(&self) -> Option<u8> {
        (self.levels != 0).then(|| self.levels.ilog2() as u8)
    }

    pub fn has(&self, prio: u8) -> bool {
        self.levels >> prio & 1 == 1
    }

    /// The first task from the highest priority down that `fits`.
    pub fn find(&self, fits: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        self.lists
            .iter()
            .rev()
            .flatten()
            .copied()
            .find(|id| fits(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_priority_first_and_heads_before_tails() {
        let mut queue = RtQueue::default();
        queue.push(TaskId(1), 10, false);
        queue.push(TaskId(2), 99, false);
        queue.push(TaskId(3), 10, true);
        assert_eq!(queue.best(), Some(99));
        assert_eq!(
            [9, 10, 98, 99].map(|prio| queue.has(prio)),
            [false, true, false, true]
        );
        queue.remove(TaskId(2), 99);
        assert!(!queue.has(99));
        assert_eq!(queue.best(), Some(10));
        assert_eq!(queue.find(|_| true), Some(TaskId(3)));
        assert_eq!(queue.find(|id| id != TaskId(3)), Some(TaskId(1)));
        queue.remove(TaskId(1), 10);
        queue.remove(TaskId(3), 10);
        assert_eq!((queue.best(), queue.len), (None, 0));
    }
}
