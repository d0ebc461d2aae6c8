// SPDX-License-Identifier: GPL-2.0-or-later
//! Waste: a CPU stands idle while all the time somebody waits who may use it, though not always the same task.
//!
//! Tasks that take turns on too few CPUs wait for a moment each; it is the idle CPU that shows it.

use crate::ids::{CpuId, PerCpu, PerTask, TaskId};
use crate::mask::{self, CpuMask};

pub struct Waste {
    /// Where each task that waits could run.
    waits: PerTask<Option<CpuMask>>,
    cpus: PerCpu<Cpu>,
}

#[derive(Clone, Copy)]
struct Cpu {
    idle: bool,
    /// Tasks that wait and may run here.
    waiting: u32,
    since_ns: u64,
}

impl Waste {
    pub fn new(cpus: usize, tasks: usize) -> Self {
        let cpu = Cpu {
            idle: true,
            waiting: 0,
            since_ns: 0,
        };
        Self {
            waits: PerTask::filled(tasks, || None),
            cpus: PerCpu::filled(cpus, || cpu),
        }
    }

    pub fn begins(&mut self, task: TaskId, allowed: &CpuMask, at_ns: u64) {
        let waits = &mut self.waits[task];
        if waits.is_some() {
            return;
        }
        *waits = Some(allowed.clone());
        for cpu in mask::iter(allowed) {
            let cpu = &mut self.cpus[cpu];
            if cpu.waiting == 0 {
                cpu.since_ns = at_ns;
            }
            cpu.waiting += 1;
        }
    }

    /// The waiting is over. A CPU that nobody waits for any more may have been wasted until now.
    pub fn ends(&mut self, task: TaskId, at_ns: u64, bound_ns: u64) -> Option<String> {
        let allowed = self.waits[task].take()?;
        let mut wasted = None;
        for cpu in mask::iter(&allowed) {
            let this = &mut self.cpus[cpu];
            this.waiting -= 1;
            if this.waiting == 0 && this.idle {
                wasted = wasted.or(told(cpu, at_ns.saturating_sub(this.since_ns), bound_ns));
            }
        }
        wasted
    }

    /// The task waits no more, for no fault of a CPU's.
    pub fn gone(&mut self, task: TaskId) {
        self.ends(task, 0, u64::MAX);
    }

    /// A task that waits may use other CPUs from now on.
    pub fn moves(&mut self, task: TaskId, allowed: &CpuMask, at_ns: u64) {
        if self.waits[task].is_some() {
            self.gone(task);
            self.begins(task, allowed, at_ns);
        }
    }

    /// A CPU becomes idle, or is not any more.
    pub fn cpu(&mut self, cpu: CpuId, idle: bool, at_ns: u64, bound_ns: u64) -> Option<String> {
        let this = &mut self.cpus[cpu];
        let wasted_ns = at_ns.saturating_sub(this.since_ns);
        let was = this.idle && this.waiting > 0;
        if this.idle != idle {
            this.idle = idle;
            this.since_ns = at_ns;
        }
        was.then(|| told(cpu, wasted_ns, bound_ns)).flatten()
    }

    pub fn audit(&self, now_ns: u64, bound_ns: u64) -> Option<String> {
        self.cpus.pairs().find_map(|(cpu, this)| {
            let wasted = this.idle && this.waiting > 0;
            wasted
                .then(|| told(cpu, now_ns.saturating_sub(this.since_ns), bound_ns))
                .flatten()
        })
    }
}

fn told(cpu: CpuId, ns: u64, bound_ns: u64) -> Option<String> {
    (ns > bound_ns).then(|| {
        format!("CPU {cpu} was idle for {ns} ns, and some task that may use it waited all the time")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_many_are_one_waste() {
        let both = mask::first_n(2);
        let mut waste = Waste::new(2, 2);
        waste.cpu(CpuId(0), false, 0, 100);
        waste.begins(TaskId(0), &both, 10);
        for at_ns in (40..100).step_by(20) {
            waste.begins(TaskId(1), &both, at_ns);
            assert_eq!(waste.ends(TaskId(0), at_ns, 100), None);
            waste.begins(TaskId(0), &both, at_ns + 10);
            assert_eq!(waste.ends(TaskId(1), at_ns + 10, 100), None);
        }
        assert_eq!(waste.audit(110, 100), None);
        assert!(
            waste
                .audit(111, 100)
                .unwrap()
                .starts_with("CPU 1 was idle for 101 ns")
        );
        assert!(waste.ends(TaskId(0), 111, 100).is_some());
        assert_eq!(waste.audit(500, 100), None, "nobody waits");
    }

    #[test]
    fn a_pinned_task_wastes_its_own_cpu_only() {
        let mut waste = Waste::new(2, 1);
        waste.cpu(CpuId(0), false, 0, 100);
        waste.begins(TaskId(0), &mask::of([CpuId(0)]), 0);
        assert_eq!(waste.audit(500, 100), None);
        assert_eq!(waste.cpu(CpuId(0), true, 500, 100), None);
        assert!(waste.cpu(CpuId(0), false, 700, 100).is_some());
    }

    #[test]
    fn a_cpu_that_turns_busy_or_whose_last_waiter_leaves_tells_of_more_than_the_bound() {
        let only = mask::first_n(1);
        for (at_ns, wasted) in [(110, false), (111, true)] {
            let waits = || {
                let mut waste = Waste::new(1, 1);
                waste.begins(TaskId(0), &only, 10);
                waste
            };
            let runs = waits().cpu(CpuId(0), false, at_ns, 100);
            assert_eq!(runs.is_some(), wasted);
            assert_eq!(waits().ends(TaskId(0), at_ns, 100).is_some(), wasted);
            assert_eq!(waits().audit(at_ns, 100).is_some(), wasted);
        }
    }

    #[test]
    fn idle_time_counts_from_when_the_cpu_is_idle_and_somebody_waits() {
        let only = mask::first_n(1);
        let mut waste = Waste::new(1, 2);
        assert_eq!(waste.cpu(CpuId(0), false, 500, 100), None, "nobody waits");
        waste.begins(TaskId(0), &only, 500);
        waste.begins(TaskId(1), &only, 650);
        assert_eq!(waste.cpu(CpuId(0), true, 700, 100), None);
        // Told again, it is idle no later.
        assert_eq!(waste.cpu(CpuId(0), true, 750, 100), None);
        assert_eq!(waste.ends(TaskId(0), 900, 100), None, "another waits");
        assert!(
            waste
                .audit(801, 100)
                .is_some_and(|told| told.starts_with("CPU 0 was idle for 101 ns"))
        );
        waste.gone(TaskId(1));
        assert_eq!(waste.audit(900, 100), None);
    }

    #[test]
    fn who_may_use_other_cpus_waits_there_from_then_on() {
        let mut waste = Waste::new(2, 1);
        waste.moves(TaskId(0), &mask::of([CpuId(0)]), 0);
        assert_eq!(waste.audit(500, 100), None, "it does not wait");
        waste.begins(TaskId(0), &mask::of([CpuId(0)]), 0);
        waste.moves(TaskId(0), &mask::of([CpuId(1)]), 50);
        assert_eq!(waste.audit(150, 100), None);
        assert!(
            waste
                .audit(151, 100)
                .is_some_and(|told| told.starts_with("CPU 1 was idle for 101 ns"))
        );
    }
}
