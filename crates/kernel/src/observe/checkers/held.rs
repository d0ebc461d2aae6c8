// SPDX-License-Identifier: GPL-2.0-or-later
//! How long CPUs were held by real-time tasks, or were not there, while a task waited: no policy gets at them then.

use crate::ids::{CpuId, IDLE, Id, PerCpu, PerTask, TaskId};
use crate::mask::{self, CpuMask};

pub struct Held {
    real_time: PerTask<bool>,
    cpus: PerCpu<Cpu>,
    /// Of every CPU, when a task began to wait. Empty: nothing was held before.
    before_ns: PerTask<Vec<u64>>,
    /// What a task waited so, while it was allowed on other CPUs than now.
    carried_ns: PerTask<u64>,
    /// Some CPU was held at some time.
    ever: bool,
}

#[derive(Clone, Copy)]
struct Cpu {
    running: TaskId,
    gone: bool,
    since_ns: u64,
    /// In spells that are over.
    total_ns: u64,
}

impl Held {
    pub fn new(cpus: usize, tasks: usize) -> Self {
        let cpu = Cpu {
            running: IDLE,
            gone: false,
            since_ns: 0,
            total_ns: 0,
        };
        Self {
            real_time: PerTask::filled(tasks, || false),
            cpus: PerCpu::filled(cpus, || cpu),
            before_ns: PerTask::filled(tasks, Vec::new),
            carried_ns: PerTask::filled(tasks, || 0),
            ever: false,
        }
    }

    pub fn is_real_time(&self, task: TaskId) -> bool {
        self.real_time[task]
    }

    /// A task enters the real-time class or leaves it, perhaps while it runs.
    pub fn class(&mut self, task: TaskId, real_time: bool, at_ns: u64) {
        if self.real_time[task] == real_time {
            return;
        }
        self.ever |= real_time;
        let on = self.cpus.pairs().find(|(_, cpu)| cpu.running == task);
        let on = on.map(|(cpu, _)| cpu);
        if let Some(cpu) = on {
            self.switched(cpu, task, at_ns);
        }
        self.real_time[task] = real_time;
    }

    #[inline]
    pub fn switched(&mut self, cpu: CpuId, next: TaskId, at_ns: u64) {
        let held = self.holds(cpu);
        let this = &mut self.cpus[cpu];
        if held {
            this.total_ns += at_ns.saturating_sub(this.since_ns);
        }
        this.running = next;
        this.since_ns = at_ns;
    }

    /// A CPU is taken out of use, or is there again.
    pub fn gone(&mut self, cpu: CpuId, gone: bool, at_ns: u64) {
        self.ever |= gone;
        self.switched(cpu, self.cpus[cpu].running, at_ns);
        self.cpus[cpu].gone = gone;
    }

    #[inline(always)]
    fn holds(&self, cpu: CpuId) -> bool {
        let this = &self.cpus[cpu];
        this.gone || this.running != IDLE && self.real_time[this.running]
    }

    #[inline]
    pub fn begins(&mut self, task: TaskId, now_ns: u64) {
        if self.ever {
            self.carried_ns[task] = 0;
            self.remember(task, now_ns);
        }
    }

    /// A task may use other CPUs from now on; until now it was `allowed` on these.
    pub fn moves(&mut self, task: TaskId, allowed: &CpuMask, now_ns: u64) {
        if self.ever {
            self.carried_ns[task] = self.while_waiting_ns(task, allowed, now_ns);
            self.remember(task, now_ns);
        }
    }

    #[cold]
    fn remember(&mut self, task: TaskId, now_ns: u64) {
        let mut before_ns = std::mem::take(&mut self.before_ns[task]);
        before_ns.clear();
        before_ns.extend(self.cpus.ids().map(|cpu| self.total_ns(cpu, now_ns)));
        self.before_ns[task] = before_ns;
    }

    fn total_ns(&self, cpu: CpuId, now_ns: u64) -> u64 {
        let this = &self.cpus[cpu];
        let now_held_ns = now_ns.saturating_sub(this.since_ns) * u64::from(self.holds(cpu));
        this.total_ns + now_held_ns
    }

    /// All CPUs that the task may use were held for no longer than this since it began to wait.
    pub fn while_waiting_ns(&self, task: TaskId, allowed: &CpuMask, now_ns: u64) -> u64 {
        if !self.ever {
            return 0;
        }
        let before_ns = &self.before_ns[task];
        let held = mask::iter(allowed).map(|cpu| {
            let before_ns = before_ns.get(cpu.index()).copied().unwrap_or(0);
            self.total_ns(cpu, now_ns).saturating_sub(before_ns)
        });
        self.carried_ns[task] + held.min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_cpu_was_free_for_counts() {
        let (hog, waiter) = (TaskId(0), TaskId(1));
        let (both, first) = (mask::first_n(2), mask::first_n(1));
        let mut held = Held::new(2, 2);
        held.class(hog, true, 0);
        held.switched(CpuId(0), hog, 10);
        held.begins(waiter, 30);
        assert_eq!(held.while_waiting_ns(waiter, &first, 100), 70);
        assert_eq!(held.while_waiting_ns(waiter, &both, 100), 0);
        held.moves(waiter, &first, 100);
        assert_eq!(held.while_waiting_ns(waiter, &both, 100), 70);
        held.moves(waiter, &both, 105);
        // It goes on as an ordinary task.
        held.class(hog, false, 110);
        held.switched(CpuId(0), IDLE, 150);
        assert_eq!(held.while_waiting_ns(waiter, &first, 200), 75);
        // CPU 0 goes, and CPU 1 is held.
        held.gone(CpuId(0), true, 200);
        held.class(hog, true, 200);
        held.switched(CpuId(1), hog, 200);
        held.begins(waiter, 210);
        assert_eq!(held.while_waiting_ns(waiter, &both, 250), 40);
    }
}
