// SPDX-License-Identifier: GPL-2.0-or-later
//! The control groups of a run: what each has been given, and who is in it.
//!
//! Behind the root come a group of the run's own, as real runs have one, and those of the plan.

use workload::plan::{Controllers, CpuMax, Plan};

use crate::boundary::shown::CpuMask;
use crate::ids::{CpuId, Id, TaskId};
use crate::mask;

/// Groups that are none of the plan's: the root, and the run's own.
const BEFORE: usize = 2;
pub const ROOT: usize = 0;
/// The kernel's weight of a group that is given none.
pub const WEIGHT: u32 = 100;

#[derive(Debug)]
pub struct Cgroup {
    pub parent: usize,
    pub weight: u32,
    pub max: CpuMax,
    /// Those that it was given; `None`: its parent's.
    cpus: Option<CpuMask>,
    /// Those that it has.
    effective: CpuMask,
    /// In the order in which they came.
    members: Vec<TaskId>,
    /// It has not been removed.
    there: bool,
    /// The policy has accepted it.
    pub initialised: bool,
}

/// Without control groups in the plan there is the root, and nobody is noted down.
#[derive(Debug)]
pub struct Cgroups {
    all: Vec<Cgroup>,
    controllers: Controllers,
    /// By tasks: the group of each, and the CPUs that it asked for itself.
    of_task: Vec<usize>,
    asked: Vec<Option<CpuMask>>,
}

impl Cgroups {
    pub fn new(plan: &Plan, cpus: usize, tasks: usize) -> Self {
        let possible = mask::first_n(cpus);
        let group = |parent| Cgroup {
            parent,
            weight: WEIGHT,
            max: CpuMax::NONE,
            cpus: None,
            effective: possible.clone(),
            members: Vec::new(),
            there: true,
            initialised: false,
        };
        let mut all = vec![group(ROOT)];
        if !plan.cgroups.is_empty() {
            all.push(group(ROOT));
        }
        all.extend(plan.cgroups.iter().map(|cgroup| Cgroup {
            weight: cgroup.weight.unwrap_or(WEIGHT),
            max: cgroup.max.unwrap_or(CpuMax::NONE),
            cpus: (!cgroup.cpus.is_empty()).then(|| listed(&cgroup.cpus)),
            ..group(cgroup.parent.map_or(BEFORE - 1, place))
        }));
        let noted = if plan.cgroups.is_empty() { 0 } else { tasks };
        let mut cgroups = Self {
            all,
            controllers: plan.controllers(),
            of_task: vec![ROOT; noted],
            asked: vec![None; noted],
        };
        cgroups.compute();
        cgroups
    }

    /// The parents of those behind the root that schedulers see.
    pub fn shown(&self) -> Vec<usize> {
        let behind = self.all.iter().skip(1).filter(|_| self.controllers.cpu);
        behind.map(|cgroup| cgroup.parent).collect()
    }

    /// How many schedulers see.
    pub fn count_shown(&self) -> usize {
        if self.controllers.cpu {
            self.all.len()
        } else {
            1
        }
    }

    pub fn are_there(&self) -> bool {
        self.all.len() > 1
    }

    pub fn controllers(&self) -> Controllers {
        self.controllers
    }

    pub fn get(&self, place: usize) -> &Cgroup {
        &self.all[place]
    }

    pub fn get_mut(&mut self, place: usize) -> &mut Cgroup {
        &mut self.all[place]
    }

    pub fn of(&self, task: TaskId) -> usize {
        self.of_task.get(task.index()).copied().unwrap_or(ROOT)
    }

    pub fn enter(&mut self, task: TaskId, place: usize) {
        if self.are_there() {
            self.leave(task);
            self.of_task[task.index()] = place;
            self.all[place].members.push(task);
        }
    }

    /// A task that is no more, or goes elsewhere.
    pub fn leave(&mut self, task: TaskId) {
        if self.are_there() {
            let place = self.of(task);
            self.all[place].members.retain(|member| *member != task);
        }
    }

    pub fn is_there(&self, place: usize) -> bool {
        self.all[place].there
    }

    /// Whether it could be removed: nobody is in it.
    pub fn remove(&mut self, place: usize) -> bool {
        let cgroup = &mut self.all[place];
        let goes = cgroup.there && cgroup.members.is_empty();
        cgroup.there &= !goes;
        goes
    }

    /// With nothing that it was ever given.
    pub fn make(&mut self, place: usize) {
        let cgroup = &mut self.all[place];
        cgroup.there = true;
        cgroup.weight = WEIGHT;
        cgroup.max = CpuMax::NONE;
        cgroup.cpus = None;
        self.compute();
    }

    /// Give a group other CPUs: the groups that have others now, parents first.
    pub fn give_cpus(&mut self, place: usize, cpus: &[u32]) -> Vec<usize> {
        self.all[place].cpus = Some(listed(cpus));
        self.compute()
    }

    pub fn members(&self, place: usize) -> Vec<TaskId> {
        self.all[place].members.clone()
    }

    /// The kernel's rule: what a group was given of its parent's CPUs, or its parent's, where there is none of them.
    fn compute(&mut self) -> Vec<usize> {
        let mut changed = Vec::new();
        for place in 1..self.all.len() {
            let above = self.all[self.all[place].parent].effective.clone();
            let own = (self.all[place].cpus.as_ref()).map(|cpus| mask::and(cpus, &above));
            let effective = own.filter(|own| !mask::is_empty(own)).unwrap_or(above);
            if effective != self.all[place].effective {
                self.all[place].effective = effective;
                changed.push(place);
            }
        }
        changed
    }

    pub fn asks(&mut self, task: TaskId, cpus: Option<CpuMask>) {
        if let Some(asked) = self.asked.get_mut(task.index()) {
            *asked = cpus;
        }
    }

    /// What a task asked for; it is not noted without groups, as a task has it then.
    pub fn asked(&self, task: TaskId) -> Option<&CpuMask> {
        self.asked.get(task.index())?.as_ref()
    }

    /// What a task that asks for these CPUs has in its group: those of them that the group has, or, where there is none,
    /// the group's. Also whether there was one.
    pub fn allowed(&self, task: TaskId, asked: Option<CpuMask>) -> (Option<CpuMask>, bool) {
        if !self.controllers.cpuset {
            return (asked, true);
        }
        let group = &self.all[self.of(task)].effective;
        let Some(asked) = asked else {
            return (Some(group.clone()), true);
        };
        let both = mask::and(&asked, group);
        if mask::is_empty(&both) {
            (Some(group.clone()), false)
        } else {
            (Some(both), true)
        }
    }
}

fn listed(cpus: &[u32]) -> CpuMask {
    mask::of(cpus.iter().map(|cpu| CpuId(*cpu)))
}

/// Where a group of the plan is.
pub fn place(cgroup: u32) -> usize {
    cgroup as usize + BEFORE
}

/// Which of the plan's that is.
pub fn planned(place: usize) -> Option<u32> {
    place.checked_sub(BEFORE).map(|cgroup| cgroup as u32)
}

/// Where tasks are that move there.
pub fn destination(cgroup: Option<u32>) -> usize {
    cgroup.map_or(ROOT, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::plan::{Cgroup as Planned, End};

    fn cgroups(given: &[(Option<u32>, &[u32])]) -> Cgroups {
        let planned = given.iter().map(|(parent, cpus)| Planned {
            name: String::new(),
            parent: *parent,
            weight: None,
            max: None,
            cpus: cpus.to_vec(),
        });
        let plan = Plan {
            groups: Vec::new(),
            cgroups: planned.collect(),
            queues: Vec::new(),
            locks: Vec::new(),
            semaphores: Vec::new(),
            conditions: Vec::new(),
            variables: Vec::new(),
            end: End::All,
            distributions: Vec::new(),
            counters: Vec::new(),
            throughput: None,
            promises: Vec::new(),
            seed: 1,
        };
        Cgroups::new(&plan, 4, 2)
    }

    fn effective(cgroups: &Cgroups, place: usize) -> Vec<u32> {
        let cpus = mask::iter(&cgroups.get(place).effective);
        cpus.map(|cpu| cpu.0).collect()
    }

    #[test]
    fn a_cpuset_is_within_its_parents() {
        // 2 has 3 and 5 below it, and 3 has 4.
        let given: &[(Option<u32>, &[u32])] = &[
            (None, &[0, 1, 9]),
            (Some(0), &[1, 2]),
            (Some(1), &[]),
            (Some(0), &[2, 3]),
        ];
        let mut all = cgroups(given);
        let now = |all: &Cgroups| [2, 3, 4, 5].map(|place| effective(all, place));
        let expected: [&[u32]; 4] = [&[0, 1], &[1], &[1], &[0, 1]];
        assert_eq!(now(&all), expected);
        // Those that were given are kept, and come back.
        assert_eq!(all.give_cpus(2, &[2, 3]), [2, 3, 4, 5]);
        let expected: [&[u32]; 4] = [&[2, 3], &[2], &[2], &[2, 3]];
        assert_eq!(now(&all), expected);
        assert_eq!(all.give_cpus(2, &[2, 3]), [] as [usize; 0]);
        assert_eq!(all.give_cpus(3, &[0]), [3, 4]);
        assert_eq!(effective(&all, 4), [2, 3]);
    }

    #[test]
    fn a_task_has_of_its_own_cpus_those_of_its_group() {
        let mut all = cgroups(&[(None, &[0, 1])]);
        let task = TaskId(1);
        all.enter(task, place(0));
        let asks = |all: &Cgroups, cpus: &[u32]| {
            let (allowed, any) = all.allowed(task, (!cpus.is_empty()).then(|| listed(cpus)));
            let allowed: Vec<u32> = mask::iter(&allowed.unwrap()).map(|cpu| cpu.0).collect();
            (allowed, any)
        };
        assert_eq!(asks(&all, &[]), (vec![0, 1], true));
        assert_eq!(asks(&all, &[1, 2]), (vec![1], true));
        assert_eq!(asks(&all, &[2, 3]), (vec![0, 1], false));
        all.enter(task, ROOT);
        assert_eq!(asks(&all, &[2, 3]), (vec![2, 3], true));
        assert_eq!(all.members(place(0)), []);
        assert_eq!(all.members(ROOT), [task]);
    }
}
