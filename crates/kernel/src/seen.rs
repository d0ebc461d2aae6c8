// SPDX-License-Identifier: GPL-2.0-or-later
//! What the policy sees of tasks and machine, and the way into its callbacks.

use policy::abi::{CpuMask, ScxHost, TaskStruct};

use crate::ids::{CpuId, IDLE, Id, TaskId};
use crate::mask;
use crate::sim::Sim;

impl Sim<'_> {
    /// A task as the policy sees it.
    pub(crate) fn seen(&mut self, task: TaskId) -> &mut TaskStruct {
        debug_assert!(self.tasks.contains(task));
        // SAFETY: in bounds of `structs_owned`, which never moves; no other reference to this element lives.
        unsafe { &mut *self.structs.add(task.index()) }
    }

    pub(crate) fn seen_ptr(&self, task: TaskId) -> *mut TaskStruct {
        let index = if task == IDLE {
            self.tasks.len()
        } else {
            task.index()
        };
        // SAFETY: in bounds, as above; the idle task stands after the last.
        unsafe { self.structs.add(index) }
    }

    /// The `init` task: parent of tasks that nobody forked.
    pub(crate) fn init_ptr(&self) -> *mut TaskStruct {
        // SAFETY: the last element.
        unsafe { self.structs.add(self.structs_owned.len() - 1) }
    }

    /// Which task a policy's pointer means.
    pub(crate) fn task_of(&self, pointer: *const TaskStruct) -> Option<TaskId> {
        let offset = (pointer as usize).wrapping_sub(self.structs as usize);
        let index = offset / size_of::<TaskStruct>();
        (offset.is_multiple_of(size_of::<TaskStruct>()) && index < self.tasks.len())
            .then_some(TaskId::nth(index))
    }

    pub(crate) fn allowed(&self, task: TaskId) -> &CpuMask {
        self.affinity[task]
            .as_deref()
            .unwrap_or(&self.masks.possible)
    }

    pub(crate) fn may_run_on(&self, task: TaskId, cpu: CpuId) -> bool {
        match &self.affinity[task] {
            None => true,
            Some(allowed) => mask::has(allowed, cpu),
        }
    }

    pub(crate) fn pinned(&self, task: TaskId) -> bool {
        // SAFETY: in bounds; only read.
        unsafe { (*self.seen_ptr(task)).nr_cpus_allowed == 1 }
    }

    /// Before a callback: tell the policy time and place, and count its work from here.
    pub(crate) fn enter_policy(&mut self) -> *mut ScxHost {
        let current = self.seen_ptr(self.cpus[self.op_cpu].curr);
        let host = self.host;
        let sim = std::ptr::from_mut(self).cast();
        // SAFETY: `host` is this simulation's own table, and no reference into it lives.
        unsafe {
            (*host).sim = sim;
            (*host).now_ns = self.clock_ns;
            (*host).cpu = u64::from(self.op_cpu.0);
            (*host).in_task = u64::from(!self.in_interrupt);
            (*host).current = current;
            (*host).kfuncs = 0;
            (*host).steps = 0;
        }
        host
    }

    /// After a callback: charge what its code did.
    pub(crate) fn leave_policy(&mut self) {
        // SAFETY: as above.
        let (kfuncs, steps) = unsafe { ((*self.host).kfuncs, (*self.host).steps) };
        let costs = &self.machine.costs;
        self.op_at_ns += costs.callback_ns + kfuncs * costs.kfunc_ns + steps * costs.step_ns;
    }
}

/// Call a callback if the policy has it; `Option` of what it returned.
macro_rules! call {
    ($sim:expr, $op:ident $(, $arg:expr)*) => {{
        match $sim.ops.$op {
            None => None,
            Some(callback) => {
                $sim.enter_policy();
                $sim.trace_call(stringify!($op));
                // SAFETY: a callback of the loaded policy, called as the kernel does, with pointers to tasks that
                // stay in place; it reaches this simulation only through the table that enter_policy just set.
                let result = unsafe { callback($($arg),*) };
                $sim.leave_policy();
                Some(result)
            }
        }
    }};
}

pub(crate) use call;
