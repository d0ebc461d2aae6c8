// SPDX-License-Identifier: GPL-2.0-or-later
//! A distribution of times: an HDR histogram of three significant digits, with exact extremes and sum.

use hdrhistogram::Histogram as HdrHistogram;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug)]
pub struct Histogram {
    counts: HdrHistogram<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        // Grows by itself as larger values come: small while empty, some 300 KiB at an hour.
        let counts = HdrHistogram::new(3).expect("three digits are allowed");
        Self {
            counts,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }
}

impl Histogram {
    pub fn record(&mut self, ns: u64) {
        self.counts.record(ns).expect("it grows");
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += u128::from(ns);
    }

    /// From counts that were kept elsewhere: `[value, count]` in any order, extremes and sum exact.
    pub fn from_counts(
        counts: impl IntoIterator<Item = (u64, u64)>,
        min_ns: u64,
        max_ns: u64,
        sum_ns: u128,
    ) -> Self {
        let mut histogram = Self {
            min_ns,
            max_ns,
            sum_ns,
            ..Self::default()
        };
        for (value, count) in counts {
            histogram.counts.record_n(value, count).expect("it grows");
        }
        histogram
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts
            .add(&other.counts)
            .expect("histograms that resize always add");
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The lowest value of the bucket that holds this quantile (0 to 1); 0 if empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.counts
            .lowest_equivalent(self.counts.value_at_quantile(quantile))
    }

    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() {
            0.0
        } else {
            self.sum_ns as f64 / self.count() as f64
        }
    }

    /// As records hold it.
    pub fn to_buckets(&self) -> Buckets {
        Buckets {
            count: self.count(),
            min_ns: if self.is_empty() { 0 } else { self.min_ns },
            max_ns: self.max_ns,
            sum_ns: u64::try_from(self.sum_ns).unwrap_or(u64::MAX),
            buckets_ns: self
                .counts
                .iter_recorded()
                .map(|bucket| {
                    let lowest = self.counts.lowest_equivalent(bucket.value_iterated_to());
                    (lowest, bucket.count_at_value())
                })
                .collect(),
        }
    }
}

/// A distribution in a record: `[lowest value equivalent to the bucket, count]`, ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    pub count: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub sum_ns: u64,
    pub buckets_ns: Vec<(u64, u64)>,
}

impl From<&Buckets> for Histogram {
    fn from(buckets: &Buckets) -> Self {
        if buckets.count == 0 {
            return Self::default();
        }
        let counts = buckets.buckets_ns.iter().copied();
        Self::from_counts(
            counts,
            buckets.min_ns,
            buckets.max_ns,
            buckets.sum_ns.into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn buckets_are_exact_below_2048_and_within_a_thousandth_above() {
        assert_eq!(
            of([0, 1250, 1250, 2047]).to_buckets().buckets_ns,
            [(0, 1), (1250, 2), (2047, 1)]
        );
        for ns in [
            2048,
            4097,
            1_000_003,
            48_123_456,
            3_600_000_000_000,
            u64::MAX,
        ] {
            let buckets = of([ns]).to_buckets();
            let lowest = buckets.buckets_ns[0].0;
            assert!(
                lowest <= ns && ns - lowest <= ns / 1000,
                "{ns} in bucket {lowest}"
            );
            assert_eq!(
                (buckets.min_ns, buckets.max_ns, buckets.sum_ns),
                (ns, ns, ns)
            );
        }
    }

    #[test]
    fn merging_equals_recording_together() {
        let (one, two): (Vec<u64>, Vec<u64>) = (0..4000u64)
            .map(|i| i * i * 977 % 70_000_019)
            .partition(|ns| ns % 3 == 0);
        let mut merged = of(one.iter().copied());
        merged.merge(&of(two.iter().copied()));
        let together = of(one.into_iter().chain(two));
        assert_eq!(merged.to_buckets(), together.to_buckets());
        assert_eq!(
            Histogram::from(&merged.to_buckets()).to_buckets(),
            merged.to_buckets()
        );
    }

    #[test]
    fn an_empty_distribution_is_all_zero() {
        let buckets = Histogram::default().to_buckets();
        assert_eq!((buckets.count, buckets.min_ns, buckets.max_ns), (0, 0, 0));
        assert_eq!(Histogram::from(&buckets).to_buckets(), buckets);
    }
}
