// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups of tasks: where each begins in the table of tasks, and how many of it live.

use workload::interpreter::Registers;
use workload::plan::{End, Plan};

use super::Task;
use crate::ids::{PerTask, TaskId};

pub struct Groups {
    pub first: Vec<TaskId>,
    live: Vec<u32>,
    live_in_all: u32,
}

impl Groups {
    pub fn member(&self, group: usize, index: usize) -> TaskId {
        TaskId(self.first[group].0 + index as u32)
    }

    /// All tasks of a plan, unborn, and their groups.
    pub fn of(plan: &Plan) -> (PerTask<Task>, Self) {
        let mut tasks = PerTask::default();
        let mut first = Vec::new();
        for (group, spec) in (0..).zip(&plan.groups) {
            first.push(TaskId(tasks.len() as u32));
            for index in 0..spec.count {
                let registers = Registers::new(plan, group, index);
                tasks.push(Task::new(group, index, registers));
            }
        }
        let groups = Self {
            first,
            live: vec![0; plan.groups.len()],
            live_in_all: 0,
        };
        (tasks, groups)
    }

    pub fn born(&mut self, group: u32) {
        self.live[group as usize] += 1;
        self.live_in_all += 1;
    }

    /// A task has come to the end of its program.
    pub fn ended(&mut self, group: u32) {
        self.live[group as usize] -= 1;
    }

    /// One has exited.
    pub fn exited(&mut self) {
        self.live_in_all -= 1;
    }

    /// Whether the workload is over, by what lives.
    pub fn are_done(&self, end: &End) -> bool {
        match end {
            End::All => self.live_in_all == 0,
            End::Group(group) => self.live[*group as usize] == 0,
            End::After { .. } => false,
        }
    }
}
