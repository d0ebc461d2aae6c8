// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs take turns on one clock, as those of a guest whose emulator counts instructions.
//!
//! One CPU executes, and the time of all goes by. The others are held where they are, between two instructions, and
//! what interrupts them waits for their turn, as does a CPU that was idle. The rules are those of QEMU with `icount`
//! (`accel/tcg/tcg-accel-ops-rr.c`, `-icount.c`), where the timers of the CPUs set the pace: CPUs have their turns in
//! the order of their numbers, round by round. In a round each gets the same share of the time until the next timer of
//! any CPU. A turn ends early when its CPU idles, or sets its timer to expire before those of all others, after which
//! a round begins. The timers are coarser than the clock: which of two that are set for the same tick expires first
//! depends on the instruction that sets it, which the model does not know, and is drawn.

use std::cmp::Reverse;

use crate::clock::events::{Due, Event};
use crate::clock::turns::{Held, Programmed};
use crate::cpu::NEVER;
use crate::ids::{CpuId, IDLE};
use crate::sim::Sim;

/// The timer of a CPU (QEMU's local APIC under Linux) counts in these.
const TIMER_UNIT_NS: u64 = 16;
/// As far as the emulator looks for the next timer.
const FURTHEST_NS: u64 = i32::MAX as u64;

impl Sim<'_> {
    /// Whether an event is that of a CPU without its turn; it is kept for it.
    #[inline(never)]
    pub(crate) fn has_to_wait_for_a_turn(&mut self, due: &Due) -> bool {
        let Some(cpu) = self.interrupted_by(due) else {
            return false;
        };
        // Timers expire between two turns, and not at the end of one.
        if self
            .turns
            .as_ref()
            .is_some_and(|turns| turns.event_at_ns <= self.clock.now_ns)
        {
            self.pass_turn();
        }
        let Some(turns) = &mut self.turns else {
            return false;
        };
        match turns.holder {
            Some(holder) if holder != cpu => {
                turns.waiting[cpu].push(*due);
                true
            }
            Some(_) => false,
            None => {
                self.give_turn(cpu);
                false
            }
        }
    }

    /// The CPU on which an event happens, if on a certain one.
    fn interrupted_by(&self, due: &Due) -> Option<CpuId> {
        match due.event {
            Event::Cpu(cpu) => (self.cpus[cpu].event_seq == due.seq).then_some(cpu),
            Event::Sleep(task) => {
                (self.tasks[task].sleep_seq == due.seq).then(|| self.timer_cpu(task))
            }
            Event::PolicyTimer(timer) => {
                let cpu = self.boundary.maps.timer_cpu(timer as usize, due.seq)?;
                Some(self.online_or_first(cpu))
            }
            Event::RtBudget(cpu) | Event::LockupLook(cpu) => Some(cpu),
            _ => None,
        }
    }

    /// The end of an operation, which may be one that waits for no turn: when the run begins, and when CPUs come.
    #[inline(never)]
    pub(crate) fn keep_to_turns(&mut self, cpu: CpuId) {
        let Some(turns) = &self.turns else {
            return;
        };
        match turns.holder {
            Some(holder) if holder == cpu => self.set_end_of_turn(cpu, turns.ends_ns),
            Some(_) if turns.held[cpu].is_none() => self.hold(cpu),
            None if self.cpus[cpu].curr != IDLE => self.give_turn(cpu),
            _ => {}
        }
    }

    /// A CPU that idles gives its turn up as soon as the kernel has no more to do on it.
    fn set_end_of_turn(&mut self, holder: CpuId, ends_ns: u64) {
        let this = &self.cpus[holder];
        let at_ns = match this.curr {
            IDLE => ends_ns.min(this.kernel_until_ns),
            _ => ends_ns,
        };
        self.post_end_of_turn(at_ns.max(self.clock.now_ns));
    }

    fn post_end_of_turn(&mut self, at_ns: u64) {
        if let Some(turns) = &mut self.turns
            && turns.event_at_ns != at_ns
        {
            turns.event_at_ns = at_ns;
            turns.event_seq = self.clock.post(at_ns, Event::Turn);
        }
    }

    pub(crate) fn turn_over(&mut self, seq: u64) {
        if self
            .turns
            .as_ref()
            .is_some_and(|turns| turns.event_seq == seq)
        {
            self.pass_turn();
        }
    }

    /// To the next CPU that has something to do.
    fn pass_turn(&mut self) {
        let Some(turns) = &mut self.turns else {
            return;
        };
        turns.event_seq = 0;
        turns.event_at_ns = NEVER;
        let Some(last) = turns.holder.take() else {
            return;
        };
        let cpus = self.cpus.len() as u32;
        let mut after = (1..=cpus).map(|offset| CpuId((last.0 + offset) % cpus));
        let next = after.find(|cpu| self.has_something_to_do(*cpu));
        if let Some(turns) = &mut self.turns
            && next.is_none_or(|next| next <= last)
        {
            turns.share_ns = 0;
        }
        if next != Some(last) {
            self.hold(last);
        }
        if let Some(next) = next {
            self.give_turn(next);
        }
    }

    fn has_something_to_do(&self, cpu: CpuId) -> bool {
        let waiting = self.turns.as_ref().map(|turns| &turns.waiting[cpu]);
        // What waits may have become void meanwhile.
        let interrupts = |due: &Due| self.interrupted_by(due) == Some(cpu);
        self.cpus[cpu].curr != IDLE || waiting.is_some_and(|waiting| waiting.iter().any(interrupts))
    }

    /// A CPU stops where it is.
    fn hold(&mut self, cpu: CpuId) {
        self.progress(cpu);
        let now_ns = self.clock.now_ns;
        let this = &mut self.cpus[cpu];
        if this.curr == IDLE {
            return;
        }
        // As one that spins: its task makes no progress, and it has no event.
        this.waits_for += 1;
        this.event_seq = 0;
        this.event_at_ns = NEVER;
        if let Some(turns) = &mut self.turns {
            turns.held[cpu] = Some(Held {
                kernel_ns: this.kernel_until_ns.saturating_sub(now_ns),
                task_ns: this.progress_at_ns.saturating_sub(now_ns),
            });
        }
    }

    fn give_turn(&mut self, cpu: CpuId) {
        let now_ns = self.clock.now_ns;
        let left_ns = self.next_timer_ns() - now_ns;
        let Some(turns) = &mut self.turns else {
            return;
        };
        if turns.share_ns == 0 {
            turns.share_ns = (left_ns / self.cpus.len() as u64).max(1);
        }
        turns.holder = Some(cpu);
        let ends_ns = now_ns + turns.share_ns;
        turns.ends_ns = ends_ns;
        for due in std::mem::take(&mut turns.waiting[cpu]) {
            self.clock.put_back(Due {
                at_ns: now_ns,
                ..due
            });
        }
        if let Some(held) = turns.held[cpu].take() {
            let this = &mut self.cpus[cpu];
            this.waits_for -= 1;
            this.kernel_until_ns = now_ns + held.kernel_ns;
            this.progress_at_ns = now_ns + held.task_ns;
            self.post(cpu);
        }
        self.post_end_of_turn(ends_ns);
    }

    /// The CPU of the operation under way has set its timer.
    #[inline(always)]
    pub(crate) fn timer_is_set(&mut self) {
        if self.turns.is_some() {
            self.pass_if_first();
        }
    }

    /// Whoever's timer expires before all others' loses its turn. The kernel sets it where its first timer is another.
    #[inline(never)]
    fn pass_if_first(&mut self) {
        let (cpu, at_ns) = (self.clock.cpu, self.timer_ns(self.clock.cpu));
        let Some(turns) = &mut self.turns else {
            return;
        };
        if turns.timers[cpu].at_ns == at_ns {
            return;
        }
        let late_ns = u64::from(turns.rounding.next_u32()) % TIMER_UNIT_NS;
        turns.timers[cpu] = Programmed { at_ns, late_ns };
        if turns.holder != Some(cpu) || at_ns == NEVER {
            return;
        }
        let mut others = self.cpus.ids().filter(|other| *other != cpu);
        if others.any(|other| self.expires_ns(other) <= at_ns + late_ns) {
            return;
        }
        if let Some(turns) = &mut self.turns {
            turns.ends_ns = turns.ends_ns.min(self.clock.at_ns);
            turns.share_ns = 0;
        }
    }

    fn next_timer_ns(&mut self) -> u64 {
        let cpus = self.cpus.ids();
        let next_ns = cpus.map(|cpu| self.timer_ns(cpu)).min().unwrap_or(NEVER);
        next_ns.min(self.clock.now_ns + FURTHEST_NS)
    }

    /// With what the unit of the timer makes of it.
    fn expires_ns(&self, cpu: CpuId) -> u64 {
        let at_ns = self.timer_ns(cpu);
        let programmed = self.turns.as_ref().map(|turns| turns.timers[cpu]);
        let late_ns = programmed
            .filter(|timer| timer.at_ns == at_ns)
            .map_or(0, |timer| timer.late_ns);
        at_ns.saturating_add(late_ns)
    }

    /// When a CPU's timer expires; one that has is not set.
    fn timer_ns(&self, cpu: CpuId) -> u64 {
        let this = &self.cpus[cpu];
        let sleeps = this
            .timers
            .iter()
            .filter(|Reverse(timer)| self.tasks[timer.task].sleep_seq == timer.seq);
        let all_ns = sleeps
            .map(|Reverse(timer)| timer.latest_ns)
            .chain(self.boundary.maps.timers_of(cpu))
            .chain([this.next_tick_ns]);
        all_ns
            .filter(|at_ns| *at_ns > self.clock.now_ns)
            .min()
            .unwrap_or(NEVER)
    }
}
