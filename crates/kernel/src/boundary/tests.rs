// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy in Rust against a stand-in of the model, made to hold pointers across everything that could overtake them.

use std::collections::BTreeMap;

use bpf::host::{Allowed, Call, Host};
use bpf::image;

use workload::draw::Stream;

use super::maps::{Handle, kind};
use super::register::Register;
use super::release::Release;
use super::shown::{DsqIter, ExitInfo, ExitKind, TaskStruct, Timer};
use super::world::World;
use super::{Boundary, Callback, Code, Kernel, Moment, Ops, Walk, Work, helpers, kfuncs};
use crate::consts::{DSQ_LOCAL, ENQ_PRIQ};
use crate::end::Ejection;
use crate::ids::{CpuId, DsqIndex, TaskId};
use crate::mask::{self, CpuMask};
use crate::task::Verdict;

/// One queue, one CPU, and a record of what was asked.
struct Toy {
    boundary: Boundary,
    queue: Vec<TaskId>,
    asked: Vec<String>,
    work: Work,
    timer: Option<usize>,
}

impl Toy {
    fn call<const N: usize>(&mut self, callback: Callback, arguments: [u64; N]) -> Option<u64> {
        super::call(self, callback, arguments)
    }

    fn task(&self, index: u32) -> u64 {
        self.boundary.view.address(TaskId(index))
    }
}

impl Kernel for Toy {
    fn boundary(&mut self) -> &mut Boundary {
        &mut self.boundary
    }

    fn moment(&self) -> Moment {
        Moment {
            now_ns: 7,
            ktime_ns: 7,
            cpu: CpuId(0),
            in_interrupt: false,
            current: TaskId(0),
        }
    }

    fn calls(&mut self, callback: Callback) {
        self.asked.push(callback.name().to_string());
    }

    fn seam(&mut self, _call: &'static str) {}

    fn cannot_wait(&mut self) {
        self.asked.push("cannot wait".to_string());
    }

    fn charge_policy(&mut self, work: Work) {
        self.work.instructions += work.instructions;
        self.work.outside += work.outside;
    }

    fn fault(&mut self, fault: &Host) {
        self.asked.push(format!("fault {}", fault.fault));
    }

    fn eject(&mut self, message: String) {
        self.asked.push(message);
    }

    fn throw_out(&mut self, ejection: Ejection) {
        self.asked.push(ejection.to_string());
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
    fn move_to_local(&mut self, _dsq_id: u64, _enq_flags: u64) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let task = self.queue.remove(0);
        self.call(Callback::Dequeue, [self.boundary.view.address(task), 5]);
        self.boundary.view.task_mut(task).scx.flags |= 1;
        true
    }

    fn nr_queued(&self, _dsq_id: u64) -> i32 {
        self.queue.len() as i32
    }

    fn walk(&self, _dsq_id: u64, is_reversed: bool) -> Option<Walk> {
        Some(Walk {
            dsq: DsqIndex(0),
            limit: 0,
            at: None,
            slice_ns: None,
            vtime: None,
            is_reversed,
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
        self.call(Callback::Dequeue, [self.boundary.view.address(task), 6]);
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

    fn pick_idle_cpu_node(&mut self, allowed: &CpuMask, _node: i32, flags: u64) -> i32 {
        self.pick_idle_cpu(allowed, flags)
    }

    fn pick_any_cpu_node(&mut self, allowed: &CpuMask, _node: i32, flags: u64) -> i32 {
        self.pick_any_cpu(allowed, flags)
    }

    fn node_cpus(&mut self, _node: i32) -> Option<CpuMask> {
        None
    }

    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool {
        mask::clear(&mut self.boundary.view.masks.idle, CpuId(cpu as u32));
        true
    }

    fn select_cpu_and(&mut self, _: TaskId, prev: i32, _: u64, _: &CpuMask, _: u64) -> i32 {
        prev
    }

    fn current_of(&mut self, _cpu: i32) -> Option<TaskId> {
        Some(TaskId(0))
    }

    fn node_of(&mut self, _cpu: i32) -> i32 {
        0
    }

    fn peek(&self, _dsq_id: u64) -> Option<TaskId> {
        self.queue.first().copied()
    }

    fn dispatch_slots(&self) -> u32 {
        0
    }

    fn cancel_dispatch(&mut self) {}

    fn reenqueue_local(&mut self) -> u32 {
        0
    }

    fn reenqueue_later(&mut self, _dsq_id: u64) {}

    fn nodes(&self) -> u32 {
        1
    }
    fn capacity_of(&mut self, _cpu: i32) -> u32 {
        1_024
    }
    fn speed_of(&mut self, _cpu: i32) -> u32 {
        1_024
    }
    fn ask_for_speed(&mut self, _cpu: i32, _target: u32) {}

    fn print(&mut self, text: &str) {
        self.asked.push(text.to_owned());
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
        self.boundary.maps.timer_started(index, 1, 0, CpuId(0));
        self.timer = Some(index);
    }
}

/// What the policy calls, in the order of its table of calls.
const HELPERS: [u32; 6] = [1, 156, 157, 169, 170, 171];
const KFUNCS: [&str; 16] = [
    "scx_bpf_select_cpu_dfl",
    "scx_bpf_pick_idle_cpu",
    "scx_bpf_dsq_insert_vtime",
    "bpf_iter_scx_dsq_new",
    "bpf_iter_scx_dsq_next",
    "bpf_iter_scx_dsq_destroy",
    "scx_bpf_dsq_move_set_slice",
    "scx_bpf_dsq_move",
    "scx_bpf_dsq_move_to_local",
    "scx_bpf_dsq_nr_queued",
    "scx_bpf_kick_cpu",
    "scx_bpf_task_cpu",
    "bpf_task_from_pid",
    "scx_bpf_task_running",
    "scx_bpf_error_bstr",
    "scx_bpf_get_idle_cpumask",
];

fn table() -> Vec<Call> {
    let (helpers, kfuncs) = (helpers::helpers::<Toy>(), kfuncs::kfuncs::<Toy>());
    let of_helper = |number: &u32| {
        helpers
            .iter()
            .find(|helper| helper.number == *number)
            .unwrap()
            .calls
            .divided
    };
    let of_kfunc = |name: &&str| {
        kfuncs
            .iter()
            .find(|kfunc| kfunc.name == *name)
            .unwrap()
            .calls
            .divided
    };
    let helpers = HELPERS.iter().map(of_helper);
    helpers.chain(KFUNCS.iter().map(of_kfunc)).collect()
}

/// A policy's code at work.
#[derive(Clone, Copy)]
struct Policy(*mut Host);

impl Policy {
    unsafe fn call<const N: usize>(self, index: usize, arguments: [u64; N]) -> u64 {
        let mut registers = [0; 5];
        registers[..N].copy_from_slice(&arguments);
        let [first, second, third, fourth, fifth] = registers;
        unsafe {
            let call = *(*self.0).calls.add(index);
            (*self.0).executed += 1;
            call(self.0, first, second, third, fourth, fifth)
        }
    }

    unsafe fn helper<const N: usize>(self, number: u32, arguments: [u64; N]) -> u64 {
        let index = HELPERS.iter().position(|known| *known == number).unwrap();
        unsafe { self.call(index, arguments) }
    }

    unsafe fn kfunc<const N: usize>(self, name: &str, arguments: [u64; N]) -> u64 {
        let index = KFUNCS.iter().position(|known| *known == name).unwrap();
        unsafe { self.call(HELPERS.len() + index, arguments) }
    }

    unsafe fn map(self, index: usize) -> u64 {
        unsafe {
            let first: *mut Handle = at((*self.0).maps.addr() as u64);
            first.add(index).register()
        }
    }

    unsafe fn storage(self, p: *mut TaskStruct) -> *mut u64 {
        unsafe { at(self.helper(156, [self.map(STORAGE), p.register(), 0, 1])) }
    }

    unsafe fn element(self, mut key: u32) -> *mut u64 {
        unsafe {
            at(self.helper(
                1,
                [self.map(ARRAY), (&raw mut key).expose_provenance() as u64],
            ))
        }
    }
}

fn at<T>(register: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(register as usize)
}

fn exposed<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

const ARRAY: usize = 0;
const STORAGE: usize = 1;

/// Which function of the policy is which.
const TIMER: u32 = 100;

unsafe extern "C" fn invoke(host: *mut Host, function: u32, registers: *const [u64; 5]) -> u64 {
    let policy = Policy(host);
    unsafe {
        if function == TIMER {
            return goes_off(policy, *registers);
        }
        let context: *mut u64 = at((*registers)[0]);
        let argument = |index: usize| *context.add(index);
        match Callback::ALL[function as usize] {
            Callback::SelectCpu => select_cpu(policy, at(argument(0)), argument(1), argument(2)),
            Callback::Enqueue => enqueue(policy, at(argument(0))),
            Callback::Dispatch => dispatch(policy, at(argument(1))),
            Callback::Dequeue => dequeue(policy, at(argument(0))),
            Callback::Init => init(policy),
            Callback::Exit => exit(policy, at(argument(0))),
            other => panic!("{other:?} is not set"),
        }
    }
}

unsafe fn select_cpu(policy: Policy, p: *mut TaskStruct, prev: u64, flags: u64) -> u64 {
    unsafe {
        let masks: *const CpuMask = at(policy.kfunc("scx_bpf_get_idle_cpumask", []));
        let idle_before = (*masks).bits[0];
        let mut idle = false;
        let arguments = [p.register(), prev, flags, exposed(&raw mut idle)];
        let cpu = policy.kfunc("scx_bpf_select_cpu_dfl", arguments);
        // Through the same pointer, after the model has changed the mask.
        assert_eq!((idle_before, (*masks).bits[0], idle), (3, 2, true));
        let picked = policy.kfunc("scx_bpf_pick_idle_cpu", [(*p).cpus_ptr.register(), 0]);
        assert_eq!((picked, (*masks).bits[0]), (1, 0));
        cpu
    }
}

unsafe fn enqueue(policy: Policy, p: *mut TaskStruct) -> u64 {
    unsafe {
        let (first, slice) = (policy.storage(p), &raw mut (*p).scx.slice);
        *first = 40;
        *slice = 1;
        policy.kfunc("scx_bpf_dsq_insert_vtime", [p.register(), 3, 100, 9, 0]);
        assert_eq!((*slice, (*p).scx.dsq_vtime), (100, 9));
        *slice += 1;
        // A second pointer to the same storage leaves the first one good.
        *policy.storage(p) += 1;
        *first += 1;
        assert_eq!(*policy.storage(p), 42);
        0
    }
}

unsafe fn dispatch(policy: Policy, prev: *mut TaskStruct) -> u64 {
    unsafe {
        let mut walk = DsqIter { opaque: [0; 6] };
        let it = exposed(&raw mut walk);
        assert_eq!(policy.kfunc("bpf_iter_scx_dsq_new", [it, 3, 0]), 0);
        let p: *mut TaskStruct = at(policy.kfunc("bpf_iter_scx_dsq_next", [it]));
        policy.kfunc("scx_bpf_dsq_move_set_slice", [it, 77]);
        let executed = (*policy.0).executed;
        // Both moves lead to a nested call of `dequeue`, after which this call goes on with what it had.
        assert_eq!(
            policy.kfunc("scx_bpf_dsq_move", [it, p.register(), DSQ_LOCAL, 0]),
            1
        );
        assert_eq!(
            (*policy.0).executed,
            executed + 1,
            "the nested call has its own count"
        );
        assert_eq!(((*p).scx.slice, *policy.storage(p)), (77, 43));
        assert_eq!(policy.kfunc("bpf_iter_scx_dsq_next", [it]), 0);
        policy.kfunc("bpf_iter_scx_dsq_destroy", [it]);
        assert_eq!(policy.kfunc("scx_bpf_dsq_move_to_local", [3]), 1);
        (*prev).scx.slice += 1;
        assert_eq!(policy.kfunc("scx_bpf_dsq_nr_queued", [3]), 0);
        policy.kfunc("scx_bpf_kick_cpu", [1, 0])
    }
}

unsafe fn dequeue(policy: Policy, p: *mut TaskStruct) -> u64 {
    unsafe {
        *policy.storage(p) += 1;
        assert_eq!(policy.kfunc("scx_bpf_task_cpu", [p.register()]), 0);
        0
    }
}

unsafe fn goes_off(policy: Policy, [map, key, value, ..]: [u64; 5]) -> u64 {
    unsafe {
        assert_eq!((map, *at::<i32>(key)), (policy.map(ARRAY), 1));
        *at::<u64>(value).add(3) += 1;
        *policy.element(1).add(3)
    }
}

unsafe fn init(policy: Policy) -> u64 {
    unsafe {
        let (zero, one) = (policy.element(0), policy.element(1));
        *zero = 1;
        *one.add(3) = 2;
        // Elements of one array, looked up in turn, stay good together.
        *policy.element(0) += 1;
        assert_eq!((*zero, *one.add(3)), (2, 2));
        let timer = exposed(one.cast::<Timer>());
        assert_eq!(policy.helper(169, [timer, policy.map(ARRAY), 1]), 0);
        assert_eq!(policy.helper(170, [timer, u64::from(TIMER) + 1]), 0);
        assert_eq!(policy.helper(171, [timer, 5, 0]), 0);
        let p = policy.kfunc("bpf_task_from_pid", [1_000]);
        assert_eq!(policy.kfunc("scx_bpf_task_running", [p]), 1);
        0
    }
}

unsafe fn exit(policy: Policy, info: *mut ExitInfo) -> u64 {
    unsafe {
        let mut format = *b"%s, %d\0";
        let mut data = [exposed((*info).msg), 7];
        let arguments = [exposed(&raw mut format), exposed(&raw mut data), 16];
        policy.kfunc("scx_bpf_error_bstr", arguments);
        let current = (*policy.0.cast::<World>()).current;
        policy.helper(157, [policy.map(STORAGE), current.register()])
    }
}

fn toy() -> Toy {
    let mut ops = Ops::default();
    for callback in [
        Callback::SelectCpu,
        Callback::Enqueue,
        Callback::Dequeue,
        Callback::Dispatch,
        Callback::Init,
        Callback::Exit,
    ] {
        ops.set(callback, callback as u32);
    }
    let shape = |kind, key_bytes, value_bytes, max_entries| image::Map {
        kind,
        key_bytes,
        value_bytes,
        max_entries,
        ..image::Map::default()
    };
    let maps = [
        shape(kind::ARRAY, 4, 32, 2),
        shape(kind::TASK_STORAGE, 4, 8, 0),
    ];
    let host = Host {
        invoke: Some(invoke),
        ..Host::default()
    };
    let code = Code {
        ops,
        maps: &maps,
        data: &super::AtLoad::default(),
        filled: &[],
        sections: &[],
        type_bytes: &BTreeMap::new(),
        release: Release::LAST,
        calls: table(),
        checked: false,
        divided: true,
        random: Stream::new(1, 0, 0),
        host,
    };
    Toy {
        boundary: Boundary::new::<Toy>(code, 2, 3, &[]).unwrap(),
        queue: Vec::new(),
        asked: Vec::new(),
        work: Work::default(),
        timer: None,
    }
}

/// The work of calling these kfuncs, and for a task's storage so often.
fn work_of(asked: &[&str], storage: u64) -> Work {
    let (helpers, kfuncs) = (helpers::helpers::<Toy>(), kfuncs::kfuncs::<Toy>());
    let price = |name: &&str| {
        kfuncs
            .iter()
            .find(|kfunc| kfunc.name == *name)
            .unwrap()
            .price
    };
    let of_storage = helpers
        .iter()
        .find(|helper| helper.number == 156)
        .unwrap()
        .price;
    Work {
        instructions: asked.len() as u64 + storage,
        outside: asked.iter().map(price).sum::<u64>() + storage * of_storage,
    }
}

#[test]
fn pointers_stay_good_across_kfuncs_and_nested_calls() {
    let toy = &mut toy();
    assert_eq!(toy.call(Callback::Init, []), Some(0));
    toy.work = Work::default();
    assert_eq!(toy.call(Callback::SelectCpu, [toy.task(1), 0, 0]), Some(0));
    let asked = [
        "scx_bpf_get_idle_cpumask",
        "scx_bpf_select_cpu_dfl",
        "scx_bpf_pick_idle_cpu",
    ];
    assert_eq!(toy.work, work_of(&asked, 0));
    toy.call(Callback::Enqueue, [toy.task(1), 0]);
    toy.call(Callback::Enqueue, [toy.task(2), 0]);
    assert_eq!(toy.boundary.view.task(TaskId(1)).scx.slice, 101);
    toy.work = Work::default();
    toy.call(Callback::Dispatch, [0, toy.task(0)]);
    // Ten of its own, one of them for storage, and in each nested call storage and the task's CPU.
    let asked = [
        "bpf_iter_scx_dsq_new",
        "bpf_iter_scx_dsq_next",
        "scx_bpf_dsq_move_set_slice",
        "scx_bpf_dsq_move",
        "bpf_iter_scx_dsq_next",
        "bpf_iter_scx_dsq_destroy",
        "scx_bpf_dsq_move_to_local",
        "scx_bpf_dsq_nr_queued",
        "scx_bpf_kick_cpu",
        "scx_bpf_task_cpu",
        "scx_bpf_task_cpu",
    ];
    assert_eq!(toy.work, work_of(&asked, 3));
    assert_eq!(toy.boundary.view.task(TaskId(2)).scx.flags, 1);
    assert_eq!(toy.call(Callback::Running, [toy.task(0)]), None);
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
    toy.call(Callback::Init, []);
    let due = toy.boundary.maps.timer_due(toy.timer.unwrap(), 1);
    let (cpu, Some(timer)) = due.unwrap() else {
        panic!("it has a callback");
    };
    assert_eq!(cpu, CpuId(0));
    super::call_timer(toy, timer);
    assert!(toy.boundary.maps.timer_due(0, 1).is_none(), "only once");
}

fn end(toy: &mut Toy) {
    let mut message = *b"so be it\0";
    let mut info = ExitInfo {
        kind: ExitKind::UNREG,
        exit_code: 0,
        reason: std::ptr::null(),
        msg: (&raw mut message).cast(),
        dump: std::ptr::null_mut(),
    };
    toy.call(Callback::Exit, [(&raw mut info).register()]);
}

#[test]
fn the_end_takes_storage_away() {
    let toy = &mut toy();
    toy.call(Callback::Enqueue, [toy.task(0), 0]);
    end(toy);
    assert!(
        toy.asked
            .contains(&"scx_bpf_error (so be it, 7)".to_string())
    );
    assert!(toy.boundary.view.task(TaskId(0)).storage.is_null());
}

#[test]
fn only_what_is_the_policys_may_be_touched() {
    let toy = &mut toy();
    toy.call(Callback::Enqueue, [toy.task(0), 0]);
    let p = toy.task(0);
    let slice = p + std::mem::offset_of!(TaskStruct, scx.slice) as u64;
    let prio = p + std::mem::offset_of!(TaskStruct, prio) as u64;
    let masks = toy.boundary.view.masks.pointer().addr() as u64;
    let array = toy.boundary.maps.first().addr() as u64;
    for (address, bytes, read, write) in [
        (slice, 8, true, true),
        (slice, 4, true, false),
        (prio, 4, true, false),
        (masks, 8, true, false),
        (array, 8, true, true),
        (0x1000, 1, false, false),
        (p - 1, 1, false, false),
    ] {
        let mut may = |write| toy.boundary.may_touch(address, bytes, write);
        assert_eq!((may(false), may(true)), (read, write), "{address:#x}");
    }
}

#[test]
fn what_was_freed_is_asked_about_again() {
    let toy = &mut toy();
    toy.call(Callback::Enqueue, [toy.task(0), 0]);
    let storage = toy.boundary.view.task(TaskId(0)).storage.addr() as u64;
    let bytes_known = |toy: &Toy| toy.boundary.recent.areas[Allowed::place(storage)].bytes;
    assert_eq!(bytes_known(toy), 0);
    assert!(toy.boundary.may_touch(storage, 8, true));
    assert_eq!(bytes_known(toy), 8);
    end(toy);
    assert_eq!(bytes_known(toy), 0);
    assert!(!toy.boundary.may_touch(storage, 8, false));
}
