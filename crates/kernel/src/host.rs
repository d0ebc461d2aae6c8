// SPDX-License-Identifier: GPL-2.0-or-later
//! The table of functions that a policy calls, and the way from C back into the simulation.

use crate::ids::{CpuId, DsqIndex};
use std::ffi::{CStr, c_char, c_void};

use policy::abi::{CpuMask, DsqIter, ScxHost, TaskStruct, Timer, TimerCallback};

use crate::consts::ENQ_PRIQ;
use crate::maps::ArrayShape;
use crate::sim::{Context, Masks, Sim};
use crate::task::{Place, Task, Verdict};

const EINVAL: i32 = -22;
const EBUSY: i32 = -16;
const ENOENT: i32 = -2;

pub(crate) fn table(cpus: usize, masks: &Masks) -> ScxHost {
    ScxHost {
        now_ns: 0,
        cpu: 0,
        in_task: 1,
        nr_cpu_ids: cpus as u64,
        current: std::ptr::null_mut(),
        idle: &raw const masks.idle,
        idle_smt: &raw const masks.idle_smt,
        online: &raw const masks.online,
        possible: &raw const masks.possible,
        kfuncs: 0,
        steps: 0,
        sim: std::ptr::null_mut(),
        create_dsq,
        destroy_dsq,
        dsq_insert,
        dsq_insert_vtime,
        dsq_move_to_local,
        dsq_nr_queued,
        dsq_iter_new,
        dsq_iter_next,
        dsq_iter_destroy,
        dsq_move_set_slice,
        dsq_move_set_vtime,
        dsq_move,
        dsq_move_vtime,
        kick_cpu,
        select_cpu_dfl,
        pick_idle_cpu,
        pick_any_cpu,
        test_and_clear_cpu_idle,
        task_cpu,
        task_running,
        task_from_pid,
        error,
        exit,
        task_storage_get,
        task_storage_delete,
        map_lookup,
        timer_init,
        timer_set_callback,
        timer_start,
        timer_cancel,
    }
}

/// # Safety
/// `sim` is what `enter_policy` put into the table, and the simulation does nothing else during the callback.
unsafe fn back<'s>(sim: *mut c_void) -> &'s mut Sim<'s> {
    // SAFETY: the caller's promise.
    unsafe { &mut *sim.cast::<Sim<'s>>() }
}

impl Sim<'_> {
    fn cpu_ok(&mut self, cpu: i32) -> bool {
        let ok = cpu >= 0 && (cpu as usize) < self.cpus.len();
        if !ok {
            self.eject(format!("invalid CPU {cpu}"));
        }
        ok
    }
}

unsafe extern "C" fn create_dsq(sim: *mut c_void, id: u64, node: i32) -> i32 {
    // SAFETY: called by the policy through the table; see `back`. So for all functions here.
    let sim = unsafe { back(sim) };
    if node >= sim.topology.nodes() as i32 || node < -1 {
        return EINVAL;
    }
    sim.create_dsq(id)
}

unsafe extern "C" fn destroy_dsq(sim: *mut c_void, id: u64) {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.destroy_dsq(id);
}

unsafe extern "C" fn dsq_insert(
    sim: *mut c_void,
    p: *mut TaskStruct,
    dsq_id: u64,
    slice: u64,
    enq_flags: u64,
) {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    match sim.task_of(p) {
        Some(id) => sim.insert(
            id,
            Verdict {
                dsq_id,
                slice,
                vtime: 0,
                enq_flags,
            },
        ),
        None => sim.eject("called on a task that does not exist".to_string()),
    }
}

unsafe extern "C" fn dsq_insert_vtime(
    sim: *mut c_void,
    p: *mut TaskStruct,
    dsq_id: u64,
    slice: u64,
    vtime: u64,
    enq_flags: u64,
) {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    let enq_flags = enq_flags | ENQ_PRIQ;
    match sim.task_of(p) {
        Some(id) => sim.insert(
            id,
            Verdict {
                dsq_id,
                slice,
                vtime,
                enq_flags,
            },
        ),
        None => sim.eject("called on a task that does not exist".to_string()),
    }
}

unsafe extern "C" fn dsq_move_to_local(sim: *mut c_void, id: u64) -> bool {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.move_to_local(id)
}

unsafe extern "C" fn dsq_nr_queued(sim: *mut c_void, id: u64) -> i32 {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.nr_queued(id)
}

// An iterator's words: [queue + 1 | flags << 32, insertion limit | hint << 32, key, order, slice, vtime].
const STARTED: u64 = 1 << 32;
const HAS_SLICE: u64 = 1 << 33;
const HAS_VTIME: u64 = 1 << 34;

unsafe extern "C" fn dsq_iter_new(sim: *mut c_void, it: *mut DsqIter, id: u64, flags: u64) -> i32 {
    // SAFETY: see create_dsq; the iterator is a variable of the policy that nobody else refers to.
    let (sim, it) = unsafe { (back(sim), &mut (*it).opaque) };
    *it = [0; 6];
    if flags != 0 {
        return EINVAL;
    }
    match sim.find_dsq(id) {
        None => ENOENT,
        Some(dsq) => {
            it[0] = u64::from(dsq.0) + 1;
            it[1] = u64::from(sim.dsqs[dsq].seq());
            0
        }
    }
}

unsafe extern "C" fn dsq_iter_next(sim: *mut c_void, it: *mut DsqIter) -> *mut TaskStruct {
    // SAFETY: see dsq_iter_new.
    let (sim, it) = unsafe { (back(sim), &mut (*it).opaque) };
    let Some(dsq) = (it[0] as u32).checked_sub(1).map(DsqIndex) else {
        return std::ptr::null_mut();
    };
    let limit = it[1] as u32;
    let entries = &sim.dsqs[dsq];
    let mut index = if it[0] & STARTED == 0 {
        0
    } else {
        let place = crate::dsq::Place {
            key: it[2],
            order: it[3].cast_signed(),
        };
        entries.after(place, (it[1] >> 32) as usize)
    };
    while let Some(entry) = entries.entries.get(index) {
        // What came in after the walk began is not part of it.
        if (entry.seq.wrapping_sub(limit)).cast_signed() <= 0 {
            it[0] |= STARTED;
            it[1] = u64::from(limit) | (index as u64) << 32;
            it[2] = entry.key;
            it[3] = entry.order.cast_unsigned();
            return sim.seen_ptr(entry.task);
        }
        index += 1;
    }
    std::ptr::null_mut()
}

unsafe extern "C" fn dsq_iter_destroy(_sim: *mut c_void, it: *mut DsqIter) {
    // SAFETY: see dsq_iter_new.
    unsafe { (*it).opaque[0] = 0 };
}

unsafe extern "C" fn dsq_move_set_slice(_sim: *mut c_void, it: *mut DsqIter, slice: u64) {
    // SAFETY: see dsq_iter_new.
    let it = unsafe { &mut (*it).opaque };
    it[0] |= HAS_SLICE;
    it[4] = slice;
}

unsafe extern "C" fn dsq_move_set_vtime(_sim: *mut c_void, it: *mut DsqIter, vtime: u64) {
    // SAFETY: see dsq_iter_new.
    let it = unsafe { &mut (*it).opaque };
    it[0] |= HAS_VTIME;
    it[5] = vtime;
}

unsafe extern "C" fn dsq_move(
    sim: *mut c_void,
    it: *mut DsqIter,
    p: *mut TaskStruct,
    dsq_id: u64,
    enq_flags: u64,
) -> bool {
    // SAFETY: see dsq_iter_new.
    let (sim, it) = unsafe { (back(sim), &mut (*it).opaque) };
    move_task(sim, it, p, dsq_id, enq_flags)
}

unsafe extern "C" fn dsq_move_vtime(
    sim: *mut c_void,
    it: *mut DsqIter,
    p: *mut TaskStruct,
    dsq_id: u64,
    enq_flags: u64,
) -> bool {
    // SAFETY: see dsq_iter_new.
    let (sim, it) = unsafe { (back(sim), &mut (*it).opaque) };
    move_task(sim, it, p, dsq_id, enq_flags | ENQ_PRIQ)
}

fn move_task(
    sim: &mut Sim,
    it: &mut [u64; 6],
    p: *mut TaskStruct,
    dsq_id: u64,
    enq_flags: u64,
) -> bool {
    let flags = it[0];
    it[0] &= !(HAS_SLICE | HAS_VTIME);
    if matches!(sim.context, Context::Enqueue(_) | Context::Enqueued(_)) {
        sim.eject("scx_bpf_dsq_move() called from select_cpu or enqueue".to_string());
        return false;
    }
    let (Some(id), Some(dsq)) = (sim.task_of(p), (it[0] as u32).checked_sub(1).map(DsqIndex))
    else {
        return false;
    };
    let task = &sim.tasks[id];
    let limit = it[1] as u32;
    // Gone, or back in the queue since the walk began.
    if task.place != Place::Dsq(dsq) || task.dsq_seq.wrapping_sub(limit).cast_signed() > 0 {
        return false;
    }
    let scx = &mut sim.seen(id).scx;
    if flags & HAS_SLICE != 0 {
        scx.slice = it[4];
    }
    if flags & HAS_VTIME != 0 {
        scx.dsq_vtime = it[5];
    }
    sim.move_between(id, dsq_id, enq_flags)
}

unsafe extern "C" fn kick_cpu(sim: *mut c_void, cpu: i32, flags: u64) {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    if sim.cpu_ok(cpu) {
        sim.kick(CpuId(cpu as u32), flags);
    }
}

unsafe extern "C" fn select_cpu_dfl(
    sim: *mut c_void,
    p: *mut TaskStruct,
    prev_cpu: i32,
    wake_flags: u64,
    is_idle: *mut bool,
) -> i32 {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    let (cpu, idle) = match sim.task_of(p) {
        Some(id) if sim.cpu_ok(prev_cpu) && sim.needs_builtin_idle() => {
            match sim.select_cpu_dfl(id, CpuId(prev_cpu as u32), wake_flags) {
                Some(cpu) => (cpu.0 as i32, true),
                None => (prev_cpu, false),
            }
        }
        _ => (prev_cpu, false),
    };
    // SAFETY: a variable of the policy.
    unsafe { *is_idle = idle };
    cpu
}

unsafe extern "C" fn pick_idle_cpu(sim: *mut c_void, allowed: *const CpuMask, flags: u64) -> i32 {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    if !sim.needs_builtin_idle() {
        return EBUSY;
    }
    // SAFETY: a mask of a task or of the machine; copied, because the search changes the machine's.
    let allowed = unsafe { (*allowed).clone() };
    sim.pick_idle(&allowed, flags)
        .map_or(EBUSY, |cpu| cpu.0 as i32)
}

unsafe extern "C" fn pick_any_cpu(sim: *mut c_void, allowed: *const CpuMask, flags: u64) -> i32 {
    // SAFETY: see create_dsq and pick_idle_cpu.
    let (sim, allowed) = unsafe { (back(sim), (*allowed).clone()) };
    if sim.builtin_idle
        && let Some(cpu) = sim.pick_idle(&allowed, flags)
    {
        return cpu.0 as i32;
    }
    sim.pick_any(&allowed).map_or(EBUSY, |cpu| cpu.0 as i32)
}

unsafe extern "C" fn test_and_clear_cpu_idle(sim: *mut c_void, cpu: i32) -> bool {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    sim.needs_builtin_idle() && sim.cpu_ok(cpu) && sim.claim_idle(CpuId(cpu as u32))
}

unsafe extern "C" fn task_cpu(sim: *mut c_void, p: *const TaskStruct) -> i32 {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    match sim.task_of(p) {
        Some(id) => sim.tasks[id].cpu.0 as i32,
        // The idle task is wherever it is looked at.
        None => sim.op_cpu.0 as i32,
    }
}

unsafe extern "C" fn task_running(sim: *mut c_void, p: *const TaskStruct) -> bool {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    sim.task_of(p)
        .is_some_and(|id| sim.cpus[sim.tasks[id].cpu].curr == id)
}

unsafe extern "C" fn task_from_pid(sim: *mut c_void, pid: i32) -> *mut TaskStruct {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    match crate::lifecycle::task_of_pid(pid) {
        Some(id) if sim.tasks.get(id).is_some_and(Task::alive) => sim.seen_ptr(id),
        _ => std::ptr::null_mut(),
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

unsafe extern "C" fn error(sim: *mut c_void, message: *const c_char) {
    // SAFETY: see create_dsq; the message was written by snprintf.
    let (sim, message) = unsafe { (back(sim), text(message)) };
    sim.eject(format!("scx_bpf_error ({message})"));
}

unsafe extern "C" fn exit(sim: *mut c_void, code: i64, message: *const c_char) {
    // SAFETY: see error.
    let (sim, message) = unsafe { (back(sim), text(message)) };
    sim.eject(format!(
        "unregistered from BPF (exit code {code:#x}: {message})"
    ));
}

unsafe extern "C" fn task_storage_get(
    sim: *mut c_void,
    map: *const c_void,
    p: *mut TaskStruct,
    size: u64,
    flags: u64,
) -> *mut c_void {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    let Some(id) = sim.task_of(p) else {
        return std::ptr::null_mut();
    };
    let value = sim.maps.task_value(map, id, size, flags & 1 != 0);
    if !value.is_null() {
        let seen = sim.seen(id);
        seen.storage_map = map;
        seen.storage = value;
    }
    value
}

unsafe extern "C" fn task_storage_delete(sim: *mut c_void, map: *const c_void, p: *mut TaskStruct) {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    if let Some(id) = sim.task_of(p) {
        sim.maps.delete_task_value(map, id);
        let seen = sim.seen(id);
        if seen.storage_map == map {
            seen.storage_map = std::ptr::null();
            seen.storage = std::ptr::null_mut();
        }
    }
}

unsafe extern "C" fn map_lookup(
    sim: *mut c_void,
    map: *const c_void,
    kind: u32,
    value_size: u64,
    max_entries: u64,
    key: u32,
    cpu: u32,
) -> *mut c_void {
    // SAFETY: see create_dsq.
    let sim = unsafe { back(sim) };
    let cpus = sim.cpus.len();
    let shape = ArrayShape {
        map,
        per_cpu: kind == 6,
        value_size,
        entries: max_entries,
    };
    sim.maps.element(&shape, cpus, u64::from(key), cpu as usize)
}

unsafe extern "C" fn timer_init(sim: *mut c_void, timer: *mut Timer, map: *const c_void) -> i64 {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.timer_init(timer, map)
}

unsafe extern "C" fn timer_set_callback(
    sim: *mut c_void,
    timer: *mut Timer,
    callback: TimerCallback,
) -> i64 {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.timer_set_callback(timer, callback)
}

unsafe extern "C" fn timer_start(sim: *mut c_void, timer: *mut Timer, ns: u64, _flags: u64) -> i64 {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.timer_start(timer, ns)
}

unsafe extern "C" fn timer_cancel(sim: *mut c_void, timer: *mut Timer) -> i64 {
    // SAFETY: see create_dsq.
    unsafe { back(sim) }.timer_cancel(timer)
}

impl Sim<'_> {
    /// The built-in idle tracking is off when the policy does its own.
    fn needs_builtin_idle(&mut self) -> bool {
        if !self.builtin_idle {
            self.eject("built-in idle tracking is disabled".to_string());
        }
        self.builtin_idle
    }

    fn nr_queued(&self, id: u64) -> i32 {
        use crate::consts::{DSQ_GLOBAL, DSQ_LOCAL, DSQ_LOCAL_ON};
        if id == DSQ_LOCAL {
            return self.cpus[self.op_cpu].local.len() as i32;
        }
        if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            return self
                .cpus
                .get(CpuId(id as u32))
                .map_or(ENOENT, |cpu| cpu.local.len() as i32);
        }
        if id == DSQ_GLOBAL {
            return ENOENT;
        }
        self.find_dsq(id)
            .map_or(ENOENT, |dsq| self.dsqs[dsq].len() as i32)
    }
}
