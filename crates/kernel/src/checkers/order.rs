// SPDX-License-Identifier: GPL-2.0-or-later
//! Queue order: what a CPU takes out of a shared queue is the first that may run there.
//!
//! Members of each queue are kept unsorted, so that nothing here can be wrong in the way a sorted queue is. A look
//! through a queue costs its length, so it is done as often as keeps that cost constant per task taken: always in short
//! queues, and always in a strict run.

use crate::task::{Place, TaskId};

const NOT_QUEUED: u32 = u32::MAX;
/// Entries looked at per task taken.
const CREDIT: usize = 8;

pub struct Order {
    members: Vec<Vec<TaskId>>,
    /// By task: its queue, where in `members`, its virtual time, its place among equals.
    slots: Vec<Slot>,
    credit: usize,
    strict: bool,
    tail: i64,
    head: i64,
}

#[derive(Clone, Copy)]
struct Slot {
    dsq: u32,
    index: u32,
    vtime: Option<u64>,
    order: i64,
    queued: bool,
}

impl Order {
    pub fn new(tasks: usize, strict: bool) -> Self {
        let empty = Slot {
            dsq: NOT_QUEUED,
            index: 0,
            vtime: None,
            order: 0,
            queued: false,
        };
        Self {
            members: Vec::new(),
            slots: vec![empty; tasks],
            credit: 0,
            strict,
            tail: 0,
            head: 0,
        }
    }

    pub fn queued(
        &mut self,
        task: TaskId,
        to: Place,
        vtime: Option<u64>,
        head: bool,
    ) -> Result<(), String> {
        let slot = &mut self.slots[task as usize];
        if slot.queued {
            return Err(format!("task {task} is queued while it is in a queue"));
        }
        slot.queued = true;
        slot.dsq = NOT_QUEUED;
        let Place::Dsq(dsq) = to else {
            return Ok(());
        };
        if head && vtime.is_none() {
            self.head -= 1;
            slot.order = self.head;
        } else {
            self.tail += 1;
            slot.order = self.tail;
        }
        slot.vtime = vtime;
        slot.dsq = dsq;
        if self.members.len() <= dsq as usize {
            self.members.resize_with(dsq as usize + 1, Vec::new);
        }
        let members = &mut self.members[dsq as usize];
        slot.index = members.len() as u32;
        members.push(task);
        Ok(())
    }

    pub fn left(&mut self, task: TaskId) {
        let slot = &mut self.slots[task as usize];
        slot.queued = false;
        if slot.dsq == NOT_QUEUED {
            return;
        }
        let (dsq, index) = (
            std::mem::replace(&mut slot.dsq, NOT_QUEUED) as usize,
            slot.index,
        );
        self.members[dsq].swap_remove(index as usize);
        if let Some(moved) = self.members[dsq].get(index as usize) {
            self.slots[*moved as usize].index = index;
        }
    }

    pub fn taken(
        &mut self,
        task: TaskId,
        dsq: u32,
        allowed: impl Fn(TaskId) -> bool,
    ) -> Result<(), String> {
        let slot = self.slots[task as usize];
        if slot.dsq != dsq {
            return Err(format!("task {task} is taken from a queue it is not in"));
        }
        let members = &self.members[dsq as usize];
        self.credit += CREDIT;
        if members.len() > self.credit && !self.strict {
            return Ok(());
        }
        self.credit = self.credit.saturating_sub(members.len()).min(CREDIT);
        for other in members {
            let before = &self.slots[*other as usize];
            let earlier = match (before.vtime, slot.vtime) {
                (Some(theirs), Some(ours)) if theirs != ours => {
                    (theirs.wrapping_sub(ours) as i64) < 0
                }
                _ => before.order < slot.order,
            };
            if earlier && allowed(*other) {
                return Err(format!(
                    "task {task} is taken from a queue before task {other}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_out_of_turn_is_seen() {
        let mut order = Order::new(4, true);
        let dsq = Place::Dsq(0);
        order.queued(0, dsq, Some(10), false).unwrap();
        order.queued(1, dsq, Some(5), false).unwrap();
        order.queued(2, dsq, Some(5), false).unwrap();
        assert!(order.taken(0, 0, |_| true).is_err());
        assert!(order.taken(2, 0, |_| true).is_err());
        assert!(order.taken(2, 0, |other| other != 1).is_ok());
        assert!(order.taken(1, 0, |_| true).is_ok());
        order.left(1);
        order.left(2);
        assert!(order.taken(0, 0, |_| true).is_ok());
        assert!(order.queued(0, dsq, None, false).is_err());
        // Virtual time wraps.
        order.queued(3, dsq, Some(u64::MAX), false).unwrap();
        assert!(order.taken(0, 0, |_| true).is_err());
    }

    #[test]
    fn heads_go_before_tails() {
        let mut order = Order::new(3, true);
        for (task, head) in [(0, false), (1, true), (2, false)] {
            order.queued(task, Place::Dsq(0), None, head).unwrap();
        }
        assert!(order.taken(0, 0, |_| true).is_err());
        assert!(order.taken(1, 0, |_| true).is_ok());
    }
}
