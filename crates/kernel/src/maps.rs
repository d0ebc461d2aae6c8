// SPDX-License-Identifier: GPL-2.0-or-later
//! The policy's maps and timers. A map is known by its address in the policy.

use std::ffi::c_void;

use policy::abi::{Timer, TimerCallback};

use crate::events::Event;
use crate::ids::{CpuId, Id, TaskId};
use crate::sim::Sim;

/// Values are kept in words, so that they are aligned as the policy expects.
type Value = Box<[u64]>;

fn zeroed(bytes: u64) -> Value {
    vec![0; bytes.div_ceil(8) as usize].into()
}

#[derive(Default)]
pub struct Maps {
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
            .as_mut()
            .map_or(std::ptr::null_mut(), |value| value.as_mut_ptr().cast())
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
        *self = Self::default();
    }

    /// Element `key` of an array, or of one CPU's copy of it.
    pub fn element(
        &mut self,
        shape: &ArrayShape,
        cpus: usize,
        key: u64,
        cpu: usize,
    ) -> *mut c_void {
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
        array.values[element as usize * array.stride..]
            .as_mut_ptr()
            .cast()
    }

    /// The array element that a timer lies in, and its key.
    fn around(&mut self, timer: *mut Timer) -> Option<(i32, *mut c_void)> {
        self.arrays.iter_mut().find_map(|array| {
            let start = array.values.as_mut_ptr() as usize;
            let offset = (timer as usize).wrapping_sub(start);
            let bytes = array.stride * 8;
            (offset < array.values.len() * 8).then(|| {
                let element = offset / bytes;
                let value = array.values[element * array.stride..].as_mut_ptr().cast();
                ((element as u64 % array.entries) as i32, value)
            })
        })
    }
}

const EINVAL: i64 = -22;
const EBUSY: i64 = -16;

impl Sim<'_> {
    fn timer_index(&self, timer: *mut Timer) -> Option<usize> {
        // SAFETY: the policy passes a timer in one of its maps, and no reference to it lives.
        let index = unsafe { (*timer).opaque[0] } as usize;
        (index >= 1
            && self
                .maps
                .timers
                .get(index - 1)
                .is_some_and(|known| known.timer == timer))
        .then(|| index - 1)
    }

    pub(crate) fn timer_init(&mut self, timer: *mut Timer, map: *const c_void) -> i64 {
        if self.timer_index(timer).is_some() {
            return EBUSY;
        }
        self.maps.timers.push(PolicyTimer {
            timer,
            map,
            callback: None,
            cpu: CpuId(0),
            seq: 0,
        });
        // SAFETY: as above.
        unsafe { (*timer).opaque[0] = self.maps.timers.len() as u64 };
        0
    }

    pub(crate) fn timer_set_callback(&mut self, timer: *mut Timer, callback: TimerCallback) -> i64 {
        let Some(index) = self.timer_index(timer) else {
            return EINVAL;
        };
        self.maps.timers[index].callback = Some(callback);
        0
    }

    /// Starts on the CPU that asks, and stays there.
    pub(crate) fn timer_start(&mut self, timer: *mut Timer, ns: u64) -> i64 {
        let Some(index) = self.timer_index(timer) else {
            return EINVAL;
        };
        let at_ns = self.op_at_ns.max(self.now_ns).saturating_add(ns);
        let seq = self.events.post(at_ns, Event::PolicyTimer(index as u32));
        let known = &mut self.maps.timers[index];
        known.seq = seq;
        known.cpu = self.op_cpu;
        0
    }

    pub(crate) fn timer_cancel(&mut self, timer: *mut Timer) -> i64 {
        let Some(index) = self.timer_index(timer) else {
            return EINVAL;
        };
        i64::from(std::mem::take(&mut self.maps.timers[index].seq) != 0)
    }

    pub(crate) fn policy_timer(&mut self, index: u32, seq: u64) {
        let Some(known) = self.maps.timers.get_mut(index as usize) else {
            return;
        };
        if known.seq != seq {
            return;
        }
        known.seq = 0;
        let (timer, map, callback) = (known.timer, known.map, known.callback);
        let mut cpu = known.cpu;
        if !self.cpus[cpu].online {
            cpu = crate::mask::first(&self.masks.online).unwrap_or_default();
        }
        if let Some(callback) = callback {
            self.interrupt(cpu);
            let (mut key, value) = self.maps.around(timer).unwrap_or((0, timer.cast()));
            self.enter_policy();
            // SAFETY: the policy's own callback with what it registered, as the kernel calls it.
            unsafe { callback(map.cast_mut(), &raw mut key, value) };
            self.leave_policy();
            self.end_op();
        }
    }
}
