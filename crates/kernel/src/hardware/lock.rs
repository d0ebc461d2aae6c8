// SPDX-License-Identifier: GPL-2.0-or-later
//! A spin lock, in simulated time: who waits how long.
//!
//! Takers are served in the order in which they ask (a ticket lock). A taker that asks at `t` on CPU `c`
//!
//! - starts at `max(t, end of the holder before)`,
//! - holds for `hold + hold_log × floor(log2(n + 1)) + transfer[distance(last CPU, c)] + waiter × (takers still before it)`,
//!   where `n` is the length of the queue that the lock protects.

use crate::ids::{CpuId, NO_CPU};
use machine::{Costs, Distance};

#[derive(Clone, Debug)]
pub struct Lock {
    free_at_ns: u64,
    last_cpu: CpuId,
    /// When each taker that may still hold or wait ends, oldest first. Empty where the last one came to a free lock.
    ends_ns: std::collections::VecDeque<u64>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            free_at_ns: 0,
            last_cpu: NO_CPU,
            ends_ns: std::collections::VecDeque::new(),
        }
    }
}

/// What of a machine's costs concerns locks.
#[derive(Clone, Debug)]
pub struct LockCosts {
    hold_ns: u64,
    hold_log_ns: u64,
    transfer_ns: [u64; 5],
    waiter_ns: u64,
    free: bool,
}

impl LockCosts {
    pub fn new(costs: &Costs) -> Self {
        Self {
            hold_ns: costs.lock_hold_ns,
            hold_log_ns: costs.lock_hold_log_ns,
            transfer_ns: costs.lock_transfer_ns,
            waiter_ns: costs.lock_waiter_ns,
            free: costs.lock_hold_ns == 0
                && costs.lock_hold_log_ns == 0
                && costs.lock_waiter_ns == 0
                && costs.lock_transfer_ns == [0; 5],
        }
    }
}

impl Lock {
    /// One operation on a queue of `len` under this lock, asked for at `at_ns`: when it is done.
    #[inline(always)]
    pub fn pass(
        &mut self,
        costs: &LockCosts,
        at_ns: u64,
        cpu: CpuId,
        len: usize,
        distance: impl Fn(CpuId, CpuId) -> Distance,
    ) -> u64 {
        if costs.free {
            return at_ns;
        }
        let mut hold_ns = costs.hold_ns;
        if len > 0 {
            hold_ns += costs.hold_log_ns * u64::from((len as u64 + 1).ilog2());
        }
        if self.last_cpu != cpu {
            if self.last_cpu != NO_CPU {
                hold_ns += costs.transfer_ns[distance(self.last_cpu, cpu) as usize];
            }
            self.last_cpu = cpu;
        }
        if self.free_at_ns > at_ns {
            self.queue_up(costs, at_ns, hold_ns);
        } else {
            if !self.ends_ns.is_empty() {
                self.ends_ns.clear();
            }
            self.free_at_ns = at_ns + hold_ns;
        }
        self.free_at_ns
    }

    /// The lock is taken: one more waits, behind those that came before.
    #[inline(never)]
    fn queue_up(&mut self, costs: &LockCosts, at_ns: u64, hold_ns: u64) {
        if costs.waiter_ns == 0 {
            self.free_at_ns += hold_ns;
            return;
        }
        if self.ends_ns.is_empty() {
            self.ends_ns.push_back(self.free_at_ns);
        }
        while self.ends_ns.front().is_some_and(|end| *end <= at_ns) {
            self.ends_ns.pop_front();
        }
        self.free_at_ns += hold_ns + costs.waiter_ns * self.ends_ns.len() as u64;
        self.ends_ns.push_back(self.free_at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> LockCosts {
        LockCosts::new(&Costs {
            lock_hold_ns: 100,
            lock_hold_log_ns: 10,
            lock_transfer_ns: [0, 1, 2, 3, 50],
            lock_waiter_ns: 7,
            ..Costs::default()
        })
    }

    fn remote(_: CpuId, _: CpuId) -> Distance {
        Distance::Remote
    }

    #[test]
    fn alone_a_lock_costs_its_hold() {
        let mut lock = Lock::default();
        assert_eq!(lock.pass(&costs(), 1_000, CpuId(0), 0, remote), 1_100);
        assert_eq!(lock.pass(&costs(), 2_000, CpuId(0), 7, remote), 2_130);
        // Another CPU pays for the cache line.
        assert_eq!(lock.pass(&costs(), 3_000, CpuId(1), 0, remote), 3_150);
    }

    #[test]
    fn takers_wait_in_turn_and_slow_each_other() {
        let mut lock = Lock::default();
        assert_eq!(lock.pass(&costs(), 0, CpuId(0), 0, remote), 100);
        // One before: its end + hold + transfer + 1 waiter.
        assert_eq!(lock.pass(&costs(), 10, CpuId(1), 0, remote), 100 + 157);
        // Two before.
        assert_eq!(lock.pass(&costs(), 20, CpuId(2), 0, remote), 257 + 164);
        // At 150 the first has left: two before again.
        assert_eq!(lock.pass(&costs(), 150, CpuId(3), 0, remote), 421 + 164);
        // Idle again.
        assert_eq!(lock.pass(&costs(), 10_000, CpuId(3), 0, remote), 10_100);
    }

    #[test]
    fn without_costs_there_is_no_lock() {
        let free = LockCosts::new(&Costs {
            lock_hold_ns: 0,
            lock_hold_log_ns: 0,
            lock_transfer_ns: [0; 5],
            lock_waiter_ns: 0,
            ..Costs::default()
        });
        let mut lock = Lock::default();
        assert_eq!(lock.pass(&free, 5, CpuId(0), 100, remote), 5);
        assert_eq!(lock.pass(&free, 5, CpuId(1), 100, remote), 5);
    }
}
