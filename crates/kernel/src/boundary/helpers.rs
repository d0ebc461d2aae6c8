// SPDX-License-Identifier: GPL-2.0-or-later
//! The helpers that the model has, by their numbers in `enum bpf_func_id` (`include/uapi/linux/bpf.h`).

use std::ffi::c_void;

use bpf::host::{FaultKind, Host};

use super::maps::MapPointer;
use super::model::Kernel;
use super::nofault;
use super::outside::{back, call_back, helpers, numbers_at, printed, text};
use super::register::Register;
use super::shown::{TaskStruct, Timer};
use super::spin_locks::Attempt;
use super::world::{MOST_LOOPS, World};
use crate::consts::{E2BIG, EINVAL, ENOENT};

type Task = *mut TaskStruct;
type Memory = *mut c_void;

const EAGAIN: i64 = -11;
/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

helpers! {
    1 [~8] bpf_map_lookup_elem(map: MapPointer, key: Memory) -> Memory = |host| {
        let cpu = (*host.cast::<World>()).cpu as usize;
        back::<K>(host).boundary().maps.lookup(map, key.cast(), cpu)
    };
    2 [~60] bpf_map_update_elem(map: MapPointer, key: Memory, value: Memory, flags: u64) -> i64 = |host| {
        let cpu = (*host.cast::<World>()).cpu as usize;
        back::<K>(host).boundary().maps.update(map, key.cast(), value.cast(), flags, cpu)
    };
    3 [~60] bpf_map_delete_elem(map: MapPointer, key: Memory) -> i64 =
        |host| back::<K>(host).boundary().maps.delete(map, key.cast());
    5 [~40] bpf_ktime_get_ns() -> u64 = |host| (*host.cast::<World>()).ktime_ns;
    6 [~1000] bpf_trace_printk(fmt: Memory, size: u32, first: u64, second: u64, third: u64) -> i64 =
        |host| print::<K>(host, fmt, size, &[first, second, third]);
    7 [~30] bpf_get_prandom_u32() -> u32 = |host| back::<K>(host).boundary().random.next_u32();
    8 [~2] bpf_get_smp_processor_id() -> u32 = |host| (*host.cast::<World>()).cpu as u32;
    14 [~6] bpf_get_current_pid_tgid() -> u64 = |host| {
        let current = (*host.cast::<World>()).current;
        u64::from((*current).tgid.cast_unsigned()) << 32 | u64::from((*current).pid.cast_unsigned())
    };
    16 [~20] bpf_get_current_comm(buf: Memory, size: u32) -> i64 = |host| {
        let comm = &(*(*host.cast::<World>()).current).comm;
        let bytes = (size as usize).min(comm.len());
        std::ptr::write_bytes(buf.cast::<u8>(), 0, size as usize);
        std::ptr::copy(comm.as_ptr().cast::<u8>(), buf.cast(), bytes.saturating_sub(1));
        0
    };
    35 [~2] bpf_get_current_task() -> Task = |host| (*host.cast::<World>()).current;
    42 [~4] bpf_get_numa_node_id() -> i64 = |host| {
        let cpu = (*host.cast::<World>()).cpu as i32;
        i64::from(back::<K>(host).node_of(cpu))
    };
    87 [~40] bpf_map_push_elem(map: MapPointer, value: Memory, flags: u64) -> i64 =
        |host| back::<K>(host).boundary().maps.push(map, value.cast(), flags);
    88 [~40] bpf_map_pop_elem(map: MapPointer, value: Memory) -> i64 =
        |host| back::<K>(host).boundary().maps.next(map, value.cast(), false);
    89 [~40] bpf_map_peek_elem(map: MapPointer, value: Memory) -> i64 =
        |host| back::<K>(host).boundary().maps.next(map, value.cast(), true);
    93 [~20] bpf_spin_lock(lock: Memory) -> i64 = |host| {
        let taken = back::<K>(host).boundary().spin_locks.take(lock.addr() as u64);
        match taken {
            Attempt::Taken => {}
            Attempt::HeldAlready => (*host).refuse(FaultKind::Lock, 0, 0),
            Attempt::HeldByOther => back::<K>(host).cannot_wait(),
        }
        0
    };
    94 [~10] bpf_spin_unlock(lock: Memory) -> i64 = |host| {
        let given_back = back::<K>(host).boundary().spin_locks.give_back(lock.addr() as u64);
        if !given_back {
            (*host).refuse(FaultKind::Lock, 0, 0);
        }
        0
    };
    // Of the kernel's memory or of user space's: whatever the address is.
    45 [~60] bpf_probe_read_str(dst: Memory, size: u32, from: Memory) -> i64 = |host| read_text(dst, size, from);
    113 [~30] bpf_probe_read_kernel(dst: Memory, size: u32, from: Memory) -> i64 = |host| read(dst, size, from);
    115 [~60] bpf_probe_read_kernel_str(dst: Memory, size: u32, from: Memory) -> i64 = |host| read_text(dst, size, from);
    125 [~45] bpf_ktime_get_boot_ns() -> u64 = |host| (*host.cast::<World>()).ktime_ns;
    130 [~120] bpf_ringbuf_output(map: MapPointer, data: Memory, size: u64, flags: u64) -> i64 = |host| {
        let maps = &mut back::<K>(host).boundary().maps;
        if flags & !WAKE_FLAGS == 0 {
            let record = maps.ring_reserve(map, size);
            if record.is_null() {
                EAGAIN
            } else {
                std::ptr::copy(data.cast::<u8>(), record.cast(), size as usize);
                maps.ring_complete(record, true);
                0
            }
        } else {
            i64::from(EINVAL)
        }
    };
    131 [~60] bpf_ringbuf_reserve(map: MapPointer, size: u64, flags: u64) -> Memory = |host| {
        let maps = &mut back::<K>(host).boundary().maps;
        if flags == 0 { maps.ring_reserve(map, size) } else { std::ptr::null_mut() }
    };
    132 [~60] bpf_ringbuf_submit(record: Memory, flags: u64) -> i64 = |host| complete::<K>(host, record, true);
    133 [~60] bpf_ringbuf_discard(record: Memory, flags: u64) -> i64 = |host| complete::<K>(host, record, false);
    134 [~10] bpf_ringbuf_query(map: MapPointer, what: u64) -> u64 =
        |host| back::<K>(host).boundary().maps.ring_query(map, what);
    // Only one CPU runs policy code at a time, and its variables are those that are told. Objects have copies.
    153 [~12] bpf_per_cpu_ptr(variable: Memory, cpu: u32) -> Memory = |host| {
        if u64::from(cpu) < (*host.cast::<World>()).nr_cpu_ids {
            copy_of::<K>(host, variable, cpu)
        } else {
            std::ptr::null_mut()
        }
    };
    154 [5] bpf_this_cpu_ptr(variable: Memory) -> Memory = |host| {
        let cpu = (*host.cast::<World>()).cpu as u32;
        copy_of::<K>(host, variable, cpu)
    };
    156 [23] bpf_task_storage_get(map: MapPointer, p: Task, value: Memory, flags: u64) -> Memory =
        |host| task_storage_get::<K>(host, map, p, flags);
    157 [~100] bpf_task_storage_delete(map: MapPointer, p: Task) -> i64 = |host| task_storage_delete::<K>(host, map, p);
    158 [~2] bpf_get_current_task_btf() -> Task = |host| (*host.cast::<World>()).current;
    160 [~15] bpf_ktime_get_coarse_ns() -> u64 = |host| (*host.cast::<World>()).ktime_ns;
    164 [~40] bpf_for_each_map_elem(map: MapPointer, callback: u64, context: u64, flags: u64) -> i64 =
        |host| for_each::<K>(host, map, callback, context, flags);
    169 [~200] bpf_timer_init(timer: *mut Timer, map: MapPointer, flags: u64) -> i64 =
        |host| back::<K>(host).boundary().maps.timer_init(timer, map);
    170 [~80] bpf_timer_set_callback(timer: *mut Timer, callback: u64) -> i64 =
        |host| back::<K>(host).boundary().maps.timer_set_callback(timer, callback);
    171 [340] bpf_timer_start(timer: *mut Timer, ns: u64, flags: u64) -> i64 = |host| {
        let kernel = back::<K>(host);
        match kernel.boundary().maps.timer_index(timer) {
            None => i64::from(EINVAL),
            Some(index) => {
                kernel.start_timer(index, ns);
                0
            }
        }
    };
    172 [~150] bpf_timer_cancel(timer: *mut Timer) -> i64 = |host| back::<K>(host).boundary().maps.timer_cancel(timer);
    177 [~1000] bpf_trace_vprintk(fmt: Memory, size: u32, data: *mut u64, bytes: u32) -> i64 = |host| {
        let arguments = numbers_at(data, bytes);
        print::<K>(host, fmt, size, &arguments)
    };
    181 [~20] bpf_loop(count: u32, callback: u64, context: u64, flags: u64) -> i64 =
        |host| repeat(host, count, callback, context, flags);
    194 [~6] bpf_kptr_xchg(place: *mut u64, pointer: u64) -> u64 = |host| std::mem::replace(&mut *place, pointer);
    // A byte after the other, up to the first that differs or ends both.
    182 [~40] bpf_strncmp(s1: Memory, s1_sz: u32, s2: Memory) -> i64 = |host| {
        let (one, other) = (text(s1, s1_sz as usize), text(s2, s1_sz as usize));
        one.cmp(&other) as i64
    };
    // There is no user half that sends anything.
    209 [~60] bpf_user_ringbuf_drain(map: MapPointer, callback: u64, context: u64, flags: u64) -> i64 =
        |host| if flags & !WAKE_FLAGS == 0 { 0 } else { i64::from(EINVAL) };
    // What a drained record would be read with, so that code that waits for one can be linked.
    201 [~30] bpf_dynptr_read(dst: Memory, size: u64, from: Memory, offset: u64, flags: u64) -> i64 =
        |host| i64::from(EINVAL);
    203 [~15] bpf_dynptr_data(from: Memory, offset: u64, size: u64) -> Memory = |host| std::ptr::null_mut();
    // Nobody has opened a counter.
    55 [~60] bpf_perf_event_read_value(map: MapPointer, flags: u64, value: Memory, size: u32) -> i64 = |host| {
        std::ptr::write_bytes(value.cast::<u8>(), 0, size as usize);
        i64::from(ENOENT)
    };
    210 [~40] bpf_cgrp_storage_get(map: MapPointer, cgroup: Memory, value: Memory, flags: u64) -> Memory =
        |host| {
            let boundary = back::<K>(host).boundary();
            let place = boundary.view.cgroups.place(cgroup.cast());
            let value = place.map(|place| boundary.maps.cgroup_value(map, place, flags & CREATE != 0));
            value.unwrap_or(std::ptr::null_mut())
        };
    211 [~100] bpf_cgrp_storage_delete(map: MapPointer, cgroup: Memory) -> i64 =
        |host| {
            let boundary = back::<K>(host).boundary();
            let place = boundary.view.cgroups.place(cgroup.cast());
            place.map_or(i64::from(ENOENT), |place| boundary.maps.delete_cgroup_value(map, place))
        };
    195 [~12] bpf_map_lookup_percpu_elem(map: MapPointer, key: Memory, cpu: u32) -> Memory =
        |host| back::<K>(host).boundary().maps.lookup(map, key.cast(), cpu as usize);
}

/// # Safety
/// `host` is that of the code that called the helper.
unsafe fn copy_of<K: Kernel>(host: *mut Host, variable: Memory, cpu: u32) -> Memory {
    // SAFETY: the caller's promise.
    let objects = &unsafe { back::<K>(host) }.boundary().objects;
    let copy = objects.copy_of(variable.addr() as u64, cpu);
    std::ptr::with_exposed_provenance_mut(copy as usize)
}

/// `BPF_RB_NO_WAKEUP` and `BPF_RB_FORCE_WAKEUP`: there is nobody to wake.
const WAKE_FLAGS: u64 = 3;

/// # Safety
/// `host` is that of the code that called the helper.
unsafe fn complete<K: Kernel>(host: *mut Host, record: Memory, submitted: bool) -> i64 {
    // SAFETY: the caller's promise.
    unsafe {
        if !back::<K>(host)
            .boundary()
            .maps
            .ring_complete(record, submitted)
        {
            (*host).refuse(FaultKind::Outside, record.addr() as u64, 0);
        }
    }
    0
}

unsafe fn print<K: Kernel>(host: *mut Host, format: Memory, size: u32, arguments: &[u64]) -> i64 {
    // SAFETY: a format of the policy of so many bytes; strings that it names end with a NUL.
    let (kernel, text) = unsafe { (back::<K>(host), printed(format, size as usize, arguments)) };
    kernel.print(text.trim_end());
    text.len() as i64
}

unsafe fn repeat(host: *mut Host, count: u32, callback: u64, context: u64, flags: u64) -> i64 {
    if flags != 0 {
        return i64::from(EINVAL);
    }
    if count > MOST_LOOPS {
        // The verifier writes the loop in place of the call, and the error into the lower half of the register alone.
        return i64::from(E2BIG.cast_unsigned());
    }
    for index in 0..count {
        // SAFETY: called by the policy.
        if unsafe { call_back(host, callback, [u64::from(index), context, 0, 0, 0]) } != Some(0) {
            return i64::from(index) + 1;
        }
    }
    i64::from(count)
}

/// The elements that are there when the walk begins.
unsafe fn for_each<K: Kernel>(
    host: *mut Host,
    map: MapPointer,
    callback: u64,
    context: u64,
    flags: u64,
) -> i64 {
    if flags != 0 {
        return i64::from(EINVAL);
    }
    // SAFETY: called by the policy; see `back`.
    let cpu = unsafe { (*host.cast::<World>()).cpu } as usize;
    // SAFETY: as above.
    let elements = unsafe { back::<K>(host) }
        .boundary()
        .maps
        .elements(map, cpu);
    let mut visited = 0;
    for (key, value) in elements {
        visited += 1;
        let registers = [map.register(), key.register(), value.register(), context, 0];
        // SAFETY: as above.
        if unsafe { call_back(host, callback, registers) } != Some(0) {
            break;
        }
    }
    visited
}

/// What the policy finds where it could not read.
///
/// # Safety
/// `dst` is memory of the policy of so many bytes.
unsafe fn unread(dst: Memory, size: u32, from: Memory) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::write_bytes(dst.cast::<u8>(), 0, size as usize) };
    i64::from(nofault::error(from.addr() as u64))
}

/// # Safety
/// `dst` is memory of the policy of so many bytes; `from` may be anything.
unsafe fn read(dst: Memory, size: u32, from: Memory) -> i64 {
    let found = nofault::read(from.addr() as u64, size as usize);
    if found.len() < size as usize {
        // SAFETY: the caller's promise.
        return unsafe { unread(dst, size, from) };
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), dst.cast::<u8>(), found.len()) };
    0
}

/// The text ends at its NUL, or is cut; where memory ends before that there is none.
///
/// # Safety
/// As for [`read`].
unsafe fn read_text(dst: Memory, size: u32, from: Memory) -> i64 {
    if size == 0 {
        return 0;
    }
    let most = size as usize - 1;
    let read = nofault::read(from.addr() as u64, most);
    let end = read.iter().position(|byte| *byte == 0);
    if end.is_none() && read.len() < most {
        // SAFETY: the caller's promise.
        return unsafe { unread(dst, size, from) };
    }
    let text = &read[..end.unwrap_or(most)];
    let at = dst.cast::<u8>();
    for (index, byte) in text.iter().chain(&[0]).enumerate() {
        // SAFETY: at most `size` bytes, of which the last is the NUL.
        unsafe { *at.add(index) = *byte };
    }
    text.len() as i64 + 1
}

unsafe fn task_storage_get<K: Kernel>(
    host: *mut Host,
    map: MapPointer,
    p: Task,
    flags: u64,
) -> Memory {
    // SAFETY: called by the policy; see `back`.
    let boundary = unsafe { back::<K>(host) }.boundary();
    let Some(task) = boundary.view.task_of(p) else {
        return std::ptr::null_mut();
    };
    let value = boundary.maps.task_value(map, task, flags & CREATE != 0);
    if !value.is_null() {
        boundary.view.keep_storage(task, map.cast(), value);
    }
    value
}

unsafe fn task_storage_delete<K: Kernel>(host: *mut Host, map: MapPointer, p: Task) -> i64 {
    // SAFETY: called by the policy; see `back`.
    let boundary = unsafe { back::<K>(host) }.boundary();
    let Some(task) = boundary.view.task_of(p) else {
        return i64::from(ENOENT);
    };
    let result = boundary.maps.delete_task_value(map, task);
    if boundary.view.task(task).storage_map == map.cast() {
        boundary.view.forget_storage(task);
    }
    result
}
