// SPDX-License-Identifier: GPL-2.0-or-later
//! Operations of the kernel: interrupts, locks taken meanwhile, and what is done at the end of each.

use crate::ids::{CpuId, DsqIndex, IDLE};
use crate::sim::Sim;

impl Sim<'_> {
    /// An interrupt on a CPU: after what the kernel does there already, and after waking up if it is idle.
    pub(crate) fn interrupt(&mut self, cpu: CpuId) {
        self.progress(cpu);
        let this = &self.cpus[cpu];
        let mut at_ns = self.clock.now_ns.max(this.kernel_until_ns);
        if this.curr == IDLE && at_ns == self.clock.now_ns {
            let costs = &self.machine.costs;
            at_ns += if costs.idle_states.is_empty() {
                costs.idle_exit_ns
            } else {
                costs.idle_exit_after(self.core_idle_ns(cpu))
            };
        }
        self.clock.begin_operation(cpu, at_ns);
        self.clock.in_interrupt = true;
    }

    /// For how long the CPU and its siblings have been idle without an interrupt; 0 where one works.
    fn core_idle_ns(&self, cpu: CpuId) -> u64 {
        let idle_ns = |cpu: &CpuId| match &self.cpus[*cpu] {
            idle if idle.curr == IDLE => self.clock.now_ns.saturating_sub(idle.kernel_until_ns),
            _ => 0,
        };
        let core = self.machine.topology.siblings(cpu);
        core.iter().map(idle_ns).min().unwrap_or(0)
    }

    /// The end of an operation: what it decided for its own CPU happens now, and the CPU's next event is posted.
    pub(crate) fn end_op(&mut self) {
        let cpu = self.clock.cpu;
        self.clock.in_interrupt = false;
        self.flush_kicks();
        self.flush_reenqueues();
        if self.cpus[cpu].need_resched {
            self.schedule(cpu);
            self.flush_reenqueues();
            self.flush_kicks();
        }
        let now = self.clock.at_ns;
        let this = &mut self.cpus[cpu];
        let curr = this.curr;
        if this.need_resched {
            // Asked again by the reschedule itself: an operation of its own.
            this.need_resched = false;
            this.resched_at_ns = this.resched_at_ns.min(now);
        }
        this.kernel_until_ns = this.kernel_until_ns.max(now);
        let mut work = 0;
        if curr != IDLE {
            this.progress_at_ns = this.progress_at_ns.max(now);
            work = self.look_ahead(curr);
        }
        self.post_with(cpu, work);
        if self.turns.is_some() {
            self.keep_to_turns(cpu);
        }
    }

    /// When something happens next beside a CPU's operation: elsewhere, or to the CPU itself, as an interrupt.
    pub(crate) fn next_beside_ns(&self, cpu: CpuId) -> u64 {
        let this = &self.cpus[cpu];
        let own_ns = this.next_tick_ns.min(this.interrupted_at_ns());
        self.clock.next_ns().min(own_ns)
    }

    pub(crate) fn charge(&mut self, ns: u64) {
        self.clock.at_ns += ns;
    }

    /// Take and release a run queue's lock.
    #[inline]
    pub(crate) fn lock_rq(&mut self, cpu: CpuId) {
        self.needs_rq(cpu);
        let topology = &self.machine.topology;
        let target = &mut self.cpus[cpu];
        let len = target.local.len();
        self.clock.at_ns = target.lock.pass(
            &self.machine.locks,
            self.clock.at_ns,
            self.clock.cpu,
            len,
            |a, b| topology.distance(a, b),
        );
    }

    #[inline]
    pub(crate) fn lock_dsq(&mut self, dsq: DsqIndex) {
        let topology = &self.machine.topology;
        let target = &mut self.dsqs[dsq];
        let len = target.len();
        self.clock.at_ns = target.lock.pass(
            &self.machine.locks,
            self.clock.at_ns,
            self.clock.cpu,
            len,
            |a, b| topology.distance(a, b),
        );
    }
}
