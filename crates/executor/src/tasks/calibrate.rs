// SPDX-License-Identifier: GPL-2.0-or-later
//! A fixed amount of work, and how much of it an idle core does.

use std::hint::black_box;

use anyhow::{Result, ensure};

use super::clock::thread_cpu_ns;

/// One cache line.
pub type Line = [u64; 8];

/// How fast work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Calibration {
    /// Of [`burn`], by an idle core.
    pub iterations_per_ms: u64,
    /// How many CPUs take turns at that speed, as those of an emulator that counts instructions do; else 1.
    pub cpus_in_turn: u32,
}

impl Calibration {
    /// Some 200 ms of work; the fastest of many short windows counts, so that a disturbance does not.
    pub fn measure() -> Self {
        const ITERATIONS: u64 = 100_000;
        let mut lines = vec![[0; 8]; 1];
        let mut best_ns = u64::MAX;
        let mut windows = 0;
        let start = thread_cpu_ns();
        while windows < 20 || thread_cpu_ns() - start < 200_000_000 {
            let begin = thread_cpu_ns();
            burn(ITERATIONS, &mut lines, &mut 0);
            best_ns = best_ns.min(thread_cpu_ns() - begin);
            windows += 1;
        }
        Self {
            iterations_per_ms: (ITERATIONS * 1_000_000 / best_ns.max(1)).max(1),
            cpus_in_turn: 1,
        }
    }

    #[must_use]
    pub fn in_turn(self, cpus: u32) -> Self {
        Self {
            cpus_in_turn: cpus,
            ..self
        }
    }

    pub fn check(self) -> Result<Self> {
        ensure!(
            self.iterations_per_ms > 0,
            "calibration: expected at least 1 iteration per ms, found 0"
        );
        Ok(self)
    }

    pub fn iterations(self, ns: u64) -> u64 {
        let iterations = u128::from(ns) * u128::from(self.iterations_per_ms) / 1_000_000;
        u64::try_from(iterations).unwrap_or(u64::MAX)
    }
}

/// As much work as an idle core does in `ns`.
///
/// Where CPUs take turns, the work ends by the thread's CPU time, which goes on in the others' turns: so they get
/// as much done as CPUs with a speed of their own.
pub fn work(ns: u64, calibration: Calibration, lines: &mut [Line], cursor: &mut usize) {
    if calibration.cpus_in_turn == 1 {
        return burn(calibration.iterations(ns), lines, cursor);
    }
    let least = calibration.iterations(1_000).max(1);
    let end_ns = thread_cpu_ns().saturating_add(ns);
    loop {
        let left_ns = end_ns.saturating_sub(thread_cpu_ns());
        if left_ns == 0 {
            return;
        }
        // With every other CPU busy, this much takes what is left.
        let part = calibration.iterations(left_ns / u64::from(calibration.cpus_in_turn));
        burn(part.max(least), lines, cursor);
    }
}

/// Works through so many iterations, one line of the working set each.
///
/// A chain of multiplications bounds the speed, so that lines that are in the cache cost nothing extra and those that
/// are not cost their way.
#[inline(never)]
pub fn burn(iterations: u64, lines: &mut [Line], cursor: &mut usize) {
    let mut x = black_box(0x2545_f491_4f6c_dd1d_u64);
    for _ in 0..iterations {
        for _ in 0..16 {
            x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        *cursor += 1;
        if *cursor >= lines.len() {
            *cursor = 0;
        }
        lines[*cursor][0] ^= x;
    }
    black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_the_cpu_time_it_says() {
        let mut lines = vec![[0; 8]; 64];
        // A virtual CPU becomes faster and slower: one calibration has to hold for the work that follows it at once.
        let fastest_ns: Vec<u64> = (0..5)
            .map(|_| {
                let calibration = Calibration::measure();
                let works = (0..10).map(|_| {
                    let begin = thread_cpu_ns();
                    work(5_000_000, calibration, &mut lines, &mut 0);
                    thread_cpu_ns() - begin
                });
                works.min().unwrap()
            })
            .collect();
        assert!(
            (fastest_ns.iter()).any(|ns| (4_500_000..5_500_000).contains(ns)),
            "{fastest_ns:?} ns for 5 ms of work"
        );
    }

    #[test]
    fn in_turn_work_ends_by_cpu_time_however_slow_the_core_is() {
        let honest = Calibration::measure().in_turn(2);
        // Its iterations take three times as long as it believes.
        let slow = Calibration {
            iterations_per_ms: honest.iterations_per_ms / 3,
            ..honest
        };
        let mut lines = vec![[0; 8]; 1];
        for calibration in [honest, slow] {
            let best_ns = (0..20)
                .map(|_| {
                    let begin = thread_cpu_ns();
                    work(5_000_000, calibration, &mut lines, &mut 0);
                    thread_cpu_ns() - begin
                })
                .min()
                .unwrap();
            assert!(
                (5_000_000..5_200_000).contains(&best_ns),
                "{best_ns} ns for 5 ms of work"
            );
        }
    }

    #[test]
    fn iterations_do_not_overflow() {
        let calibration = Calibration {
            iterations_per_ms: u64::MAX,
            cpus_in_turn: 1,
        };
        assert_eq!(calibration.iterations(u64::MAX), u64::MAX);
        assert_eq!(
            Calibration {
                iterations_per_ms: 50_000,
                cpus_in_turn: 1,
            }
            .iterations(1_500),
            75
        );
        assert!(
            Calibration {
                iterations_per_ms: 0,
                cpus_in_turn: 1,
            }
            .check()
            .is_err()
        );
    }
}
