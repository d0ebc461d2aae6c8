// SPDX-License-Identifier: GPL-2.0-or-later
//! What runs executed of a policy, added up in the order of the runs: up to the first that found something, so that it is
//! the same however many run at a time.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Counts {
    whole: Vec<u64>,
    /// The run that is to be added next.
    next: u64,
    /// Those that were over before it.
    waiting: BTreeMap<u64, Vec<u64>>,
    /// No run after this one is added.
    found: Option<u64>,
}

impl Counts {
    /// A run is over.
    pub fn add(&mut self, run: u64, counts: Vec<u64>, found: bool) {
        if found {
            self.found = Some(self.found.map_or(run, |first| first.min(run)));
        }
        self.waiting.insert(run, counts);
        while self.found.is_none_or(|first| self.next <= first)
            && let Some(counts) = self.waiting.remove(&self.next)
        {
            sum(&mut self.whole, &counts);
            self.next += 1;
        }
    }

    /// With the runs whose predecessors were never over, where time was up.
    pub fn whole(mut self) -> Vec<u64> {
        for (run, counts) in &self.waiting {
            if self.found.is_none_or(|first| *run <= first) {
                sum(&mut self.whole, counts);
            }
        }
        self.whole
    }
}

/// A child that died has counted nothing.
pub fn sum(whole: &mut Vec<u64>, counts: &[u64]) {
    if whole.len() < counts.len() {
        whole.resize(counts.len(), 0);
    }
    for (sum, count) in whole.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(order: &[u64], found: &[u64]) -> Vec<u64> {
        let mut counts = Counts::default();
        for run in order {
            counts.add(*run, vec![1, 10u64.pow(*run as u32)], found.contains(run));
        }
        counts.whole()
    }

    #[test]
    fn all_runs_are_in_it_up_to_the_first_finding_in_any_order() {
        assert_eq!(of(&[2, 0, 3, 1], &[]), [4, 1111]);
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            assert_eq!(of(&order, &[1]), [2, 11]);
            assert_eq!(of(&order, &[3, 2]), [3, 111]);
        }
        assert_eq!(of(&[0, 3], &[]), [2, 1001]);
    }
}
