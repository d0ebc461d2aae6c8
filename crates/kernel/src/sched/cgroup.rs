// SPDX-License-Identifier: GPL-2.0-or-later
//! Control groups: what the policy hears of them, and what they do to the CPUs of their tasks.
//!
//! The kernel keeps no weight and no limit of tasks under a policy: it tells the policy, which may heed them. It keeps
//! cpusets. A process moves as a whole: the policy may refuse each of its threads, and then none moves
//! (`scx_cgroup_can_attach()`); then they get the CPUs of the new group (`cpuset_attach()`), and last of all they are
//! taken off their run queues, moved, and put back (`sched_move_task()`).

use workload::plan::CpuMax;

use crate::boundary::Callback;
use crate::boundary::shown::{CgroupInitArgs, CpuMask};
use crate::cgroups::{ROOT, place, planned};
use crate::consts::{DEQ_SAVE, ENQ_RESTORE, MOVE};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sim::Sim;
use crate::task::{Class, State};

/// Errors that a callback may return lie below this.
const MOST_ERRNO: i32 = 4_095;

impl Sim<'_> {
    /// The policy hears of all groups that there are, each after its parent.
    pub(crate) fn init_cgroups(&mut self) {
        for place in 0..self.cgroups.count_shown() {
            if !self.cgroups.is_there(place) {
                continue;
            }
            if self.end.broken_off() {
                return;
            }
            let error = self.init_cgroup(place);
            if error != 0 {
                return self.eject(format!("ops.cgroup_init() failed ({error})"));
            }
        }
    }

    /// The policy's error, if it does not accept the group.
    fn init_cgroup(&mut self, place: usize) -> i32 {
        let cgroup = self.cgroups.get(place);
        let mut args = CgroupInitArgs {
            weight: cgroup.weight,
            bw_period_us: cgroup.max.period_us,
            bw_quota_us: quota(cgroup.max),
            bw_burst_us: cgroup.max.burst_us,
        };
        let arguments = [
            self.boundary.view.cgroup_address(place),
            self.boundary.lend(&raw mut args),
        ];
        let error = self.call(Callback::CgroupInit, arguments);
        self.boundary.take_back();
        let error = error.map_or(0, |error| error as i32);
        self.cgroups.get_mut(place).initialised = error == 0;
        self.tell_limit(place);
        error
    }

    /// The policy loses them, each before its parent.
    pub(crate) fn exit_cgroups(&mut self) {
        let mut at = None;
        loop {
            let walk = crate::boundary::CgroupWalk::ChildrenFirst;
            at = self.boundary.view.cgroups.next(walk, ROOT, at);
            let Some(place) = at else { return };
            self.exit_cgroup(place);
        }
    }

    fn exit_cgroup(&mut self, place: usize) {
        if std::mem::take(&mut self.cgroups.get_mut(place).initialised) {
            let address = self.boundary.view.cgroup_address(place);
            self.call(Callback::CgroupExit, [address]);
        }
    }

    /// A group of the plan comes again. It has nothing until what it had in the beginning is written to its files
    /// (`scx_tg_online()`, then the files). It stays where it was among its siblings.
    pub(crate) fn make_cgroup(&mut self, on: CpuId, cgroup: u32) -> Result<(), String> {
        let place = place(cgroup);
        if self.cgroups.is_there(place) {
            return Ok(());
        }
        self.cgroups.make(place);
        if self.cgroups.controllers().cpu {
            self.boundary.view.cgroups.make(place);
            let error = self.init_cgroup(place);
            if error != 0 {
                self.forget_cgroup(place);
                return Err(format!("the policy does not accept it (error {})", -error));
            }
        }
        let given = &self.plan.cgroups[cgroup as usize];
        let (weight, max, cpus) = (given.weight, given.max, given.cpus.clone());
        if let Some(weight) = weight {
            self.set_cgroup_weight(place, weight);
        }
        if let Some(max) = max {
            self.set_cgroup_max(place, max.quota_us, Some(max.period_us), Some(max.burst_us))?;
        }
        if !cpus.is_empty() {
            self.set_cgroup_cpus(on, place, &cpus);
        }
        Ok(())
    }

    /// A group goes, if nobody is in it (`scx_tg_offline()`).
    pub(crate) fn remove_cgroup(&mut self, place: usize) {
        if self.cgroups.remove(place) && self.cgroups.controllers().cpu {
            self.exit_cgroup(place);
            self.forget_cgroup(place);
        }
    }

    fn forget_cgroup(&mut self, place: usize) {
        self.cgroups.remove(place);
        self.boundary.view.cgroups.remove(place);
        self.boundary.maps.forget_cgroup(place);
    }

    /// Where a task is that comes into being, and where it moves itself first of all, if anywhere else. `first`: it is the
    /// first thread of its process.
    pub(crate) fn born_into_cgroup(&mut self, id: TaskId, parent: TaskId, first: bool) {
        if !self.cgroups.are_there() {
            return;
        }
        let own = self.plan.groups[self.tasks[id].group as usize]
            .cgroup
            .map(place);
        let home = if !first {
            self.cgroups.of(self.tasks[id].leader)
        } else if parent == IDLE {
            // It was there before the policy.
            own.unwrap_or(ROOT)
        } else {
            self.cgroups.of(parent)
        };
        self.cgroups.enter(id, home);
        self.show_cgroup(id, home);
        self.tasks[id].enters = own.filter(|own| first && *own != home);
    }

    fn show_cgroup(&mut self, id: TaskId, place: usize) {
        if self.cgroups.controllers().cpu {
            self.boundary.view.place_in_cgroup(id, place);
            let cgroup = planned(place);
            self.tell(self.clock.at_ns, Happened::InCgroup { task: id, cgroup });
        }
    }

    /// The CPUs that a task has that asks for these.
    pub(crate) fn allowed_of(&self, id: TaskId, asked: Option<CpuMask>) -> Option<CpuMask> {
        self.cgroups.allowed(id, asked).0
    }

    /// What a task asked for itself.
    pub(crate) fn asked_by(&self, id: TaskId) -> Option<CpuMask> {
        if self.cgroups.are_there() {
            self.cgroups.asked(id).cloned()
        } else {
            self.boundary.view.confined(id).cloned()
        }
    }

    /// Whether a task may ask for these: its group has one of them (`EINVAL` otherwise).
    pub(crate) fn may_ask(&self, id: TaskId, asked: Option<CpuMask>) -> bool {
        self.cgroups.allowed(id, asked).1
    }

    /// A running task moves itself to where it begins. Whether it had to.
    pub(crate) fn enters_cgroup(&mut self, cpu: CpuId, id: TaskId) -> bool {
        let Some(to) = self.tasks[id].enters.take() else {
            return false;
        };
        self.charge(self.machine.costs.syscall_ns);
        let moved = self.move_process(Some(cpu), id, to).and_then(|()| {
            if self.may_ask(id, self.asked_by(id)) {
                Ok(())
            } else {
                Err("its control group has none of its CPUs".to_owned())
            }
        });
        if let Err(why) = moved {
            self.fail(format!("{}: {why}", self.label(id)));
        }
        true
    }

    /// `on`: the CPU of the task that does it, and perhaps moves itself.
    pub(crate) fn move_process(
        &mut self,
        on: Option<CpuId>,
        id: TaskId,
        to: usize,
    ) -> Result<(), String> {
        if !self.cgroups.is_there(to) {
            return Ok(());
        }
        let moving = self.moving(id, to);
        if moving.iter().any(|thread| self.is_kept(*thread)) {
            return Ok(());
        }
        self.as_a_whole(|sim| {
            sim.prepare_move(&moving, to)?;
            for thread in &moving {
                sim.cgroups.enter(*thread, to);
            }
            for thread in &moving {
                sim.keep_to_cpuset(on, *thread);
            }
            if sim.cgroups.controllers().cpu {
                for thread in &moving {
                    sim.attach(on, *thread, to);
                }
            }
            Ok(())
        })
    }

    /// The threads of a task's process that are elsewhere, the first before the others.
    fn moving(&self, id: TaskId, to: usize) -> Vec<TaskId> {
        let leader = self.tasks[id].leader;
        let moves = |other: &TaskId| {
            let task = &self.tasks[*other];
            task.alive() && !task.exiting && task.leader == leader && self.cgroups.of(*other) != to
        };
        let others = self.tasks.ids().filter(|other| *other != leader);
        let threads = std::iter::once(leader).chain(others);
        threads.filter(moves).collect()
    }

    fn prepare_move(&mut self, moving: &[TaskId], to: usize) -> Result<(), String> {
        if !self.cgroups.controllers().cpu {
            return Ok(());
        }
        for (count, thread) in moving.iter().enumerate() {
            let arguments = self.move_arguments(*thread, to);
            let error = self.call(Callback::CgroupPrepMove, arguments);
            let error = error.map_or(0, |error| error as i32);
            if error == 0 {
                continue;
            }
            for before in &moving[..count] {
                let arguments = self.move_arguments(*before, to);
                self.call(Callback::CgroupCancelMove, arguments);
            }
            if !(-MOST_ERRNO..0).contains(&error) {
                let what = "ops.cgroup_prep_move() returned an invalid errno";
                self.eject(format!("{what} {error}"));
                return Ok(());
            }
            return Err(format!(
                "the policy does not let it into its control group (error {})",
                -error
            ));
        }
        Ok(())
    }

    fn move_arguments(&self, id: TaskId, to: usize) -> [u64; 3] {
        let view = &self.boundary.view;
        let from = self.cgroups.of(id);
        [
            view.address(id),
            view.cgroup_address(from),
            view.cgroup_address(to),
        ]
    }

    /// A task gets the CPUs that it asked for and its group has.
    fn keep_to_cpuset(&mut self, on: Option<CpuId>, id: TaskId) {
        if !self.cgroups.controllers().cpuset {
            return;
        }
        let asked = self.asked_by(id);
        match on.filter(|cpu| self.cpus[*cpu].curr == id) {
            Some(cpu) => self.change_affinity(cpu, id, asked),
            None => self.confine(id, asked),
        }
    }

    fn attach(&mut self, on: Option<CpuId>, id: TaskId, to: usize) {
        let cpu = self.tasks[id].cpu;
        let from = self.boundary.view.place_of_cgroup(id);
        let itself = on == Some(cpu) && self.cpus[cpu].curr == id;
        match self.tasks[id].state {
            State::Running => {
                if !itself {
                    self.progress(cpu);
                }
                self.suspend_current(cpu, id);
                self.tell_move(id, from, to);
                self.resume_current(cpu, id);
                self.resched(cpu);
            }
            State::Queued => {
                self.lock_rq(cpu);
                match self.tasks[id].class {
                    Class::Rt => self.dequeue_rt(cpu, id),
                    Class::Ext => self.dequeue_ext(cpu, id, DEQ_SAVE | MOVE),
                }
                self.tell_move(id, from, to);
                match self.tasks[id].class {
                    Class::Rt => self.enqueue_rt(cpu, id, false),
                    Class::Ext => self.enqueue_ext(cpu, id, ENQ_RESTORE | MOVE),
                }
            }
            _ => self.tell_move(id, from, to),
        }
    }

    fn tell_move(&mut self, id: TaskId, from: usize, to: usize) {
        self.show_cgroup(id, to);
        let view = &self.boundary.view;
        let arguments = [
            view.address(id),
            view.cgroup_address(from),
            view.cgroup_address(to),
        ];
        self.call(Callback::CgroupMove, arguments);
    }

    /// Nothing happens where it has this weight already.
    pub(crate) fn set_cgroup_weight(&mut self, place: usize, weight: u32) {
        if self.cgroups.is_there(place) && self.cgroups.get(place).weight != weight {
            let address = self.boundary.view.cgroup_address(place);
            self.call(Callback::CgroupSetWeight, [address, u64::from(weight)]);
            self.cgroups.get_mut(place).weight = weight;
        }
    }

    /// Likewise, as the files are written of which the kernel makes it: a burst that changes is none while the limit
    /// changes, since no limit may be less than it (`tg_set_bandwidth()`).
    pub(crate) fn set_cgroup_max(
        &mut self,
        place: usize,
        quota_us: Option<u64>,
        period_us: Option<u64>,
        burst_us: Option<u64>,
    ) -> Result<(), String> {
        if !self.cgroups.is_there(place) {
            return Ok(());
        }
        let with = |burst_us: u64, max: CpuMax| CpuMax { burst_us, ..max };
        if burst_us.is_some() {
            self.set_bandwidth(place, with(0, self.cgroups.get(place).max));
        }
        let was = self.cgroups.get(place).max;
        let max = CpuMax {
            quota_us,
            period_us: period_us.unwrap_or(was.period_us),
            burst_us: was.burst_us,
        };
        if quota_us.is_some_and(|us| us < max.burst_us) {
            return Err(format!("its burst of {} µs is more", max.burst_us));
        }
        self.set_bandwidth(place, max);
        if let Some(us) = burst_us {
            self.set_bandwidth(place, with(us, max));
        }
        Ok(())
    }

    fn set_bandwidth(&mut self, place: usize, max: CpuMax) {
        if max != self.cgroups.get(place).max {
            let address = self.boundary.view.cgroup_address(place);
            let arguments = [address, max.period_us, quota(max), max.burst_us];
            self.call(Callback::CgroupSetBandwidth, arguments);
            self.cgroups.get_mut(place).max = max;
            self.tell_limit(place);
        }
    }

    fn tell_limit(&mut self, place: usize) {
        if let Some(cgroup) = planned(place) {
            let max = self.cgroups.get(place).max;
            self.tell(self.clock.at_ns, Happened::Limited { cgroup, max });
        }
    }

    /// All who are in the group or below it get other CPUs, group after group.
    pub(crate) fn set_cgroup_cpus(&mut self, on: CpuId, place: usize, cpus: &[u32]) {
        if !self.cgroups.is_there(place) {
            return;
        }
        let changed = self.cgroups.give_cpus(place, cpus);
        for place in changed {
            for id in self.cgroups.members(place) {
                if self.tasks[id].alive() {
                    self.keep_to_cpuset(Some(on), id);
                }
            }
        }
    }
}

/// As policies see it.
fn quota(max: CpuMax) -> u64 {
    max.quota_us.unwrap_or(u64::MAX)
}
