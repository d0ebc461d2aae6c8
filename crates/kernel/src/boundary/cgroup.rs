// SPDX-License-Identifier: GPL-2.0-or-later
//! The one cgroup that there is, the root, which every task is in.

use std::mem::offset_of;

use bpf::btf::TypeId;

use super::area::Area;
use super::release::Release;
use super::shared::Shared;
use super::types::{Describe, Shown, Types};

/// The root's number, by which the kernel's file system of cgroups knows it.
pub const ROOT_CGROUP: u64 = 1;

#[repr(C)]
pub struct Cgroup {
    /// The kernel's `self`.
    pub own: SubsysState,
    pub level: i32,
    pub kn: *mut KernfsNode,
}

#[repr(C)]
pub struct SubsysState {
    pub cgroup: *mut Cgroup,
    /// Null: that of the root.
    pub parent: *mut SubsysState,
}

#[repr(C)]
pub struct KernfsNode {
    pub id: u64,
}

impl Shown for Cgroup {
    fn describe(types: &mut Types) -> TypeId {
        let member = |name, offset, describe: Describe| (name, Release::ALL[0], offset, describe);
        types.structure(
            "cgroup",
            size_of::<Self>(),
            [
                member("self", offset_of!(Self, own), SubsysState::describe),
                member("level", offset_of!(Self, level), i32::describe),
                member("kn", offset_of!(Self, kn), <*mut KernfsNode>::describe),
            ],
        )
    }
}

impl Shown for SubsysState {
    fn describe(types: &mut Types) -> TypeId {
        let member = |name, offset, describe: Describe| (name, Release::ALL[0], offset, describe);
        types.structure(
            "cgroup_subsys_state",
            size_of::<Self>(),
            [
                member("cgroup", offset_of!(Self, cgroup), <*mut Cgroup>::describe),
                member("parent", offset_of!(Self, parent), <*mut Self>::describe),
            ],
        )
    }
}

impl Shown for KernfsNode {
    fn describe(types: &mut Types) -> TypeId {
        let id: Describe = u64::describe;
        let members = [("id", Release::ALL[0], offset_of!(Self, id), id)];
        types.structure("kernfs_node", size_of::<Self>(), members)
    }
}

/// The root cgroup and its node.
pub struct Root(Shared<Shapes>);

struct Shapes {
    cgroup: Cgroup,
    node: KernfsNode,
}

impl Root {
    pub fn new() -> Self {
        let mut root = Self(Shared::new(Shapes {
            cgroup: Cgroup {
                own: SubsysState {
                    cgroup: std::ptr::null_mut(),
                    parent: std::ptr::null_mut(),
                },
                level: 0,
                kn: std::ptr::null_mut(),
            },
            node: KernfsNode { id: ROOT_CGROUP },
        }));
        let cgroup = root.cgroup();
        // SAFETY: only the address is taken.
        let node = unsafe { &raw mut (*root.0.pointer()).node };
        root.0.cgroup.own.cgroup = cgroup;
        root.0.cgroup.kn = node;
        root
    }

    pub fn cgroup(&self) -> *mut Cgroup {
        // SAFETY: only the address is taken.
        unsafe { &raw mut (*self.0.pointer()).cgroup }
    }

    /// Where a policy sees it.
    pub fn area(&self) -> Area {
        Area::of(self.0.pointer(), size_of::<Shapes>())
    }
}
