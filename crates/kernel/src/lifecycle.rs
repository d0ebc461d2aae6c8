// SPDX-License-Identifier: GPL-2.0-or-later
//! Birth and death of tasks, and what the policy hears of it.

use std::rc::Rc;

use policy::abi::{ExitTaskArgs, InitTaskArgs};
use workload::interpreter::Registers;
use workload::plan::{Group, Policy, Start};

use crate::consts::{PF_EXITING, SLICE_DFL};
use crate::ids::{CpuId, IDLE, TaskId};
use crate::mask;
use crate::seen::call;
use crate::sim::{Sim, comm};
use crate::task::{Class, Place, State, Wait};
use crate::trace::What;

/// Process ids begin above those of a booted kernel's own.
const FIRST_PID: i32 = 1_000;

pub fn pid_of(id: TaskId) -> i32 {
    id.0 as i32 + FIRST_PID
}

/// Whose id it would be.
pub fn task_of_pid(pid: i32) -> Option<TaskId> {
    let id = u32::try_from(pid.checked_sub(FIRST_PID)?).ok()?;
    Some(TaskId(id))
}

/// The kernel's weight of each nice level, -20 first.
const WEIGHTS: [u32; 40] = [
    88_761, 71_755, 56_483, 46_273, 36_291, 29_154, 23_254, 18_705, 14_949, 11_916, 9_548, 7_620,
    6_100, 4_904, 3_906, 3_121, 2_501, 1_991, 1_586, 1_277, 1_024, 820, 655, 526, 423, 335, 272,
    215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];
const WEIGHT_IDLE: u32 = 3;

/// A task's weight, nice 0 being 1024.
pub fn weight_of(policy: Policy, nice: i32) -> u32 {
    match policy {
        Policy::Idle => WEIGHT_IDLE,
        _ => WEIGHTS[(nice.clamp(-20, 19) + 20) as usize],
    }
}

/// The same as policies see it, nice 0 being 100.
pub fn scx_weight(policy: Policy, nice: i32) -> u32 {
    ((weight_of(policy, nice) * 100 + 512) / 1_024).clamp(1, 10_000)
}

impl Sim<'_> {
    /// A task comes into being, blocked, child of `parent` (or of nobody: [`IDLE`]).
    pub(crate) fn born(&mut self, id: TaskId, parent: TaskId) {
        let plan = Rc::clone(&self.plan);
        let group = &plan.groups[self.tasks[id].group as usize];
        let index = self.tasks[id].index;
        let (nice, mut policy) = (group.nice, group.policy);
        let mut cpus =
            (!group.cpus.is_empty()).then(|| mask::of(group.cpus.iter().map(|cpu| CpuId(*cpu))));
        if parent != IDLE {
            // Policy and affinity are inherited if the group does not say; a nice level it always has.
            let from = &self.tasks[parent];
            if policy == Policy::Other {
                policy = from.policy;
            }
            if cpus.is_none() {
                cpus = self.affinity[parent].as_deref().cloned();
            }
        }
        let mut slice_ns = u64::from(group.slice_us) * 1_000;
        if parent != IDLE && slice_ns == 0 {
            let inherited = &self.seen(parent).se;
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
        self.live += 1;
        self.group_live[self.tasks[id].group as usize] += 1;

        let joins = is_forked_thread(group);
        let leader = if joins {
            self.tasks[parent].leader
        } else if group.threads {
            self.group_first[self.tasks[id].group as usize]
        } else {
            id
        };
        self.tasks[id].leader = leader;
        self.tasks[leader].threads += 1;
        let parent_ptr = if parent == IDLE {
            self.init_ptr()
        } else if joins {
            self.seen(parent).real_parent
        } else {
            self.seen_ptr(parent)
        };
        let name = comm(&group.name);
        let mm = self.seen_ptr(leader).cast_const().cast();
        let seen = self.seen(id);
        seen.flags = 0;
        seen.exit_state = 0;
        seen.migration_disabled = 0;
        seen.pid = pid_of(id);
        seen.tgid = pid_of(leader);
        seen.mm = mm;
        seen.real_parent = parent_ptr;
        seen.comm = name;
        seen.storage_map = std::ptr::null();
        seen.storage = std::ptr::null_mut();
        seen.scx.slice = SLICE_DFL;
        seen.scx.dsq_vtime = 0;
        seen.scx.flags = 0;
        seen.se.sum_exec_runtime = 0;
        // As the kernel keeps it: 0.1 to 100 ms.
        seen.se.custom_slice = u8::from(slice_ns > 0);
        seen.se.slice = slice_ns.clamp(100_000, 100_000_000);
        self.set_affinity_mask(id, cpus);
        self.set_priorities(id);
        self.checkers.born(id, self.op_at_ns);
    }

    /// Write a task's priorities where the policy reads them.
    pub(crate) fn set_priorities(&mut self, id: TaskId) {
        let task = &self.tasks[id];
        let (policy, nice, rt_prio) = (task.policy, task.nice, task.rt_prio);
        let weight = scx_weight(policy, nice);
        let seen = self.seen(id);
        seen.static_prio = 120 + nice;
        seen.prio = if rt_prio > 0 {
            99 - i32::from(rt_prio)
        } else {
            120 + nice
        };
        seen.rt_priority = u32::from(rt_prio);
        seen.policy = match policy {
            Policy::Other => 0,
            Policy::Fifo(_) => 1,
            Policy::Rr(_) => 2,
            Policy::Batch => 3,
            Policy::Idle => 5,
        };
        seen.scx.weight = weight;
    }

    pub(crate) fn init_task(&mut self, id: TaskId, fork: bool) {
        let mut args = InitTaskArgs { fork };
        let seen = self.seen_ptr(id);
        if let Some(error) = call!(self, init_task, seen, &raw mut args)
            && error != 0
        {
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
        call!(self, enable, self.seen_ptr(id));
        let weight = self.seen(id).scx.weight;
        call!(self, set_weight, self.seen_ptr(id), weight);
    }

    pub(crate) fn disable_task(&mut self, id: TaskId) {
        if std::mem::take(&mut self.tasks[id].enabled) {
            call!(self, disable, self.seen_ptr(id));
            let scx = &mut self.seen(id).scx;
            scx.dsq_vtime = 0;
            scx.slice = 0;
        }
    }

    /// A running task forks a child, or starts a thread of its process, that does not live.
    pub(crate) fn fork(&mut self, parent: TaskId, child: TaskId) {
        let plan = Rc::clone(&self.plan);
        let costs = &self.machine.costs;
        if is_forked_thread(&plan.groups[self.tasks[child].group as usize]) {
            self.charge(costs.thread_ns);
        } else {
            self.charge(costs.fork_ns);
            self.tasks[parent].children_alive += 1;
        }
        self.born(child, parent);
        self.init_task(child, true);
        self.enable_task(child);
        if self.exit.is_none() {
            self.wake_new(child);
        }
    }

    /// A running task ends: it has left when its CPU has switched to another.
    pub(crate) fn exit_current(&mut self, id: TaskId) {
        let of = self.tasks[id].group as usize;
        self.charge(if self.plan.groups[of].threads {
            self.machine.costs.thread_ns
        } else {
            self.machine.costs.exit_ns
        });
        self.ended_at_ns = self.op_at_ns;
        self.seen(id).flags |= PF_EXITING;
        let task = &mut self.tasks[id];
        task.exiting = true;
        task.state = State::Blocked;
        self.live -= 1;
        let leader = task.leader;
        self.group_live[of] -= 1;
        self.decide(What::Exit, self.op_cpu, id, self.op_at_ns);
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

    /// After the last switch away from it.
    pub(crate) fn dead(&mut self, id: TaskId) {
        self.disable_task(id);
        let mut args = ExitTaskArgs { cancelled: false };
        let seen = self.seen_ptr(id);
        call!(self, exit_task, seen, &raw mut args);
        self.maps.forget_task(id);
        let seen = self.seen(id);
        seen.storage_map = std::ptr::null();
        seen.storage = std::ptr::null_mut();
        seen.exit_state = 32;
        let task = &mut self.tasks[id];
        task.state = State::Dead;
        task.exiting = false;
        debug_assert_eq!(task.place, Place::Nowhere);
        self.checkers.died(id);
        self.metrics.ended(&self.tasks[id]);
        self.check_end();
    }
}

/// Threads that exist from the start have a process of their own.
fn is_forked_thread(group: &Group) -> bool {
    group.threads && group.start == Start::Fork
}

pub(crate) fn class_of(policy: Policy) -> (Class, u8) {
    match policy {
        Policy::Fifo(prio) | Policy::Rr(prio) => (Class::Rt, prio.clamp(1, 99)),
        _ => (Class::Ext, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_kernels() {
        assert_eq!(scx_weight(Policy::Other, 0), 100);
        assert_eq!(scx_weight(Policy::Other, -20), 8_668);
        assert_eq!(scx_weight(Policy::Other, 19), 1);
        assert_eq!(scx_weight(Policy::Idle, 0), 1);
        assert_eq!(scx_weight(Policy::Other, 5), 33);
    }
}
