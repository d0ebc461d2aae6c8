// SPDX-License-Identifier: GPL-2.0-or-later
//! Before a workload: the runner starts its tasks, as `schedlab-host` starts real ones.
//!
//! The runner forks a guardian, which sleeps until the end, and then the tasks, one after the other; it looks every half
//! millisecond whether all of them wait for the start signal, and then wakes them in turn. So no two of them are of the
//! same age, and the first to run does so while the others still sleep: whom a policy lets preempt the runner decides how
//! far the workload begins at once. From then on it sleeps but when a task has ended (see `leave`).
//!
//! A policy is loaded just before, so that the runner begins with what the policy gives a new task. Under a scheduler
//! that is built in it has run for a while. Where the tick is in its period when it begins nobody knows.
//!
//! A task begins with the runner's nice value and policy, and sets its own before it waits.
//!
//! Threads are started in the same way; really the first thread of a process starts the others.

use workload::plan::{Draw, Policy};

use super::runner::Runner;
use crate::cpu::work_of;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Stage, Wait};

/// From one look at the start to the next.
const LOOK_NS: u64 = 500_000;
/// How long a runner has run at most where no policy was loaded for it.
const BEFORE_NS: i64 = 20_000_000;
/// In per cent of a fork, as traced in the exact guest: what a runner does between the loading of its policy and the first
/// fork, and what the guardian does before it sleeps.
const LOADED_PCT: u64 = 185;
const GUARDIAN_PCT: u64 = 40;

impl Sim<'_> {
    /// Whether a task is one of the runner's own, and none of the workload.
    pub(crate) fn is_outside(&self, id: TaskId) -> bool {
        let own = |runner: &Runner| id == runner.id || id == runner.guardian;
        self.runner.as_ref().is_some_and(own) || self.is_kthread(id)
    }

    pub(crate) fn is_of_runner(&self, parent: TaskId) -> bool {
        (self.runner.as_ref()).is_some_and(|runner| runner.id == parent)
    }

    /// A task that is not in its program has finished a burst.
    pub(super) fn go_on_at_start(&mut self, cpu: CpuId, id: TaskId) {
        let Some(runner) = &self.runner else {
            unreachable!("tasks come to the start where there is a runner");
        };
        if runner.id == id {
            return self.run_runner(cpu, id);
        }
        if id == runner.guardian || self.is_kthread(id) {
            return self.block(cpu, id, Wait::None);
        }
        if self.enters_cgroup(cpu, id) || self.sets_attributes(cpu, id) {
            return;
        }
        if let Some(runner) = &mut self.runner {
            runner.coming -= 1;
            runner.waiting.push_back(id);
        }
        let begin_ns = self.begin_ns(id);
        let task = &mut self.tasks[id];
        task.stage = Stage::Program;
        task.work = work_of(begin_ns);
        self.charge(self.machine.costs.syscall_ns);
        self.block(cpu, id, Wait::Start);
    }

    /// Between the start signal and the program. A process's memory is its parent's until its first thread touches it.
    fn begin_ns(&self, id: TaskId) -> u64 {
        let costs = &self.machine.costs;
        let touches = self.tasks[id].leader == id;
        costs.runner_begin_ns + if touches { costs.runner_touch_ns } else { 0 }
    }

    /// One attribute at a time, as each is a call of its own: whether there was one left to set.
    fn sets_attributes(&mut self, cpu: CpuId, id: TaskId) -> bool {
        let group = &self.plan.groups[self.tasks[id].group as usize];
        let (nice, policy) = (group.nice, group.policy);
        let task = &self.tasks[id];
        if task.nice != nice {
            self.set_nice(cpu, id, nice);
            return true;
        }
        if policy != Policy::Other && task.policy != policy {
            self.set_policy(cpu, id, policy);
            return true;
        }
        false
    }

    fn run_runner(&mut self, cpu: CpuId, id: TaskId) {
        let Some(runner) = &mut self.runner else {
            return;
        };
        if let Some(task) = runner.to_start.pop_front() {
            runner.coming += usize::from(task != runner.guardian);
            let (first, last) = (task == runner.guardian, runner.to_start.is_empty());
            if first && !self.machine.built_in {
                self.mark_loader_idle(cpu);
            }
            self.start_task(id, task);
            if !last {
                self.tasks[id].work = work_of(self.machine.costs.fork_ns);
            }
        } else if runner.coming > 0 {
            self.charge(self.machine.costs.syscall_ns);
            self.post_wakeup(id, self.clock.at_ns + LOOK_NS);
            self.block(cpu, id, Wait::Sleep);
        } else {
            if !runner.open {
                runner.open = true;
                self.charge(self.machine.costs.syscall_ns);
                self.begin();
                let idle_ns = self.idle_so_far_ns();
                self.tell(self.clock.at_ns, Happened::Begins { idle_ns });
            }
            self.open(cpu, id);
        }
    }

    /// Wakes one of those who wait, all of them in one system call. What interrupts it comes in between. A policy's
    /// preemption is carried out there, too, as the kernel's code can be preempted; that of a scheduler which is built in
    /// waits until the runner leaves the kernel, or for the tick *(the fair class since lazy preemption; in kernels
    /// without preemption before, which the model does not tell apart, the tick does not help)*. A slice that ends between
    /// ticks preempts at once (`entity_tick`).
    fn open(&mut self, cpu: CpuId, id: TaskId) {
        let Some(runner) = &mut self.runner else {
            return;
        };
        let Some(task) = runner.waiting.pop_front() else {
            return self.reap_ended(cpu, id);
        };
        let lazy = self.machine.built_in && !runner.waiting.is_empty();
        self.wake(task, false);
        let this = &mut self.cpus[cpu];
        let asked = this.need_resched || this.need_resched_lazy;
        this.need_resched_lazy = asked && lazy;
        this.need_resched = asked && !lazy;
    }

    fn start_task(&mut self, parent: TaskId, child: TaskId) {
        let costs = &self.machine.costs;
        let own_ns = if self.is_outside(child) {
            costs.fork_ns * GUARDIAN_PCT / 100
        } else {
            costs.runner_task_ns
        };
        self.tasks[parent].children_alive += 1;
        self.born(child, parent);
        let task = &mut self.tasks[child];
        task.stage = Stage::Start;
        task.work = work_of(own_ns);
        self.begin_life(child);
    }

    /// The machine is up, and the runner will want a CPU.
    pub(crate) fn set_out(&mut self) {
        let Some(Runner { id, .. }) = self.runner else {
            return;
        };
        let mut stream = self.plan.stream(u32::MAX, 1);
        let mut draw_ns = |most_ns: i64| stream.draw(&Draw::Uniform(0, most_ns), 0, &[]);
        let phase_ns = draw_ns(self.machine.tick_ns.cast_signed() - 1);
        let fork_ns = self.machine.costs.fork_ns;
        let before_ns = if self.machine.built_in {
            draw_ns(BEFORE_NS)
        } else {
            fork_ns * LOADED_PCT / 100
        };
        let task = &mut self.tasks[id];
        task.stage = Stage::Start;
        task.work = work_of(before_ns + fork_ns);
        self.post_wakeup(id, phase_ns);
    }

    /// How long all CPUs have been idle up to now.
    fn idle_so_far_ns(&self) -> u64 {
        let now_ns = self.clock.at_ns;
        let of = |cpu: CpuId| match &self.cpus[cpu] {
            idle if idle.curr == IDLE => idle.idle_ns + now_ns.saturating_sub(idle.idle_since_ns),
            busy => busy.idle_ns,
        };
        self.cpus.ids().map(of).sum()
    }
}
