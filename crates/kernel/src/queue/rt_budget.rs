// SPDX-License-Identifier: GPL-2.0-or-later
//! How much of a CPU's time real-time tasks may have, and how CPUs lend each other of it.

pub const PERIOD_NS: u64 = 1_000_000_000;
const RT_RUNTIME_NS: u64 = 950_000_000;
pub const SERVER_RUNTIME_NS: u64 = 50_000_000;

pub struct Budget {
    /// Real-time service in this period, how much it may be, and whether it was more.
    pub used_ns: u64,
    pub runtime_ns: u64,
    pub throttled: bool,
    /// The server has its turn, for so much longer.
    pub boost_ns: u64,
    pub ext_served_ns: u64,
    /// The end of the period, or the server's look; 0: none.
    pub event_seq: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            used_ns: 0,
            runtime_ns: RT_RUNTIME_NS,
            throttled: false,
            boost_ns: 0,
            ext_served_ns: 0,
            event_seq: 0,
        }
    }
}

impl Budget {
    pub fn throttled(&self) -> bool {
        self.throttled
    }

    pub fn serves_ext(&self) -> bool {
        self.boost_ns > 0
    }

    pub fn nobody_to_serve(&mut self) {
        self.boost_ns = 0;
    }
}

/// The kernel's `do_balance_runtime`: `taker` gets a share of what each other CPU has left, up to the whole period.
pub fn borrow(budgets: &mut [&mut Budget], taker: usize) {
    let count = budgets.len() as u64;
    for lender in 0..budgets.len() {
        let room = PERIOD_NS - budgets[taker].runtime_ns;
        if lender == taker || room == 0 {
            continue;
        }
        let left = budgets[lender]
            .runtime_ns
            .saturating_sub(budgets[lender].used_ns);
        let amount = (left / count).min(room);
        budgets[lender].runtime_ns -= amount;
        budgets[taker].runtime_ns += amount;
    }
}

/// The kernel's `__disable_runtime`: a CPU that goes takes back what it lent, or gives back what it borrowed.
pub fn settle(budgets: &mut [&mut Budget], leaver: usize) {
    for other in 0..budgets.len() {
        let runtime = budgets[leaver].runtime_ns;
        if other == leaver || runtime == RT_RUNTIME_NS {
            continue;
        }
        if runtime < RT_RUNTIME_NS {
            let back = (RT_RUNTIME_NS - runtime).min(budgets[other].runtime_ns);
            budgets[other].runtime_ns -= back;
            budgets[leaver].runtime_ns += back;
        } else {
            budgets[other].runtime_ns += runtime - RT_RUNTIME_NS;
            budgets[leaver].runtime_ns = RT_RUNTIME_NS;
        }
    }
    *budgets[leaver] = Budget {
        event_seq: budgets[leaver].event_seq,
        ..Budget::default()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(used_ns: u64) -> Budget {
        Budget {
            used_ns,
            ..Budget::default()
        }
    }

    fn runtimes_ms(budgets: &[Budget]) -> Vec<u64> {
        budgets
            .iter()
            .map(|budget| budget.runtime_ns / 1_000_000)
            .collect()
    }

    fn with(budgets: &mut [Budget], what: fn(&mut [&mut Budget], usize), cpu: usize) {
        what(&mut budgets.iter_mut().collect::<Vec<_>>(), cpu);
    }

    #[test]
    fn a_cpu_borrows_a_share_of_what_others_have_left_up_to_its_whole_time() {
        let mut budgets = [used(960_000_000), used(0), used(0)];
        with(&mut budgets, borrow, 0);
        assert_eq!(runtimes_ms(&budgets), [1_000, 900, 950]);
        // 30 ms left of the lender: a third of them.
        let mut budgets = [used(960_000_000), used(920_000_000), used(1_000_000_000)];
        with(&mut budgets, borrow, 0);
        assert_eq!(runtimes_ms(&budgets), [960, 940, 950]);
    }

    #[test]
    fn no_runtime_is_lost_or_made() {
        let mut budgets = [
            used(960_000_000),
            used(100_000_000),
            used(945_000_000),
            used(0),
        ];
        for cpu in [0, 2, 0, 3] {
            with(&mut budgets, borrow, cpu);
            assert_eq!(runtimes_ms(&budgets).iter().sum::<u64>(), 4 * 950);
            assert!(budgets.iter().all(|budget| budget.runtime_ns <= PERIOD_NS));
        }
        for cpu in [1, 0] {
            with(&mut budgets, settle, cpu);
            assert_eq!(runtimes_ms(&budgets).iter().sum::<u64>(), 4 * 950);
            assert_eq!(budgets[cpu].runtime_ns, RT_RUNTIME_NS);
        }
    }
}
