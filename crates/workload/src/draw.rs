// SPDX-License-Identifier: GPL-2.0-or-later
//! Random draws, the same on every machine.
//!
//! Each task has a stream of its own, seeded from (plan seed, group, index), so that neither the scheduler nor other
//! tasks change what it draws. `ln`, `exp` and `cos` come from a pinned pure-Rust libm without architecture-specific
//! code; the rest is integers and IEEE operations that round alike everywhere.

use serde::{Deserialize, Serialize};

use crate::plan::{Draw, Plan};

/// A `SplitMix64` stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    pub fn new(seed: u64, group: u32, index: u32) -> Self {
        let task = u64::from(group) << 32 | u64::from(index);
        Self {
            state: mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(task)),
        }
    }

    /// The upper half of a draw.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// 0 to `below - 1`; 0 if `below` is 0.
    fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(below)) >> 64) as u64
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// The next draw for task `me` with these locals; never negative.
    pub fn draw(&mut self, draw: &Draw, me: i64, locals: &[i64]) -> u64 {
        let value = match draw {
            Draw::Fixed(value) => value.eval(me, locals),
            Draw::Uniform(low, high) => {
                let width = high.wrapping_sub(*low) as u64;
                low.wrapping_add(self.below(width.saturating_add(1)) as i64)
            }
            Draw::Exponential { mean } => rounded(-libm::log(self.unit()) * *mean as f64),
            Draw::LogNormal {
                median,
                sigma_milli,
                max,
            } => {
                let sigma = f64::from(*sigma_milli) / 1e3;
                rounded(*median as f64 * libm::exp(sigma * self.normal())).min(*max)
            }
            Draw::Table(rows) => {
                let total: u64 = rows.iter().map(|(_, weight)| u64::from(*weight)).sum();
                let mut left = self.below(total);
                let row = rows.iter().find(|(_, weight)| {
                    let weight = u64::from(*weight);
                    let hit = left < weight;
                    left = left.saturating_sub(weight);
                    hit
                });
                row.map_or(0, |(value, _)| *value)
            }
        };
        value.max(0) as u64
    }
}

fn rounded(value: f64) -> i64 {
    libm::rint(value) as i64
}

impl Plan {
    /// The stream of one task.
    pub fn stream(&self, group: u32, index: u32) -> Stream {
        Stream::new(self.seed, group, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;

    const LOG_NORMAL: Draw = Draw::LogNormal {
        median: 270_000_000,
        sigma_milli: 650,
        max: 2_540_000_000,
    };

    fn draws(draw: &Draw, count: usize) -> Vec<u64> {
        let mut stream = Stream::new(1, 0, 0);
        (0..count).map(|_| stream.draw(draw, 0, &[])).collect()
    }

    fn mean(values: &[u64]) -> f64 {
        values.iter().sum::<u64>() as f64 / values.len() as f64
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // The published first outputs for state 1234567.
        let mut stream = Stream { state: 1_234_567 };
        assert_eq!(stream.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(stream.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn streams_of_tasks_differ() {
        let first: std::collections::BTreeSet<u64> = (0..3)
            .flat_map(|seed| {
                (0..3).flat_map(move |group| (0..50).map(move |index| (seed, group, index)))
            })
            .map(|(seed, group, index)| Stream::new(seed, group, index).next_u64())
            .collect();
        assert_eq!(first.len(), 450);
    }

    #[test]
    fn golden_draws() {
        // Whoever changes these changes every result.
        assert_eq!(draws(&Draw::Uniform(100_000, 600_000), 3), GOLDEN_UNIFORM);
        assert_eq!(
            draws(&Draw::Exponential { mean: 1_000_000 }, 3),
            GOLDEN_EXPONENTIAL
        );
        assert_eq!(draws(&LOG_NORMAL, 3), GOLDEN_LOG_NORMAL);
        assert_eq!(
            draws(&Draw::Table(vec![(5, 1), (7, 3), (9, 0)]), 6),
            GOLDEN_TABLE
        );
    }
    const GOLDEN_UNIFORM: [u64; 3] = [316_372, 312_816, 369_834];
    const GOLDEN_EXPONENTIAL: [u64; 3] = [837_607, 854_180, 616_800];
    const GOLDEN_LOG_NORMAL: [u64; 3] = [127_397_382, 363_027_679, 569_587_322];
    const GOLDEN_TABLE: [u64; 6] = [7, 7, 7, 7, 5, 5];

    #[test]
    fn distributions_have_their_shape() {
        let uniform = draws(&Draw::Uniform(10, 20), 20_000);
        assert_eq!(
            (uniform.iter().min(), uniform.iter().max()),
            (Some(&10), Some(&20))
        );
        assert!((mean(&uniform) - 15.0).abs() < 0.1, "{}", mean(&uniform));

        let exponential = draws(&Draw::Exponential { mean: 1_000_000 }, 20_000);
        assert!(
            (mean(&exponential) / 1e6 - 1.0).abs() < 0.03,
            "{}",
            mean(&exponential)
        );

        let mut log_normal = draws(&LOG_NORMAL, 20_000);
        log_normal.sort_unstable();
        let quantile = |q: f64| log_normal[(q * 20_000.0) as usize] as f64 / 270e6;
        assert!((quantile(0.5) - 1.0).abs() < 0.03, "{}", quantile(0.5));
        // exp(0.65 * 1.2816)
        assert!(
            (quantile(0.9) / 2.300 - 1.0).abs() < 0.04,
            "{}",
            quantile(0.9)
        );
        assert!(*log_normal.last().unwrap() <= 2_540_000_000);

        let table = draws(&Draw::Table(vec![(5, 1), (7, 3), (9, 0)]), 20_000);
        let fives = table.iter().filter(|&&value| value == 5).count();
        assert!((4_700..5_300).contains(&fives), "{fives}");
        assert!(!table.contains(&9));
    }

    #[test]
    fn extremes_do_not_panic() {
        let mut stream = Stream::new(u64::MAX, u32::MAX, u32::MAX);
        for draw in [
            Draw::Uniform(i64::MIN, i64::MAX),
            Draw::Uniform(3, 3),
            Draw::Exponential { mean: i64::MAX },
            Draw::LogNormal {
                median: i64::MAX,
                sigma_milli: u32::MAX,
                max: i64::MAX,
            },
            Draw::Table(vec![]),
            Draw::Fixed(Value::Const(-5)),
        ] {
            for _ in 0..1000 {
                stream.draw(&draw, 0, &[]);
            }
        }
    }
}
