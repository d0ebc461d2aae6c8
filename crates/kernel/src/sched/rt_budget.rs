// SPDX-License-Identifier: GPL-2.0-or-later
//! What keeps ordinary tasks alive beside a real-time hog: throttling, with or without borrowing, or the ext server
//! (rule 6.1.4).

use machine::RtGuard;

use crate::clock::events::Event;
use crate::cpu::Cpu;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::queue::rt_budget::{Budget, PERIOD_NS, SERVER_RUNTIME_NS, borrow, settle};
use crate::sim::Sim;
use crate::task::Class;

impl Sim<'_> {
    /// Budgets of the online CPUs, and where among them that of `cpu` is.
    fn budgets(&mut self, cpu: CpuId) -> (Vec<&mut Budget>, usize) {
        let counts = |(id, other): &(CpuId, &mut Cpu)| *id == cpu || other.online();
        let index = (self.cpus.pairs())
            .filter(|(id, other)| *id < cpu && other.online())
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
        let guard = self.machine.rt_guard;
        if !matches!(guard, RtGuard::Throttle | RtGuard::Share) {
            return;
        }
        let now = self.clock.now_ns;
        let budget = &mut self.cpus[cpu].rt.budget;
        budget.used_ns += delta_ns;
        if budget.event_seq == 0 {
            budget.event_seq = self
                .clock
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
        if self.machine.rt_guard == RtGuard::Share {
            let (mut budgets, leaver) = self.budgets(cpu);
            settle(&mut budgets, leaver);
        }
    }

    /// A real-time task begins to run: the server will look what it leaves to others.
    pub(super) fn start_server(&mut self, cpu: CpuId) {
        let at_ns = self.clock.rq_ns.max(self.clock.now_ns) + PERIOD_NS - SERVER_RUNTIME_NS;
        let guard = self.machine.rt_guard;
        let budget = &mut self.cpus[cpu].rt.budget;
        if guard == RtGuard::ExtServer && budget.event_seq == 0 {
            budget.ext_served_ns = 0;
            budget.event_seq = self.clock.post(at_ns, Event::RtBudget(cpu));
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
        let now = self.clock.now_ns;
        let guard = self.machine.rt_guard;
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
                    budget.event_seq = self.clock.post(now + PERIOD_NS, Event::RtBudget(cpu));
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
                    budget.event_seq = self.clock.post(now + PERIOD_NS, Event::RtBudget(cpu));
                    if budget.boost_ns > 0 {
                        self.resched(cpu);
                    }
                }
            }
        }
        self.end_op();
    }
}
