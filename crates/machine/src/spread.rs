// SPDX-License-Identifier: GPL-2.0-or-later
//! How far costs lie from what a machine file says: nobody knows them to the last nanosecond.
//!
//! A repetition has costs of its own, each drawn from within its spread, all values as likely. They follow from the
//! repetition's seed, so that all schedulers of a block meet the same machine, and each from its own name, so that a cost
//! more or less changes no other.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::Costs;

/// By cost, how many per cent below or above it may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spreads(BTreeMap<&'static str, u32>);

/// A draw lies between minus and plus so much.
const WHOLE: i128 = 1 << 32;

impl Spreads {
    pub(crate) fn set(&mut self, cost: &'static str, pct: u32) {
        self.0.insert(cost, pct);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The costs of a repetition.
    pub fn draw(&self, costs: &Costs, seed: u64) -> Costs {
        let mut drawn = costs.clone();
        for (key, cost) in drawn.scalars() {
            self.move_all(key, seed, std::slice::from_mut(cost));
        }
        for (key, values) in drawn.by_distance() {
            self.move_all(key, seed, values);
        }
        drawn
    }

    /// The values of one cost lie by the same share to the same side.
    fn move_all(&self, key: &str, seed: u64, values: &mut [u64]) {
        let Some(pct) = self.0.get(key) else {
            return;
        };
        let hash = Sha256::new()
            .chain_update(key)
            .chain_update(seed.to_le_bytes())
            .finalize();
        let drawn = u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]]);
        let share = 2 * i128::from(drawn) - WHOLE;
        for value in values {
            let by = i128::from(*value) * i128::from(*pct) * share / (100 * WHOLE);
            *value = (i128::from(*value) + by) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(cost: &'static str, pct: u32) -> Spreads {
        let mut spreads = Spreads::default();
        spreads.set(cost, pct);
        spreads
    }

    #[test]
    fn draws_fill_the_spread_and_keep_to_it() {
        let costs = Costs {
            switch_ns: 10_000,
            ..Costs::default()
        };
        let spreads = spread("switch_ns", 10);
        let drawn: Vec<u64> = (0..1_000)
            .map(|seed| spreads.draw(&costs, seed).switch_ns)
            .collect();
        assert!(drawn.iter().all(|ns| (9_000..=11_000).contains(ns)));
        let mean = drawn.iter().sum::<u64>() / 1_000;
        assert!((9_950..=10_050).contains(&mean), "{mean}");
        for tenth in 0..10 {
            let from = 9_000 + tenth * 200;
            let there = drawn
                .iter()
                .filter(|ns| (from..from + 200).contains(*ns))
                .count();
            assert!((60..=140).contains(&there), "{there} from {from} ns");
        }
    }

    #[test]
    fn the_seed_decides_and_other_costs_stay() {
        let costs = Costs::default();
        let one = spread("switch_ns", 20);
        let mut two = one.clone();
        two.set("refill_kib_ns", 20);
        assert_eq!(one.draw(&costs, 7).switch_ns, two.draw(&costs, 7).switch_ns);
        assert_ne!(one.draw(&costs, 7).switch_ns, one.draw(&costs, 8).switch_ns);
        let expected = Costs {
            switch_ns: one.draw(&costs, 7).switch_ns,
            ..costs.clone()
        };
        assert_eq!(one.draw(&costs, 7), expected);
        // 60, 60, 100, 200, 400 keep their proportions, as far as whole nanoseconds go.
        let drawn = two.draw(&costs, 7).refill_kib_ns;
        assert_eq!(drawn[0], drawn[1]);
        assert!(drawn[4].abs_diff(4 * drawn[2]) <= 4 && drawn[4] != 400);
    }
}
