// SPDX-License-Identifier: GPL-2.0-or-later
//! The runner of a cell, the task that starts and reaps the others: whom it has still to start, and who waits for its
//! signal.

use std::collections::VecDeque;
use std::rc::Rc;

use machine::{Costs, Machine};
use workload::plan::{Group, Plan, Policy, Start};

use super::kthread::{self, Kthread};
use crate::ids::TaskId;
use crate::task::Groups;

/// As the real one, which is a program of that name.
const NAME: &str = "schedlab-host";
/// Groups that are none of the workload's: the runner's, and the kernel's thread.
const OUTSIDE: usize = 2;

pub struct Runner {
    pub id: TaskId,
    pub guardian: TaskId,
    pub to_start: VecDeque<TaskId>,
    /// Started, and not at the start yet.
    pub coming: usize,
    /// At the start, in the order in which they came.
    pub waiting: VecDeque<TaskId>,
    /// The start signal is given.
    pub open: bool,
    /// So many ended tasks it is about to reap.
    pub reaping: u32,
    pub kthread: Option<Kthread>,
}

impl Runner {
    /// The plan with the runner and the kernel's thread, where there is one, as the last of its groups.
    pub fn join(plan: Rc<Plan>, costs: &Costs) -> Rc<Plan> {
        let mut plan = Rc::unwrap_or_clone(plan);
        // With the guardian.
        plan.groups.push(outside(NAME, 2));
        let kthreads = u32::from(costs.kthread_ns > 0);
        plan.groups.push(outside(kthread::NAME, kthreads));
        Rc::new(plan)
    }

    /// The runner of a plan that it has joined.
    pub fn new(plan: &Plan, groups: &Groups, machine: &Machine) -> Self {
        let workload = &plan.groups[..plan.groups.len() - OUTSIDE];
        let to_start = groups.first.iter().zip(workload);
        let to_start = to_start.filter(|(_, group)| group.start == Start::Signal);
        let id = groups.first[workload.len()];
        let guardian = TaskId(id.0 + 1);
        let tasks = to_start
            .flat_map(|(first, group)| (0..group.count).map(|index| TaskId(first.0 + index)));
        Self {
            id,
            guardian,
            to_start: std::iter::once(guardian).chain(tasks).collect(),
            coming: 0,
            waiting: VecDeque::new(),
            open: false,
            reaping: 0,
            kthread: Kthread::new(groups.first[workload.len() + 1], machine),
        }
    }
}

fn outside(name: &str, count: u32) -> Group {
    Group {
        name: name.to_string(),
        count,
        start: Start::Signal,
        threads: false,
        nice: 0,
        policy: Policy::Other,
        slice_us: 0,
        cpus: Vec::new(),
        cgroup: None,
        kernel: false,
        footprint_kib: 0,
        locals: 0,
        program: Vec::new(),
    }
}
