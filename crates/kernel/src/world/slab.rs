// SPDX-License-Identifier: GPL-2.0-or-later
//! Memory for socket messages, as the kernel's allocator has it: a few pieces at hand, some more in slabs that are partly
//! in use, the rest in new slabs.
//!
//! A CPU keeps so many freed pieces (`warm_messages`), and who frees one while they are all there gives it back to its
//! slab. Slabs that are emptied in another order than they were filled stay with the allocator, and serve the next
//! messages for nothing; who needs a piece beyond those takes it out of a new slab. A message takes two pieces, for its
//! head and for its bytes, of which the allocator keeps different numbers. Messages that are read soon after they were
//! sent never cost any of that.

use crate::ids::{CpuId, PerCpu};

/// For how many messages the allocator keeps slabs of either kind, for each that is at hand. In the exact guest new slabs
/// begin behind 1,700 and 3,150 messages under way, of which 320 are at hand.
const KEPT: [u64; 2] = [4, 9];
/// What a new slab of the first kind costs, in per cent of both.
const FIRST_PCT: u64 = 65;

pub struct Slab {
    at_hand: PerCpu<u64>,
    most: u64,
    /// Messages under way whose memory was not at hand.
    outside: u64,
    /// For so many of those there are slabs, of either kind. A run begins with those of the first kind, as in the exact
    /// guest, where the first 1,600 messages of a run are cheaper than all others.
    kept: [u64; 2],
}

impl Slab {
    pub fn new(cpus: usize, most: u64) -> Self {
        Self {
            at_hand: PerCpu::filled(cpus, || most),
            most,
            outside: 0,
            kept: [KEPT[0] * most, 0],
        }
    }

    /// How far the memory of a message to send comes from new slabs, in per cent.
    pub fn take(&mut self, cpu: CpuId) -> u64 {
        let at_hand = &mut self.at_hand[cpu];
        if *at_hand > 0 {
            *at_hand -= 1;
            return 0;
        }
        self.outside += 1;
        let [first, second] = self.kept.map(|kept| self.outside > kept);
        for (kept, at_most) in self.kept.iter_mut().zip(KEPT) {
            *kept = self.outside.min(at_most * self.most).max(*kept);
        }
        u64::from(first) * FIRST_PCT + u64::from(second) * (100 - FIRST_PCT)
    }

    /// Whether a message's memory goes back to its slabs.
    pub fn give(&mut self, cpu: CpuId) -> bool {
        let at_hand = &mut self.at_hand[cpu];
        let back = *at_hand == self.most;
        if back {
            self.outside = self.outside.saturating_sub(1);
        } else {
            *at_hand += 1;
        }
        back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_queues_up_beyond_the_slabs_that_are_there_comes_from_new_ones() {
        let mut slab = Slab::new(1, 2);
        let mut take =
            |count: usize| -> Vec<u64> { (0..count).map(|_| slab.take(CpuId(0))).collect() };
        // Two are at hand, and the first kind's slabs are there for eight more.
        assert_eq!(take(12), [vec![0; 2], vec![35; 8], vec![100; 2]].concat());
        let given: Vec<bool> = (0..12).map(|_| slab.give(CpuId(0))).collect();
        assert_eq!(given, [vec![false; 2], vec![true; 10]].concat());
    }

    #[test]
    fn slabs_stay_for_some_of_the_messages_that_were_under_way() {
        let mut slab = Slab::new(1, 2);
        for _ in 0..30 {
            slab.take(CpuId(0));
        }
        for _ in 0..30 {
            slab.give(CpuId(0));
        }
        let taken: Vec<u64> = (0..22).map(|_| slab.take(CpuId(0))).collect();
        assert_eq!(taken, [vec![0; 10], vec![65; 10], vec![100; 2]].concat());
    }

    #[test]
    fn what_is_read_at_once_costs_nothing() {
        let mut slab = Slab::new(1, 1);
        assert!((0..100).all(|_| slab.take(CpuId(0)) == 0 && !slab.give(CpuId(0))));
    }
}
