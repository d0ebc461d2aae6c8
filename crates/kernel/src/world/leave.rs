// SPDX-License-Identifier: GPL-2.0-or-later
//! After a workload's program: its tasks exit.
//!
//! Where a runner has started them, a task first notes what it has used, and that is the last of its figures; a group
//! that decides the end of the run has ended before. The exit wakes the runner, which reaps the task, and a workload that
//! ends with its last task ends when this one is reaped.

use crate::cpu::work_of;
use crate::ids::{CpuId, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Stage, Wait};

use super::runner::Runner;

impl Sim<'_> {
    /// The running task of a CPU has come to the end of its program.
    pub(super) fn end_program(&mut self, cpu: CpuId, id: TaskId) {
        self.groups.ended(self.tasks[id].group);
        if self.runner.is_none() {
            self.charge(self.exit_ns(id));
            return self.leave(cpu, id);
        }
        self.end.last_exit_ns = self.clock.at_ns;
        self.check_end();
        self.go_to(
            cpu,
            id,
            Stage::Accounts,
            self.machine.costs.runner_account_ns,
        );
    }

    pub(super) fn settle(&mut self, cpu: CpuId, id: TaskId) {
        self.update_curr(cpu);
        let settles = Happened::Settles {
            task: id,
            served_ns: self.tasks[id].exec_ns,
        };
        self.tell(self.clock.at_ns, settles);
        self.go_to(cpu, id, Stage::Exit, self.exit_ns(id));
    }

    /// It has only to leave its CPU.
    pub(super) fn leave(&mut self, cpu: CpuId, id: TaskId) {
        self.exit_current(id);
        self.cpus[cpu].need_resched = true;
    }

    fn go_to(&mut self, cpu: CpuId, id: TaskId, stage: Stage, takes_ns: u64) {
        let task = &mut self.tasks[id];
        task.stage = stage;
        task.work = work_of(takes_ns);
        if takes_ns == 0 {
            self.run_program(cpu, id);
        }
    }

    /// A process closes its descriptors; a thread leaves them to the others.
    fn exit_ns(&self, id: TaskId) -> u64 {
        let costs = &self.machine.costs;
        if self.plan.groups[self.tasks[id].group as usize].threads {
            return costs.thread_ns;
        }
        let queues: u64 = self
            .plan
            .queues
            .iter()
            .map(|array| u64::from(array.count))
            .sum();
        costs.exit_ns + costs.close_ns * 2 * queues
    }

    /// The runner has nothing else to do: it reaps who has ended meanwhile, or sleeps until somebody does.
    pub(super) fn reap_ended(&mut self, cpu: CpuId, id: TaskId) {
        let ended = std::mem::take(&mut self.tasks[id].zombies);
        let Some(runner) = &mut self.runner else {
            return;
        };
        let reaped = std::mem::replace(&mut runner.reaping, ended);
        if reaped > 0 {
            self.end.last_exit_ns = self.clock.at_ns;
            self.check_end();
        }
        if ended == 0 {
            return self.block(cpu, id, Wait::Child);
        }
        self.tasks[id].work = work_of(u64::from(ended) * self.machine.costs.runner_reap_ns);
        if self.tasks[id].work == 0 {
            self.reap_ended(cpu, id);
        }
    }

    /// Whether tasks have ended that the runner has not reaped.
    pub(crate) fn has_to_reap(&self) -> bool {
        let has = |runner: &Runner| runner.reaping > 0 || self.tasks[runner.id].zombies > 0;
        self.runner.as_ref().is_some_and(has)
    }
}
