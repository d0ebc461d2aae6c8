// SPDX-License-Identifier: GPL-2.0-or-later
//! Time: events to come, and the operation under way.
//!
//! An *operation* is what one CPU does in the kernel without a break: an interrupt, a system call, a reschedule. It is
//! carried out as a whole at its event's time, while its own time runs ahead by what it costs; the CPU is busy in the
//! kernel until then. Operations that meet at a lock are served in the order of their events.

pub mod events;
mod near;
pub mod turns;

use crate::ids::CpuId;
use events::{Due, Event, Events};

#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent states, each with its own meaning"
)]
pub struct Clock {
    events: Events,
    /// The time of the event that is being handled.
    pub now_ns: u64,
    /// When the start signal was given.
    pub start_ns: u64,
    /// The operation under way: on which CPU, how far, and the run queue clock it reads.
    pub cpu: CpuId,
    pub at_ns: u64,
    pub rq_ns: u64,
    /// `SCX_RQ_CLK_VALID`: this CPU's run queue has been locked since that reading, without a break.
    pub rq_holds: bool,
    pub in_interrupt: bool,
    /// A task is in a system call.
    pub in_program: bool,
    /// What preempts it finds it in an RCU reader's section.
    pub in_reader: bool,
    handled: u64,
    /// How many were handled when time last moved on.
    handled_before: u64,
    /// An event came in between that was not the next: those before it are late.
    was_interleaved: bool,
}

/// Where an operation was when it was broken off.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent states, each with its own meaning"
)]
pub struct Operation {
    pub cpu: CpuId,
    at_ns: u64,
    rq_ns: u64,
    rq_holds: bool,
    in_interrupt: bool,
    in_program: bool,
    in_reader: bool,
}

impl Clock {
    /// Returns the event's number, never 0, by which its poster knows it again.
    #[inline]
    pub fn post(&mut self, at_ns: u64, event: Event) -> u64 {
        self.events.post(at_ns, event)
    }

    /// The next event; its time is now.
    #[inline]
    pub fn next(&mut self) -> Option<Due> {
        let due = self.events.pop()?;
        debug_assert!(
            self.was_interleaved || due.at_ns >= self.now_ns,
            "time runs forwards"
        );
        self.handled += 1;
        if due.at_ns > self.now_ns {
            self.now_ns = due.at_ns;
            self.handled_before = self.handled;
        }
        Some(due)
    }

    /// When the next event is due; the one that is being handled has been taken.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.events.next_ns()
    }

    /// Events handled so far, and of those since time last moved on.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    pub fn at_the_same_time(&self) -> u64 {
        self.handled - self.handled_before
    }

    /// The next events, at most so many, that are due by then. They are the taker's to handle or to put back.
    pub fn take_soon(&mut self, until_ns: u64, most: usize) -> Vec<Due> {
        let mut soon = Vec::new();
        while soon.len() < most
            && let Some(due) = self.events.pop()
        {
            if due.at_ns > until_ns {
                self.events.put_back(due);
                break;
            }
            soon.push(due);
        }
        soon
    }

    pub fn put_back(&mut self, due: Due) {
        self.events.put_back(due);
    }

    /// The operation under way is broken off for something that is due then.
    pub fn suspend(&mut self, due_ns: u64) -> Operation {
        self.was_interleaved = true;
        self.now_ns = self.now_ns.max(due_ns);
        Operation {
            cpu: self.cpu,
            at_ns: self.at_ns.max(due_ns),
            rq_ns: self.rq_ns,
            rq_holds: std::mem::take(&mut self.rq_holds),
            in_interrupt: std::mem::take(&mut self.in_interrupt),
            in_program: std::mem::take(&mut self.in_program),
            in_reader: std::mem::take(&mut self.in_reader),
        }
    }

    /// It goes on, behind what came in between.
    pub fn resume(&mut self, operation: &Operation) {
        self.cpu = operation.cpu;
        self.at_ns = self.at_ns.max(operation.at_ns);
        self.rq_ns = operation.rq_ns;
        self.rq_holds = operation.rq_holds;
        self.in_interrupt = operation.in_interrupt;
        self.in_program = operation.in_program;
        self.in_reader = operation.in_reader;
    }

    #[inline]
    pub fn begin_operation(&mut self, cpu: CpuId, at_ns: u64) {
        self.cpu = cpu;
        self.at_ns = at_ns;
        self.rq_ns = at_ns;
        self.rq_holds = false;
        self.in_reader = false;
    }

    /// The run queue of a CPU is locked, and its clock is read.
    #[inline]
    pub fn read_rq(&mut self, cpu: CpuId, at_ns: u64) {
        self.rq_ns = at_ns;
        self.rq_holds = cpu == self.cpu;
    }
}
