// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's own thread: its work comes at ticks, and preempts whom the policy lets it preempt.
//!
//! A real kernel has several: kworkers, `rcu_preempt`, DAMON's, compaction. One stands for all. It has regular work, at
//! the first tick after each of its periods, and work after exits: what an exited task had is released when an RCU grace
//! period is over. That takes its thread two ticks, one to begin it and one to see that every CPU has passed it
//! (`kernel/rcu/tree.c`); exits meanwhile wait for the next. While all CPUs idle there are no ticks here, and what falls
//! due then is done at once and disturbs nobody.

use machine::Machine;

use crate::ids::TaskId;

pub const NAME: &str = "kthread";
/// Of a grace period.
const ROUNDS: u64 = 2;

pub struct Kthread {
    pub id: TaskId,
    pub takes_ns: u64,
    /// 0: there is no regular work.
    period_ns: u64,
    due_ns: u64,
    tick_ns: u64,
    /// The last tick on any CPU.
    ticked_ns: u64,
    /// Ticks until the grace periods that are asked for are over.
    rounds: u64,
}

impl Kthread {
    pub fn new(id: TaskId, machine: &Machine) -> Option<Self> {
        let costs = &machine.costs;
        (costs.kthread_ns > 0).then_some(Self {
            id,
            takes_ns: costs.kthread_ns,
            period_ns: costs.kthread_period_ns,
            due_ns: costs.kthread_period_ns,
            tick_ns: 1_000_000_000 / u64::from(machine.hz),
            ticked_ns: 0,
            rounds: 0,
        })
    }

    /// Whether there is work at a tick for a thread that sleeps; it is taken on.
    pub fn take_on(&mut self, now_ns: u64, sleeps: bool) -> bool {
        let missed = ((now_ns - self.ticked_ns) / self.tick_ns).saturating_sub(1);
        self.ticked_ns = now_ns;
        if !sleeps {
            return false;
        }
        let regular = self.due_ns <= now_ns && now_ns - self.due_ns < self.tick_ns;
        if self.period_ns > 0 && self.due_ns <= now_ns {
            self.due_ns = (now_ns / self.period_ns + 1) * self.period_ns;
        }
        self.rounds = self.rounds.saturating_sub(missed);
        let releases = self.rounds > 0;
        self.rounds -= u64::from(releases);
        (self.period_ns > 0 && regular) || releases
    }

    /// A grace period that is under way does not count.
    pub fn release(&mut self) {
        self.rounds = ROUNDS + self.rounds % ROUNDS;
    }
}
