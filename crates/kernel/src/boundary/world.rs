// SPDX-License-Identifier: GPL-2.0-or-later
//! What a policy's code sees around it: the host of executing BPF, and what the commonest calls answer at once.

use bpf::host::Host;

use super::shown::{CpuMask, TaskStruct};
use super::view::View;

/// The host comes first: executing code knows this structure by that alone, inlined calls ([`super::inlines`]) by the
/// places of the fields.
#[repr(C)]
pub struct World {
    pub host: Host,
    /// `scx_bpf_now()`: the run queue's clock where it holds.
    pub now_ns: u64,
    /// The clock itself, which the helpers read.
    pub ktime_ns: u64,
    /// The CPU this callback runs on.
    pub cpu: u64,
    pub nr_cpu_ids: u64,
    pub current: *mut TaskStruct,
    pub idle: *const CpuMask,
    /// CPUs whose whole core is idle.
    pub idle_smt: *const CpuMask,
    pub online: *const CpuMask,
    pub possible: *const CpuMask,
    /// The price of the helpers and kfuncs called in this callback.
    pub outside: u64,
    /// Not 0 from the first object on of which every CPU has a copy.
    pub has_per_cpu_objects: u64,
    /// x86's `__preempt_count`, as far as it says whether an interrupt is being handled.
    pub preempt_count: u32,
}

/// `BPF_MAX_LOOPS`: what helpers and iterators of numbers repeat at most.
pub const MOST_LOOPS: u32 = 8 * 1024 * 1024;

/// The hardirq count's lowest bit.
pub const IN_INTERRUPT: u32 = 0x1_0000;

impl World {
    /// With the model's masks; the rest of the host is the boundary's to fill in.
    pub fn new(host: Host, view: &View, cpus: usize) -> Self {
        let masks = view.masks.pointer();
        // SAFETY: only addresses are taken.
        let (idle, idle_smt, online, possible) = unsafe {
            (
                &raw const (*masks).idle,
                &raw const (*masks).idle_smt,
                &raw const (*masks).online,
                &raw const (*masks).possible,
            )
        };
        Self {
            host,
            now_ns: 0,
            ktime_ns: 0,
            cpu: 0,
            nr_cpu_ids: cpus as u64,
            current: std::ptr::null_mut(),
            idle,
            idle_smt,
            online,
            possible,
            outside: 0,
            has_per_cpu_objects: 0,
            preempt_count: 0,
        }
    }
}
