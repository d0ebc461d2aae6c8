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
    members: Table<DsqIndex, Vec<TaskId>>,
    by_task: PerTask<Member>,
    credit: usize,
    strict: bool,
    tail: i64,
    head: i64,
}

#[derive(Clone, Copy)]
struct Member {
    /// Its queue, and where in `members`.
    dsq: Option<DsqIndex>,
    index: u32,
    vtime: Option<u64>,
    /// Its place among equals.
    order: i64,
    queued: bool,
}

impl Order {
    pub fn new(tasks: usize, strict: bool) -> Self {
        let empty = Member {
            dsq: None,
            index: 0,
            vtime: None,
            order: 0,
            queued: false,
        };
        Self {
            members: Table::default(),
            by_task: PerTask::filled(tasks, || empty),
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
        let member = &mut self.by_task[task];
        if member.queued {
            return Err(format!("task {task} is queued while it is in a queue"));
        }
        member.queued = true;
        if let Place::Dsq(dsq) = to {
            self.joined(task, dsq, vtime, head);
        }
        Ok(())
    }

    fn joined(&mut self, task: TaskId, dsq: DsqIndex, vtime: Option<u64>, head: bool) {
        let member = &mut self.by_task[task];
        if head && vtime.is_none() {
            self.head -= 1;
            member.order = self.head;
        } else {
            self.tail += 1;
            member.order = self.tail;
        }
        member.vtime = vtime;
        member.dsq = Some(dsq);
        while !self.members.contains(dsq) {
            self.members.push(Vec::new());
        }
        let members = &mut self.members[dsq];
        member.index = members.len() as u32;
        members.push(task);
    }

    #[inline]
    pub fn left(&mut self, task: TaskId) {
        let member = &mut self.by_task[task];
        member.queued = false;
        if let Some(dsq) = member.dsq.take() {
            let index = member.index;
            let members = &mut self.members[dsq];
            members.swap_remove(index as usize);
            if let Some(moved) = members.get(index as usize) {
                self.by_task[*moved].index = index;
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
        let member = &self.by_task[task];
        if member.dsq != Some(dsq) {
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
        for other in members {
            let before = &self.by_task[*other];
            let earlier = match (before.vtime, member.vtime) {
                (Some(theirs), Some(ours)) if theirs != ours => {
                    (theirs.wrapping_sub(ours) as i64) < 0
                }
                _ => before.order < member.order,
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
}
