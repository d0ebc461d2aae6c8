// SPDX-License-Identifier: GPL-2.0-or-later
//! What belongs to the operation under way, put aside while another comes in between.

use super::Boundary;
use super::callback::Underway;
use super::requests::Requests;
use super::shown::TaskStruct;

pub struct Suspended {
    underway: Option<Underway>,
    requests: Requests,
    now_ns: u64,
    ktime_ns: u64,
    cpu: u64,
    current: *mut TaskStruct,
    preempt_count: u32,
}

impl Boundary {
    pub fn suspend(&mut self) -> Suspended {
        self.spin_locks.enter();
        let world = &*self.world;
        Suspended {
            underway: self.underway.take(),
            requests: std::mem::take(&mut self.requests),
            now_ns: world.now_ns,
            ktime_ns: world.ktime_ns,
            cpu: world.cpu,
            current: world.current,
            preempt_count: world.preempt_count,
        }
    }

    /// What was in between is over. Kicks that it has left become those of the operation that goes on.
    pub fn resume(&mut self, suspended: Suspended) {
        self.spin_locks.leave();
        self.underway = suspended.underway;
        let left = std::mem::replace(&mut self.requests, suspended.requests).kicks;
        for (cpu, kick) in left {
            self.requests.kick_of(cpu).join(kick);
        }
        let world = &mut *self.world;
        world.now_ns = suspended.now_ns;
        world.ktime_ns = suspended.ktime_ns;
        world.cpu = suspended.cpu;
        world.current = suspended.current;
        world.preempt_count = suspended.preempt_count;
    }
}
