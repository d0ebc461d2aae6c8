// SPDX-License-Identifier: GPL-2.0-or-later
//! The helpers that the model has, by their numbers in `enum bpf_func_id` (`include/uapi/linux/bpf.h`).

use std::ffi::c_void;

use bpf::host::Host;

use super::maps::MapPointer;
use super::model::Kernel;
use super::outside::{back, helpers, text};
use super::shown::{TaskStruct, Timer};
use super::world::World;
use crate::consts::EINVAL;

type Task = *mut TaskStruct;
type Memory = *mut c_void;

const EFAULT: i64 = -14;
/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

helpers! {
    1 bpf_map_lookup_elem(map: MapPointer, key: Memory) -> Memory = |host| {
        let cpu = (*host.cast::<World>()).cpu as usize;
        back::<K>(host).boundary().maps.lookup(map, key.cast(), cpu)
    };
    5 bpf_ktime_get_ns() -> u64 = |host| (*host.cast::<World>()).now_ns;
    8 bpf_get_smp_processor_id() -> u32 = |host| (*host.cast::<World>()).cpu as u32;
    113 bpf_probe_read_kernel(dst: Memory, size: u32, from: Memory) -> i64 = |host| read(dst, size, from);
    115 bpf_probe_read_kernel_str(dst: Memory, size: u32, from: Memory) -> i64 = |host| read_text(dst, size, from);
    // Only one CPU runs policy code at a time, and its variables are those that are told.
    154 bpf_this_cpu_ptr(variable: Memory) -> Memory = |host| variable;
    156 bpf_task_storage_get(map: MapPointer, p: Task, value: Memory, flags: u64) -> Memory =
        |host| task_storage_get::<K>(host, map, p, flags);
    157 bpf_task_storage_delete(map: MapPointer, p: Task) -> i64 = |host| task_storage_delete::<K>(host, map, p);
    158 bpf_get_current_task_btf() -> Task = |host| (*host.cast::<World>()).current;
    169 bpf_timer_init(timer: *mut Timer, map: MapPointer, flags: u64) -> i64 =
        |host| back::<K>(host).boundary().maps.timer_init(timer, map);
    170 bpf_timer_set_callback(timer: *mut Timer, callback: u64) -> i64 =
        |host| back::<K>(host).boundary().maps.timer_set_callback(timer, callback);
    171 bpf_timer_start(timer: *mut Timer, ns: u64, flags: u64) -> i64 = |host| {
        let kernel = back::<K>(host);
        match kernel.boundary().maps.timer_index(timer) {
            None => i64::from(EINVAL),
            Some(index) => {
                kernel.start_timer(index, ns);
                0
            }
        }
    };
    172 bpf_timer_cancel(timer: *mut Timer) -> i64 = |host| back::<K>(host).boundary().maps.timer_cancel(timer);
    195 bpf_map_lookup_percpu_elem(map: MapPointer, key: Memory, cpu: u32) -> Memory =
        |host| back::<K>(host).boundary().maps.lookup(map, key.cast(), cpu as usize);
}

/// # Safety
/// `dst` is memory of the policy of so many bytes; `from` null, or an address that may be read.
unsafe fn read(dst: Memory, size: u32, from: Memory) -> i64 {
    if from.is_null() {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::write_bytes(dst.cast::<u8>(), 0, size as usize) };
        return EFAULT;
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(from.cast::<u8>(), dst.cast::<u8>(), size as usize) };
    0
}

/// # Safety
/// As for [`read`], with text at `from`.
unsafe fn read_text(dst: Memory, size: u32, from: Memory) -> i64 {
    if size == 0 {
        return 0;
    }
    if from.is_null() {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::write_bytes(dst.cast::<u8>(), 0, size as usize) };
        return EFAULT;
    }
    // SAFETY: the caller's promise.
    let found = unsafe { text(from, size as usize - 1) };
    let at = dst.cast::<u8>();
    for (index, byte) in found.iter().chain(&[0]).enumerate() {
        // SAFETY: at most `size` bytes, of which the last is the NUL.
        unsafe { *at.add(index) = *byte };
    }
    found.len() as i64 + 1
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
        return i64::from(crate::consts::ENOENT);
    };
    boundary.maps.delete_task_value(map, task);
    if boundary.view.task(task).storage_map == map.cast() {
        boundary.view.forget_storage(task);
    }
    0
}
