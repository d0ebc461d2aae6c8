// SPDX-License-Identifier: GPL-2.0-or-later
//! The kfuncs that the model has: since which release, with which arguments, and how each comes back into the model.
//!
//! Names and prototypes are those of the kernel's BTF; a policy that refers to another one is refused, or, where its
//! reference is weak, told that there is none. Forms that only newer or older kernels have are marked with releases.

use std::ffi::{c_char, c_void};

use bpf::host::Host;

use super::callback::{Locks, Underway};
use super::cgroup::{Cgroup, SubsysState};
use super::graph::{End, Side};
use super::iterators::{
    bits_destroy, bits_new, bits_next, css_new, css_next, num_new, num_next, task_new, task_next,
};
use super::model::{HAS_SLICE, HAS_VTIME, Kernel, Walk};
use super::object_kfuncs::{
    acquire, address, at, beneath, create, create_per_cpu, pointer_to, pop, push, release,
    res_lock, res_unlock, tree_add,
};
use super::outside::{back, kfuncs, numbers_at, printed};
use super::register::{Less, Register};
use super::shown::{
    BitsIter, CpuMask, CssIter, DsqIter, EventStats, ExitKind, InsertVtimeArgs, ListHead, ListNode,
    NumIter, OwnCpuMask, RbNode, RbRoot, ResSpinLock, Rq, SelectCpuAndArgs, TaskIter, TaskStruct,
};
use super::world::World;
use crate::consts::{
    CPUPERF_ONE, DSQ_ITER_REV, DSQ_LOCAL, EACCES, EINVAL, ENOENT, ENQ_PRIQ, REENQ_ANY,
};
use crate::end::Ejection;
use crate::ids::{CpuId, TaskId};
use crate::mask;
use crate::task::Verdict;

type Task = *mut TaskStruct;
type Mask = *const CpuMask;
type Memory = *mut c_void;

kfuncs! {
    612 [~500] scx_bpf_create_dsq(dsq_id: u64, node: i32) -> i32 = |host| back::<K>(host).create_dsq(dsq_id, node);
    612 [~300] scx_bpf_destroy_dsq(dsq_id: u64) = |host| back::<K>(host).destroy_dsq(dsq_id);
    612 [39] scx_bpf_dsq_nr_queued(dsq_id: u64) -> i32 = |host| back::<K>(host).nr_queued(dsq_id);

    613 [113] scx_bpf_dsq_insert(p: Task, dsq_id: u64, slice: u64, enq_flags: u64) =
        |host| insert::<K>(host, p, Verdict { dsq_id, slice, vtime: 0, enq_flags });
    619 [~113] scx_bpf_dsq_insert___v2(p: Task, dsq_id: u64, slice: u64, enq_flags: u64) -> bool = |host| {
        insert::<K>(host, p, Verdict { dsq_id, slice, vtime: 0, enq_flags });
        true
    };
    613 [~123] scx_bpf_dsq_insert_vtime(p: Task, dsq_id: u64, slice: u64, vtime: u64, enq_flags: u64) =
        |host| insert::<K>(host, p, Verdict { dsq_id, slice, vtime, enq_flags: enq_flags | ENQ_PRIQ });
    619 [123] __scx_bpf_dsq_insert_vtime(p: Task, args: *mut InsertVtimeArgs) -> bool = |host| {
        let InsertVtimeArgs { dsq_id, slice, vtime, enq_flags } = (*args).clone();
        insert::<K>(host, p, Verdict { dsq_id, slice, vtime, enq_flags: enq_flags | ENQ_PRIQ });
        true
    };
    613 [203] scx_bpf_dsq_move_to_local(dsq_id: u64) -> bool = |host| back::<K>(host).move_to_local(dsq_id, 0);
    701 [~203] scx_bpf_dsq_move_to_local___v2(dsq_id: u64, enq_flags: u64) -> bool = |host| {
        let kernel = back::<K>(host);
        let enq_flags = kernel.boundary().enq_flags.meant(enq_flags);
        kernel.move_to_local(dsq_id, enq_flags)
    };
    612..615 [~113] scx_bpf_dispatch(p: Task, dsq_id: u64, slice: u64, enq_flags: u64) =
        |host| insert::<K>(host, p, Verdict { dsq_id, slice, vtime: 0, enq_flags });
    612..615 [~123] scx_bpf_dispatch_vtime(p: Task, dsq_id: u64, slice: u64, vtime: u64, enq_flags: u64) =
        |host| insert::<K>(host, p, Verdict { dsq_id, slice, vtime, enq_flags: enq_flags | ENQ_PRIQ });
    612..615 [~203] scx_bpf_consume(dsq_id: u64) -> bool = |host| back::<K>(host).move_to_local(dsq_id, 0);

    612 [145] bpf_iter_scx_dsq_new(it: *mut DsqIter, dsq_id: u64, flags: u64) -> i32 =
        |host| walk_new::<K>(host, it, dsq_id, flags);
    612 [146] bpf_iter_scx_dsq_next(it: *mut DsqIter) -> Task = |host| walk_next::<K>(host, it);
    612 [73] bpf_iter_scx_dsq_destroy(it: *mut DsqIter) = |host| (*it).opaque[0] = 0;
    613 [~5] scx_bpf_dsq_move_set_slice(it: *mut DsqIter, slice: u64) = |host| set_slice(it, slice);
    613 [5] scx_bpf_dsq_move_set_vtime(it: *mut DsqIter, vtime: u64) = |host| set_vtime(it, vtime);
    613 [138] scx_bpf_dsq_move(it: *mut DsqIter, p: Task, dsq_id: u64, enq_flags: u64) -> bool =
        |host| move_walked::<K>(host, it, p, dsq_id, enq_flags);
    613 [262] scx_bpf_dsq_move_vtime(it: *mut DsqIter, p: Task, dsq_id: u64, enq_flags: u64) -> bool =
        |host| move_walked::<K>(host, it, p, dsq_id, enq_flags | ENQ_PRIQ);
    612..615 [~5] scx_bpf_dispatch_from_dsq_set_slice(it: *mut DsqIter, slice: u64) = |host| set_slice(it, slice);
    612..615 [~5] scx_bpf_dispatch_from_dsq_set_vtime(it: *mut DsqIter, vtime: u64) = |host| set_vtime(it, vtime);
    612..615 [~138] scx_bpf_dispatch_from_dsq(it: *mut DsqIter, p: Task, dsq_id: u64, enq_flags: u64) -> bool =
        |host| move_walked::<K>(host, it, p, dsq_id, enq_flags);
    612..615 [~262] scx_bpf_dispatch_vtime_from_dsq(it: *mut DsqIter, p: Task, dsq_id: u64, enq_flags: u64) -> bool =
        |host| move_walked::<K>(host, it, p, dsq_id, enq_flags | ENQ_PRIQ);

    612 [171] scx_bpf_kick_cpu(cpu: i32, flags: u64) = |host| back::<K>(host).kick(cpu, flags);
    612 [~250] scx_bpf_select_cpu_dfl(p: Task, prev_cpu: i32, wake_flags: u64, is_idle: *mut bool) -> i32 =
        |host| select_cpu_dfl::<K>(host, p, prev_cpu, wake_flags, is_idle);
    612 [157] scx_bpf_pick_idle_cpu(cpus_allowed: Mask, flags: u64) -> i32 = |host| {
        // Copied, because the search changes the machine's own masks.
        let allowed = (*cpus_allowed).clone();
        back::<K>(host).pick_idle_cpu(&allowed, flags)
    };
    612 [~160] scx_bpf_pick_any_cpu(cpus_allowed: Mask, flags: u64) -> i32 = |host| {
        let allowed = (*cpus_allowed).clone();
        back::<K>(host).pick_any_cpu(&allowed, flags)
    };
    615 [~165] scx_bpf_pick_idle_cpu_node(cpus_allowed: Mask, node: i32, flags: u64) -> i32 = |host| {
        let allowed = (*cpus_allowed).clone();
        back::<K>(host).pick_idle_cpu_node(&allowed, node, flags)
    };
    615 [~170] scx_bpf_pick_any_cpu_node(cpus_allowed: Mask, node: i32, flags: u64) -> i32 = |host| {
        let allowed = (*cpus_allowed).clone();
        back::<K>(host).pick_any_cpu_node(&allowed, node, flags)
    };
    615 [~50] scx_bpf_get_idle_cpumask_node(node: i32) -> Mask = |host| idle_of_node::<K>(host, node, false);
    615 [~50] scx_bpf_get_idle_smtmask_node(node: i32) -> Mask = |host| idle_of_node::<K>(host, node, true);
    612 [89] scx_bpf_test_and_clear_cpu_idle(cpu: i32) -> bool = |host| back::<K>(host).test_and_clear_cpu_idle(cpu);
    612 [~4] scx_bpf_nr_cpu_ids() -> u32 = |host| (*host.cast::<World>()).nr_cpu_ids as u32;
    612 [~4] scx_bpf_get_possible_cpumask() -> Mask = |host| (*host.cast::<World>()).possible;
    612 [4] scx_bpf_get_online_cpumask() -> Mask = |host| (*host.cast::<World>()).online;
    612 [3] scx_bpf_put_cpumask(cpumask: Mask) = |host| ();
    612 [49] scx_bpf_get_idle_cpumask() -> Mask = |host| (*host.cast::<World>()).idle;
    612 [50] scx_bpf_get_idle_smtmask() -> Mask = |host| (*host.cast::<World>()).idle_smt;
    612 [3] scx_bpf_put_idle_cpumask(idle_mask: Mask) = |host| ();

    612 [10] scx_bpf_task_running(p: *const TaskStruct) -> bool = |host| {
        let kernel = back::<K>(host);
        let task = kernel.boundary().view.task_of(p);
        task.is_some_and(|task| kernel.task_running(task))
    };
    612 [4] scx_bpf_task_cpu(p: *const TaskStruct) -> i32 = |host| {
        let kernel = back::<K>(host);
        let task = kernel.boundary().view.task_of(p);
        kernel.task_cpu(task).0 as i32
    };
    619 [49] scx_bpf_task_set_slice(p: Task, slice: u64) -> bool = |host| {
        (*p).scx.slice = slice;
        true
    };
    619 [49] scx_bpf_task_set_dsq_vtime(p: Task, vtime: u64) -> bool = |host| {
        (*p).scx.dsq_vtime = vtime;
        true
    };
    612 [~60] bpf_task_from_pid(pid: i32) -> Task = |host| {
        let kernel = back::<K>(host);
        let task = kernel.task_with_pid(pid);
        pointer(kernel, task)
    };
    // There is one namespace of PIDs.
    614 [~60] bpf_task_from_vpid(vpid: i32) -> Task = |host| {
        let kernel = back::<K>(host);
        let task = kernel.task_with_pid(vpid);
        pointer(kernel, task)
    };
    612 [~10] bpf_task_release(p: Task) = |host| ();

    614 [36] scx_bpf_now() -> u64 = |host| (*host.cast::<World>()).now_ns;
    612 [~1000] scx_bpf_error_bstr(fmt: *mut c_char, data: *mut u64, data_sz: u32) = |host| {
        let message = printed(fmt.cast(), 1_024, &numbers_at(data, data_sz));
        back::<K>(host).throw_out(Ejection { kind: ExitKind::ERROR_BPF, exit_code: 0, message });
    };
    612 [~1000] scx_bpf_exit_bstr(exit_code: i64, fmt: *mut c_char, data: *mut u64, data_sz: u32) = |host| {
        let message = printed(fmt.cast(), 1_024, &numbers_at(data, data_sz));
        back::<K>(host).throw_out(Ejection { kind: ExitKind::UNREG_BPF, exit_code, message });
    };
    // Nobody asks for a dump, so no callback runs that may say something in it.
    612 [~1000] scx_bpf_dump_bstr(fmt: *mut c_char, data: *mut u64, data_sz: u32) =
        |host| back::<K>(host).eject("scx_bpf_dump() must only be called from ops.dump() and friends".to_string());

    612 [9] bpf_cpumask_test_cpu(cpu: u32, cpumask: Mask) -> bool =
        |host| mask::holds(&(*cpumask).clone(), cpu);
    612 [~12] bpf_cpumask_first(cpumask: Mask) -> u32 = |host| first(host, &(*cpumask).clone());
    612 [~15] bpf_cpumask_weight(cpumask: Mask) -> u32 = |host| mask::count(&(*cpumask).clone());
    612 [~12] bpf_cpumask_empty(cpumask: Mask) -> bool = |host| mask::is_empty(&(*cpumask).clone());
    612 [24] bpf_cpumask_intersects(src1: Mask, src2: Mask) -> bool =
        |host| !mask::is_empty(&mask::and(&(*src1).clone(), &(*src2).clone()));
    // The kernel takes turns here; a simulated machine always takes the first.
    612 [~50] bpf_cpumask_any_distribute(cpumask: Mask) -> u32 = |host| first(host, &(*cpumask).clone());
    612 [68] bpf_cpumask_any_and_distribute(src1: Mask, src2: Mask) -> u32 =
        |host| first(host, &mask::and(&(*src1).clone(), &(*src2).clone()));

    612 [14] bpf_iter_num_new(it: *mut NumIter, start: i32, end: i32) -> i32 = |host| num_new(it, start, end);
    612 [10] bpf_iter_num_next(it: *mut NumIter) -> *mut i32 = |host| num_next(it);
    612 [4] bpf_iter_num_destroy(it: *mut NumIter) = |host| (*it).opaque[0] = 0;
    612 [~40] bpf_iter_bits_new(it: *mut BitsIter, words: *const u64, nr_words: u32) -> i32 =
        |host| bits_new::<K>(host, it, words, nr_words);
    612 [~15] bpf_iter_bits_next(it: *mut BitsIter) -> *mut i32 = |host| bits_next::<K>(host, it);
    612 [~10] bpf_iter_bits_destroy(it: *mut BitsIter) = |host| bits_destroy::<K>(host, it);
    612 [~10] bpf_iter_task_new(it: *mut TaskIter, task: Task, flags: u32) -> i32 =
        |host| task_new::<K>(host, it, task, flags);
    612 [~15] bpf_iter_task_next(it: *mut TaskIter) -> Task = |host| task_next::<K>(host, it);
    612 [~3] bpf_iter_task_destroy(it: *mut TaskIter) = |host| ();
    612 [~10] bpf_iter_css_new(it: *mut CssIter, start: *mut SubsysState, flags: u32) -> i32 =
        |host| css_new::<K>(host, it, start, flags);
    612 [~20] bpf_iter_css_next(it: *mut CssIter) -> *mut SubsysState = |host| css_next::<K>(host, it);
    612 [~3] bpf_iter_css_destroy(it: *mut CssIter) = |host| ();

    612 [~120] bpf_cpumask_create() -> *mut OwnCpuMask = |host| back::<K>(host).boundary().own_masks.create();
    612 [~10] bpf_cpumask_acquire(cpumask: *mut OwnCpuMask) -> *mut OwnCpuMask =
        |host| back::<K>(host).boundary().own_masks.acquire(cpumask);
    612 [~20] bpf_cpumask_release(cpumask: *mut OwnCpuMask) = |host| back::<K>(host).boundary().release_mask(cpumask);
    612 [~9] bpf_cpumask_set_cpu(cpu: u32, cpumask: *mut OwnCpuMask) = |host| change(host, cpumask, cpu, mask::set);
    612 [~9] bpf_cpumask_clear_cpu(cpu: u32, cpumask: *mut OwnCpuMask) = |host| change(host, cpumask, cpu, mask::clear);
    612 [~10] bpf_cpumask_test_and_set_cpu(cpu: u32, cpumask: *mut OwnCpuMask) -> bool = |host| {
        let was = mask::holds(&(*cpumask).cpumask.clone(), cpu);
        change(host, cpumask, cpu, mask::set);
        was
    };
    612 [~10] bpf_cpumask_test_and_clear_cpu(cpu: u32, cpumask: *mut OwnCpuMask) -> bool = |host| {
        let was = mask::holds(&(*cpumask).cpumask.clone(), cpu);
        change(host, cpumask, cpu, mask::clear);
        was
    };
    612 [~12] bpf_cpumask_setall(cpumask: *mut OwnCpuMask) = |host| (*cpumask).cpumask = all(host);
    612 [~12] bpf_cpumask_clear(cpumask: *mut OwnCpuMask) = |host| (*cpumask).cpumask = mask::EMPTY;
    612 [~15] bpf_cpumask_copy(dst: *mut OwnCpuMask, src: Mask) = |host| {
        let copied = (*src).clone();
        (*dst).cpumask = copied;
    };
    // Sets of the policy's own hold possible CPUs only.
    615 [~20] bpf_cpumask_populate(cpumask: *mut CpuMask, src: Memory, bytes: u64) -> i32 = |host| {
        let possible = all(host);
        let words = (*host.cast::<World>()).nr_cpu_ids.div_ceil(64) as usize;
        if (bytes as usize) < 8 * words {
            EACCES
        } else {
            let mut read = mask::EMPTY;
            for (at, word) in read.bits.iter_mut().take(words).enumerate() {
                *word = src.cast::<u64>().add(at).read_unaligned();
            }
            *cpumask = mask::and(&read, &possible);
            0
        }
    };
    612 [~24] bpf_cpumask_and(dst: *mut OwnCpuMask, src1: Mask, src2: Mask) -> bool = |host| {
        let both = mask::and(&(*src1).clone(), &(*src2).clone());
        let any = !mask::is_empty(&both);
        (*dst).cpumask = both;
        any
    };
    612 [~24] bpf_cpumask_or(dst: *mut OwnCpuMask, src1: Mask, src2: Mask) = |host| {
        let either = mask::combined(&(*src1).clone(), &(*src2).clone(), |a, b| a | b);
        (*dst).cpumask = either;
    };
    612 [~24] bpf_cpumask_xor(dst: *mut OwnCpuMask, src1: Mask, src2: Mask) = |host| {
        let one = mask::combined(&(*src1).clone(), &(*src2).clone(), |a, b| a ^ b);
        (*dst).cpumask = one;
    };
    612 [~20] bpf_cpumask_equal(src1: Mask, src2: Mask) -> bool = |host| (*src1).clone() == (*src2).clone();
    612 [~20] bpf_cpumask_subset(src1: Mask, src2: Mask) -> bool = |host| {
        let beyond = mask::combined(&(*src1).clone(), &(*src2).clone(), |a, b| a & !b);
        mask::is_empty(&beyond)
    };
    612 [~15] bpf_cpumask_full(cpumask: Mask) -> bool = |host| {
        let missing = mask::combined(&all(host), &(*cpumask).clone(), |all, set| all & !set);
        mask::is_empty(&missing)
    };
    612 [~15] bpf_cpumask_first_zero(cpumask: Mask) -> u32 = |host| {
        let missing = mask::combined(&all(host), &(*cpumask).clone(), |all, set| all & !set);
        first(host, &missing)
    };
    612 [~20] bpf_cpumask_first_and(src1: Mask, src2: Mask) -> u32 =
        |host| first(host, &mask::and(&(*src1).clone(), &(*src2).clone()));

    616 [~260] scx_bpf_select_cpu_and(p: Task, prev_cpu: i32, wake_flags: u64, cpus_allowed: Mask, flags: u64) -> i32 =
        |host| select_cpu_and::<K>(host, p, cpus_allowed, &SelectCpuAndArgs { prev_cpu, wake_flags, flags });
    619 [~260] __scx_bpf_select_cpu_and(p: Task, cpus_allowed: Mask, args: *mut SelectCpuAndArgs) -> i32 =
        |host| select_cpu_and::<K>(host, p, cpus_allowed, &(*args).clone());
    618 [~15] scx_bpf_cpu_curr(cpu: i32) -> Task = |host| current_of::<K>(host, cpu);
    612 [~15] scx_bpf_cpu_rq(cpu: i32) -> *mut Rq = |host| {
        let curr = current_of::<K>(host, cpu);
        back::<K>(host).boundary().view.rq(cpu, curr)
    };
    619 [~90] scx_bpf_dsq_peek(dsq_id: u64) -> Task = |host| {
        let kernel = back::<K>(host);
        let task = kernel.peek(dsq_id);
        pointer(kernel, task)
    };
    612 [~15] scx_bpf_dispatch_nr_slots() -> u32 = |host| back::<K>(host).dispatch_slots();
    612 [~20] scx_bpf_dispatch_cancel() = |host| back::<K>(host).cancel_dispatch();
    615 [~12] scx_bpf_cpu_node(cpu: i32) -> i32 = |host| back::<K>(host).node_of(cpu);
    615 [~4] scx_bpf_nr_node_ids() -> u32 = |host| back::<K>(host).nodes();
    618 [~15] scx_bpf_locked_rq() -> *mut Rq = |host| locked_rq::<K>(host);
    612 [~150] scx_bpf_reenqueue_local() -> u32 = |host| back::<K>(host).reenqueue_local();
    619 [~60] scx_bpf_reenqueue_local___v2() = |host| back::<K>(host).reenqueue_later(DSQ_LOCAL);
    701 [~60] scx_bpf_dsq_reenq(dsq_id: u64, reenq_flags: u64) = |host| {
        let kernel = back::<K>(host);
        if reenq_flags & !REENQ_ANY == 0 {
            kernel.reenqueue_later(dsq_id);
        } else {
            kernel.eject(format!("invalid SCX_REENQ flags 0x{reenq_flags:x}"));
        }
    };
    615 [~200] scx_bpf_events(events: *mut EventStats, events_sz: u64) = |host| {
        let counted = back::<K>(host).boundary().events.clone();
        let bytes = (events_sz as usize).min(size_of::<EventStats>());
        std::ptr::write_bytes(events.cast::<u8>(), 0, events_sz as usize);
        std::ptr::copy((&raw const counted).cast::<u8>(), events.cast(), bytes);
    };
    612 [~20] scx_bpf_cpuperf_cap(cpu: i32) -> u32 = |host| back::<K>(host).capacity_of(cpu);
    612 [~20] scx_bpf_cpuperf_cur(cpu: i32) -> u32 = |host| back::<K>(host).speed_of(cpu);
    612 [~40] scx_bpf_cpuperf_set(cpu: i32, perf: u32) = |host| {
        let kernel = back::<K>(host);
        if perf > CPUPERF_ONE {
            kernel.eject(format!("Invalid cpuperf target {perf} for CPU {cpu}"));
        } else {
            kernel.ask_for_speed(cpu, perf);
        }
    };
    612 [~40] scx_bpf_task_cgroup(p: Task) -> *mut Cgroup = |host| {
        let view = &back::<K>(host).boundary().view;
        view.cgroup_of(view.task_of(p))
    };
    612 [~10] bpf_cgroup_acquire(cgrp: *mut Cgroup) -> *mut Cgroup = |host| cgrp;
    612 [~10] bpf_cgroup_release(cgrp: *mut Cgroup) = |host| ();
    612 [~100] bpf_cgroup_from_id(cgid: u64) -> *mut Cgroup =
        |host| back::<K>(host).boundary().view.cgroups.with_id(cgid);
    612 [~15] bpf_cgroup_ancestor(cgrp: *mut Cgroup, level: i32) -> *mut Cgroup =
        |host| back::<K>(host).boundary().view.cgroups.ancestor(cgrp, level);
    612 [~10] bpf_task_acquire(p: Task) -> Task = |host| p;

    612 [~900] bpf_arena_alloc_pages(map: Memory, addr: Memory, page_cnt: u32, node_id: i32, flags: u64) -> Memory = |host| {
        let arena = back::<K>(host).boundary().arena.as_mut().filter(|_| flags == 0);
        let pages = arena.and_then(|arena| arena.allocate(addr.addr() as u64, page_cnt));
        std::ptr::with_exposed_provenance_mut(pages.unwrap_or(0) as usize)
    };
    612 [~900] bpf_arena_free_pages(map: Memory, ptr: Memory, page_cnt: u32) = |host| {
        if let Some(arena) = &mut back::<K>(host).boundary().arena {
            arena.free(ptr.addr() as u64, page_cnt);
        }
    };

    // The verifier fills in meta and off, of which the model has no need.
    612 [~90] bpf_obj_new_impl(local_type_id: u64, meta: Memory) -> Memory = |host| create::<K>(host, local_type_id);
    701 [~90] bpf_obj_new(local_type_id: u64) -> Memory = |host| create::<K>(host, local_type_id);
    // The pointer is to nothing itself: it leads to a copy for each CPU.
    612 [~300] bpf_percpu_obj_new_impl(local_type_id: u64, meta: Memory) -> Memory =
        |host| create_per_cpu::<K>(host, local_type_id);
    701 [~300] bpf_percpu_obj_new(local_type_id: u64) -> Memory = |host| create_per_cpu::<K>(host, local_type_id);
    612 [~60] bpf_percpu_obj_drop_impl(p: Memory, meta: Memory) = |host| release::<K>(host, p);
    701 [~60] bpf_percpu_obj_drop(p: Memory) = |host| release::<K>(host, p);
    612 [~60] bpf_obj_drop_impl(p: Memory, meta: Memory) = |host| release::<K>(host, p);
    701 [~60] bpf_obj_drop(p: Memory) = |host| release::<K>(host, p);
    612 [~15] bpf_refcount_acquire_impl(p: Memory, meta: Memory) -> Memory = |host| acquire::<K>(host, p);
    701 [~15] bpf_refcount_acquire(p: Memory) -> Memory = |host| acquire::<K>(host, p);
    612 [~120] bpf_rbtree_add_impl(root: *mut RbRoot, node: *mut RbNode, less: Less, meta: Memory, off: u64) -> i32 =
        |host| tree_add::<K>(host, root, node, &less);
    701 [~120] bpf_rbtree_add(root: *mut RbRoot, node: *mut RbNode, less: Less) -> i32 =
        |host| tree_add::<K>(host, root, node, &less);
    612 [~80] bpf_rbtree_remove(root: *mut RbRoot, node: *mut RbNode) -> *mut RbNode = |host| {
        let graph = &mut back::<K>(host).boundary().graph;
        if graph.remove(address(root), address(node)) { node } else { std::ptr::null_mut() }
    };
    612 [~15] bpf_rbtree_first(root: *mut RbRoot) -> *mut RbNode = |host| at::<K, _, _>(host, root, End::Front);
    616 [~10] bpf_rbtree_root(root: *mut RbRoot) -> *mut RbNode = |host| {
        let graph = &back::<K>(host).boundary().graph;
        pointer_to(graph.top(address(root)))
    };
    616 [~10] bpf_rbtree_left(root: *mut RbRoot, node: *mut RbNode) -> *mut RbNode =
        |host| beneath::<K>(host, root, node, Side::Left);
    616 [~10] bpf_rbtree_right(root: *mut RbRoot, node: *mut RbNode) -> *mut RbNode =
        |host| beneath::<K>(host, root, node, Side::Right);
    612 [~25] bpf_list_push_front_impl(head: *mut ListHead, node: *mut ListNode, meta: Memory, off: u64) -> i32 =
        |host| push::<K>(host, head, node, End::Front);
    701 [~25] bpf_list_push_front(head: *mut ListHead, node: *mut ListNode) -> i32 =
        |host| push::<K>(host, head, node, End::Front);
    612 [~25] bpf_list_push_back_impl(head: *mut ListHead, node: *mut ListNode, meta: Memory, off: u64) -> i32 =
        |host| push::<K>(host, head, node, End::Back);
    701 [~25] bpf_list_push_back(head: *mut ListHead, node: *mut ListNode) -> i32 =
        |host| push::<K>(host, head, node, End::Back);
    612 [~20] bpf_list_pop_front(head: *mut ListHead) -> *mut ListNode = |host| pop::<K>(host, head, End::Front);
    612 [~20] bpf_list_pop_back(head: *mut ListHead) -> *mut ListNode = |host| pop::<K>(host, head, End::Back);
    616 [~10] bpf_list_front(head: *mut ListHead) -> *mut ListNode = |host| at::<K, _, _>(host, head, End::Front);
    616 [~10] bpf_list_back(head: *mut ListHead) -> *mut ListNode = |host| at::<K, _, _>(host, head, End::Back);
    615 [~30] bpf_res_spin_lock(lock: *mut ResSpinLock) -> i32 = |host| res_lock::<K>(host, lock);
    615 [~15] bpf_res_spin_unlock(lock: *mut ResSpinLock) = |host| res_unlock::<K>(host, lock);
    615 [~35] bpf_res_spin_lock_irqsave(lock: *mut ResSpinLock, flags: *mut u64) -> i32 = |host| res_lock::<K>(host, lock);
    615 [~20] bpf_res_spin_unlock_irqrestore(lock: *mut ResSpinLock, flags: *mut u64) = |host| res_unlock::<K>(host, lock);

    // One CPU runs policy code at a time, and nothing is freed under it.
    612 [~3] bpf_rcu_read_lock() = |host| ();
    612 [~3] bpf_rcu_read_unlock() = |host| ();
    612 [~3] bpf_preempt_disable() = |host| ();
    612 [~3] bpf_preempt_enable() = |host| ();
    614 [~5] bpf_local_irq_save(flags: *mut u64) = |host| *flags = 1;
    614 [~5] bpf_local_irq_restore(flags: *mut u64) = |host| ();
}

unsafe fn insert<K: Kernel>(host: *mut Host, p: Task, mut verdict: Verdict) {
    // SAFETY: called by the policy; see `back`.
    let kernel = unsafe { back::<K>(host) };
    verdict.enq_flags = kernel.boundary().enq_flags.meant(verdict.enq_flags);
    match kernel.boundary().view.task_of(p) {
        Some(task) => kernel.insert(task, verdict),
        None => kernel.eject("called on a task that does not exist".to_string()),
    }
}

unsafe fn walk_new<K: Kernel>(host: *mut Host, it: *mut DsqIter, id: u64, flags: u64) -> i32 {
    // SAFETY: called by the policy; the iterator is a variable of it that nobody else refers to.
    let (kernel, words) = unsafe { (back::<K>(host), &mut (*it).opaque) };
    *words = [0; 6];
    if flags & !DSQ_ITER_REV != 0 {
        return EINVAL;
    }
    match kernel.walk(id, flags != 0) {
        None => ENOENT,
        Some(walk) => {
            walk.write(words);
            0
        }
    }
}

unsafe fn walk_next<K: Kernel>(host: *mut Host, it: *mut DsqIter) -> Task {
    // SAFETY: see walk_new.
    let (kernel, words) = unsafe { (back::<K>(host), &mut (*it).opaque) };
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

unsafe fn set_slice(it: *mut DsqIter, slice: u64) {
    // SAFETY: see walk_new.
    let words = unsafe { &mut (*it).opaque };
    words[0] |= HAS_SLICE;
    words[4] = slice;
}

unsafe fn set_vtime(it: *mut DsqIter, vtime: u64) {
    // SAFETY: see walk_new.
    let words = unsafe { &mut (*it).opaque };
    words[0] |= HAS_VTIME;
    words[5] = vtime;
}

unsafe fn move_walked<K: Kernel>(
    host: *mut Host,
    it: *mut DsqIter,
    p: Task,
    dsq_id: u64,
    enq_flags: u64,
) -> bool {
    // SAFETY: see walk_new. The words are read before the model may call the policy again.
    let (kernel, walk) = unsafe {
        let words = &mut (*it).opaque;
        let walk = Walk::read(words);
        words[0] &= !(HAS_SLICE | HAS_VTIME);
        (back::<K>(host), walk)
    };
    let boundary = kernel.boundary();
    let task = boundary.view.task_of(p);
    let enq_flags = boundary.enq_flags.meant(enq_flags);
    kernel.move_walked(task.zip(walk), dsq_id, enq_flags)
}

unsafe fn select_cpu_dfl<K: Kernel>(
    host: *mut Host,
    p: Task,
    prev_cpu: i32,
    wake_flags: u64,
    is_idle: *mut bool,
) -> i32 {
    // SAFETY: called by the policy; see `back`.
    let kernel = unsafe { back::<K>(host) };
    let (cpu, idle) = match kernel.boundary().view.task_of(p) {
        Some(task) => kernel.select_cpu_dfl(task, prev_cpu, wake_flags),
        None => (prev_cpu, false),
    };
    // SAFETY: a variable of the policy.
    unsafe { *is_idle = idle };
    cpu
}

unsafe fn select_cpu_and<K: Kernel>(
    host: *mut Host,
    p: Task,
    cpus_allowed: Mask,
    args: &SelectCpuAndArgs,
) -> i32 {
    // SAFETY: called by the policy; see `back`. The set is copied, because the search changes the machine's own.
    let (kernel, allowed) = unsafe { (back::<K>(host), (*cpus_allowed).clone()) };
    let SelectCpuAndArgs {
        prev_cpu,
        wake_flags,
        flags,
    } = *args;
    match kernel.boundary().view.task_of(p) {
        Some(task) => kernel.select_cpu_and(task, prev_cpu, wake_flags, &allowed, flags),
        None => EINVAL,
    }
}

/// Where there is no such node, no CPU is idle in it.
unsafe fn idle_of_node<K: Kernel>(host: *mut Host, node: i32, smt: bool) -> Mask {
    // SAFETY: called by the policy; see `back`.
    let kernel = unsafe { back::<K>(host) };
    let cpus = kernel.node_cpus(node);
    let view = &mut kernel.boundary().view;
    view.idle_of_node(node.max(0) as usize, &cpus.unwrap_or(mask::EMPTY), smt)
}

/// The run queue that the kernel has locked for this callback; a callback for which it has none may not ask.
unsafe fn locked_rq<K: Kernel>(host: *mut Host) -> *mut Rq {
    // SAFETY: called by the policy; see `back`.
    let kernel = unsafe { back::<K>(host) };
    let cpu = match kernel.boundary().underway {
        Some(Underway {
            callback, first, ..
        }) => match callback.locks() {
            Locks::Nothing => None,
            Locks::Cpu => Some(CpuId(first as u32)),
            Locks::CpuOfTask => {
                let task = kernel.boundary().view.task_of(Register::of(first));
                task.map(|task| kernel.task_cpu(Some(task)))
            }
        },
        None => None,
    };
    let Some(cpu) = cpu else {
        kernel.eject("accessing rq without holding rq lock".to_string());
        return std::ptr::null_mut();
    };
    // SAFETY: as above.
    let curr = unsafe { current_of::<K>(host, cpu.0 as i32) };
    // SAFETY: as above.
    let view = &mut unsafe { back::<K>(host) }.boundary().view;
    view.rq(cpu.0 as i32, curr)
}

unsafe fn current_of<K: Kernel>(host: *mut Host, cpu: i32) -> Task {
    // SAFETY: called by the policy; see `back`.
    let kernel = unsafe { back::<K>(host) };
    let task = kernel.current_of(cpu);
    pointer(kernel, task)
}

/// As the policy sees a task; null for none.
fn pointer<K: Kernel>(kernel: &mut K, task: Option<TaskId>) -> Task {
    task.map_or(std::ptr::null_mut(), |task| {
        kernel.boundary().view.pointer(task)
    })
}

/// Sets of the policy's own hold possible CPUs only.
unsafe fn change(host: *mut Host, set: *mut OwnCpuMask, cpu: u32, by: fn(&mut CpuMask, CpuId)) {
    // SAFETY: a set that the policy made; the host of every policy is the first member of a world.
    unsafe {
        if u64::from(cpu) < (*host.cast::<World>()).nr_cpu_ids {
            by(&mut (*set).cpumask, CpuId(cpu));
        }
    }
}

unsafe fn all(host: *mut Host) -> CpuMask {
    // SAFETY: the host of every policy is the first member of a world.
    mask::first_n(unsafe { (*host.cast::<World>()).nr_cpu_ids } as usize)
}

unsafe fn first(host: *mut Host, set: &CpuMask) -> u32 {
    // SAFETY: the host of every policy is the first member of a world.
    let beyond = unsafe { (*host.cast::<World>()).nr_cpu_ids } as u32;
    mask::first(set).map_or(beyond, |cpu| cpu.0)
}
