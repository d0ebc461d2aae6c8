// SPDX-License-Identifier: GPL-2.0-or-later
//! Distributions in shared memory: the buckets of a three-digit HDR histogram, counted atomically.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cell::Histogram;

/// Values below this have a bucket each; above, each doubling has half as many.
const EXACT: u64 = 2048;
/// Doublings above the exact values: up to 73 minutes, what is longer counts as that.
const DOUBLINGS: u64 = 31;
const BUCKETS: usize = (EXACT + DOUBLINGS * EXACT / 2) as usize;
const LONGEST: u64 = (EXACT << DOUBLINGS) - 1;

/// Words of one tally: least (as its complement, so that zeroed memory is empty), greatest, sum, buckets.
pub const WORDS: usize = 3 + BUCKETS;

pub struct Tally<'a>(pub &'a [AtomicU64]);

impl Tally<'_> {
    pub fn record(&self, ns: u64) {
        self.0[0].fetch_max(!ns, Relaxed);
        self.0[1].fetch_max(ns, Relaxed);
        self.0[2].fetch_add(ns, Relaxed);
        self.0[3 + bucket(ns)].fetch_add(1, Relaxed);
    }

    pub fn read(&self) -> Histogram {
        // The buckets first: a value that comes meanwhile is within the bounds before it is in a bucket.
        let counts = self.0[3..].iter().enumerate().filter_map(|(index, count)| {
            let count = count.load(Relaxed);
            (count > 0).then(|| (lowest(index), count))
        });
        let counts: Vec<_> = counts.collect();
        let [least, greatest, sum] = [0, 1, 2].map(|word| self.0[word].load(Relaxed));
        Histogram::from_counts(counts, !least, greatest, sum.into())
    }
}

fn bucket(ns: u64) -> usize {
    let ns = ns.min(LONGEST);
    if ns < EXACT {
        return ns as usize;
    }
    let doubling = u64::from(ns.ilog2() - EXACT.ilog2() + 1);
    (EXACT / 2 * doubling + (ns >> doubling)) as usize
}

fn lowest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let doubling = (bucket - EXACT) / (EXACT / 2) + 1;
    (bucket - EXACT / 2 * doubling) << doubling
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_an_hdr_histogram() {
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let tally = Tally(&words);
        let mut expected = Histogram::default();
        let mut ns = 0u64;
        while ns < LONGEST {
            for value in [ns, ns + 1] {
                tally.record(value);
                expected.record(value);
            }
            ns += ns / 700 + 1;
        }
        assert_eq!(tally.read().to_buckets(), expected.to_buckets());
        assert_eq!(bucket(LONGEST), BUCKETS - 1);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn zeroed_memory_is_empty() {
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        assert_eq!(
            Tally(&words).read().to_buckets(),
            Histogram::default().to_buckets()
        );
    }
}
