// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of functions that a policy calls: from C's addresses to the model's ids, and back into the model.

use std::ffi::{CStr, c_char, c_void};

use policy::abi::{CpuMask, DsqIter, ScxHost, TaskStruct, Timer, TimerCallback};

use super::maps::ArrayShape;
use super::view::Masks;
use super::{Boundary, Moment};
use crate::consts::{EINVAL, ENOENT, ENQ_PRIQ};
use crate::ids::{CpuId, DsqIndex, TaskId};
use crate::task::Verdict;

/// The model as policies use it.
pub trait Kernel: Sized {
    fn boundary(&mut self) -> &mut Boundary;
    fn moment(&self) -> Moment;
    /// A callback is about to be called.
    fn calls(&mut self, op: &'static str);
    /// The policy's code has called so many kfuncs and made so many steps.
    fn charge_policy(&mut self, kfuncs: u64, steps: u64);
    /// The policy is thrown out.
    fn eject(&mut self, reason: String);

    fn create_dsq(&mut self, id: u64, node: i32) -> i32;
    fn destroy_dsq(&mut self, id: u64);
    fn insert(&mut self, task: TaskId, verdict: Verdict);
    fn move_to_local(&mut self, dsq_id: u64) -> bool;
    fn nr_queued(&self, dsq_id: u64) -> i32;
    fn walk(&self, dsq_id: u64) -> Option<Walk>;
    fn walk_on(&self, walk: &mut Walk) -> Option<TaskId>;
    /// `None`: the task or the walk does not exist.
    fn move_walked(&mut self, what: Option<(TaskId, Walk)>, dsq_id: u64, enq_flags: u64) -> bool;

    fn kick(&mut self, cpu: i32, flags: u64);
    /// The CPU, and whether it was idle and is claimed.
    fn select_cpu_dfl(&mut self, task: TaskId, prev_cpu: i32, wake_flags: u64) -> (i32, bool);
    fn pick_idle_cpu(&mut self, allowed: &CpuMask, flags: u64) -> i32;
    fn pick_any_cpu(&mut self, allowed: &CpuMask, flags: u64) -> i32;
    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool;

    /// `None`: the idle task.
    fn task_cpu(&self, task: Option<TaskId>) -> CpuId;
    fn task_running(&self, task: TaskId) -> bool;
    fn task_with_pid(&self, pid: i32) -> Option<TaskId>;
    /// Let a timer of the policy go off after this time; the number tells a later start from an earlier one.
    fn start_timer(&mut self, index: usize, ns: u64);
}

/// A walk through a dispatch queue, in the words of `struct bpf_iter_scx_dsq`.
#[derive(Clone, Copy)]
pub struct Walk {
    pub dsq: DsqIndex,
    /// The queue's count of insertions when the walk began: what came in later is not part of it.
    pub limit: u32,
    /// Where the walk is: index, key and order of the last task seen.
    pub at: Option<(u32, u64, i64)>,
    pub slice_ns: Option<u64>,
    pub vtime: Option<u64>,
}

// [queue + 1 | flags << 32, insertion limit | index << 32, key, order, slice, vtime].
const STARTED: u64 = 1 << 32;
const HAS_SLICE: u64 = 1 << 33;
const HAS_VTIME: u64 = 1 << 34;

impl Walk {
    fn read(words: &[u64; 6]) -> Option<Self> {
        let flags = words[0];
        Some(Self {
            dsq: DsqIndex((flags as u32).checked_sub(1)?),
            limit: words[1] as u32,
            at: (flags & STARTED != 0).then(|| {
                let index = (words[1] >> 32) as u32;
                (index, words[2], words[3].cast_signed())
            }),
            slice_ns: (flags & HAS_SLICE != 0).then_some(words[4]),
            vtime: (flags & HAS_VTIME != 0).then_some(words[5]),
        })
    }

    /// Write down where the walk is.
    fn write(&self, words: &mut [u64; 6]) {
        words[0] = words[0] & !u64::from(u32::MAX) | u64::from(self.dsq.0 + 1);
        words[1] = u64::from(self.limit);
        if let Some((index, key, order)) = self.at {
            words[0] |= STARTED;
            words[1] |= u64::from(index) << 32;
            words[2] = key;
            words[3] = order.cast_unsigned();
        }
    }
}

type Sim = *mut c_void;
type Task = *mut TaskStruct;
type Iter = *mut DsqIter;

pub(super) fn table<K: Kernel>(cpus: usize, masks: &super::Shared<Masks>) -> ScxHost {
    let masks = masks.pointer();
    // SAFETY: only addresses are taken.
    let (idle, idle_smt, online, possible) = unsafe {
        (
            &raw const (*masks).idle,
            &raw const (*masks).idle_smt,
            &raw const (*masks).online,
            &raw const (*masks).possible,
        )
    };
    ScxHost {
        now_ns: 0,
        cpu: 0,
        in_task: 1,
        nr_cpu_ids: cpus as u64,
        current: std::ptr::null_mut(),
        idle,
        idle_smt,
        online,
        possible,
        kfuncs: 0,
        steps: 0,
        sim: std::ptr::null_mut(),
        create_dsq: create_dsq::<K>,
        destroy_dsq: destroy_dsq::<K>,
        dsq_insert: dsq_insert::<K>,
        dsq_insert_vtime: dsq_insert_vtime::<K>,
        dsq_move_to_local: dsq_move_to_local::<K>,
        dsq_nr_queued: dsq_nr_queued::<K>,
        dsq_iter_new: dsq_iter_new::<K>,
        dsq_iter_next: dsq_iter_next::<K>,
        dsq_iter_destroy,
        dsq_move_set_slice,
        dsq_move_set_vtime,
        dsq_move: dsq_move::<K>,
        dsq_move_vtime: dsq_move_vtime::<K>,
        kick_cpu: kick_cpu::<K>,
        select_cpu_dfl: select_cpu_dfl::<K>,
        pick_idle_cpu: pick_idle_cpu::<K>,
        pick_any_cpu: pick_any_cpu::<K>,
        test_and_clear_cpu_idle: test_and_clear_cpu_idle::<K>,
        task_cpu: task_cpu::<K>,
        task_running: task_running::<K>,
        task_from_pid: task_from_pid::<K>,
        error: error::<K>,
        exit: exit::<K>,
        task_storage_get: task_storage_get::<K>,
        task_storage_delete: task_storage_delete::<K>,
        map_lookup: map_lookup::<K>,
        timer_init: timer_init::<K>,
        timer_set_callback: timer_set_callback::<K>,
        timer_start: timer_start::<K>,
        timer_cancel: timer_cancel::<K>,
    }
}

/// # Safety
/// `sim` is what [`super::enter`] put into the table for the call under way, and nothing else made of it is alive.
unsafe fn back<'k, K: Kernel>(sim: Sim) -> &'k mut K {
    // SAFETY: the caller's promise.
    unsafe { &mut *sim.cast::<K>() }
}

unsafe extern "C" fn create_dsq<K: Kernel>(sim: Sim, id: u64, node: i32) -> i32 {
    // SAFETY: called by the policy through the table; see `back`. So for all functions here.
    unsafe { back::<K>(sim) }.create_dsq(id, node)
}

unsafe extern "C" fn destroy_dsq<K: Kernel>(sim: Sim, id: u64) {
    // SAFETY: see create_dsq.
    unsafe { back::<K>(sim) }.destroy_dsq(id);
}

fn insert<K: Kernel>(kernel: &mut K, p: Task, verdict: Verdict) {
    match kernel.boundary().view.task_of(p) {
        Some(task) => kernel.insert(task, verdict),
        None => kernel.eject("called on a task that does not exist".to_string()),
    }
}

unsafe extern "C" fn dsq_insert<K: Kernel>(
    sim: Sim,
    p: Task,
    dsq_id: u64,
    slice: u64,
    enq_flags: u64,
) {
    let verdict = Verdict {
        dsq_id,
        slice,
        vtime: 0,
        enq_flags,
    };
    // SAFETY: see create_dsq.
    insert(unsafe { back::<K>(sim) }, p, verdict);
}

unsafe extern "C" fn dsq_insert_vtime<K: Kernel>(
    sim: Sim,
    p: Task,
    dsq_id: u64,
    slice: u64,
    vtime: u64,
    enq_flags: u64,
) {
    let verdict = Verdict {
        dsq_id,
        slice,
        vtime,
        enq_flags: enq_flags | ENQ_PRIQ,
    };
    // SAFETY: see create_dsq.
    insert(unsafe { back::<K>(sim) }, p, verdict);
}

unsafe extern "C" fn dsq_move_to_local<K: Kernel>(sim: Sim, id: u64) -> bool {
    // SAFETY: see create_dsq.
    unsafe { back::<K>(sim) }.move_to_local(id)
}

unsafe extern "C" fn dsq_nr_queued<K: Kernel>(sim: Sim, id: u64) -> i32 {
    // SAFETY: see create_dsq.
    unsafe { back::<K>(sim) }.nr_queued(id)
}

unsafe extern "C" fn dsq_iter_new<K: Kernel>(sim: Sim, it: Iter, id: u64, flags: u64) -> i32 {
    // SAFETY: see create_dsq; the iterator is a variable of the policy that nobody else refers to.
    let (kernel, words) = unsafe { (back::<K>(sim), &mut (*it).opaque) };
    *words = [0; 6];
    if flags != 0 {
        return EINVAL;
    }
    match kernel.walk(id) {
        None => ENOENT,
        Some(walk) => {
            walk.write(words);
            0
        }
    }
}

unsafe extern "C" fn dsq_iter_next<K: Kernel>(sim: Sim, it: Iter) -> Task {
    // SAFETY: see dsq_iter_new.
    let (kernel, words) = unsafe { (back::<K>(sim), &mut (*it).opaque) };
    let Some(mut walk) = Walk::read(words) else {
        return std::ptr::null_mut();
    };
    match kernel.walk_on(&mut walk) {
        None => std::ptr::null_mut(),
        Some(task) => {
            walk.write(words);
            kernel.boundary().view.pointer(task)
        }
    }
}

unsafe extern "C" fn dsq_iter_destroy(_sim: Sim, it: Iter) {
    // SAFETY: see dsq_iter_new.
    unsafe { (*it).opaque[0] = 0 };
}

unsafe extern "C" fn dsq_move_set_slice(_sim: Sim, it: Iter, slice: u64) {
    // SAFETY: see dsq_iter_new.
    let words = unsafe { &mut (*it).opaque };
    words[0] |= HAS_SLICE;
    words[4] = slice;
}

unsafe extern "C" fn dsq_move_set_vtime(_sim: Sim, it: Iter, vtime: u64) {
    // SAFETY: see dsq_iter_new.
    let words = unsafe { &mut (*it).opaque };
    words[0] |= HAS_VTIME;
    words[5] = vtime;
}

/// # Safety
/// As for [`dsq_iter_new`].
unsafe fn move_walked<K: Kernel>(sim: Sim, it: Iter, p: Task, dsq_id: u64, enq_flags: u64) -> bool {
    // SAFETY: the caller's promise. The words are read before the model may call the policy again.
    let (kernel, walk) = unsafe {
        let words = &mut (*it).opaque;
        let walk = Walk::read(words);
        words[0] &= !(HAS_SLICE | HAS_VTIME);
        (back::<K>(sim), walk)
    };
    let task = kernel.boundary().view.task_of(p);
    kernel.move_walked(task.zip(walk), dsq_id, enq_flags)
}

unsafe extern "C" fn dsq_move<K: Kernel>(
    sim: Sim,
    it: Iter,
    p: Task,
    dsq_id: u64,
    enq_flags: u64,
) -> bool {
    // SAFETY: see dsq_iter_new.
    unsafe { move_walked::<K>(sim, it, p, dsq_id, enq_flags) }
}

unsafe extern "C" fn dsq_move_vtime<K: Kernel>(
    sim: Sim,
    it: Iter,
    p: Task,
    dsq_id: u64,
    enq_flags: u64,
) -> bool {
    // SAFETY: see dsq_iter_new.
    unsafe { move_walked::<K>(sim, it, p, dsq_id, enq_flags | ENQ_PRIQ) }
}

unsafe extern "C" fn kick_cpu<K: Kernel>(sim: Sim, cpu: i32, flags: u64) {
    // SAFETY: see create_dsq.
    unsafe { back::<K>(sim) }.kick(cpu, flags);
}

unsafe extern "C" fn select_cpu_dfl<K: Kernel>(
    sim: Sim,
    p: Task,
    prev_cpu: i32,
    wake_flags: u64,
    is_idle: *mut bool,
) -> i32 {
    // SAFETY: see create_dsq.
    let kernel = unsafe { back::<K>(sim) };
    let (cpu, idle) = match kernel.boundary().view.task_of(p) {
        Some(task) => kernel.select_cpu_dfl(task, prev_cpu, wake_flags),
        None => (prev_cpu, false),
    };
    // SAFETY: a variable of the policy.
    unsafe { *is_idle = idle };
    cpu
}

unsafe extern "C" fn pick_idle_cpu<K: Kernel>(
    sim: Sim,
    allowed: *const CpuMask,
    flags: u64,
) -> i32 {
    // SAFETY: see create_dsq; a mask of a task or of the machine, copied, because the search changes the machine's.
    let (kernel, allowed) = unsafe { (back::<K>(sim), (*allowed).clone()) };
    kernel.pick_idle_cpu(&allowed, flags)
}

unsafe extern "C" fn pick_any_cpu<K: Kernel>(sim: Sim, allowed: *const CpuMask, flags: u64) -> i32 {
    // SAFETY: see pick_idle_cpu.
    let (kernel, allowed) = unsafe { (back::<K>(sim), (*allowed).clone()) };
    kernel.pick_any_cpu(&allowed, flags)
}

unsafe extern "C" fn test_and_clear_cpu_idle<K: Kernel>(sim: Sim, cpu: i32) -> bool {
    // SAFETY: see create_dsq.
    unsafe { back::<K>(sim) }.test_and_clear_cpu_idle(cpu)
}

unsafe extern "C" fn task_cpu<K: Kernel>(sim: Sim, p: *const TaskStruct) -> i32 {
    // SAFETY: see create_dsq.
    let kernel = unsafe { back::<K>(sim) };
    let task = kernel.boundary().view.task_of(p);
    kernel.task_cpu(task).0 as i32
}

unsafe extern "C" fn task_running<K: Kernel>(sim: Sim, p: *const TaskStruct) -> bool {
    // SAFETY: see create_dsq.
    let kernel = unsafe { back::<K>(sim) };
    let task = kernel.boundary().view.task_of(p);
    task.is_some_and(|task| kernel.task_running(task))
}

unsafe extern "C" fn task_from_pid<K: Kernel>(sim: Sim, pid: i32) -> Task {
    // SAFETY: see create_dsq.
    let kernel = unsafe { back::<K>(sim) };
    match kernel.task_with_pid(pid) {
        Some(task) => kernel.boundary().view.pointer(task),
        None => std::ptr::null_mut(),
    }
}

/// # Safety
/// `text` ends with a NUL.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

unsafe extern "C" fn error<K: Kernel>(sim: Sim, message: *const c_char) {
    // SAFETY: see create_dsq; the message was written by snprintf.
    let (kernel, message) = unsafe { (back::<K>(sim), text(message)) };
    kernel.eject(format!("scx_bpf_error ({message})"));
}

unsafe extern "C" fn exit<K: Kernel>(sim: Sim, code: i64, message: *const c_char) {
    // SAFETY: see error.
    let (kernel, message) = unsafe { (back::<K>(sim), text(message)) };
    kernel.eject(format!(
        "unregistered from BPF (exit code {code:#x}: {message})"
    ));
}

unsafe extern "C" fn task_storage_get<K: Kernel>(
    sim: Sim,
    map: *const c_void,
    p: Task,
    size: u64,
    flags: u64,
) -> *mut c_void {
    // SAFETY: see create_dsq.
    let boundary = unsafe { back::<K>(sim) }.boundary();
    let Some(task) = boundary.view.task_of(p) else {
        return std::ptr::null_mut();
    };
    let value = boundary.maps.task_value(map, task, size, flags & 1 != 0);
    if !value.is_null() {
        boundary.view.keep_storage(task, map, value);
    }
    value
}

unsafe extern "C" fn task_storage_delete<K: Kernel>(sim: Sim, map: *const c_void, p: Task) {
    // SAFETY: see create_dsq.
    let boundary = unsafe { back::<K>(sim) }.boundary();
    if let Some(task) = boundary.view.task_of(p) {
        boundary.maps.delete_task_value(map, task);
        if boundary.view.task(task).storage_map == map {
            boundary.view.forget_storage(task);
        }
    }
}

unsafe extern "C" fn map_lookup<K: Kernel>(
    sim: Sim,
    map: *const c_void,
    kind: u32,
    value_size: u64,
    max_entries: u64,
    key: u32,
    cpu: u32,
) -> *mut c_void {
    let shape = ArrayShape {
        map,
        per_cpu: kind == 6,
        value_size,
        entries: max_entries,
    };
    // SAFETY: see create_dsq.
    let maps = &mut unsafe { back::<K>(sim) }.boundary().maps;
    maps.element(&shape, u64::from(key), cpu as usize)
}

unsafe extern "C" fn timer_init<K: Kernel>(sim: Sim, timer: *mut Timer, map: *const c_void) -> i64 {
    // SAFETY: see create_dsq.
    unsafe { back::<K>(sim) }
        .boundary()
        .maps
        .timer_init(timer, map)
}

unsafe extern "C" fn timer_set_callback<K: Kernel>(
    sim: Sim,
    timer: *mut Timer,
    callback: TimerCallback,
) -> i64 {
    // SAFETY: see create_dsq.
    let maps = &mut unsafe { back::<K>(sim) }.boundary().maps;
    maps.timer_set_callback(timer, callback)
}

unsafe extern "C" fn timer_start<K: Kernel>(
    sim: Sim,
    timer: *mut Timer,
    ns: u64,
    _flags: u64,
) -> i64 {
    // SAFETY: see create_dsq.
    let kernel = unsafe { back::<K>(sim) };
    match kernel.boundary().maps.timer_index(timer) {
        None => i64::from(EINVAL),
        Some(index) => {
            kernel.start_timer(index, ns);
            0
        }
    }
}

unsafe extern "C" fn timer_cancel<K: Kernel>(sim: Sim, timer: *mut Timer) -> i64 {
    // SAFETY: see create_dsq.
    let maps = &mut unsafe { back::<K>(sim) }.boundary().maps;
    maps.timer_cancel(timer)
}
