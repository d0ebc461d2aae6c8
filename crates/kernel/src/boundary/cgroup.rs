// SPDX-License-Identifier: GPL-2.0-or-later
//! The control groups that a policy sees, the root first and every other behind its parent.
//!
//! A group is known by its place, and all that are below it have the places behind it: a walk from parents to children
//! is one from place to place.

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

/// Groups and their nodes, in place for the whole run.
pub struct Cgroups {
    shapes: Shared<[Shape]>,
    parents: Vec<usize>,
    /// The first place behind all that is below a group.
    ends: Vec<usize>,
    /// Those that have not been removed.
    there: Vec<bool>,
    /// The number of the group that is made next.
    next_id: u64,
}

/// Its first member is where a policy's pointers to a group lead, and those to its state.
#[repr(C)]
struct Shape {
    cgroup: Cgroup,
    node: KernfsNode,
}

impl Cgroups {
    /// A group for every parent, which comes before it, behind the root.
    pub fn new(parents: &[usize]) -> Self {
        let parents: Vec<usize> = std::iter::once(0).chain(parents.iter().copied()).collect();
        let mut ends: Vec<usize> = (1..=parents.len()).collect();
        let mut levels = vec![0; parents.len()];
        for place in 1..parents.len() {
            levels[place] = levels[parents[place]] + 1;
        }
        for place in (1..parents.len()).rev() {
            ends[parents[place]] = ends[parents[place]].max(ends[place]);
        }
        let shape = |(place, level): (usize, i32)| Shape {
            cgroup: Cgroup {
                own: SubsysState {
                    cgroup: std::ptr::null_mut(),
                    parent: std::ptr::null_mut(),
                },
                level,
                kn: std::ptr::null_mut(),
            },
            node: KernfsNode {
                id: ROOT_CGROUP + place as u64,
            },
        };
        let mut groups = Self {
            shapes: levels.into_iter().enumerate().map(shape).collect(),
            there: vec![true; parents.len()],
            next_id: ROOT_CGROUP + parents.len() as u64,
            parents,
            ends,
        };
        for place in 0..groups.parents.len() {
            let (cgroup, parent) = (groups.cgroup(place), groups.cgroup(groups.parents[place]));
            // SAFETY: within the shapes; only the address is taken.
            let node = unsafe { &raw mut (*groups.shape(place)).node };
            let shape = &mut groups.shapes[place].cgroup;
            shape.own.cgroup = cgroup;
            shape.kn = node;
            if place > 0 {
                shape.own.parent = parent.cast();
            }
        }
        groups
    }

    fn shape(&self, place: usize) -> *mut Shape {
        debug_assert!(place < self.parents.len());
        // SAFETY: within the shapes.
        unsafe { self.shapes.pointer().cast::<Shape>().add(place) }
    }

    pub fn cgroup(&self, place: usize) -> *mut Cgroup {
        self.shape(place).cast()
    }

    /// Which group a policy's pointer means.
    pub fn place(&self, pointer: *const Cgroup) -> Option<usize> {
        let first = self.shapes.pointer().cast::<Shape>();
        let offset = pointer.addr().wrapping_sub(first.addr());
        let place = offset / size_of::<Shape>();
        (offset.is_multiple_of(size_of::<Shape>()) && place < self.parents.len()).then_some(place)
    }

    pub fn with_id(&self, id: u64) -> *mut Cgroup {
        let mut places = 0..self.parents.len();
        let place = places.find(|place| self.there[*place] && self.shapes[*place].node.id == id);
        place.map_or(std::ptr::null_mut(), |place| self.cgroup(place))
    }

    /// A group without others below it goes.
    pub fn remove(&mut self, place: usize) {
        self.there[place] = false;
    }

    /// It comes again, as another group in the same place.
    pub fn make(&mut self, place: usize) {
        self.there[place] = true;
        self.shapes[place].node.id = self.next_id;
        self.next_id += 1;
    }

    /// The group at this level above one, or itself.
    pub fn ancestor(&self, of: *const Cgroup, level: i32) -> *mut Cgroup {
        let mut found = self.place(of);
        while let Some(place) = found {
            let own = self.shapes[place].cgroup.level;
            if own <= level {
                return if own == level {
                    self.cgroup(place)
                } else {
                    std::ptr::null_mut()
                };
            }
            found = Some(self.parents[place]);
        }
        std::ptr::null_mut()
    }

    /// The next of a walk over what is below a group; without one before it the first.
    pub fn next(&self, walk: Walk, start: usize, before: Option<usize>) -> Option<usize> {
        let mut at = self.step(walk, start, before);
        while let Some(place) = at.filter(|place| !self.there[*place]) {
            at = self.step(walk, start, Some(place));
        }
        at
    }

    fn step(&self, walk: Walk, start: usize, before: Option<usize>) -> Option<usize> {
        let end = self.ends[start];
        match (walk, before) {
            (Walk::ParentsFirst | Walk::Up, None) => Some(start),
            (Walk::ParentsFirst, Some(at)) => Some(at + 1).filter(|next| *next < end),
            (Walk::ChildrenFirst, None) => Some(self.first_leaf(start)),
            (Walk::ChildrenFirst, Some(at)) if at == start => None,
            (Walk::ChildrenFirst, Some(at)) => Some(match self.sibling(at) {
                Some(next) => self.first_leaf(next),
                None => self.parents[at],
            }),
            (Walk::Up, Some(0)) => None,
            (Walk::Up, Some(at)) => Some(self.parents[at]),
            (Walk::Children, None) => Some(start + 1).filter(|first| *first < end),
            (Walk::Children, Some(at)) => self.sibling(at),
        }
    }

    fn first_leaf(&self, mut place: usize) -> usize {
        while self.ends[place] > place + 1 {
            place += 1;
        }
        place
    }

    fn sibling(&self, place: usize) -> Option<usize> {
        let next = self.ends[place];
        (place > 0 && next < self.ends[self.parents[place]]).then_some(next)
    }

    /// Where a policy sees them.
    pub fn area(&self) -> Area {
        Area::of(self.shapes.pointer(), size_of_val(&*self.shapes))
    }
}

/// How a walk over groups goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    ParentsFirst,
    ChildrenFirst,
    Up,
    Children,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 0 ─┬─ 1 ─┬─ 2
    ///    │     └─ 3 ── 4
    ///    └─ 5
    /// ```
    fn groups() -> Cgroups {
        Cgroups::new(&[0, 1, 1, 3, 0])
    }

    fn walked(walk: Walk, start: usize) -> Vec<usize> {
        let groups = groups();
        let mut at = None;
        std::iter::from_fn(|| {
            at = groups.next(walk, start, at);
            at
        })
        .take(9)
        .collect()
    }

    #[test]
    fn walks_are_the_kernels() {
        assert_eq!(walked(Walk::ParentsFirst, 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(walked(Walk::ParentsFirst, 3), [3, 4]);
        assert_eq!(walked(Walk::ChildrenFirst, 0), [2, 4, 3, 1, 5, 0]);
        assert_eq!(walked(Walk::ChildrenFirst, 1), [2, 4, 3, 1]);
        assert_eq!(walked(Walk::Up, 4), [4, 3, 1, 0]);
        assert_eq!(walked(Walk::Children, 0), [1, 5]);
        assert_eq!(walked(Walk::Children, 1), [2, 3]);
        assert_eq!(walked(Walk::Children, 5), [] as [usize; 0]);
    }

    #[test]
    fn groups_know_what_is_above_them() {
        let groups = groups();
        let place = |pointer: *mut Cgroup| groups.place(pointer);
        assert_eq!(place(groups.ancestor(groups.cgroup(4), 1)), Some(1));
        assert_eq!(place(groups.ancestor(groups.cgroup(4), 3)), Some(4));
        assert_eq!(place(groups.ancestor(groups.cgroup(4), 0)), Some(0));
        assert!(groups.ancestor(groups.cgroup(1), 2).is_null());
        assert_eq!(place(groups.with_id(ROOT_CGROUP + 5)), Some(5));
        assert!(groups.with_id(ROOT_CGROUP + 6).is_null());
        assert!(groups.with_id(0).is_null());
    }

    #[test]
    fn a_group_that_is_removed_is_passed_over_and_comes_again_as_another() {
        let mut groups = groups();
        let walked = |groups: &Cgroups, walk, start| {
            let mut at = None;
            let walk = std::iter::from_fn(|| {
                at = groups.next(walk, start, at);
                at
            });
            walk.take(9).collect::<Vec<usize>>()
        };
        groups.remove(2);
        groups.remove(4);
        assert_eq!(walked(&groups, Walk::ParentsFirst, 0), [0, 1, 3, 5]);
        assert_eq!(walked(&groups, Walk::ChildrenFirst, 0), [3, 1, 5, 0]);
        assert_eq!(walked(&groups, Walk::Children, 1), [3]);
        assert!(groups.with_id(ROOT_CGROUP + 4).is_null());
        groups.make(4);
        assert!(groups.with_id(ROOT_CGROUP + 4).is_null());
        let again = groups.with_id(ROOT_CGROUP + 6);
        assert_eq!(groups.place(again), Some(4));
        assert_eq!(walked(&groups, Walk::ChildrenFirst, 1), [4, 3, 1]);
    }
}
