// SPDX-License-Identifier: GPL-2.0-or-later
//! The policy's maps and timers. A map is known by its address in the policy.

use std::ffi::c_void;

use policy::abi::{Timer, TimerCallback};

use super::shared::Shared;
use crate::consts::{EBUSY, EINVAL};
use crate::ids::{CpuId, Id, TaskId};

/// Values are kept in words, so that they are aligned as the policy expects.
type Value = Shared<[u64]>;

fn zeroed(bytes: u64) -> Value {
    (0..bytes.div_ceil(8)).map(|_| 0).collect()
}

pub struct Maps {
    cpus: usize,
    storage: Vec<Storage>,
    arrays: Vec<Array>,
    timers: Vec<PolicyTimer>,
}

struct Storage {
    map: usize,
    values: Vec<Option<Value>>,
}

struct Array {
    map: usize,
    stride: usize,
    entries: u64,
    per_cpu: bool,
    values: Value,
}

/// An array map as its declaration says.
pub struct ArrayShape {
    pub map: *const c_void,
    pub per_cpu: bool,
    pub value_size: u64,
    pub entries: u64,
}

struct PolicyTimer {
    timer: *mut Timer,
    map: *const c_void,
    callback: Option<TimerCallback>,
    cpu: CpuId,
    seq: u64,
}

impl Maps {
    pub fn new(cpus: usize) -> Self {
        Self {
            cpus,
            storage: Vec::new(),
            arrays: Vec::new(),
            timers: Vec::new(),
        }
    }

    pub fn task_value(
        &mut self,
        map: *const c_void,
        task: TaskId,
        size: u64,
        create: bool,
    ) -> *mut c_void {
        let map = map as usize;
        let index = match self.storage.iter().position(|storage| storage.map == map) {
            Some(index) => index,
            None if create => {
                self.storage.push(Storage {
                    map,
                    values: Vec::new(),
                });
                self.storage.len() - 1
            }
            None => return std::ptr::null_mut(),
        };
        let values = &mut self.storage[index].values;
        if values.len() <= task.index() {
            if !create {
                return std::ptr::null_mut();
            }
            values.resize_with(task.index() + 1, || None);
        }
        let value = &mut values[task.index()];
        if value.is_none() && create {
            *value = Some(zeroed(size));
        }
        value
            .as_ref()
            .map_or(std::ptr::null_mut(), |value| value.pointer().cast())
    }

    pub fn delete_task_value(&mut self, map: *const c_void, task: TaskId) {
        for storage in &mut self.storage {
            if storage.map == map as usize
                && let Some(value) = storage.values.get_mut(task.index())
            {
                *value = None;
            }
        }
    }

    pub fn forget_task(&mut self, task: TaskId) {
        for storage in &mut self.storage {
            if let Some(value) = storage.values.get_mut(task.index()) {
                *value = None;
            }
        }
    }

    /// Fresh state for another load of the policy.
    pub fn clear(&mut self) {
        *self = Self::new(self.cpus);
    }

    /// Element `key` of an array, or of one CPU's copy of it.
    pub fn element(&mut self, shape: &ArrayShape, key: u64, cpu: usize) -> *mut c_void {
        let cpus = self.cpus;
        let ArrayShape {
            map,
            per_cpu,
            value_size,
            entries,
        } = *shape;
        if key >= entries || per_cpu && cpu >= cpus {
            return std::ptr::null_mut();
        }
        let map = map as usize;
        let index = if let Some(index) = self.arrays.iter().position(|array| array.map == map) {
            index
        } else {
            let stride = value_size.div_ceil(8) as usize;
            let copies = if per_cpu { cpus } else { 1 };
            self.arrays.push(Array {
                map,
                stride,
                entries,
                per_cpu,
                values: zeroed(entries * (stride * 8 * copies) as u64),
            });
            self.arrays.len() - 1
        };
        let array = &mut self.arrays[index];
        let element = if array.per_cpu {
            cpu as u64 * array.entries + key
        } else {
            key
        };
        array.at(element as usize)
    }

    /// The array element that a timer lies in, and its key.
    fn around(&self, timer: *mut Timer) -> Option<(i32, *mut c_void)> {
        self.arrays.iter().find_map(|array| {
            let start = array.values.pointer().cast::<u64>();
            let offset = timer.addr().wrapping_sub(start.addr());
            (offset < array.values.len() * 8).then(|| {
                let element = offset / (array.stride * 8);
                let key = (element as u64 % array.entries) as i32;
                (key, array.at(element))
            })
        })
    }

    /// Which of the timers that were initialised this is.
    pub fn timer_index(&self, timer: *mut Timer) -> Option<usize> {
        // SAFETY: the policy passes a timer in one of its maps, and no reference to it lives.
        let index = unsafe { (*timer).opaque[0] } as usize;
        let known = self.timers.get(index.checked_sub(1)?)?;
        (known.timer == timer).then_some(index - 1)
    }

    pub fn timer_init(&mut self, timer: *mut Timer, map: *const c_void) -> i64 {
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

    pub fn timer_set_callback(&mut self, timer: *mut Timer, callback: TimerCallback) -> i64 {
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
        let (key, value) = self.around(timer).unwrap_or((0, timer.cast()));
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
    callback: TimerCallback,
    map: *const c_void,
    key: i32,
    value: *mut c_void,
}

impl TimerCall {
    /// # Safety
    /// The policy has been entered.
    pub unsafe fn run(mut self) {
        // SAFETY: the policy's own callback with what it registered, as the kernel calls it.
        unsafe { (self.callback)(self.map.cast_mut(), &raw mut self.key, self.value) };
    }
}

impl Array {
    fn at(&self, element: usize) -> *mut c_void {
        debug_assert!((element + 1) * self.stride <= self.values.len());
        // SAFETY: within the values, which are so many elements of so many words.
        unsafe {
            self.values
                .pointer()
                .cast::<u64>()
                .add(element * self.stride)
        }
        .cast()
    }
}
