// SPDX-License-Identifier: GPL-2.0-or-later
//! What the policy sees of tasks and machine through pointers.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use super::area::Area;
use super::cgroup::{Cgroup, Cgroups};
use super::register::Register;
use super::shared::Shared;
use super::shown::{CpuMask, Rq, SchedEntity, SchedExtEntity, TaskStruct};
use crate::consts::{PF_IDLE, SLICE_DFL, TASK_INTERRUPTIBLE, TASK_RUNNING};
use crate::ids::{CpuId, IDLE, Id, PerTask, TaskId};
use crate::mask;

/// The CPU sets that the policy reads.
pub struct Masks {
    pub idle: CpuMask,
    pub idle_smt: CpuMask,
    pub online: CpuMask,
    pub possible: CpuMask,
}

impl Masks {
    pub fn new(cpus: usize) -> Self {
        let possible = mask::first_n(cpus);
        Self {
            idle: possible.clone(),
            idle_smt: possible.clone(),
            online: possible.clone(),
            possible,
        }
    }
}

/// Every task's `task_struct`, in place for the whole run, and after them those of the idle task and of init.
pub struct View {
    structs: Shared<[TaskStruct]>,
    tasks: usize,
    pub masks: Shared<Masks>,
    affinity: PerTask<Option<Shared<CpuMask>>>,
    /// The one CPU of a task that was switched out with migration disabled.
    kept: PerTask<Option<Shared<CpuMask>>>,
    rqs: Shared<[Rq]>,
    /// What was told of idle CPUs by nodes, as of the last question: all of them, and those of idle cores.
    nodes: Vec<[Shared<CpuMask>; 2]>,
    pub cgroups: Cgroups,
    /// Where among them each task is.
    cgroup_of: PerTask<usize>,
}

impl View {
    /// `parents`: of the control groups behind the root.
    pub fn new(cpus: usize, tasks: usize, parents: &[usize]) -> Self {
        let masks = Shared::new(Masks::new(cpus));
        // SAFETY: only the address is taken.
        let possible = unsafe { &raw const (*masks.pointer()).possible };
        let mut structs: Shared<[TaskStruct]> = (0..tasks + 2)
            .map(|_| TaskStruct {
                cpus_ptr: possible,
                cpus_mask: mask::first_n(cpus),
                nr_cpus_allowed: cpus as i32,
                ..blank_task()
            })
            .collect();
        let (idle, init) = (tasks, tasks + 1);
        structs[idle].flags = PF_IDLE;
        structs[idle].comm = comm("swapper");
        structs[init].comm = comm("init");
        structs[init].__state = TASK_INTERRUPTIBLE;
        structs[init].pid = 1;
        structs[init].tgid = 1;
        Self {
            structs,
            tasks,
            masks,
            affinity: PerTask::filled(tasks, || None),
            kept: PerTask::filled(tasks, || None),
            rqs: (0..cpus as i32)
                .map(|cpu| Rq {
                    cpu,
                    curr: std::ptr::null_mut(),
                })
                .collect(),
            nodes: Vec::new(),
            cgroups: Cgroups::new(parents),
            cgroup_of: PerTask::filled(tasks, || 0),
        }
    }

    /// The idle CPUs of a node whose CPUs these are, or of its wholly idle cores: as of this call.
    pub fn idle_of_node(&mut self, node: usize, cpus: &CpuMask, smt: bool) -> *const CpuMask {
        let empty = || [(); 2].map(|()| Shared::new(mask::EMPTY));
        if self.nodes.len() <= node {
            self.nodes.resize_with(node + 1, empty);
        }
        let idle = if smt {
            &self.masks.idle_smt
        } else {
            &self.masks.idle
        };
        let idle = mask::and(idle, cpus);
        let told = &mut self.nodes[node][usize::from(smt)];
        **told = idle;
        told.pointer()
    }

    #[inline]
    pub fn task(&self, task: TaskId) -> &TaskStruct {
        &self.structs[task.index()]
    }

    #[inline]
    pub fn task_mut(&mut self, task: TaskId) -> &mut TaskStruct {
        &mut self.structs[task.index()]
    }

    /// Where the policy finds a task, or the idle task.
    #[inline]
    pub fn pointer(&self, task: TaskId) -> *mut TaskStruct {
        self.nth(if task == IDLE {
            self.tasks
        } else {
            task.index()
        })
    }

    /// The same as an argument of a callback.
    #[inline]
    pub fn address(&self, task: TaskId) -> u64 {
        self.pointer(task).register()
    }

    /// The idle task, init and then the others, in the order of their PIDs; null beyond.
    pub fn in_order(&self, place: usize) -> *mut TaskStruct {
        match place {
            0 => self.nth(self.tasks),
            1 => self.init_pointer(),
            other if other - 2 < self.tasks => self.nth(other - 2),
            _ => std::ptr::null_mut(),
        }
    }

    /// The same backwards.
    pub fn place_of(&self, pointer: *const TaskStruct) -> usize {
        self.task_of(pointer).map_or(
            usize::from(pointer.cast_mut() == self.init_pointer()),
            |task| task.index() + 2,
        )
    }

    /// The `init` task: parent of tasks that nobody forked.
    pub fn init_pointer(&self) -> *mut TaskStruct {
        self.nth(self.tasks + 1)
    }

    /// Where a policy sees tasks.
    pub fn tasks(&self) -> Area {
        Area::of(self.structs.pointer(), size_of_val(&*self.structs))
    }

    /// What a policy may write there in a task: slice, vtime and `disallow`.
    pub fn is_writable(&self, address: u64, bytes: u64) -> bool {
        let field = (address - self.tasks().start) as usize % size_of::<TaskStruct>();
        let scx = offset_of!(TaskStruct, scx);
        let written = [
            (scx + offset_of!(SchedExtEntity, slice), 8),
            (scx + offset_of!(SchedExtEntity, dsq_vtime), 8),
            (scx + offset_of!(SchedExtEntity, disallow), 1),
        ];
        written.contains(&(field, bytes))
    }

    /// Whether a policy may read there what is shown beside tasks.
    pub fn shows(&self, address: u64, bytes: u64) -> bool {
        let masks = Area::of(self.masks.pointer(), size_of::<Masks>());
        let rqs = Area::of(self.rqs.pointer(), size_of_val(&*self.rqs));
        let cgroups = self.cgroups.area();
        let own = |mask: &Shared<CpuMask>| Area::of(mask.pointer(), size_of::<CpuMask>());
        let mut confined = self
            .affinity
            .iter()
            .chain(self.kept.iter())
            .flatten()
            .map(own);
        let mut told = self.nodes.iter().flatten().map(own);
        let fixed = [masks, rqs, cgroups];
        fixed.iter().any(|area| area.holds(address, bytes))
            || told.any(|mask| mask.holds(address, bytes))
            || confined.any(|mask| mask.holds(address, bytes))
    }

    #[inline]
    fn nth(&self, index: usize) -> *mut TaskStruct {
        debug_assert!(index < self.structs.len());
        // SAFETY: within the structs, of which there are two more than tasks.
        unsafe { self.structs.pointer().cast::<TaskStruct>().add(index) }
    }

    /// Which task a policy's pointer means.
    #[inline]
    pub fn task_of(&self, pointer: *const TaskStruct) -> Option<TaskId> {
        let first = self.structs.pointer().cast::<TaskStruct>();
        let offset = (pointer.addr()).wrapping_sub(first.addr());
        let index = offset / size_of::<TaskStruct>();
        (offset.is_multiple_of(size_of::<TaskStruct>()) && index < self.tasks)
            .then(|| TaskId::nth(index))
    }

    /// The kernel's `cpus_ptr`.
    #[inline]
    pub fn allowed(&self, task: TaskId) -> &CpuMask {
        self.narrowest(task)
            .map_or(&self.masks.possible, |mask| &**mask)
    }

    /// What confines a task most, if anything does.
    #[inline]
    fn narrowest(&self, task: TaskId) -> Option<&Shared<CpuMask>> {
        self.kept[task].as_ref().or(self.affinity[task].as_ref())
    }

    /// The same for the policy.
    pub fn allowed_pointer(&self, task: TaskId) -> *const CpuMask {
        self.task(task).cpus_ptr
    }

    /// What a task was confined to; `None` where it may run everywhere.
    pub fn confined(&self, task: TaskId) -> Option<&CpuMask> {
        self.affinity[task].as_deref()
    }

    /// What these CPUs confine a task to; all of them where none is named, or none that there is.
    fn confining(&self, cpus: Option<CpuMask>) -> Option<CpuMask> {
        let possible = &self.masks.possible;
        let cpus = cpus.map(|cpus| mask::and(&cpus, possible));
        cpus.filter(|cpus| cpus != possible && !mask::is_empty(cpus))
    }

    /// Whether these are what the task may use already.
    pub fn confined_to(&self, task: TaskId, cpus: Option<CpuMask>) -> bool {
        self.confining(cpus).as_ref() == self.confined(task)
    }

    /// A task may use these CPUs from now on.
    pub fn confine(&mut self, task: TaskId, cpus: Option<CpuMask>) {
        let cpus = self.confining(cpus);
        self.affinity[task] = cpus.map(Shared::new);
        let cpus_mask = self.affinity[task]
            .as_deref()
            .unwrap_or(&self.masks.possible)
            .clone();
        let count = mask::count(&cpus_mask) as i32;
        let p = self.task_mut(task);
        p.cpus_mask = cpus_mask;
        p.nr_cpus_allowed = count;
        self.show_allowed(task);
    }

    /// Only `cpus_ptr` says that a task stays on this CPU, or, without one, no longer does.
    pub fn keep(&mut self, task: TaskId, cpu: Option<CpuId>) {
        self.kept[task] = cpu.map(|cpu| Shared::new(mask::of([cpu])));
        self.show_allowed(task);
    }

    /// Whether a task is kept on its CPU.
    pub fn kept(&self, task: TaskId) -> bool {
        self.kept[task].is_some()
    }

    fn show_allowed(&mut self, task: TaskId) {
        let pointer = match self.narrowest(task) {
            Some(cpus) => cpus.pointer().cast_const(),
            // SAFETY: only the address is taken.
            None => unsafe { &raw const (*self.masks.pointer()).possible },
        };
        self.task_mut(task).cpus_ptr = pointer;
    }

    /// Whether a task is in an RCU reader's section, and in a callback of the policy's, which is another.
    #[inline]
    pub fn reads(&mut self, task: TaskId, section: bool, calls: bool) {
        let nesting = if section { 1 + i32::from(calls) } else { 0 };
        self.task_mut(task).rcu_read_lock_nesting = nesting;
    }

    #[inline]
    pub fn migration_disabled(&self, task: TaskId) -> bool {
        self.task(task).migration_disabled > 0
    }

    #[inline]
    pub fn may_run_on(&self, task: TaskId, cpu: CpuId) -> bool {
        self.narrowest(task)
            .is_none_or(|allowed| mask::has(allowed, cpu))
    }

    /// Whether it has no choice.
    #[inline]
    pub fn pinned(&self, task: TaskId) -> bool {
        self.task(task).nr_cpus_allowed == 1 || self.migration_disabled(task)
    }

    /// What is shown of a CPU's run queue, with what it runs: as of this call.
    pub fn rq(&mut self, cpu: i32, curr: *mut TaskStruct) -> *mut Rq {
        let Some(rq) = usize::try_from(cpu)
            .ok()
            .filter(|cpu| *cpu < self.rqs.len())
        else {
            return std::ptr::null_mut();
        };
        self.rqs[rq].curr = curr;
        // SAFETY: within the run queues.
        unsafe { self.rqs.pointer().cast::<Rq>().add(rq) }
    }

    /// The group of a task; of idle tasks and init the root.
    pub fn cgroup_of(&self, task: Option<TaskId>) -> *mut Cgroup {
        self.cgroups
            .cgroup(task.map_or(0, |task| self.cgroup_of[task]))
    }

    /// A group as an argument of a callback.
    pub fn cgroup_address(&self, place: usize) -> u64 {
        self.cgroups.cgroup(place).register()
    }

    pub fn place_of_cgroup(&self, task: TaskId) -> usize {
        self.cgroup_of[task]
    }

    pub fn place_in_cgroup(&mut self, task: TaskId, place: usize) {
        self.cgroup_of[task] = place;
    }

    /// A task's storage in the map that was asked last, which the policy finds without asking again.
    pub fn keep_storage(&mut self, task: TaskId, map: *const c_void, value: *mut c_void) {
        let p = self.task_mut(task);
        p.storage_map = map;
        p.storage = value;
    }

    /// A task's storage is gone with the map's value.
    pub fn forget_storage(&mut self, task: TaskId) {
        let p = self.task_mut(task);
        p.storage_map = std::ptr::null();
        p.storage = std::ptr::null_mut();
    }
}

pub fn comm(name: &str) -> [c_char; 16] {
    let mut comm = [0; 16];
    for (to, from) in comm[..15].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    comm
}

fn blank_task() -> TaskStruct {
    TaskStruct {
        scx: SchedExtEntity {
            slice: SLICE_DFL,
            dsq_vtime: 0,
            weight: 100,
            flags: 0,
            disallow: false,
        },
        se: SchedEntity {
            slice: 0,
            sum_exec_runtime: 0,
            custom_slice: 0,
        },
        __state: TASK_RUNNING,
        flags: 0,
        prio: 120,
        static_prio: 120,
        rt_priority: 0,
        policy: 0,
        nr_cpus_allowed: 1,
        cpus_ptr: std::ptr::null(),
        migration_disabled: 0,
        rcu_read_lock_nesting: 0,
        exit_state: 0,
        pid: 0,
        tgid: 0,
        mm: std::ptr::null_mut(),
        real_parent: std::ptr::null_mut(),
        storage_map: std::ptr::null(),
        storage: std::ptr::null_mut(),
        utime: 0,
        stime: 0,
        nvcsw: 0,
        nivcsw: 0,
        cpus_mask: mask::EMPTY,
        mempolicy: std::ptr::null_mut(),
        comm: [0; 16],
    }
}
