// SPDX-License-Identifier: GPL-2.0-or-later
//! The governor `schedutil` (`kernel/sched/cpufreq_schedutil.c`): a CPU's clock goes as fast as the scheduler asks.
//!
//! ```text
//!   util = min(target, capacity)             target: scx_bpf_cpuperf_set(), 1024 until then
//!   perf = min(util + util / 4, capacity)    capacity where a real-time task runs or waits
//!   khz  = max_khz × perf / capacity, and of these the next step above
//! ```
//!
//! Of CPUs with one clock the highest counts. The governor looks when the policy asks for something, and when a
//! real-time task comes to a CPU or goes; within `rate_limit_us` of its last change it does not look, and what was asked
//! for meanwhile counts when it looks next. The clock follows `latency_us` later.

use crate::clock::events::Event;
use crate::consts::CPUPERF_ONE;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Class, State};

impl Sim<'_> {
    /// The policy asks for so much of what a CPU can.
    pub(crate) fn ask_for_speed(&mut self, cpu: CpuId, target: u32) {
        if let Some(speeds) = &mut self.speeds {
            speeds.targets[cpu] = target;
            self.update_frequency(cpu, None);
        }
    }

    /// The kernel's `cpufreq_update_util()`; this real-time task leaves its run queue.
    #[inline]
    pub(crate) fn update_frequency(&mut self, cpu: CpuId, leaves: Option<TaskId>) {
        if (self.speeds.as_ref()).is_some_and(|speeds| speeds.follows_the_scheduler()) {
            self.choose_frequency(cpu, leaves);
        }
    }

    #[inline(never)]
    fn choose_frequency(&mut self, cpu: CpuId, leaves: Option<TaskId>) {
        let now_ns = if self.clock.rq_holds {
            self.clock.rq_ns
        } else {
            self.clock.at_ns
        };
        let Some(speeds) = &self.speeds else {
            return;
        };
        let index = speeds.policy_of(cpu);
        let policy = &speeds.policies[index];
        let limit_ns = speeds.of.rate_limit_ns;
        if (policy.changed_at_ns).is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < limit_ns) {
            return;
        }
        let online = policy.cpus.iter().filter(|cpu| self.cpus[**cpu].online());
        let wanted = online.map(|cpu| self.wanted_khz(*cpu, leaves));
        let next_khz = speeds.of.resolved(wanted.max().unwrap_or(0));
        if next_khz == policy.next_khz {
            return;
        }
        let at_ns = self.clock.at_ns + speeds.of.latency_ns;
        if let Some(speeds) = &mut self.speeds {
            let policy = &mut speeds.policies[index];
            policy.next_khz = next_khz;
            policy.changed_at_ns = Some(now_ns);
            // Who is about to set a frequency sets the one that is chosen last.
            if !std::mem::replace(&mut policy.changes, true) {
                self.clock.post(at_ns, Event::Frequency(index as u32));
            }
        }
    }

    fn wanted_khz(&self, cpu: CpuId, leaves: Option<TaskId>) -> u32 {
        let Some(speeds) = &self.speeds else {
            return 0;
        };
        let capacity = self.machine.topology.place(cpu).capacity;
        let util = speeds.targets[cpu].min(capacity);
        let perf = if self.runs_real_time(cpu, leaves) {
            capacity
        } else {
            (util + util / 4).min(capacity)
        };
        (u64::from(speeds.of.max_khz) * u64::from(perf) / u64::from(capacity)) as u32
    }

    /// The kernel's `rt_rq_is_runnable()`.
    fn runs_real_time(&self, cpu: CpuId, leaves: Option<TaskId>) -> bool {
        let this = &self.cpus[cpu];
        let current = this.curr != IDLE && Some(this.curr) != leaves && {
            let task = &self.tasks[this.curr];
            task.class == Class::Rt && task.state == State::Running
        };
        !this.rt.budget.throttled() && (current || this.rt.len > 0)
    }

    /// A clock goes at the frequency that was chosen for it.
    pub(crate) fn change_frequency(&mut self, index: u32) {
        let Some(speeds) = &mut self.speeds else {
            return;
        };
        let policy = &mut speeds.policies[index as usize];
        policy.changes = false;
        // It may have been asked back meanwhile.
        if policy.khz == policy.next_khz {
            return;
        }
        policy.khz = policy.next_khz;
        let (khz, cpus) = (policy.khz, policy.cpus.clone());
        for cpu in cpus {
            self.tell(self.clock.now_ns, Happened::Clocked { cpu, khz });
            self.rescale(cpu);
        }
    }

    /// Of a CPU's full speed, 1024 parts.
    pub(crate) fn speed_of(&self, cpu: CpuId) -> u32 {
        self.speeds.as_ref().map_or(CPUPERF_ONE, |speeds| {
            let (khz, max_khz) = (u64::from(speeds.khz(cpu)), u64::from(speeds.of.max_khz));
            (khz * u64::from(CPUPERF_ONE) / max_khz) as u32
        })
    }
}
