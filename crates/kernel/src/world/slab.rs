// SPDX-License-Identifier: GPL-2.0-or-later
//! Memory for socket messages, as the kernel's allocator has it: a few pieces at hand, the rest from far away.
//!
//! A CPU keeps so many freed pieces (`warm_messages`). Who needs one while there is none takes it out of a new slab, and
//! who frees one while they are all there gives it back to its slab; both cost `cold_message_ns`. Messages that are read
//! soon after they were sent never cost that; messages that queue up do, but for the first of them.

use crate::ids::{CpuId, PerCpu};

pub struct Slab {
    warm: PerCpu<u64>,
    most: u64,
}

impl Slab {
    pub fn new(cpus: usize, most: u64) -> Self {
        Self {
            warm: PerCpu::filled(cpus, || most),
            most,
        }
    }

    /// Whether a piece comes from far away.
    pub fn take(&mut self, cpu: CpuId) -> bool {
        let warm = &mut self.warm[cpu];
        let cold = *warm == 0;
        *warm = warm.saturating_sub(1);
        cold
    }

    /// Whether a piece goes far away.
    pub fn give(&mut self, cpu: CpuId) -> bool {
        let warm = &mut self.warm[cpu];
        let cold = *warm == self.most;
        *warm += u64::from(!cold);
        cold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_queues_up_beyond_the_pieces_at_hand_is_cold_both_ways() {
        let mut slab = Slab::new(1, 3);
        let taken: Vec<bool> = (0..5).map(|_| slab.take(CpuId(0))).collect();
        assert_eq!(taken, [false, false, false, true, true]);
        let given: Vec<bool> = (0..5).map(|_| slab.give(CpuId(0))).collect();
        assert_eq!(given, [false, false, false, true, true]);
    }

    #[test]
    fn what_is_read_at_once_never_is() {
        let mut slab = Slab::new(1, 1);
        assert!((0..100).all(|_| !slab.take(CpuId(0)) && !slab.give(CpuId(0))));
    }
}
