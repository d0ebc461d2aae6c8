// SPDX-License-Identifier: GPL-2.0-or-later
//! What follows from a task's policy and nice level: its class and its weight.

use workload::plan::Policy;

/// In their order: each goes before those above it here, and the idle task, which has none, after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Ext,
    Rt,
}

/// A policy's class, and its real-time priority, which is 0 in the other.
pub fn class_of(policy: Policy) -> (Class, u8) {
    match policy {
        Policy::Fifo(prio) | Policy::Rr(prio) => (Class::Rt, prio.clamp(1, 99)),
        _ => (Class::Ext, 0),
    }
}

/// The kernel's weight of each nice level, -20 first.
const WEIGHTS: [u32; 40] = [
    88_761, 71_755, 56_483, 46_273, 36_291, 29_154, 23_254, 18_705, 14_949, 11_916, 9_548, 7_620,
    6_100, 4_904, 3_906, 3_121, 2_501, 1_991, 1_586, 1_277, 1_024, 820, 655, 526, 423, 335, 272,
    215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];
const WEIGHT_IDLE: u32 = 3;

/// A task's weight, nice 0 being 1024.
pub fn weight_of(policy: Policy, nice: i32) -> u32 {
    match policy {
        Policy::Idle => WEIGHT_IDLE,
        _ => WEIGHTS[(nice.clamp(-20, 19) + 20) as usize],
    }
}

/// The same as policies see it, nice 0 being 100.
pub fn scx_weight(policy: Policy, nice: i32) -> u32 {
    ((weight_of(policy, nice) * 100 + 512) / 1_024).clamp(1, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_kernels() {
        assert_eq!(scx_weight(Policy::Other, 0), 100);
        assert_eq!(scx_weight(Policy::Other, -20), 8_668);
        assert_eq!(scx_weight(Policy::Other, 19), 1);
        assert_eq!(scx_weight(Policy::Idle, 0), 1);
        assert_eq!(scx_weight(Policy::Other, 5), 33);
    }
}
