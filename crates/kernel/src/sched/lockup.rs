// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's watchdog of soft lockups: on each CPU a real-time task of the highest priority that runs every few seconds.
//!
//! What matters of it is its end: the CPU's priority drops, and it looks for real-time tasks to pull. Its own few
//! microseconds are left out, and so is its wait where a task of the same priority runs.

use crate::clock::events::Event;
use crate::ids::CpuId;
use crate::sim::Sim;
use workload::plan::Draw;

const HIGHEST: u8 = 99;

impl Sim<'_> {
    fn lockup_period_ns(&self) -> u64 {
        u64::from(self.machine.rt_kernel.lockup_look_ms) * 1_000_000
    }

    /// The machine has been up for a while when the run begins: nobody knows where in its period.
    pub(crate) fn schedule_lockup_looks(&mut self) {
        let period_ns = self.lockup_period_ns();
        if period_ns == 0 {
            return;
        }
        let anywhere = Draw::Uniform(0, period_ns.cast_signed() - 1);
        let first_ns = self.plan.stream(u32::MAX, 0).draw(&anywhere, 0, &[]);
        for cpu in self.cpus.ids() {
            self.clock.post(first_ns, Event::LockupLook(cpu));
        }
    }

    pub(crate) fn look_for_lockup(&mut self, cpu: CpuId) {
        let again_ns = self.clock.now_ns + self.lockup_period_ns();
        self.clock.post(again_ns, Event::LockupLook(cpu));
        if !self.cpus[cpu].online() || self.rt_level(cpu) == HIGHEST {
            return;
        }
        self.interrupt(cpu);
        self.cpus[cpu].rt.served = true;
        self.cpus[cpu].need_resched = true;
        self.end_op();
    }
}
