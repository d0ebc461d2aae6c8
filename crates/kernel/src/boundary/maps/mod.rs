// SPDX-License-Identifier: GPL-2.0-or-later
//! The policy's maps: what helpers do with them, whatever their kinds.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `kind` | the kinds that there are |
//! | `store` | a map by its kind |
//! | `value` | memory of values |
//! | `hash`, `queue`, `ring` | hashes; queues and stacks; ring buffers |
//! | `timer` | timers in values |

mod hash;
pub mod kind;
mod queue;
mod ring;
mod store;
mod timer;
pub mod value;

use std::ffi::c_void;

use bpf::image;

use super::area::Area;
use super::filled::{self, Filled};
use super::shared::Shared;
use super::types::{Shown, Types};
use crate::consts::{E2BIG, EEXIST, EINVAL, ENOENT};
use crate::ids::{Id, TaskId};
use hash::NO_EXIST;
use queue::Queue;
use ring::Ring;
use store::{Map, Store};
use timer::PolicyTimer;
use value::{Value, area, stored};

pub use timer::TimerCall;

/// What a map's address points to: as much of a map as inlined look-ups need ([`super::inlines`]).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handle {
    /// Null for a map that is no array.
    pub values: *mut c_void,
    pub entries: u64,
    /// From one element to the next.
    pub stride: u64,
    /// From one CPU's array to the next; 0 where all have the same.
    pub cpu_stride: u64,
}

/// A map, as code passes it.
pub type MapPointer = *mut Handle;

impl Shown for Handle {
    fn describe(types: &mut Types) -> bpf::btf::TypeId {
        types.btf.forward("bpf_map")
    }
}

pub struct Maps {
    cpus: usize,
    all: Vec<Map>,
    handles: Shared<[Handle]>,
    /// Values that were deleted and keys that a walk shows: the code under way may still have their addresses.
    kept: Vec<Value>,
    timers: Vec<PolicyTimer>,
}

impl Maps {
    pub fn new(shapes: &[image::Map], cpus: usize) -> Self {
        let (maps, handles): (Vec<Map>, Vec<Handle>) =
            shapes.iter().map(|shape| Map::new(shape, cpus)).unzip();
        Self {
            cpus,
            all: maps,
            handles: handles.into_iter().collect(),
            kept: Vec::new(),
            timers: Vec::new(),
        }
    }

    /// Puts in what was in them before the policy began.
    pub fn fill(&mut self, filled: &[Filled]) {
        for Filled { map, entries } in filled {
            let map = self.pointer(*map);
            for filled::Entry { key, values } in entries {
                for (cpu, value) in values.iter().enumerate() {
                    // SAFETY: keys and values have the map's sizes.
                    let result = unsafe { self.update(map, key.as_ptr(), value.as_ptr(), 0, cpu) };
                    debug_assert_eq!(result, 0);
                }
            }
        }
    }

    pub const STRIDE: u64 = size_of::<Handle>() as u64;

    /// What code takes for the address of map 0.
    pub fn first(&self) -> *mut u8 {
        self.handles.pointer().cast()
    }

    fn index(&self, map: MapPointer) -> Option<usize> {
        let offset = map.addr().wrapping_sub(self.first().addr());
        let index = offset / size_of::<Handle>();
        (offset.is_multiple_of(size_of::<Handle>()) && index < self.all.len()).then_some(index)
    }

    /// A map of the image, as code passes it.
    fn pointer(&self, index: usize) -> MapPointer {
        debug_assert!(index < self.all.len());
        // SAFETY: within the handles, of which every map has one.
        unsafe { self.handles.pointer().cast::<Handle>().add(index) }
    }

    /// The value of a key: in an array, an element, and where each CPU has its own, that of this one; in
    /// a map of maps, the map.
    ///
    /// # Safety
    /// The key is readable for as many bytes as the map's keys have.
    pub unsafe fn lookup(&self, map: MapPointer, key: *const u32, cpu: usize) -> *mut c_void {
        let none = std::ptr::null_mut();
        let Some(index) = self.index(map) else {
            return none;
        };
        let handle = self.handles[index];
        if cpu >= self.cpus {
            return none;
        }
        if let Store::Maps(maps) = &self.all[index].store {
            // SAFETY: the caller's promise.
            let key = unsafe { std::slice::from_raw_parts(key.cast(), self.all[index].key_bytes) };
            return maps
                .get(key)
                .map_or(none, |inner| self.pointer(*inner).cast());
        }
        if handle.values.is_null() {
            // SAFETY: the caller's promise.
            return unsafe { self.all[index].found(key.cast(), cpu) };
        }
        // SAFETY: the caller's promise; an array's keys are words.
        let key = u64::from(unsafe { key.read_unaligned() });
        if key >= handle.entries {
            return none;
        }
        handle.at(key, cpu as u64)
    }

    /// Puts a value behind a key, as `bpf_map_update_elem` does with these flags.
    ///
    /// # Safety
    /// Key and value are readable for as many bytes as the map's have.
    pub unsafe fn update(
        &mut self,
        map: MapPointer,
        key: *const u8,
        value: *const u8,
        flags: u64,
        cpu: usize,
    ) -> i64 {
        let Some(index) = self.index(map) else {
            return i64::from(EINVAL);
        };
        let Map {
            key_bytes,
            value_bytes,
            ..
        } = self.all[index];
        // SAFETY: the caller's promise.
        let place = unsafe {
            match &mut self.all[index].store {
                Store::Array(_) if flags == NO_EXIST => return i64::from(EEXIST),
                Store::Array(_) => match self.lookup(map, key.cast(), cpu) {
                    place if place.is_null() => return i64::from(E2BIG),
                    place => place,
                },
                Store::Hash(hash) => {
                    match hash.made(std::slice::from_raw_parts(key, key_bytes), flags, cpu) {
                        Ok((place, evicted)) => {
                            self.kept.extend(evicted);
                            place
                        }
                        Err(error) => return i64::from(error),
                    }
                }
                _ => return i64::from(EINVAL),
            }
        };
        // SAFETY: the caller's promise; the value has its place in the map.
        unsafe { std::ptr::copy(value, place.cast(), value_bytes) };
        0
    }

    /// # Safety
    /// The key is readable for as many bytes as the map's have.
    pub unsafe fn delete(&mut self, map: MapPointer, key: *const u8) -> i64 {
        let Some(index) = self.index(map) else {
            return i64::from(EINVAL);
        };
        let bytes = self.all[index].key_bytes;
        let Store::Hash(hash) = &mut self.all[index].store else {
            return i64::from(EINVAL);
        };
        // SAFETY: the caller's promise.
        match hash.removed(unsafe { std::slice::from_raw_parts(key, bytes) }) {
            None => i64::from(ENOENT),
            Some(value) => {
                self.kept.push(value);
                0
            }
        }
    }

    /// # Safety
    /// The value is readable for as many bytes as the map's have.
    pub unsafe fn push(&mut self, map: MapPointer, value: *const u8, flags: u64) -> i64 {
        let Some((queue, bytes)) = self.queue(map) else {
            return i64::from(EINVAL);
        };
        // SAFETY: the caller's promise.
        let value = unsafe { std::slice::from_raw_parts(value, bytes) };
        queue.push(value, flags).map_or_else(i64::from, |()| 0)
    }

    /// The next value of a queue or a stack, which stays there or not; zeroes where there is none.
    ///
    /// # Safety
    /// The value is writable for as many bytes as the map's have.
    pub unsafe fn next(&mut self, map: MapPointer, value: *mut u8, stays: bool) -> i64 {
        let Some((queue, bytes)) = self.queue(map) else {
            return i64::from(EINVAL);
        };
        match queue.peek() {
            Ok(next) => {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy(next.as_ptr(), value, bytes) };
                if !stays {
                    queue.drop_next();
                }
                0
            }
            Err(error) => {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::write_bytes(value, 0, bytes) };
                i64::from(error)
            }
        }
    }

    /// A queue or a stack, and how many bytes its values have.
    fn queue(&mut self, map: MapPointer) -> Option<(&mut Queue, usize)> {
        let index = self.index(map)?;
        let map = &mut self.all[index];
        match &mut map.store {
            Store::Queue(queue) => Some((queue, map.value_bytes)),
            _ => None,
        }
    }

    fn ring(&mut self, map: MapPointer) -> Option<&mut Ring> {
        let index = self.index(map)?;
        match &mut self.all[index].store {
            Store::Ring(ring) => Some(ring),
            _ => None,
        }
    }

    /// Room for a record; null where there is none.
    pub fn ring_reserve(&mut self, map: MapPointer, bytes: u64) -> *mut c_void {
        let none = std::ptr::null_mut();
        (self.ring(map)).map_or(none, |ring| ring.reserve(bytes).cast())
    }

    /// A record that was reserved is complete, whichever map it is of. False: it was not.
    pub fn ring_complete(&mut self, record: *const c_void, submitted: bool) -> bool {
        let rings = self.all.iter_mut().filter_map(|map| match &mut map.store {
            Store::Ring(ring) => Some(ring),
            _ => None,
        });
        for ring in rings {
            if let Some(value) = ring.complete(record.cast(), submitted) {
                self.kept.push(value);
                return true;
            }
        }
        false
    }

    pub fn ring_query(&mut self, map: MapPointer, what: u64) -> u64 {
        self.ring(map).map_or(0, |ring| ring.query(what))
    }

    /// The names of ring buffers, and how many records they were sent.
    pub fn unread(&self) -> impl Iterator<Item = (&str, u64)> {
        self.all.iter().filter_map(|map| match &map.store {
            Store::Ring(ring) => Some((map.name.as_str(), ring.submitted())),
            _ => None,
        })
    }

    /// Every key, in a place of its own, and its value.
    pub fn elements(&mut self, map: MapPointer, cpu: usize) -> Vec<(*mut u64, *mut c_void)> {
        let Some(index) = self.index(map) else {
            return Vec::new();
        };
        let handle = self.handles[index];
        let keys: Vec<Value> = match &self.all[index].store {
            Store::Array(_) => (0..handle.entries)
                .map(|key| [key].into_iter().collect())
                .collect(),
            Store::Hash(hash) => hash.keys().map(|key| super::words(key).collect()).collect(),
            _ => Vec::new(),
        };
        let elements = keys.iter().map(|key| {
            let at: *mut u64 = key.pointer().cast();
            // SAFETY: the key has as many bytes as the map's keys.
            (at, unsafe { self.lookup(map, at.cast(), cpu) })
        });
        let elements = elements.collect();
        self.kept.extend(keys);
        elements
    }

    /// Of the control group at this place.
    pub fn cgroup_value(&mut self, map: MapPointer, place: usize, create: bool) -> *mut c_void {
        let none = std::ptr::null_mut();
        let Some(index) = self.index(map) else {
            return none;
        };
        let Map {
            value_bytes, store, ..
        } = &mut self.all[index];
        let Store::CgroupStorage(values) = store else {
            return none;
        };
        if values.len() <= place {
            if !create {
                return none;
            }
            values.resize_with(place + 1, || None);
        }
        stored(&mut values[place], *value_bytes, create)
    }

    pub fn delete_cgroup_value(&mut self, map: MapPointer, place: usize) -> i64 {
        let store = self.index(map).map(|index| &mut self.all[index].store);
        let Some(Store::CgroupStorage(values)) = store else {
            return i64::from(ENOENT);
        };
        match values.get_mut(place).and_then(Option::take) {
            None => i64::from(ENOENT),
            Some(value) => {
                self.kept.push(value);
                0
            }
        }
    }

    /// A control group is no more, and with it what policies keep of it.
    pub fn forget_cgroup(&mut self, place: usize) {
        for map in &mut self.all {
            if let Store::CgroupStorage(values) = &mut map.store
                && let Some(value) = values.get_mut(place).and_then(Option::take)
            {
                self.kept.push(value);
            }
        }
    }

    /// The code that was under way is through; whether anything was freed.
    #[inline]
    pub fn settle(&mut self) -> bool {
        let any = !self.kept.is_empty();
        if any {
            self.kept.clear();
        }
        any
    }

    pub fn task_value(&mut self, map: MapPointer, task: TaskId, create: bool) -> *mut c_void {
        let none = std::ptr::null_mut();
        let Some(index) = self.index(map) else {
            return none;
        };
        let Map {
            value_bytes, store, ..
        } = &mut self.all[index];
        let Store::TaskStorage(values) = store else {
            return none;
        };
        if values.len() <= task.index() {
            if !create {
                return none;
            }
            values.resize_with(task.index() + 1, || None);
        }
        stored(&mut values[task.index()], *value_bytes, create)
    }

    pub fn delete_task_value(&mut self, map: MapPointer, task: TaskId) -> i64 {
        let index = self.index(map);
        match index.and_then(|index| self.all[index].forget(task)) {
            None => i64::from(ENOENT),
            Some(value) => {
                self.kept.push(value);
                0
            }
        }
    }

    pub fn forget_task(&mut self, task: TaskId) {
        let forgotten = (self.all.iter_mut()).filter_map(|map| map.forget(task));
        self.kept.extend(forgotten);
    }

    /// The memory of all values, and of what is seen of the maps themselves.
    pub fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let handles = Area::of(self.first(), self.handles.len() * size_of::<Handle>());
        let kept = self.kept.iter().map(area);
        std::iter::once(handles)
            .chain(kept)
            .chain(self.all.iter().flat_map(Map::areas))
    }
}

impl Handle {
    #[inline]
    fn at(&self, key: u64, cpu: u64) -> *mut c_void {
        debug_assert!(key < self.entries);
        let offset = cpu * self.cpu_stride + key * self.stride;
        // SAFETY: within the values, which are so many elements of so many bytes for every CPU.
        unsafe { self.values.cast::<u8>().add(offset as usize) }.cast()
    }
}
