// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers in the values of maps.

use std::ffi::c_void;

use super::{MapPointer, Maps};
use crate::boundary::register::Register;
use crate::boundary::shown::Timer;
use crate::consts::{EBUSY, EINVAL};
use crate::ids::CpuId;

pub struct PolicyTimer {
    timer: *mut Timer,
    map: MapPointer,
    /// As code passed it: a function of the image.
    callback: Option<u64>,
    cpu: CpuId,
    at_ns: u64,
    seq: u64,
}

impl Maps {
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
            at_ns: 0,
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

    /// A timer goes off with this event, then, and on the CPU that asked.
    pub fn timer_started(&mut self, index: usize, seq: u64, at_ns: u64, cpu: CpuId) {
        let timer = &mut self.timers[index];
        timer.seq = seq;
        timer.at_ns = at_ns;
        timer.cpu = cpu;
    }

    pub fn timer_cancel(&mut self, timer: *mut Timer) -> i64 {
        let Some(index) = self.timer_index(timer) else {
            return i64::from(EINVAL);
        };
        i64::from(std::mem::take(&mut self.timers[index].seq) != 0)
    }

    /// The same CPU, of a timer that is not taken for it.
    pub fn timer_cpu(&self, index: usize, seq: u64) -> Option<CpuId> {
        let known = self.timers.get(index).filter(|known| known.seq == seq);
        known.map(|known| known.cpu)
    }

    /// When the timers of a CPU go off, in no order.
    pub fn timers_of(&self, cpu: CpuId) -> impl Iterator<Item = u64> {
        let started = self.timers.iter();
        started
            .filter(move |known| known.seq != 0 && known.cpu == cpu)
            .map(|known| known.at_ns)
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
