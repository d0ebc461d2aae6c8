// SPDX-License-Identifier: GPL-2.0-or-later
//! What random cases are drawn with.

use workload::draw::Stream;
use workload::plan::Draw;

pub struct Dice(pub Stream);

impl Dice {
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.draw(&Draw::Uniform(low, high), 0, &[]) as i64
    }

    pub fn up_to(&mut self, high: u32) -> u32 {
        self.between(0, i64::from(high)) as u32
    }

    pub fn chance(&mut self, pct: i64) -> bool {
        self.between(1, 100) <= pct
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.between(0, list.len() as i64 - 1) as usize]
    }

    /// Small numbers as often as large ones.
    pub fn scale(&mut self, low: u64, high: u64) -> u64 {
        let (low_bits, high_bits) = (low.max(1).ilog2(), high.max(1).ilog2());
        let bits = self.between(i64::from(low_bits), i64::from(high_bits));
        let base = 1_u64 << bits;
        let value = base + self.between(0, base as i64 - 1) as u64;
        value.clamp(low, high)
    }
}

/// What kind of a run: many short ones, and some that are long enough for a clock to wrap and for the weak to starve.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Short,
    Medium,
    Long,
}

/// One CPU, most often, or a few.
pub fn some_cpus(dice: &mut Dice, cpus: u32) -> Vec<u32> {
    let mut chosen = vec![dice.up_to(cpus - 1)];
    if dice.chance(35) {
        chosen.extend((0..cpus).filter(|_| dice.chance(40)));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
