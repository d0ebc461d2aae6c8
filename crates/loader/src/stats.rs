// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy's event counters (`STAT` in `include/policy.h`), summed over the CPUs.

/// Bytes from one CPU's count to the next: a cache line each.
pub const STRIDE: usize = 64;

pub type Stats = Vec<(String, u64)>;

/// `kicks 12  preemptions 3`: what was counted since `last`.
pub fn difference(last: &Stats, now: &Stats) -> String {
    if now.is_empty() {
        return "this scheduler counts nothing".to_owned();
    }
    let parts = last
        .iter()
        .zip(now)
        .map(|((name, was), (_, is))| format!("{name} {}", is.wrapping_sub(*was)));
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
            difference(&stats(5, 0), &stats(17, 1)),
            "kicks 12  stalls 1"
        );
        assert_eq!(
            difference(&Stats::new(), &Stats::new()),
            "this scheduler counts nothing"
        );
    }
}
