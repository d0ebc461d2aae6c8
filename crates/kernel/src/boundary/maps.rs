// SPDX-License-Identifier: GPL-2.0-or-later
//! The policy's maps and timers.

use std::ffi::c_void;

use bpf::image;

use super::access::Area;
use super::outside::Register;
use super::shared::Shared;
use super::shown::{Shown, Timer, Types};
use crate::consts::{EBUSY, EINVAL};
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
    pub const ARRAY: u32 = 2;
    pub const PERCPU_ARRAY: u32 = 6;
    pub const TASK_STORAGE: u32 = 29;

    pub const KNOWN: &[u32] = &[ARRAY, PERCPU_ARRAY, TASK_STORAGE];
}

enum Store {
    /// Elements, of all CPUs one after the other where each has its own.
    Array(Value),
    TaskStorage(Vec<Option<Value>>),
}

struct Map {
    value_bytes: usize,
    store: Store,
}

struct PolicyTimer {
    timer: *mut Timer,
    map: MapPointer,
    /// As code passed it: a function of the image.
    callback: Option<u64>,
    cpu: CpuId,
    seq: u64,
}

pub struct Maps {
    cpus: usize,
    all: Vec<Map>,
    handles: Shared<[Handle]>,
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
        // SAFETY: the caller's promise; an array's keys are words.
        let key = u64::from(unsafe { key.read_unaligned() });
        if handle.values.is_null() || key >= handle.entries || cpu >= self.cpus {
            return none;
        }
        handle.at(key, cpu as u64)
    }

    pub fn task_value(&mut self, map: MapPointer, task: TaskId, create: bool) -> *mut c_void {
        let none = std::ptr::null_mut();
        let Some(index) = self.index(map) else {
            return none;
        };
        let Map { value_bytes, store } = &mut self.all[index];
        let Store::TaskStorage(values) = store else {
            return none;
        };
        if values.len() <= task.index() {
            if !create {
                return none;
            }
            values.resize_with(task.index() + 1, || None);
        }
        let value = &mut values[task.index()];
        if value.is_none() && create {
            *value = Some(zeroed(*value_bytes));
        }
        value.as_ref().map_or(none, |value| value.pointer().cast())
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
        std::iter::once(handles).chain(self.all.iter().flat_map(Map::areas))
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
        let store = match shape.kind {
            kind::ARRAY => array(1),
            kind::PERCPU_ARRAY => array(cpus),
            _ => Store::TaskStorage(Vec::new()),
        };
        (Self { value_bytes, store }, handle)
    }

    fn areas(&self) -> impl Iterator<Item = Area> + '_ {
        let (array, storage) = match &self.store {
            Store::Array(values) => (Some(values), [].as_slice()),
            Store::TaskStorage(values) => (None, values.as_slice()),
        };
        let values = array.into_iter().chain(storage.iter().flatten());
        values.map(|value| Area::of(value.pointer(), value.len() * 8))
    }

    fn forget(&mut self, task: TaskId) {
        if let Store::TaskStorage(values) = &mut self.store
            && let Some(value) = values.get_mut(task.index())
        {
            *value = None;
        }
    }
}
