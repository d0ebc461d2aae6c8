// SPDX-License-Identifier: GPL-2.0-or-later
//! `include/native/host.h`, field by field. Sizes are checked against the policy's own when it is loaded; the place of
//! every field by `tests/abi.rs`.

use std::ffi::{c_char, c_void};

pub const VERSION: u32 = 1;

#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuMask {
    pub bits: [u64; 16],
}

#[repr(C)]
#[derive(Clone, Debug)]
pub struct SchedExtEntity {
    pub slice: u64,
    pub dsq_vtime: u64,
    pub weight: u32,
    pub flags: u32,
}

/// What a task asked for with `sched_setattr`'s `sched_runtime`; what it ran so far.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct SchedEntity {
    pub slice: u64,
    pub sum_exec_runtime: u64,
    pub custom_slice: u8,
}

/// What a policy sees of a task. The policy keeps pointers to it, so it must not move while the task lives.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct TaskStruct {
    pub scx: SchedExtEntity,
    pub se: SchedEntity,
    pub flags: u32,
    pub prio: i32,
    pub static_prio: i32,
    pub rt_priority: u32,
    pub policy: u32,
    pub nr_cpus_allowed: i32,
    pub cpus_ptr: *const CpuMask,
    pub migration_disabled: u16,
    pub exit_state: i32,
    pub pid: i32,
    pub tgid: i32,
    /// Null: a kernel thread. Never dereferenced.
    pub mm: *const c_void,
    pub real_parent: *mut TaskStruct,
    pub storage_map: *const c_void,
    pub storage: *mut c_void,
    pub comm: [c_char; 16],
}

#[repr(C)]
pub struct InitTaskArgs {
    pub fork: bool,
}

#[repr(C)]
pub struct ExitTaskArgs {
    pub cancelled: bool,
}

#[repr(C)]
pub struct ExitInfo {
    pub kind: i32,
    pub exit_code: i64,
    pub reason: *const c_char,
    pub msg: *const c_char,
}

type Task = *mut TaskStruct;

#[repr(C)]
#[derive(Clone, Debug)]
pub struct SchedExtOps {
    pub select_cpu: Option<unsafe extern "C" fn(Task, i32, u64) -> i32>,
    pub enqueue: Option<unsafe extern "C" fn(Task, u64)>,
    pub dequeue: Option<unsafe extern "C" fn(Task, u64)>,
    pub dispatch: Option<unsafe extern "C" fn(i32, Task)>,
    pub tick: Option<unsafe extern "C" fn(Task)>,
    pub runnable: Option<unsafe extern "C" fn(Task, u64)>,
    pub running: Option<unsafe extern "C" fn(Task)>,
    pub stopping: Option<unsafe extern "C" fn(Task, bool)>,
    pub quiescent: Option<unsafe extern "C" fn(Task, u64)>,
    pub yield_: Option<unsafe extern "C" fn(Task, Task) -> bool>,
    pub set_weight: Option<unsafe extern "C" fn(Task, u32)>,
    pub set_cpumask: Option<unsafe extern "C" fn(Task, *const CpuMask)>,
    pub update_idle: Option<unsafe extern "C" fn(i32, bool)>,
    pub init_task: Option<unsafe extern "C" fn(Task, *mut InitTaskArgs) -> i32>,
    pub exit_task: Option<unsafe extern "C" fn(Task, *mut ExitTaskArgs)>,
    pub enable: Option<unsafe extern "C" fn(Task)>,
    pub disable: Option<unsafe extern "C" fn(Task)>,
    pub cpu_online: Option<unsafe extern "C" fn(i32)>,
    pub cpu_offline: Option<unsafe extern "C" fn(i32)>,
    pub init: Option<unsafe extern "C" fn() -> i32>,
    pub exit: Option<unsafe extern "C" fn(*mut ExitInfo)>,
    pub dispatch_max_batch: u32,
    pub flags: u64,
    pub timeout_ms: u32,
    pub exit_dump_len: u32,
    pub hotplug_seq: u64,
    pub name: [c_char; 128],
}

#[repr(C)]
pub struct Timer {
    pub opaque: [u64; 2],
}

#[repr(C)]
pub struct DsqIter {
    pub opaque: [u64; 6],
}

type Sim = *mut c_void;
type Iter = *mut DsqIter;
pub type TimerCallback = unsafe extern "C" fn(*mut c_void, *mut i32, *mut c_void) -> i32;

#[repr(C)]
pub struct ScxHost {
    pub now_ns: u64,
    pub cpu: u64,
    pub in_task: u64,
    pub nr_cpu_ids: u64,
    pub current: Task,
    pub idle: *const CpuMask,
    pub idle_smt: *const CpuMask,
    pub online: *const CpuMask,
    pub possible: *const CpuMask,
    pub kfuncs: u64,
    pub steps: u64,

    pub sim: Sim,
    pub create_dsq: unsafe extern "C" fn(Sim, u64, i32) -> i32,
    pub destroy_dsq: unsafe extern "C" fn(Sim, u64),
    pub dsq_insert: unsafe extern "C" fn(Sim, Task, u64, u64, u64),
    pub dsq_insert_vtime: unsafe extern "C" fn(Sim, Task, u64, u64, u64, u64),
    pub dsq_move_to_local: unsafe extern "C" fn(Sim, u64) -> bool,
    pub dsq_nr_queued: unsafe extern "C" fn(Sim, u64) -> i32,
    pub dsq_iter_new: unsafe extern "C" fn(Sim, Iter, u64, u64) -> i32,
    pub dsq_iter_next: unsafe extern "C" fn(Sim, Iter) -> Task,
    pub dsq_iter_destroy: unsafe extern "C" fn(Sim, Iter),
    pub dsq_move_set_slice: unsafe extern "C" fn(Sim, Iter, u64),
    pub dsq_move_set_vtime: unsafe extern "C" fn(Sim, Iter, u64),
    pub dsq_move: unsafe extern "C" fn(Sim, Iter, Task, u64, u64) -> bool,
    pub dsq_move_vtime: unsafe extern "C" fn(Sim, Iter, Task, u64, u64) -> bool,
    pub kick_cpu: unsafe extern "C" fn(Sim, i32, u64),
    pub select_cpu_dfl: unsafe extern "C" fn(Sim, Task, i32, u64, *mut bool) -> i32,
    pub pick_idle_cpu: unsafe extern "C" fn(Sim, *const CpuMask, u64) -> i32,
    pub pick_any_cpu: unsafe extern "C" fn(Sim, *const CpuMask, u64) -> i32,
    pub test_and_clear_cpu_idle: unsafe extern "C" fn(Sim, i32) -> bool,
    pub task_cpu: unsafe extern "C" fn(Sim, *const TaskStruct) -> i32,
    pub task_running: unsafe extern "C" fn(Sim, *const TaskStruct) -> bool,
    pub task_from_pid: unsafe extern "C" fn(Sim, i32) -> Task,
    pub error: unsafe extern "C" fn(Sim, *const c_char),
    pub exit: unsafe extern "C" fn(Sim, i64, *const c_char),
    pub task_storage_get: unsafe extern "C" fn(Sim, *const c_void, Task, u64, u64) -> *mut c_void,
    pub task_storage_delete: unsafe extern "C" fn(Sim, *const c_void, Task),
    pub map_lookup:
        unsafe extern "C" fn(Sim, *const c_void, u32, u64, u64, u32, u32) -> *mut c_void,
    pub timer_init: unsafe extern "C" fn(Sim, *mut Timer, *const c_void) -> i64,
    pub timer_set_callback: unsafe extern "C" fn(Sim, *mut Timer, TimerCallback) -> i64,
    pub timer_start: unsafe extern "C" fn(Sim, *mut Timer, u64, u64) -> i64,
    pub timer_cancel: unsafe extern "C" fn(Sim, *mut Timer) -> i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abi {
    pub version: u32,
    pub host_size: u32,
    pub task_size: u32,
    pub ops_size: u32,
}

/// What this build expects of a policy's `__scx_abi`.
pub const EXPECTED: Abi = Abi {
    version: VERSION,
    host_size: size_of::<ScxHost>() as u32,
    task_size: size_of::<TaskStruct>() as u32,
    ops_size: size_of::<SchedExtOps>() as u32,
};
