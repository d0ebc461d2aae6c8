// SPDX-License-Identifier: GPL-2.0-or-later
//! What keeps ordinary tasks alive beside a real-time hog: throttling, with or without borrowing, or the ext server
//! (rule 6.1.4).

use machine::RtGuard;

use crate::cpu::Cpu;
use crate::events::Event;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::sim::Sim;
use crate::task::Class;

const PERIOD_NS: u64 = 1_000_000_000;
const RT_RUNTIME_NS: u64 = 950_000_000;
const SERVER_RUNTIME_NS: u64 = 50_000_000;

pub struct Budget {
    /// Real-time service in this period, how much it may be, and whether it was more.
    used_ns: u64,
    runtime_ns: u64,
    throttled: bool,
    /// The server has its turn, for so much longer.
    boost_ns: u64,
    ext_served_ns: u64,
    /// The end of the period, or the server's look; 0: none.
    event_seq: u64,
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
fn borrow(budgets: &mut [&mut Budget], taker: usize) {
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
fn settle(budgets: &mut [&mut Budget], leaver: usize) {
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

impl Sim<'_> {
    pub(super) fn rt_guard(&self) -> RtGuard {
        self.options.rt_guard.unwrap_or(self.machine.rt_guard)
    }

    /// Budgets of the online CPUs, and where among them that of `cpu` is.
    fn budgets(&mut self, cpu: CpuId) -> (Vec<&mut Budget>, usize) {
        let counts = |(id, other): &(CpuId, &mut Cpu)| *id == cpu || other.online;
        let index = (self.cpus.pairs())
            .filter(|(id, other)| *id < cpu && other.online)
            .count();
        let budgets = (self.cpus.pairs_mut())
            .filter(counts)
            .map(|(_, other)| &mut other.rt.budget)
            .collect();
        (budgets, index)
    }

    /// Real-time service against its budget.
    pub(crate) fn account_rt(&mut self, cpu: CpuId, _id: TaskId, delta_ns: u64) {
        self.cpus[cpu].rt.served = true;
        let guard = self.rt_guard();
        if !matches!(guard, RtGuard::Throttle | RtGuard::Share) {
            return;
        }
        let now = self.now_ns;
        let budget = &mut self.cpus[cpu].rt.budget;
        budget.used_ns += delta_ns;
        if budget.event_seq == 0 {
            budget.event_seq = self
                .events
                .post((now / PERIOD_NS + 1) * PERIOD_NS, Event::RtBudget(cpu));
        }
        let over = budget.used_ns > budget.runtime_ns;
        if over && guard == RtGuard::Share {
            let (mut budgets, taker) = self.budgets(cpu);
            borrow(&mut budgets, taker);
        }
        let budget = &mut self.cpus[cpu].rt.budget;
        // Who has the whole period is never throttled.
        if budget.runtime_ns < PERIOD_NS && budget.used_ns > budget.runtime_ns {
            budget.throttled = true;
        }
    }

    /// Its budget leaves with a CPU that goes offline.
    pub(crate) fn rt_budget_leaves(&mut self, cpu: CpuId) {
        if self.rt_guard() == RtGuard::Share {
            let (mut budgets, leaver) = self.budgets(cpu);
            settle(&mut budgets, leaver);
        }
    }

    /// A real-time task begins to run: the server will look what it leaves to others.
    pub(super) fn start_server(&mut self, cpu: CpuId) {
        let at_ns = self.clock_ns.max(self.now_ns) + PERIOD_NS - SERVER_RUNTIME_NS;
        let guard = self.rt_guard();
        let budget = &mut self.cpus[cpu].rt.budget;
        if guard == RtGuard::ExtServer && budget.event_seq == 0 {
            budget.ext_served_ns = 0;
            budget.event_seq = self.events.post(at_ns, Event::RtBudget(cpu));
        }
    }

    /// Ext service against the server's turn.
    pub(crate) fn account_server(&mut self, cpu: CpuId, delta_ns: u64) {
        let rt = &mut self.cpus[cpu].rt;
        let budget = &mut rt.budget;
        if budget.event_seq == 0 {
            return;
        }
        if budget.boost_ns == 0 {
            budget.ext_served_ns += delta_ns;
        } else {
            budget.boost_ns = budget.boost_ns.saturating_sub(delta_ns);
            if budget.boost_ns == 0 && rt.len > 0 {
                self.cpus[cpu].need_resched = true;
            }
        }
    }

    /// The period is over, or an ext task has waited for its share long enough.
    pub(crate) fn rt_budget(&mut self, cpu: CpuId, seq: u64) {
        if self.cpus[cpu].rt.budget.event_seq != seq {
            return;
        }
        self.interrupt(cpu);
        let now = self.now_ns;
        let guard = self.rt_guard();
        let curr = self.cpus[cpu].curr;
        let rt_runs = curr != IDLE && self.tasks[curr].class == Class::Rt;
        let queued = self.cpus[cpu].rt.len > 0;
        self.cpus[cpu].rt.budget.event_seq = 0;
        match guard {
            RtGuard::None => {}
            RtGuard::Throttle | RtGuard::Share => {
                let budget = &mut self.cpus[cpu].rt.budget;
                budget.used_ns = budget.used_ns.saturating_sub(budget.runtime_ns);
                let over = budget.used_ns > budget.runtime_ns;
                let was = std::mem::replace(&mut budget.throttled, over);
                if queued || rt_runs || budget.used_ns > 0 {
                    budget.event_seq = self.events.post(now + PERIOD_NS, Event::RtBudget(cpu));
                }
                if was && !over {
                    self.resched(cpu);
                }
            }
            RtGuard::ExtServer => {
                let budget = &mut self.cpus[cpu].rt.budget;
                if rt_runs || queued {
                    if rt_runs && budget.ext_served_ns < SERVER_RUNTIME_NS {
                        budget.boost_ns = SERVER_RUNTIME_NS - budget.ext_served_ns;
                    }
                    budget.ext_served_ns = 0;
                    budget.event_seq = self.events.post(now + PERIOD_NS, Event::RtBudget(cpu));
                    if budget.boost_ns > 0 {
                        self.resched(cpu);
                    }
                }
            }
        }
        self.end_op();
    }
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
