// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy in Rust against a stand-in of the model, made to hold pointers across everything that could overtake them.

use std::cell::Cell;
use std::ffi::{c_char, c_void};

use policy::abi::{DsqIter, ExitInfo, SchedExtOps, ScxHost, TaskStruct, Timer};

use super::{Boundary, Kernel, Moment, Walk, enter, leave};
use crate::consts::{DSQ_LOCAL, ENQ_PRIQ};
use crate::ids::{CpuId, DsqIndex, TaskId};
use crate::mask::{self, CpuMask};
use crate::task::Verdict;

thread_local! {
    /// The policy's `__scx_host`.
    static HOST: Cell<*mut ScxHost> = const { Cell::new(std::ptr::null_mut()) };
}

/// One queue, one CPU, and a record of what was asked.
struct Toy {
    boundary: Boundary,
    queue: Vec<TaskId>,
    asked: Vec<String>,
    kfuncs: u64,
    timer: Option<usize>,
}

impl Kernel for Toy {
    fn boundary(&mut self) -> &mut Boundary {
        &mut self.boundary
    }

    fn moment(&self) -> Moment {
        Moment {
            clock_ns: 7,
            cpu: CpuId(0),
            in_interrupt: false,
            current: TaskId(0),
        }
    }

    fn calls(&mut self, op: &'static str) {
        self.asked.push(op.to_string());
    }

    fn charge_policy(&mut self, kfuncs: u64, _steps: u64) {
        self.kfuncs += kfuncs;
    }

    fn eject(&mut self, reason: String) {
        self.asked.push(reason);
    }

    fn create_dsq(&mut self, _id: u64, _node: i32) -> i32 {
        0
    }

    fn destroy_dsq(&mut self, _id: u64) {}

    fn insert(&mut self, task: TaskId, verdict: Verdict) {
        // The model writes to what the policy holds a pointer to.
        let scx = &mut self.boundary.view.task_mut(task).scx;
        scx.slice = verdict.slice;
        if verdict.enq_flags & ENQ_PRIQ != 0 {
            scx.dsq_vtime = verdict.vtime;
        }
        self.queue.push(task);
    }

    /// Calls the policy from within its own call, as the kernel does when a task leaves its custody.
    fn move_to_local(&mut self, _dsq_id: u64) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let task = self.queue.remove(0);
        call!(self, dequeue, self.boundary.view.pointer(task), 5);
        self.boundary.view.task_mut(task).scx.flags |= 1;
        true
    }

    fn nr_queued(&self, _dsq_id: u64) -> i32 {
        self.queue.len() as i32
    }

    fn walk(&self, _dsq_id: u64) -> Option<Walk> {
        Some(Walk {
            dsq: DsqIndex(0),
            limit: 0,
            at: None,
            slice_ns: None,
            vtime: None,
        })
    }

    fn walk_on(&self, walk: &mut Walk) -> Option<TaskId> {
        let index = walk.at.map_or(0, |(index, ..)| index + 1);
        walk.at = Some((index, 0, 0));
        self.queue.get(index as usize).copied()
    }

    fn move_walked(&mut self, what: Option<(TaskId, Walk)>, _dsq_id: u64, _flags: u64) -> bool {
        let Some((task, walk)) = what else {
            return false;
        };
        self.queue.retain(|other| *other != task);
        call!(self, dequeue, self.boundary.view.pointer(task), 6);
        let scx = &mut self.boundary.view.task_mut(task).scx;
        scx.slice = walk.slice_ns.unwrap_or(scx.slice);
        true
    }

    fn kick(&mut self, cpu: i32, _flags: u64) {
        self.asked.push(format!("kick {cpu}"));
    }

    fn select_cpu_dfl(&mut self, _task: TaskId, prev_cpu: i32, _flags: u64) -> (i32, bool) {
        mask::clear(&mut self.boundary.view.masks.idle, CpuId(0));
        (prev_cpu, true)
    }

    fn pick_idle_cpu(&mut self, allowed: &CpuMask, _flags: u64) -> i32 {
        let idle = &mut self.boundary.view.masks.idle;
        let found = mask::first(&mask::and(idle, allowed));
        found.map_or(-16, |cpu| {
            mask::clear(idle, cpu);
            cpu.0 as i32
        })
    }

    fn pick_any_cpu(&mut self, allowed: &CpuMask, _flags: u64) -> i32 {
        mask::first(allowed).map_or(-16, |cpu| cpu.0 as i32)
    }

    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool {
        mask::clear(&mut self.boundary.view.masks.idle, CpuId(cpu as u32));
        true
    }

    fn task_cpu(&self, _task: Option<TaskId>) -> CpuId {
        CpuId(0)
    }

    fn task_running(&self, task: TaskId) -> bool {
        task == TaskId(0)
    }

    fn task_with_pid(&self, pid: i32) -> Option<TaskId> {
        (pid == 1_000).then_some(TaskId(0))
    }

    fn start_timer(&mut self, index: usize, _ns: u64) {
        self.boundary.maps.timer_started(index, 1, CpuId(0));
        self.timer = Some(index);
    }
}

fn host() -> *mut ScxHost {
    HOST.get()
}

/// A map is known by its address only.
fn map() -> *const c_void {
    static MAP: u8 = 0;
    (&raw const MAP).cast()
}

unsafe fn storage(p: *mut TaskStruct) -> *mut u64 {
    let h = host();
    unsafe { ((*h).task_storage_get)((*h).sim, map(), p, 8, 1).cast() }
}

unsafe fn element(key: u32) -> *mut u64 {
    let h = host();
    unsafe { ((*h).map_lookup)((*h).sim, map(), 2, 32, 2, key, 0).cast() }
}

unsafe extern "C" fn select_cpu(p: *mut TaskStruct, prev: i32, flags: u64) -> i32 {
    unsafe {
        let h = host();
        let idle_before = (*(*h).idle).bits[0];
        let mut idle = false;
        let cpu = ((*h).select_cpu_dfl)((*h).sim, p, prev, flags, &raw mut idle);
        // Through the same pointer, after the model has changed the mask.
        assert_eq!((idle_before, (*(*h).idle).bits[0], idle), (3, 2, true));
        let picked = ((*h).pick_idle_cpu)((*h).sim, (*p).cpus_ptr, 0);
        assert_eq!((picked, (*(*h).idle).bits[0]), (1, 0));
        (*h).kfuncs += 2;
        cpu
    }
}

unsafe extern "C" fn enqueue(p: *mut TaskStruct, _flags: u64) {
    unsafe {
        let h = host();
        let (first, slice) = (storage(p), &raw mut (*p).scx.slice);
        *first = 40;
        *slice = 1;
        ((*h).dsq_insert_vtime)((*h).sim, p, 3, 100, 9, 0);
        assert_eq!((*slice, (*p).scx.dsq_vtime), (100, 9));
        *slice += 1;
        // A second pointer to the same storage leaves the first one good.
        *storage(p) += 1;
        *first += 1;
        assert_eq!(*storage(p), 42);
        (*h).kfuncs += 1;
    }
}

unsafe extern "C" fn dispatch(_cpu: i32, prev: *mut TaskStruct) {
    unsafe {
        let h = host();
        let mut it = DsqIter { opaque: [0; 6] };
        assert_eq!(((*h).dsq_iter_new)((*h).sim, &raw mut it, 3, 0), 0);
        let p = ((*h).dsq_iter_next)((*h).sim, &raw mut it);
        ((*h).dsq_move_set_slice)((*h).sim, &raw mut it, 77);
        // Both moves lead to a nested call of `dequeue`, after which this call goes on with what it had.
        assert!(((*h).dsq_move)((*h).sim, &raw mut it, p, DSQ_LOCAL, 0));
        assert_eq!(((*p).scx.slice, *storage(p)), (77, 43));
        assert!(((*h).dsq_iter_next)((*h).sim, &raw mut it).is_null());
        ((*h).dsq_iter_destroy)((*h).sim, &raw mut it);
        assert!(((*h).dsq_move_to_local)((*h).sim, 3));
        (*prev).scx.slice += 1;
        assert_eq!(((*h).dsq_nr_queued)((*h).sim, 3), 0);
        ((*h).kick_cpu)((*h).sim, 1, 0);
    }
}

unsafe extern "C" fn dequeue(p: *mut TaskStruct, _flags: u64) {
    unsafe {
        *storage(p) += 1;
        let h = host();
        assert_eq!(((*h).task_cpu)((*h).sim, p), 0);
    }
}

unsafe extern "C" fn goes_off(_map: *mut c_void, key: *mut i32, value: *mut c_void) -> i32 {
    unsafe {
        assert_eq!(*key, 1);
        *value.cast::<u64>().add(3) += 1;
        *element(1).add(3) as i32
    }
}

unsafe extern "C" fn init() -> i32 {
    unsafe {
        let h = host();
        let (zero, one) = (element(0), element(1));
        *zero = 1;
        *one.add(3) = 2;
        // Elements of one array, looked up in turn, stay good together.
        *element(0) += 1;
        assert_eq!((*zero, *one.add(3)), (2, 2));
        let timer = one.cast::<Timer>();
        assert_eq!(((*h).timer_init)((*h).sim, timer, map()), 0);
        assert_eq!(((*h).timer_set_callback)((*h).sim, timer, goes_off), 0);
        assert_eq!(((*h).timer_start)((*h).sim, timer, 5, 0), 0);
        let p = ((*h).task_from_pid)((*h).sim, 1_000);
        assert!(((*h).task_running)((*h).sim, p));
        0
    }
}

unsafe extern "C" fn exit(info: *mut ExitInfo) {
    unsafe {
        let h = host();
        ((*h).error)((*h).sim, (*info).msg);
        ((*h).task_storage_delete)((*h).sim, map(), (*h).current);
    }
}

fn toy() -> Toy {
    let ops = SchedExtOps {
        select_cpu: Some(select_cpu),
        enqueue: Some(enqueue),
        dequeue: Some(dequeue),
        dispatch: Some(dispatch),
        tick: None,
        runnable: None,
        running: None,
        stopping: None,
        quiescent: None,
        yield_: None,
        set_weight: None,
        set_cpumask: None,
        update_idle: None,
        init_task: None,
        exit_task: None,
        enable: None,
        disable: None,
        cpu_online: None,
        cpu_offline: None,
        init: Some(init),
        exit: Some(exit),
        dispatch_max_batch: 0,
        flags: 0,
        timeout_ms: 0,
        exit_dump_len: 0,
        hotplug_seq: 0,
        name: [0 as c_char; 128],
    };
    let toy = Toy {
        boundary: Boundary::new::<Toy>(ops, 2, 3),
        queue: Vec::new(),
        asked: Vec::new(),
        kfuncs: 0,
        timer: None,
    };
    HOST.set(toy.boundary.host());
    toy
}

#[test]
fn pointers_stay_good_across_kfuncs_and_nested_calls() {
    let toy = &mut toy();
    let task = |toy: &Toy, index| toy.boundary.view.pointer(TaskId(index));
    assert_eq!(call!(toy, init), Some(0));
    assert_eq!(call!(toy, select_cpu, task(toy, 1), 0, 0), Some(0));
    assert_eq!(toy.kfuncs, 2);
    call!(toy, enqueue, task(toy, 1), 0);
    call!(toy, enqueue, task(toy, 2), 0);
    assert_eq!(toy.boundary.view.task(TaskId(1)).scx.slice, 101);
    call!(toy, dispatch, 0, task(toy, 0));
    assert_eq!(toy.boundary.view.task(TaskId(2)).scx.flags, 1);
    let expected = [
        "init",
        "select_cpu",
        "enqueue",
        "enqueue",
        "dispatch",
        "dequeue",
        "dequeue",
        "kick 1",
    ];
    assert_eq!(toy.asked, expected);
}

#[test]
fn an_affinity_that_changes_leaves_the_policy_a_good_pointer() {
    let toy = &mut toy();
    for cpus in [Some(mask::of([CpuId(1)])), None, Some(mask::of([CpuId(0)]))] {
        let expected = cpus.clone().map_or(3, |cpus| cpus.bits[0]);
        toy.boundary.view.confine(TaskId(0), cpus);
        let p = toy.boundary.view.pointer(TaskId(0));
        // SAFETY: a task's struct and its mask are in place.
        assert_eq!(unsafe { (*(*p).cpus_ptr).bits[0] }, expected);
    }
}

#[test]
fn timers_go_off_in_the_element_they_lie_in() {
    let toy = &mut toy();
    call!(toy, init);
    let due = toy.boundary.maps.timer_due(toy.timer.unwrap(), 1);
    let (cpu, Some(timer)) = due.unwrap() else {
        panic!("it has a callback");
    };
    assert_eq!(cpu, CpuId(0));
    let entered = enter(toy);
    // SAFETY: entered just now.
    unsafe { timer.run() };
    leave(toy, entered);
    assert!(toy.boundary.maps.timer_due(0, 1).is_none(), "only once");
}

#[test]
fn the_end_takes_storage_away() {
    let toy = &mut toy();
    call!(toy, enqueue, toy.boundary.view.pointer(TaskId(0)), 0);
    let message = c"so be it";
    let mut info = ExitInfo {
        kind: 64,
        exit_code: 0,
        reason: message.as_ptr(),
        msg: message.as_ptr(),
    };
    call!(toy, exit, &raw mut info);
    assert!(toy.asked.contains(&"scx_bpf_error (so be it)".to_string()));
    assert!(toy.boundary.view.task(TaskId(0)).storage.is_null());
}
