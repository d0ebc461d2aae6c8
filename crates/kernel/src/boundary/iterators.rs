// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's iterators over numbers, bits, tasks and cgroups. Each keeps its state in a variable of the policy, whose
//! words are as large as the kernel's and mean what they like.

use std::collections::BTreeMap;

use bpf::host::Host;

use super::cgroup::{SubsysState, Walk};
use super::model::Kernel;
use super::nofault;
use super::outside::back;
use super::release::Release;
use super::shown::{BitsIter, CssIter, NumIter, TaskIter, TaskStruct};
use super::world::MOST_LOOPS;
use crate::consts::{E2BIG, EFAULT, EINVAL};

type Task = *mut TaskStruct;

/// # Safety
/// The iterator is a variable of the policy.
pub unsafe fn num_new(it: *mut NumIter, start: i32, end: i32) -> i32 {
    let count = i64::from(end) - i64::from(start);
    let goes = (1..=i64::from(MOST_LOOPS)).contains(&count);
    // SAFETY: the caller's promise.
    unsafe {
        (*it).opaque[0] = if goes {
            both(start.wrapping_sub(1), end)
        } else {
            0
        };
    }
    if count < 0 {
        EINVAL
    } else if count > i64::from(MOST_LOOPS) {
        E2BIG
    } else {
        0
    }
}

/// The number given last, and the end.
fn both(current: i32, end: i32) -> u64 {
    u64::from(current.cast_unsigned()) | u64::from(end.cast_unsigned()) << 32
}

/// # Safety
/// As for [`num_new`].
pub unsafe fn num_next(it: *mut NumIter) -> *mut i32 {
    // SAFETY: the caller's promise.
    let state = unsafe { &raw mut (*it).opaque[0] };
    // SAFETY: as above.
    let (current, end) = unsafe { ((*state as i32).wrapping_add(1), (*state >> 32) as i32) };
    // SAFETY: as above.
    unsafe {
        *state = if current < end { both(current, end) } else { 0 };
    }
    if current < end {
        state.cast()
    } else {
        std::ptr::null_mut()
    }
}

/// What iterators over bits have copied, by numbers from 1 on.
#[derive(Default)]
pub struct CopiedBits {
    last: u64,
    all: BTreeMap<u64, Vec<u8>>,
}

/// `BITS_ITER_NR_WORDS_MAX`.
const MOST_WORDS: u32 = 511;

/// # Safety
/// `host` is that of the code that called the kfunc, the iterator a variable of it; the words may lie anywhere.
pub unsafe fn bits_new<K: Kernel>(
    host: *mut Host,
    it: *mut BitsIter,
    words: *const u64,
    count: u32,
) -> i32 {
    let bytes = 8 * count as usize;
    // SAFETY: the caller's promise.
    unsafe { (*it).opaque = [0, u64::from(u32::MAX) << 32] };
    if words.is_null() || count == 0 {
        return EINVAL;
    }
    if count > MOST_WORDS {
        return E2BIG;
    }
    let read = nofault::read(words.addr() as u64, bytes);
    if read.len() < bytes {
        // A single word is read into the iterator itself.
        let error = nofault::error(words.addr() as u64);
        return if count == 1 { EFAULT } else { error };
    }
    // SAFETY: the caller's promise.
    let copied = unsafe { &mut back::<K>(host).boundary().copied_bits };
    copied.last += 1;
    copied.all.insert(copied.last, read);
    // SAFETY: the caller's promise.
    unsafe { (*it).opaque[0] = copied.last };
    0
}

/// The number of the next bit that is set, in the upper half of the second word.
///
/// # Safety
/// As for [`bits_new`].
pub unsafe fn bits_next<K: Kernel>(host: *mut Host, it: *mut BitsIter) -> *mut i32 {
    // SAFETY: the caller's promise.
    let (copied, bit) = unsafe {
        let copied = &back::<K>(host).boundary().copied_bits;
        let bit = (&raw mut (*it).opaque[1]).cast::<i32>().add(1);
        (copied.all.get(&(*it).opaque[0]), bit)
    };
    let Some(bytes) = copied else {
        return std::ptr::null_mut();
    };
    // SAFETY: the caller's promise.
    let first = unsafe { (*bit).wrapping_add(1) } as usize;
    let next = (first..8 * bytes.len()).find(|at| bytes[at / 8] & 1 << (at % 8) != 0);
    // SAFETY: the caller's promise.
    unsafe { *bit = next.unwrap_or(8 * bytes.len()) as i32 };
    if next.is_some() {
        bit
    } else {
        std::ptr::null_mut()
    }
}

/// # Safety
/// As for [`bits_new`].
pub unsafe fn bits_destroy<K: Kernel>(host: *mut Host, it: *mut BitsIter) {
    // SAFETY: the caller's promise.
    unsafe {
        let copied = &mut back::<K>(host).boundary().copied_bits;
        copied.all.remove(&(*it).opaque[0]);
        (*it).opaque[0] = 0;
    }
}

/// `BPF_TASK_ITER_*`.
const ALL_PROCS: u32 = 0;
const ALL_THREADS: u32 = 1;
const PROC_THREADS: u32 = 2;

/// Its words: the next task's place and 1, which it counts, and what it walks over.
///
/// # Safety
/// `host` is that of the code that called the kfunc, the iterator a variable of it.
pub unsafe fn task_new<K: Kernel>(
    host: *mut Host,
    it: *mut TaskIter,
    task: Task,
    flags: u32,
) -> i32 {
    // SAFETY: the caller's promise.
    let (view, words) = unsafe { (&back::<K>(host).boundary().view, &mut (*it).opaque) };
    *words = [0, 0, u64::from(flags)];
    words[0] = match flags {
        ALL_PROCS | ALL_THREADS => 1,
        PROC_THREADS if !task.is_null() => {
            // SAFETY: a task that the policy was shown.
            words[1] = u64::from(unsafe { (*task).tgid }.cast_unsigned());
            view.place_of(task) as u64 + 1
        }
        _ => return EINVAL,
    };
    0
}

/// The kernel walks in the order in which processes began, and gives their threads with them; here the order is that of
/// PIDs.
///
/// # Safety
/// As for [`task_new`].
pub unsafe fn task_next<K: Kernel>(host: *mut Host, it: *mut TaskIter) -> Task {
    // SAFETY: the caller's promise.
    let (kernel, words) = unsafe { (back::<K>(host), &mut (*it).opaque) };
    let [next, tgid, flags] = *words;
    let Some(mut place) = next.checked_sub(1) else {
        return std::ptr::null_mut();
    };
    loop {
        let task = kernel.boundary().view.in_order(place as usize);
        if task.is_null() {
            words[0] = 0;
            return task;
        }
        place += 1;
        // SAFETY: within the view's tasks.
        let (pid, of) = unsafe { ((*task).pid, (*task).tgid) };
        let is_there = place <= 2 || kernel.task_with_pid(pid).is_some();
        let is_meant = match flags as u32 {
            ALL_PROCS => pid == of,
            PROC_THREADS => u64::from(of.cast_unsigned()) == tgid,
            _ => true,
        };
        if is_there && is_meant {
            words[0] = place + 1;
            return task;
        }
    }
}

/// The kernel's `BPF_CGROUP_ITER_…`, and since which release it is known.
fn walk(flags: u32, release: Release) -> Option<Walk> {
    match flags {
        2 => Some(Walk::ParentsFirst),
        3 => Some(Walk::ChildrenFirst),
        4 => Some(Walk::Up),
        5 if Release::of(700) <= release => Some(Walk::Children),
        _ => None,
    }
}

/// # Safety
/// `host` is that of the code that called the kfunc, the iterator a variable of it.
pub unsafe fn css_new<K: Kernel>(
    host: *mut Host,
    it: *mut CssIter,
    start: *mut SubsysState,
    flags: u32,
) -> i32 {
    // SAFETY: the caller's promise.
    let boundary = unsafe { back::<K>(host) }.boundary();
    let start = boundary.view.cgroups.place(start.cast());
    let known = walk(flags, boundary.release).zip(start);
    let first = known.map_or(0, |(_, start)| start as u64 + 1);
    // SAFETY: the caller's promise.
    unsafe { (*it).opaque = [first, 0, u64::from(flags)] };
    if known.is_some() { 0 } else { EINVAL }
}

/// Its words are the start, the place given last, each with 1 added, and how it goes.
///
/// # Safety
/// As for [`css_new`].
pub unsafe fn css_next<K: Kernel>(host: *mut Host, it: *mut CssIter) -> *mut SubsysState {
    // SAFETY: the caller's promise.
    let boundary = unsafe { back::<K>(host) }.boundary();
    // SAFETY: as above.
    let [start, before, flags] = unsafe { (*it).opaque };
    let place = |word: u64| word.checked_sub(1).map(|place| place as usize);
    let cgroups = &boundary.view.cgroups;
    let walk = walk(flags as u32, boundary.release).zip(place(start));
    let next = walk.and_then(|(walk, start)| cgroups.next(walk, start, place(before)));
    // A walk that is over stays so.
    let words = next.map_or([0, 0], |next| [start, next as u64 + 1]);
    // SAFETY: as above.
    unsafe { (*it).opaque = [words[0], words[1], flags] };
    next.map_or(std::ptr::null_mut(), |next| cgroups.cgroup(next).cast())
}
