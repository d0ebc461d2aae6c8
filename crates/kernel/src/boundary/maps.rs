// SPDX-License-Identifier: GPL-2.0-or-later
//! The policy's maps and timers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use bpf::image;

use super::area::Area;
use super::register::Register;
use super::shared::Shared;
use super::shown::{Shown, Timer, Types};
use crate::consts::{E2BIG, EBUSY, EEXIST, EINVAL, ENOENT};
use crate::ids::{CpuId, Id, TaskId};

/// Values are kept in words, so that they are aligned as the policy expects.
type Value = Shared<[u64]>;

fn zeroed(bytes: usize) -> Value {
    (0..bytes.div_ceil(8)).map(|_| 0).collect()
}

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

pub mod kind {
    //! Of `enum bpf_map_type`.
    pub const HASH: u32 = 1;
    pub const ARRAY: u32 = 2;
    /// Without events: nobody opens a counter.
    pub const PERF_EVENT_ARRAY: u32 = 4;
    pub const PERCPU_HASH: u32 = 5;
    pub const PERCPU_ARRAY: u32 = 6;
    pub const LRU_HASH: u32 = 9;
    pub const TASK_STORAGE: u32 = 29;
    pub const CGRP_STORAGE: u32 = 32;

    pub const KNOWN: &[u32] = &[
        HASH,
        ARRAY,
        PERF_EVENT_ARRAY,
        PERCPU_HASH,
        PERCPU_ARRAY,
        LRU_HASH,
        TASK_STORAGE,
        CGRP_STORAGE,
    ];
}

enum Store {
    /// Elements, of all CPUs one after the other where each has its own.
    Array(Value),
    TaskStorage(Vec<Option<Value>>),
    /// Of the root, which is the only cgroup.
    CgroupStorage(Option<Value>),
    Hash(Hash),
    Empty,
}

struct Map {
    key_bytes: usize,
    value_bytes: usize,
    /// So many values lie behind each key.
    copies: usize,
    store: Store,
}

/// Keys in the order of their bytes, so that a walk is the same everywhere.
struct Hash {
    values: BTreeMap<Vec<u8>, Entry>,
    most: usize,
    /// Where it is full, the value that was longest not looked at makes room.
    least_recent_goes: bool,
    uses: Cell<u64>,
}

struct Entry {
    value: Value,
    used: Cell<u64>,
}

impl Hash {
    fn next_use(&self) -> u64 {
        self.uses.set(self.uses.get() + 1);
        self.uses.get()
    }
}

/// Flags of an update.
const NO_EXIST: u64 = 1;
const EXIST: u64 = 2;

struct PolicyTimer {
    timer: *mut Timer,
    map: MapPointer,
    /// As code passed it: a function of the image.
    callback: Option<u64>,
    cpu: CpuId,
    seq: u64,
}

/// The place of a value in storage, which may be made.
fn stored(value: &mut Option<Value>, bytes: usize, create: bool) -> *mut c_void {
    if value.is_none() && create {
        *value = Some(zeroed(bytes));
    }
    (value.as_ref()).map_or(std::ptr::null_mut(), |value| value.pointer().cast())
}

fn area(value: &Value) -> Area {
    Area::of(value.pointer(), value.len() * 8)
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

    /// The value of a key: in an array, an element, and where each CPU has its own, that of this one.
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
        let bytes = self.all[index].value_bytes;
        // SAFETY: the caller's promise.
        let place = unsafe {
            match &mut self.all[index].store {
                Store::Array(_) if flags == NO_EXIST => return i64::from(EEXIST),
                Store::Array(_) => match self.lookup(map, key.cast(), cpu) {
                    place if place.is_null() => return i64::from(E2BIG),
                    place => place,
                },
                Store::Hash(_) => match self.all[index].made(key, flags, cpu) {
                    Ok((place, evicted)) => {
                        self.kept.extend(evicted);
                        place
                    }
                    Err(error) => return i64::from(error),
                },
                _ => return i64::from(EINVAL),
            }
        };
        // SAFETY: the caller's promise; the value has its place in the map.
        unsafe { std::ptr::copy(value, place.cast(), bytes) };
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
        match hash
            .values
            .remove(unsafe { std::slice::from_raw_parts(key, bytes) })
        {
            None => i64::from(ENOENT),
            Some(entry) => {
                self.kept.push(entry.value);
                0
            }
        }
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
            Store::Hash(hash) => hash
                .values
                .keys()
                .map(|key| super::words(key).collect())
                .collect(),
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

    pub fn cgroup_value(&mut self, map: MapPointer, create: bool) -> *mut c_void {
        let Some(index) = self.index(map) else {
            return std::ptr::null_mut();
        };
        let Map {
            value_bytes, store, ..
        } = &mut self.all[index];
        let Store::CgroupStorage(value) = store else {
            return std::ptr::null_mut();
        };
        stored(value, *value_bytes, create)
    }

    pub fn delete_cgroup_value(&mut self, map: MapPointer) -> i64 {
        let store = self.index(map).map(|index| &mut self.all[index].store);
        match store {
            Some(Store::CgroupStorage(value)) if value.is_some() => {
                self.kept.extend(value.take());
                0
            }
            _ => i64::from(ENOENT),
        }
    }

    /// The code that was under way is through.
    #[inline]
    pub fn settle(&mut self) {
        if !self.kept.is_empty() {
            self.kept.clear();
        }
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

    pub fn delete_task_value(&mut self, map: MapPointer, task: TaskId) {
        if let Some(index) = self.index(map) {
            self.all[index].forget(task);
        }
    }

    pub fn forget_task(&mut self, task: TaskId) {
        for map in &mut self.all {
            map.forget(task);
        }
    }

    /// The memory of all values, and of what is seen of the maps themselves.
    pub fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let handles = Area::of(self.first(), self.handles.len() * size_of::<Handle>());
        let kept = self.kept.iter().map(area);
        std::iter::once(handles)
            .chain(kept)
            .chain(self.all.iter().flat_map(Map::areas))
    }

    /// The array element that a timer lies in, and its key.
    fn around(&self, map: MapPointer, timer: *mut Timer) -> Option<(i32, *mut c_void)> {
        let handle = self.handles[self.index(map)?];
        let offset = timer.addr().wrapping_sub(handle.values.addr()) as u64;
        let key = offset.checked_div(handle.stride)?;
        (key < handle.entries).then(|| (key as i32, handle.at(key, 0)))
    }

    /// Which of the timers that were initialised this is.
    pub fn timer_index(&self, timer: *mut Timer) -> Option<usize> {
        // SAFETY: the policy passes a timer in one of its maps, and no reference to it lives.
        let index = unsafe { (*timer).opaque[0] } as usize;
        let known = self.timers.get(index.checked_sub(1)?)?;
        (known.timer == timer).then_some(index - 1)
    }

    pub fn timer_init(&mut self, timer: *mut Timer, map: MapPointer) -> i64 {
        if self.timer_index(timer).is_some() {
            return i64::from(EBUSY);
        }
        self.timers.push(PolicyTimer {
            timer,
            map,
            callback: None,
            cpu: CpuId(0),
            seq: 0,
        });
        // SAFETY: as above.
        unsafe { (*timer).opaque[0] = self.timers.len() as u64 };
        0
    }

    pub fn timer_set_callback(&mut self, timer: *mut Timer, callback: u64) -> i64 {
        let Some(index) = self.timer_index(timer) else {
            return i64::from(EINVAL);
        };
        self.timers[index].callback = Some(callback);
        0
    }

    /// A timer goes off with this event, on the CPU that asked.
    pub fn timer_started(&mut self, index: usize, seq: u64, cpu: CpuId) {
        let timer = &mut self.timers[index];
        timer.seq = seq;
        timer.cpu = cpu;
    }

    pub fn timer_cancel(&mut self, timer: *mut Timer) -> i64 {
        let Some(index) = self.timer_index(timer) else {
            return i64::from(EINVAL);
        };
        i64::from(std::mem::take(&mut self.timers[index].seq) != 0)
    }

    /// If a timer's last start was with this event: the CPU where it goes off, and what is called.
    pub fn timer_due(&mut self, index: usize, seq: u64) -> Option<(CpuId, Option<TimerCall>)> {
        let known = self
            .timers
            .get_mut(index)
            .filter(|known| known.seq == seq)?;
        known.seq = 0;
        let (cpu, timer, map, callback) = (known.cpu, known.timer, known.map, known.callback);
        let (key, value) = self.around(map, timer).unwrap_or((0, timer.cast()));
        let call = callback.map(|callback| TimerCall {
            callback,
            map,
            key,
            value,
        });
        Some((cpu, call))
    }
}

/// A timer's callback with its arguments.
pub struct TimerCall {
    callback: u64,
    pub map: MapPointer,
    pub key: i32,
    pub value: *mut c_void,
}

impl TimerCall {
    /// The callback, as a function of the image.
    pub fn function(&self) -> Option<u32> {
        u32::try_from(self.callback.checked_sub(1)?).ok()
    }

    /// The callback's registers; the key has to stay in place for the call.
    pub fn registers(&mut self) -> [u64; 5] {
        let key = &raw mut self.key;
        [
            self.map.register(),
            key.register(),
            self.value.register(),
            0,
            0,
        ]
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

impl Map {
    fn new(shape: &image::Map, cpus: usize) -> (Self, Handle) {
        let value_bytes = shape.value_bytes as usize;
        let stride = value_bytes.next_multiple_of(8);
        let mut handle = Handle {
            values: std::ptr::null_mut(),
            entries: 0,
            stride: stride as u64,
            cpu_stride: 0,
        };
        let mut array = |copies: usize| {
            let bytes = stride * shape.max_entries as usize;
            let values = zeroed(bytes * copies);
            handle.values = values.pointer().cast();
            handle.entries = u64::from(shape.max_entries);
            handle.cpu_stride = if copies > 1 { bytes as u64 } else { 0 };
            Store::Array(values)
        };
        let hash = |least_recent_goes| {
            Store::Hash(Hash {
                values: BTreeMap::new(),
                most: shape.max_entries as usize,
                least_recent_goes,
                uses: Cell::new(0),
            })
        };
        let store = match shape.kind {
            kind::ARRAY => array(1),
            kind::PERCPU_ARRAY => array(cpus),
            kind::HASH | kind::PERCPU_HASH => hash(false),
            kind::LRU_HASH => hash(true),
            kind::TASK_STORAGE => Store::TaskStorage(Vec::new()),
            kind::CGRP_STORAGE => Store::CgroupStorage(None),
            _ => Store::Empty,
        };
        let made = Self {
            key_bytes: shape.key_bytes as usize,
            value_bytes,
            copies: if shape.kind == kind::PERCPU_HASH {
                cpus
            } else {
                1
            },
            store,
        };
        (made, handle)
    }

    fn stride(&self) -> usize {
        self.value_bytes.next_multiple_of(8)
    }

    /// # Safety
    /// The key is readable for as many bytes as the map's keys have.
    unsafe fn found(&self, key: *const u8, cpu: usize) -> *mut c_void {
        let Store::Hash(hash) = &self.store else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller's promise.
        let key = unsafe { std::slice::from_raw_parts(key, self.key_bytes) };
        match hash.values.get(key) {
            None => std::ptr::null_mut(),
            Some(entry) => {
                entry.used.set(hash.next_use());
                self.copy_of(&entry.value, cpu)
            }
        }
    }

    /// The value's place for a CPU.
    fn copy_of(&self, value: &Value, cpu: usize) -> *mut c_void {
        let words = if self.copies > 1 {
            cpu * self.stride() / 8
        } else {
            0
        };
        debug_assert!(words < value.len().max(1));
        // SAFETY: within the value, which has a copy for every CPU where it has more than one.
        unsafe { value.pointer().cast::<u64>().add(words) }.cast()
    }

    /// The place of a key's value, made if it has to be, and what had to go for it.
    ///
    /// # Safety
    /// As for [`Self::found`].
    unsafe fn made(
        &mut self,
        key: *const u8,
        flags: u64,
        cpu: usize,
    ) -> Result<(*mut c_void, Option<Value>), i32> {
        // SAFETY: the caller's promise.
        let (known, bytes) = unsafe {
            let bytes = std::slice::from_raw_parts(key, self.key_bytes);
            (self.found(key, cpu), bytes)
        };
        match (known.is_null(), flags) {
            (false, NO_EXIST) => return Err(EEXIST),
            (true, EXIST) => return Err(ENOENT),
            (false, _) => return Ok((known, None)),
            (true, _) => {}
        }
        let size = self.stride() * self.copies;
        let Store::Hash(hash) = &mut self.store else {
            return Err(EINVAL);
        };
        let mut evicted = None;
        if hash.values.len() >= hash.most {
            if !hash.least_recent_goes {
                return Err(E2BIG);
            }
            let oldest = hash.values.iter().min_by_key(|(_, entry)| entry.used.get());
            let oldest = oldest.map(|(key, _)| key.clone());
            evicted = oldest
                .and_then(|key| hash.values.remove(&key))
                .map(|entry| entry.value);
        }
        let used = Cell::new(hash.next_use());
        let value = zeroed(size);
        hash.values.insert(bytes.to_vec(), Entry { value, used });
        // SAFETY: the caller's promise.
        Ok((unsafe { self.found(key, cpu) }, evicted))
    }

    fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let (one, storage, hash) = match &self.store {
            Store::Array(value) => (Some(value), [].as_slice(), None),
            Store::CgroupStorage(value) => (value.as_ref(), [].as_slice(), None),
            Store::TaskStorage(values) => (None, values.as_slice(), None),
            Store::Hash(hash) => (None, [].as_slice(), Some(hash)),
            Store::Empty => (None, [].as_slice(), None),
        };
        let entries = hash.into_iter().flat_map(|hash| hash.values.values());
        let values = one.into_iter().chain(storage.iter().flatten());
        values.chain(entries.map(|entry| &entry.value)).map(area)
    }

    fn forget(&mut self, task: TaskId) {
        if let Store::TaskStorage(values) = &mut self.store
            && let Some(value) = values.get_mut(task.index())
        {
            *value = None;
        }
    }
}
