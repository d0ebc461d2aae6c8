// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy's event counters (`STAT` in `include/policy.h`), summed over the CPUs.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use policy::topology::MAX_CPUS;

/// Bytes from one CPU's count to the next: a cache line each.
pub const STRIDE: usize = 64;

pub type Stats = Vec<(String, u64)>;

/// Where a counter begins in the policy's memory.
pub struct Counter {
    pub name: String,
    pub first: NonNull<u64>,
}

// SAFETY: a counter is only read, by volatile loads, and only as long as `Counters` holds it.
unsafe impl Send for Counter {}

/// The counters of a loaded policy, which any thread may read until its memory goes.
#[derive(Clone)]
pub struct Counters(Arc<Mutex<Option<Vec<Counter>>>>);

impl Counters {
    /// # Safety
    /// Of each there are [`MAX_CPUS`] counts, [`STRIDE`] bytes apart, in memory that stays until [`Counters::close`].
    pub unsafe fn new(counters: Vec<Counter>) -> Self {
        Self(Arc::new(Mutex::new(Some(counters))))
    }

    /// `None` of a policy that is loaded no longer.
    pub fn read(&self) -> Option<Stats> {
        let sum = |first: &NonNull<u64>| {
            // SAFETY: as `new` asks; nobody closes while the lock is held.
            (0..MAX_CPUS)
                .map(|cpu| unsafe { first.byte_add(cpu * STRIDE).read_volatile() })
                .sum()
        };
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counters = held.as_ref()?.iter();
        Some(
            counters
                .map(|counter| (counter.name.clone(), sum(&counter.first)))
                .collect(),
        )
    }

    /// Nobody reads them from now on.
    pub fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What was counted since `last`.
pub fn since(last: &Stats, now: &Stats) -> Stats {
    let pairs = last.iter().zip(now);
    pairs
        .map(|((name, was), (_, is))| (name.clone(), is.wrapping_sub(*was)))
        .collect()
}

/// `kicks 12  preemptions 3`
pub fn line(stats: &Stats) -> String {
    if stats.is_empty() {
        return "this scheduler counts nothing".to_owned();
    }
    let parts = stats.iter().map(|(name, count)| format!("{name} {count}"));
    parts.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_differences() {
        let stats =
            |kicks, stalls| vec![("kicks".to_owned(), kicks), ("stalls".to_owned(), stalls)];
        assert_eq!(
            line(&since(&stats(5, 0), &stats(17, 1))),
            "kicks 12  stalls 1"
        );
        assert_eq!(line(&Stats::new()), "this scheduler counts nothing");
    }

    #[test]
    fn all_cpus_are_summed_until_the_policy_is_gone() {
        let mut counts = vec![0u64; MAX_CPUS * STRIDE / 8];
        (counts[0], counts[8], counts[8 * (MAX_CPUS - 1)]) = (1, 20, 300);
        counts[1] = 7; // the rest of a line is nobody's
        let first = NonNull::from(&mut counts[0]);
        let name = "kicks".to_owned();
        // SAFETY: they are there until the end of the test.
        let counters = unsafe { Counters::new(vec![Counter { name, first }]) };
        let elsewhere = counters.clone();
        let read = std::thread::spawn(move || elsewhere.read()).join().unwrap();
        assert_eq!(read, Some(vec![("kicks".to_owned(), 321)]));
        counters.close();
        assert_eq!(counters.read(), None);
    }
}
