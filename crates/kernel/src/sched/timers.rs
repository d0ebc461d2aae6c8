// SPDX-License-Identifier: GPL-2.0-or-later
//! The policy's timers go off.

use crate::boundary::call_timer;
use crate::clock::events::Event;
use crate::ids::CpuId;
use crate::mask;
use crate::sim::Sim;

impl Sim<'_> {
    /// Starts on the CPU that asks, and stays there.
    pub(crate) fn start_policy_timer(&mut self, index: usize, ns: u64) {
        let clock = &mut self.clock;
        let at_ns = clock.at_ns.max(clock.now_ns).saturating_add(ns);
        let seq = clock.post(at_ns, Event::PolicyTimer(index as u32));
        (self.boundary.maps).timer_started(index, seq, at_ns, clock.cpu);
        self.timer_is_set();
    }

    pub(crate) fn policy_timer(&mut self, index: u32, seq: u64) {
        let Some((cpu, call)) = self.boundary.maps.timer_due(index as usize, seq) else {
            return;
        };
        let Some(call) = call else {
            return;
        };
        let cpu = self.online_or_first(cpu);
        self.interrupt(cpu);
        call_timer(self, call);
        self.timer_is_set();
        self.end_op();
    }

    /// Where a timer goes off whose CPU has gone.
    pub(super) fn online_or_first(&self, cpu: CpuId) -> CpuId {
        if self.cpus[cpu].online() {
            cpu
        } else {
            mask::first(&self.boundary.view.masks.online).unwrap_or_default()
        }
    }
}
