// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kfuncs of objects, trees, lists and their locks do, for the table in [`super::kfuncs`].

use std::ffi::c_void;

use bpf::host::{FaultKind, Host};

use super::graph::{End, Side};
use super::model::Kernel;
use super::outside::{back, call_back};
use super::register::Less;
use super::shown::{ListHead, ListNode, RbNode, RbRoot, ResSpinLock};
use super::spin_locks::Attempt;
use super::world::World;
use crate::consts::EINVAL;

type Memory = *mut c_void;

const EDEADLK: i32 = -35;

pub fn address<T>(at: *const T) -> u64 {
    at.addr() as u64
}

pub fn pointer_to<T>(address: Option<u64>) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address.unwrap_or(0) as usize)
}

pub unsafe fn create<K: Kernel>(host: *mut Host, local_type_id: u64) -> Memory {
    // SAFETY: called by the policy; see `back`.
    let boundary = unsafe { back::<K>(host) }.boundary();
    let bytes = boundary.type_bytes.get(&(local_type_id as u32)).copied();
    pointer_to(bytes.map(|bytes| boundary.objects.create(bytes)))
}

/// An object of which every CPU has its own copy.
pub unsafe fn create_per_cpu<K: Kernel>(host: *mut Host, local_type_id: u64) -> Memory {
    // SAFETY: called by the policy; the host of every policy is the first member of a world.
    let (boundary, cpus) = unsafe {
        let world = host.cast::<World>();
        (*world).has_per_cpu_objects = 1;
        (back::<K>(host).boundary(), (*world).nr_cpu_ids as u32)
    };
    let bytes = boundary.type_bytes.get(&(local_type_id as u32)).copied();
    pointer_to(bytes.map(|bytes| boundary.objects.create_copies(bytes, cpus)))
}

/// What is no object is refused, as the verifier does.
unsafe fn refuse_unless(host: *mut Host, is_object: bool, p: Memory) {
    if !is_object {
        // SAFETY: called by the policy.
        unsafe { (*host).refuse(FaultKind::Outside, address(p), 0) };
    }
}

pub unsafe fn release<K: Kernel>(host: *mut Host, p: Memory) {
    // SAFETY: called by the policy; see `back`.
    unsafe {
        let is_object = back::<K>(host).boundary().objects.release(address(p));
        refuse_unless(host, is_object, p);
    }
}

pub unsafe fn acquire<K: Kernel>(host: *mut Host, p: Memory) -> Memory {
    // SAFETY: called by the policy; see `back`.
    unsafe {
        let is_object = back::<K>(host).boundary().objects.acquire(address(p));
        refuse_unless(host, is_object, p);
    }
    p
}

/// Whether a node may go into a tree or a list. One that is in one already loses the reference that came with it.
unsafe fn is_free<K: Kernel>(host: *mut Host, node: u64) -> bool {
    // SAFETY: called by the policy; see `back`.
    let boundary = unsafe { back::<K>(host) }.boundary();
    let is_somewhere = boundary.graph.is_somewhere(node);
    if is_somewhere && let Some(object) = boundary.objects.around(node) {
        boundary.objects.release(object);
    }
    !is_somewhere
}

/// Behind every node that the new one does not go before.
pub unsafe fn tree_add<K: Kernel>(
    host: *mut Host,
    root: *mut RbRoot,
    node: *mut RbNode,
    less: &Less,
) -> i32 {
    let (root, node) = (address(root), address(node));
    // SAFETY: called by the policy; see `back`.
    if !unsafe { is_free::<K>(host, node) } {
        return EINVAL;
    }
    // SAFETY: as above.
    let (mut low, mut high) = (0, unsafe { back::<K>(host) }.boundary().graph.len(root));
    while low < high {
        let middle = usize::midpoint(low, high);
        // SAFETY: as above.
        let other = unsafe { back::<K>(host) }
            .boundary()
            .graph
            .nth(root, middle);
        let registers = [node, other.unwrap_or(0), 0, 0, 0];
        // SAFETY: as above; nothing of the model is borrowed.
        match unsafe { call_back(host, less.0, registers) } {
            None => return EINVAL,
            Some(goes_before) if goes_before as u8 != 0 => high = middle,
            Some(_) => low = middle + 1,
        }
    }
    // SAFETY: as above.
    unsafe { back::<K>(host) }
        .boundary()
        .graph
        .insert(root, low, node);
    0
}

pub unsafe fn push<K: Kernel>(
    host: *mut Host,
    head: *mut ListHead,
    node: *mut ListNode,
    end: End,
) -> i32 {
    // SAFETY: called by the policy; see `back`.
    unsafe {
        if !is_free::<K>(host, address(node)) {
            return EINVAL;
        }
        let graph = &mut back::<K>(host).boundary().graph;
        let place = match end {
            End::Front => 0,
            End::Back => graph.len(address(head)),
        };
        graph.insert(address(head), place, address(node));
    }
    0
}

pub unsafe fn pop<K: Kernel>(host: *mut Host, head: *mut ListHead, end: End) -> *mut ListNode {
    // SAFETY: called by the policy; see `back`.
    let graph = &mut unsafe { back::<K>(host) }.boundary().graph;
    pointer_to(graph.pop(address(head), end))
}

pub unsafe fn at<K: Kernel, R, N>(host: *mut Host, root: *mut R, end: End) -> *mut N {
    // SAFETY: called by the policy; see `back`.
    let graph = &unsafe { back::<K>(host) }.boundary().graph;
    pointer_to(graph.at(address(root), end))
}

/// The node on one side beneath another; null where there is none, or where the node is not of this tree.
pub unsafe fn beneath<K: Kernel>(
    host: *mut Host,
    root: *mut RbRoot,
    node: *mut RbNode,
    side: Side,
) -> *mut RbNode {
    // SAFETY: called by the policy; see `back`.
    let graph = &unsafe { back::<K>(host) }.boundary().graph;
    pointer_to(graph.beneath(address(root), address(node), side))
}

pub unsafe fn res_lock<K: Kernel>(host: *mut Host, lock: *mut ResSpinLock) -> i32 {
    // SAFETY: called by the policy; see `back`.
    let kernel = unsafe { back::<K>(host) };
    match kernel.boundary().spin_locks.take(address(lock)) {
        Attempt::Taken => 0,
        Attempt::HeldAlready => EDEADLK,
        Attempt::HeldByOther => {
            kernel.cannot_wait();
            EDEADLK
        }
    }
}

pub unsafe fn res_unlock<K: Kernel>(host: *mut Host, lock: *mut ResSpinLock) {
    // SAFETY: called by the policy; see `back`.
    unsafe {
        if !back::<K>(host)
            .boundary()
            .spin_locks
            .give_back(address(lock))
        {
            (*host).refuse(FaultKind::Lock, 0, 0);
        }
    }
}
