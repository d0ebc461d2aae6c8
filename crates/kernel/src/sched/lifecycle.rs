// SPDX-License-Identifier: GPL-2.0-or-later
//! Birth and death of tasks, and what the policy hears of it.

use std::rc::Rc;

use workload::interpreter::Registers;
use workload::plan::{Group, Policy, Start};

use crate::boundary::Callback;
use crate::boundary::comm;
use crate::boundary::shown::{ExitTaskArgs, InitTaskArgs};
use crate::consts::{PF_EXITING, PF_KTHREAD, SLICE_DFL, TASK_DEAD, TASK_NEW};
use crate::cpu::work_of;
use crate::ids::{CpuId, IDLE, TaskId};
use crate::observe::Happened;
use crate::sched::attributes::listed;
use crate::sim::Sim;
use crate::task::{Class, Place, State, Wait, class_of, pid_of, scx_weight};

impl Sim<'_> {
    /// A task comes into being, blocked, child of `parent` (or of nobody: [`IDLE`]).
    pub(crate) fn born(&mut self, id: TaskId, parent: TaskId) {
        let plan = Rc::clone(&self.plan);
        let group = &plan.groups[self.tasks[id].group as usize];
        let index = self.tasks[id].index;
        let (mut nice, mut policy) = (group.nice, group.policy);
        if self.is_of_runner(parent) {
            // It sets both itself before it comes to the start.
            (nice, policy) = (0, Policy::Other);
        }
        let mut cpus = listed(&group.cpus);
        if parent != IDLE {
            // Policy and affinity are inherited if the group does not say; a nice level it always has.
            let from = &self.tasks[parent];
            if policy == Policy::Other {
                policy = from.policy;
            }
            if cpus.is_none() {
                cpus = self.asked_by(parent);
            }
        }
        let mut slice_ns = u64::from(group.slice_us) * 1_000;
        if parent != IDLE && slice_ns == 0 {
            let inherited = &self.boundary.view.task_mut(parent).se;
            slice_ns = inherited.slice * u64::from(inherited.custom_slice);
        }
        // A task that is forked again does the same again.
        let registers = Registers::new(&plan, self.tasks[id].group, index);
        let cpu = if parent == IDLE {
            CpuId(0)
        } else {
            self.tasks[parent].cpu
        };
        let mut task = crate::task::Task::new(self.tasks[id].group, index, registers);
        task.state = State::Blocked;
        task.wait = Wait::None;
        task.cpu = cpu;
        task.parent = parent;
        task.nice = nice;
        task.policy = policy;
        task.footprint_kib = group.footprint_kib;
        task.qseq = self.tasks[id].qseq;
        (task.class, task.rt_prio) = class_of(policy);
        self.tasks[id] = task;
        let measured = !self.is_outside(id);
        if measured {
            self.groups.born(self.tasks[id].group);
        }

        let joins = is_forked_thread(group);
        let leader = if joins {
            self.tasks[parent].leader
        } else if group.threads {
            self.groups.first[self.tasks[id].group as usize]
        } else {
            id
        };
        self.tasks[id].leader = leader;
        self.tasks[leader].threads += 1;
        self.born_into_cgroup(id, parent, leader == id);
        let parent_ptr = if parent == IDLE {
            self.boundary.view.init_pointer()
        } else if joins {
            self.boundary.view.task_mut(parent).real_parent
        } else {
            self.boundary.view.pointer(parent)
        };
        let name = comm(&group.name);
        let kthread = group.kernel || self.is_kthread(id);
        let mm = if kthread {
            std::ptr::null_mut()
        } else {
            self.boundary.view.pointer(leader).cast()
        };
        let p = self.boundary.view.task_mut(id);
        p.__state = TASK_NEW;
        p.flags = if kthread { PF_KTHREAD } else { 0 };
        p.exit_state = 0;
        p.migration_disabled = 0;
        p.rcu_read_lock_nesting = 0;
        p.pid = pid_of(id);
        p.tgid = pid_of(leader);
        p.mm = mm;
        p.real_parent = parent_ptr;
        p.comm = name;
        p.scx.slice = SLICE_DFL;
        p.scx.dsq_vtime = 0;
        p.scx.flags = 0;
        p.se.sum_exec_runtime = 0;
        p.utime = 0;
        // As the kernel keeps it: 0.1 to 100 ms.
        p.se.custom_slice = u8::from(slice_ns > 0);
        p.se.slice = slice_ns.clamp(100_000, 100_000_000);
        self.boundary.view.forget_storage(id);
        if self.tasks[id].enters.is_none() && !self.may_ask(id, cpus.clone()) {
            self.fail(format!(
                "{}: its control group has none of its CPUs",
                self.label(id)
            ));
        }
        self.set_affinity_mask(id, cpus);
        self.set_priorities(id);
        let born = Happened::Born { task: id, measured };
        self.tell(self.clock.at_ns, born);
    }

    /// Write a task's priorities where the policy reads them.
    pub(crate) fn set_priorities(&mut self, id: TaskId) {
        let task = &self.tasks[id];
        let (policy, nice, rt_prio) = (task.policy, task.nice, task.rt_prio);
        let weight = scx_weight(policy, nice);
        let p = self.boundary.view.task_mut(id);
        p.static_prio = 120 + nice;
        p.prio = if rt_prio > 0 {
            99 - i32::from(rt_prio)
        } else {
            120 + nice
        };
        p.rt_priority = u32::from(rt_prio);
        p.policy = match policy {
            Policy::Other => 0,
            Policy::Fifo(_) => 1,
            Policy::Rr(_) => 2,
            Policy::Batch => 3,
            Policy::Idle => 5,
        };
        p.scx.weight = weight;
        let attributes = Happened::Attributes {
            task: id,
            policy,
            nice,
            prio: p.prio,
            weight,
            served_ns: self.tasks[id].exec_ns,
        };
        self.tell(self.clock.at_ns, attributes);
    }

    pub(crate) fn init_task(&mut self, id: TaskId, fork: bool) {
        let cgroup = self.boundary.view.cgroup_of(Some(id));
        let mut args = InitTaskArgs { fork, cgroup };
        let arguments = [
            self.boundary.view.address(id),
            self.boundary.lend(&raw mut args),
        ];
        let error = self.call(Callback::InitTask, arguments);
        self.boundary.take_back();
        if let Some(error) = error
            && error as i32 != 0
        {
            let error = error as i32;
            let label = self.label(id);
            self.eject(format!("ops.init_task() failed ({error}) for {label}"));
        }
    }

    /// A task comes under the policy. Real-time tasks do not.
    pub(crate) fn enable_task(&mut self, id: TaskId) {
        if self.tasks[id].class == Class::Rt {
            return;
        }
        self.tasks[id].enabled = true;
        self.call(Callback::Enable, [self.boundary.view.address(id)]);
        let weight = self.boundary.view.task_mut(id).scx.weight;
        self.call(
            Callback::SetWeight,
            [self.boundary.view.address(id), u64::from(weight)],
        );
    }

    pub(crate) fn disable_task(&mut self, id: TaskId) {
        if std::mem::take(&mut self.tasks[id].enabled) {
            self.call(Callback::Disable, [self.boundary.view.address(id)]);
            let scx = &mut self.boundary.view.task_mut(id).scx;
            scx.dsq_vtime = 0;
            scx.slice = 0;
        }
    }

    /// What it takes the parent.
    pub(crate) fn fork_ns(&self, child: TaskId) -> u64 {
        let group = &self.plan.groups[self.tasks[child].group as usize];
        let costs = &self.machine.costs;
        if is_forked_thread(group) {
            costs.thread_ns
        } else {
            costs.fork_ns
        }
    }

    /// A running task forks a child, or starts a thread of its process, that does not live.
    pub(crate) fn fork(&mut self, parent: TaskId, child: TaskId) {
        let thread = is_forked_thread(&self.plan.groups[self.tasks[child].group as usize]);
        let child_ns = if thread {
            0
        } else {
            self.machine.costs.child_ns
        };
        self.tasks[parent].children_alive += u32::from(!thread);
        self.born(child, parent);
        self.tasks[child].work = work_of(child_ns);
        self.begin_life(child);
    }

    /// A task that has been forked comes under the policy and wants a CPU.
    pub(crate) fn begin_life(&mut self, id: TaskId) {
        self.init_task(id, true);
        self.enable_task(id);
        if !self.end.broken_off() {
            self.wake_new(id);
        }
    }

    /// A running task ends: it has left when its CPU has switched to another.
    pub(crate) fn exit_current(&mut self, id: TaskId) {
        self.end.last_exit_ns = self.clock.at_ns;
        let p = self.boundary.view.task_mut(id);
        p.flags |= PF_EXITING;
        p.__state = TASK_DEAD;
        let task = &mut self.tasks[id];
        task.exiting = true;
        task.state = State::Blocked;
        let leader = task.leader;
        self.groups.exited();
        self.tell(self.clock.at_ns, Happened::Exits { task: id });
        // Its parent hears of a process when the last of its threads has ended.
        let process = &mut self.tasks[leader];
        process.threads -= 1;
        let (left, parent) = (process.threads, process.parent);
        if left == 0 && parent != IDLE && self.tasks[parent].alive() {
            let family = &mut self.tasks[parent];
            family.children_alive = family.children_alive.saturating_sub(1);
            family.zombies += 1;
            if family.wait == Wait::Child {
                self.wake(parent, false);
            }
        }
    }

    /// A task that lives no longer, or whose policy goes.
    pub(crate) fn leave_policy(&mut self, id: TaskId) {
        self.disable_task(id);
        let mut args = ExitTaskArgs { cancelled: false };
        let arguments = [
            self.boundary.view.address(id),
            self.boundary.lend(&raw mut args),
        ];
        self.call(Callback::ExitTask, arguments);
        self.boundary.take_back();
    }

    /// Before a policy goes, what waits for it is taken out of its queues; who that is.
    pub(crate) fn take_from_policy(&mut self) -> Vec<TaskId> {
        let waits = |id: &TaskId| {
            let task = &self.tasks[*id];
            task.enabled && task.state == State::Queued
        };
        let queued: Vec<TaskId> = self.tasks.ids().filter(waits).collect();
        for id in &queued {
            self.unlink(*id);
            self.tasks[*id].custody = false;
        }
        for (_, task) in self.tasks.pairs_mut() {
            // Of a wake-up that is left to a CPU.
            task.verdict = None;
        }
        queued
    }

    /// Those that have been initialised for the policy.
    pub(crate) fn living(&self) -> Vec<TaskId> {
        let ids = self.tasks.ids();
        ids.filter(|id| self.tasks[*id].alive()).collect()
    }

    /// After the last switch away from it.
    pub(crate) fn dead(&mut self, id: TaskId) {
        self.leave_policy(id);
        self.cgroups.leave(id);
        self.boundary.maps.forget_task(id);
        self.boundary.view.forget_storage(id);
        self.boundary.view.task_mut(id).exit_state = 32;
        let task = &mut self.tasks[id];
        task.state = State::Dead;
        task.exiting = false;
        debug_assert_eq!(task.place, Place::Nowhere);
        let died = Happened::Died {
            task: id,
            served_ns: self.tasks[id].exec_ns,
        };
        self.tell(self.clock.at_ns, died);
        self.release_later();
        self.check_end();
    }
}

/// Threads that exist from the start have a process of their own.
fn is_forked_thread(group: &Group) -> bool {
    group.threads && group.start == Start::Fork
}
