// SPDX-License-Identifier: GPL-2.0-or-later
//! Queue order: what a CPU takes out of a shared queue is the first that may run there.
//!
//! Members of each queue are kept unsorted, so that nothing here can be wrong in the way a sorted queue is. A look
//! through a queue costs its length, so it is done as often as keeps that cost constant per task taken: always in short
//! queues, and always in a strict run.

use crate::ids::{DsqIndex, PerTask, Table, TaskId};
use crate::task::Place;

/// Entries looked at per task taken.
const CREDIT: usize = 8;

pub struct Order {
    members: Table<DsqIndex, Vec<Member>>,
    by_task: PerTask<Membership>,
    credit: usize,
    strict: bool,
    tail: i64,
    head: i64,
}

#[derive(Clone, Copy)]
struct Member {
    task: TaskId,
    vtime: Option<u64>,
    /// Its place among equals.
    order: i64,
}

/// A task's shared queue, if it is in one, and where among its members.
#[derive(Clone, Copy)]
struct Membership {
    queued: bool,
    dsq: Option<DsqIndex>,
    index: u32,
}

impl Order {
    pub fn new(tasks: usize, strict: bool) -> Self {
        let nowhere = Membership {
            queued: false,
            dsq: None,
            index: 0,
        };
        Self {
            members: Table::default(),
            by_task: PerTask::filled(tasks, || nowhere),
            credit: 0,
            strict,
            tail: 0,
            head: 0,
        }
    }

    #[inline(always)]
    pub fn queued(
        &mut self,
        task: TaskId,
        to: Place,
        vtime: Option<u64>,
        head: bool,
    ) -> Result<(), String> {
        let row = &mut self.by_task[task];
        if row.queued {
            return Err(format!("task {task} is queued while it is in a queue"));
        }
        row.queued = true;
        if let Place::Dsq(dsq) = to {
            let index = self.join(task, dsq, vtime, head);
            let row = &mut self.by_task[task];
            (row.dsq, row.index) = (Some(dsq), index);
        }
        Ok(())
    }

    /// Returns where among the queue's members the task is.
    fn join(&mut self, task: TaskId, dsq: DsqIndex, vtime: Option<u64>, head: bool) -> u32 {
        let order = if head && vtime.is_none() {
            self.head -= 1;
            self.head
        } else {
            self.tail += 1;
            self.tail
        };
        while !self.members.contains(dsq) {
            self.members.push(Vec::new());
        }
        let members = &mut self.members[dsq];
        members.push(Member { task, vtime, order });
        members.len() as u32 - 1
    }

    #[inline]
    pub fn left(&mut self, task: TaskId) {
        let row = &mut self.by_task[task];
        row.queued = false;
        if let Some(dsq) = row.dsq.take() {
            let index = row.index;
            let members = &mut self.members[dsq];
            members.swap_remove(index as usize);
            if let Some(moved) = members.get(index as usize) {
                self.by_task[moved.task].index = index;
            }
        }
    }

    /// A task leaves a shared queue because a CPU runs it.
    #[inline]
    pub fn taken(
        &mut self,
        task: TaskId,
        dsq: DsqIndex,
        allowed: impl Fn(TaskId) -> bool,
    ) -> Result<(), String> {
        let in_turn = self.in_turn(task, dsq, allowed);
        self.left(task);
        in_turn
    }

    fn in_turn(
        &mut self,
        task: TaskId,
        dsq: DsqIndex,
        allowed: impl Fn(TaskId) -> bool,
    ) -> Result<(), String> {
        let row = &self.by_task[task];
        if row.dsq != Some(dsq) {
            return Err(format!("task {task} is taken from a queue it is not in"));
        }
        let members = &self.members[dsq];
        self.credit += CREDIT;
        if members.len() > self.credit && !self.strict {
            return Ok(());
        }
        self.credit = self.credit.saturating_sub(members.len()).min(CREDIT);
        if members.len() == 1 {
            return Ok(());
        }
        let member = &members[row.index as usize];
        for other in members {
            let earlier = match (other.vtime, member.vtime) {
                (Some(theirs), Some(ours)) if theirs != ours => {
                    (theirs.wrapping_sub(ours) as i64) < 0
                }
                _ => other.order < member.order,
            };
            if earlier && allowed(other.task) {
                return Err(format!(
                    "task {task} is taken from a queue before task {}",
                    other.task
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
        let dsq = Place::Dsq(DsqIndex(0));
        order.queued(TaskId(0), dsq, Some(10), false).unwrap();
        order.queued(TaskId(1), dsq, Some(5), false).unwrap();
        order.queued(TaskId(2), dsq, Some(5), false).unwrap();
        assert!(order.in_turn(TaskId(0), DsqIndex(0), |_| true).is_err());
        assert!(order.in_turn(TaskId(2), DsqIndex(0), |_| true).is_err());
        assert!(
            order
                .in_turn(TaskId(2), DsqIndex(0), |other| other != TaskId(1))
                .is_ok()
        );
        assert!(order.in_turn(TaskId(1), DsqIndex(0), |_| true).is_ok());
        order.left(TaskId(1));
        order.left(TaskId(2));
        assert!(order.in_turn(TaskId(0), DsqIndex(0), |_| true).is_ok());
        assert!(order.queued(TaskId(0), dsq, None, false).is_err());
        // Virtual time wraps.
        order.queued(TaskId(3), dsq, Some(u64::MAX), false).unwrap();
        assert!(order.in_turn(TaskId(0), DsqIndex(0), |_| true).is_err());
    }

    #[test]
    fn heads_go_before_tails() {
        let mut order = Order::new(3, true);
        for (task, head) in [(0, false), (1, true), (2, false)] {
            order
                .queued(TaskId(task), Place::Dsq(DsqIndex(0)), None, head)
                .unwrap();
        }
        assert!(order.in_turn(TaskId(0), DsqIndex(0), |_| true).is_err());
        assert!(order.in_turn(TaskId(1), DsqIndex(0), |_| true).is_ok());
    }

    #[test]
    fn a_long_queue_is_looked_through_as_often_as_tasks_taken_pay_for_it() {
        // Whether the second of a queue of so many is found to be out of turn, each time that it is taken.
        let mut order = Order::new(23, false);
        let (long, short) = (DsqIndex(0), DsqIndex(1));
        for task in 0..23 {
            let dsq = Place::Dsq(if task < 20 { long } else { short });
            order.queued(TaskId(task), dsq, None, false).unwrap();
        }
        let mut seen = |task, dsq, times| -> Vec<bool> {
            let mut taken = || order.in_turn(TaskId(task), dsq, |_| true).is_err();
            (0..times).map(|_| taken()).collect()
        };
        // 8 entries each: 24 pay for 20, of which 4 are left, and with 16 more these pay again.
        let expected = [false, false, true, false, true, false, false, true];
        assert_eq!(seen(1, long, 8), expected);
        // A short queue is always looked through, and leaves no more than 8 entries.
        assert_eq!(seen(21, short, 9), [true; 9]);
        assert_eq!(seen(1, long, 2), [false, true]);
    }

    #[test]
    fn members_are_found_again_after_one_of_them_has_left() {
        let mut order = Order::new(3, true);
        let dsq = Place::Dsq(DsqIndex(0));
        for task in 0..3 {
            order.queued(TaskId(task), dsq, None, false).unwrap();
        }
        let error = order.taken(TaskId(1), DsqIndex(0), |_| true).unwrap_err();
        assert_eq!(error, "task 1 is taken from a queue before task 0");
        assert_eq!(order.taken(TaskId(0), DsqIndex(0), |_| true), Ok(()));
        assert_eq!(order.taken(TaskId(2), DsqIndex(0), |_| true), Ok(()));
        let error = order.taken(TaskId(2), DsqIndex(0), |_| true).unwrap_err();
        assert_eq!(error, "task 2 is taken from a queue it is not in");
        order.queued(TaskId(2), dsq, None, false).unwrap();
    }

    #[test]
    fn each_head_goes_before_the_last_and_none_before_a_virtual_time() {
        let mut order = Order::new(4, true);
        let (heads, times) = (DsqIndex(0), DsqIndex(1));
        for task in [0, 1] {
            order
                .queued(TaskId(task), Place::Dsq(heads), None, true)
                .unwrap();
        }
        assert!(order.in_turn(TaskId(0), heads, |_| true).is_err());
        assert!(order.in_turn(TaskId(1), heads, |_| true).is_ok());
        for task in [2, 3] {
            order
                .queued(TaskId(task), Place::Dsq(times), Some(7), true)
                .unwrap();
        }
        assert!(order.in_turn(TaskId(2), times, |_| true).is_ok());
        assert!(order.in_turn(TaskId(3), times, |_| true).is_err());
    }
}
