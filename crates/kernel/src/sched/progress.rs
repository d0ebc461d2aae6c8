// SPDX-License-Identifier: GPL-2.0-or-later
//! A task's progress on a CPU: how fast it works, when it will be done, and what its caches cost.
//!
//! Work is counted in nanoseconds of an idle, full-speed core times [`FULL_RATE`], so that a core of another speed or a
//! busy SMT sibling changes the rate and no rounding is lost:
//!
//! `rate = capacity × (some sibling busy ? smt_speed_pct : 100)`, `done = rate × time`.
//!
//! Where clocks change, the rate is that times the frequency over the greatest, as a whole number.
//!
//! Caches: a task of footprint F has W = min(F, private cache) KiB in its core's caches after it ran. When it comes back
//! to the same core, what ran there in between evicted min(W, footprints of those) of it; on another core all of W has to
//! come anew, from as far as the task moved. Each KiB costs `refill_kib_ns` by that distance, as extra work.

use machine::Distance;

use crate::clock::events::Event;
use crate::cpu::{FULL_RATE, NEVER};
use crate::ids::{CpuId, IDLE, NO_CPU, TaskId};
use crate::sim::Sim;

impl Sim<'_> {
    /// Bring the work of a CPU's task up to date.
    #[inline]
    pub(crate) fn progress(&mut self, cpu: CpuId) {
        let this = &mut self.cpus[cpu];
        if this.curr == IDLE || this.waits_for > 0 || self.clock.now_ns <= this.progress_at_ns {
            return;
        }
        let done = (self.clock.now_ns - this.progress_at_ns) * this.rate;
        this.progress_at_ns = self.clock.now_ns;
        let task = &mut self.tasks[this.curr];
        task.work = task.work.saturating_sub(done);
        task.refill = task.refill.saturating_sub(done);
    }

    /// Post a CPU's next event: the end of its task's work, the tick, or an interrupt, whichever is first.
    pub(crate) fn post(&mut self, cpu: CpuId) {
        // It is switching, which another CPU's operation broke off, and does this itself at the end.
        if self.cpus[cpu].switching_from.is_some() {
            return;
        }
        let work = match self.cpus[cpu].curr {
            IDLE => 0,
            curr => self.tasks[curr].work,
        };
        self.post_with(cpu, work);
    }

    /// The same where it is known how much work the CPU's task has left.
    #[inline(always)]
    pub(crate) fn post_with(&mut self, cpu: CpuId, work: u64) {
        let this = &mut self.cpus[cpu];
        let mut at_ns = this.interrupted_at_ns();
        if this.curr != IDLE {
            if this.waits_for > 0 {
                // Spins until others have rescheduled.
                this.event_seq = 0;
                this.event_at_ns = NEVER;
                return;
            }
            let time = if this.rate == FULL_RATE {
                work.div_ceil(FULL_RATE)
            } else {
                work.div_ceil(this.rate)
            };
            at_ns = at_ns
                .min(this.progress_at_ns + time)
                .min(this.next_tick_ns)
                .max(this.kernel_until_ns);
        } else if at_ns != NEVER {
            at_ns = at_ns.max(this.kernel_until_ns);
        }
        if at_ns == this.event_at_ns {
            return;
        }
        this.event_at_ns = at_ns;
        this.event_seq = if at_ns == NEVER {
            0
        } else {
            self.clock
                .post(at_ns.max(self.clock.now_ns), Event::Cpu(cpu))
        };
    }

    fn rate(&self, cpu: CpuId) -> u64 {
        let topology = &self.machine.topology;
        let capacity = u64::from(topology.place(cpu).capacity);
        let shared = self.machine.topology.smt()
            && topology
                .siblings(cpu)
                .iter()
                .any(|other| *other != cpu && self.cpus[*other].curr != IDLE);
        let full = capacity
            * if shared {
                self.machine.costs.smt_speed_pct
            } else {
                100
            };
        match &self.speeds {
            None => full,
            Some(speeds) => {
                let (khz, max_khz) = (speeds.khz(cpu), speeds.of.max_khz);
                (full * u64::from(khz) / u64::from(max_khz)).max(1)
            }
        }
    }

    /// A CPU's speed may have changed.
    pub(super) fn rescale(&mut self, cpu: CpuId) {
        if self.cpus[cpu].curr == IDLE {
            return;
        }
        self.progress(cpu);
        let rate = self.rate(cpu);
        if rate != self.cpus[cpu].rate {
            self.cpus[cpu].rate = rate;
            self.post(cpu);
        }
    }

    /// A CPU went from idle to busy or back: its siblings' speed changes.
    #[inline(always)]
    pub(crate) fn rescale_siblings(&mut self, cpu: CpuId) {
        if self.machine.topology.smt() {
            self.rescale_others(cpu);
        }
    }

    #[inline(never)]
    fn rescale_others(&mut self, cpu: CpuId) {
        for index in 0..self.machine.topology.siblings(cpu).len() {
            let other = self.machine.topology.siblings(cpu)[index];
            if other != cpu {
                self.rescale(other);
            }
        }
    }

    /// A task is switched in: from when on, how fast, and how cold its caches are.
    pub(crate) fn begin_progress(&mut self, cpu: CpuId, id: TaskId) {
        let rate = self.rate(cpu);
        let refill = match self.tasks[id].footprint_kib {
            0 => 0,
            footprint_kib => self.refill_work(cpu, id, footprint_kib.into()),
        };
        let this = &mut self.cpus[cpu];
        this.rate = rate;
        this.progress_at_ns = self.clock.at_ns;
        let task = &mut self.tasks[id];
        // What is left of an earlier refill is part of what is cold now.
        task.work = task.work - task.refill + refill;
        task.refill = refill;
        task.last_cpu = cpu;
    }

    #[inline(never)]
    fn refill_work(&self, cpu: CpuId, id: TaskId, footprint_kib: u64) -> u64 {
        let task = &self.tasks[id];
        let costs = &self.machine.costs;
        let warmable = footprint_kib.min(costs.private_cache_kib);
        let core = self.machine.topology.first_sibling(cpu);
        let churn = self.cpus[core].cache_churn;
        let last = task.last_cpu;
        if last == NO_CPU {
            return warmable * costs.refill_kib_ns[Distance::Llc as usize] * FULL_RATE;
        }
        let distance = self.machine.topology.distance(last, cpu);
        let all = warmable * costs.refill_kib_ns[distance as usize] * FULL_RATE;
        match distance {
            Distance::Same | Distance::Core => {
                let evicted = (churn - task.cache_mark).min(warmable);
                let again = evicted * costs.refill_kib_ns[distance as usize] * FULL_RATE;
                (again + task.refill).min(all)
            }
            _ => all,
        }
    }

    /// A task is switched out: it leaves its footprint in the core's caches.
    pub(crate) fn leave_footprint(&mut self, cpu: CpuId, id: TaskId) {
        let core = self.machine.topology.first_sibling(cpu);
        let task = &mut self.tasks[id];
        let churn = &mut self.cpus[core].cache_churn;
        *churn += u64::from(task.footprint_kib);
        task.cache_mark = *churn;
    }
}
