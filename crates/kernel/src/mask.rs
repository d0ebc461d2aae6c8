// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets of CPUs, in the layout that policies read.

pub use crate::boundary::shown::CpuMask;

use crate::ids::{CpuId, Id};

pub const EMPTY: CpuMask = CpuMask { bits: [0; 16] };

pub fn first_n(cpus: usize) -> CpuMask {
    of((0..cpus as u32).map(CpuId))
}

pub fn of(cpus: impl IntoIterator<Item = CpuId>) -> CpuMask {
    let mut mask = EMPTY;
    for cpu in cpus {
        set(&mut mask, cpu);
    }
    mask
}

pub fn has(mask: &CpuMask, cpu: CpuId) -> bool {
    mask.bits[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
}

/// Of a number that may be none of a CPU's.
pub fn holds(mask: &CpuMask, cpu: u32) -> bool {
    (cpu as usize) < 64 * mask.bits.len() && has(mask, CpuId(cpu))
}

pub fn set(mask: &mut CpuMask, cpu: CpuId) {
    mask.bits[cpu.index() / 64] |= 1 << (cpu.0 % 64);
}

pub fn clear(mask: &mut CpuMask, cpu: CpuId) {
    mask.bits[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
}

pub fn is_empty(mask: &CpuMask) -> bool {
    mask.bits.iter().all(|word| *word == 0)
}

pub fn count(mask: &CpuMask) -> u32 {
    mask.bits.iter().map(|word| word.count_ones()).sum()
}

pub fn first(mask: &CpuMask) -> Option<CpuId> {
    first_in(16, |word| mask.bits[word])
}

pub fn and(a: &CpuMask, b: &CpuMask) -> CpuMask {
    combined(a, b, |a, b| a & b)
}

/// Two sets word by word.
pub fn combined(a: &CpuMask, b: &CpuMask, of: impl Fn(u64, u64) -> u64) -> CpuMask {
    let mut made = EMPTY;
    for ((made, a), b) in made.bits.iter_mut().zip(&a.bits).zip(&b.bits) {
        *made = of(*a, *b);
    }
    made
}

/// The lowest CPU of a set given word by word.
pub fn first_in(words: usize, word: impl Fn(usize) -> u64) -> Option<CpuId> {
    (0..words).find_map(|index| {
        let bits = word(index);
        (bits != 0).then(|| CpuId(index as u32 * 64 + bits.trailing_zeros()))
    })
}

/// The CPUs of a set, ascending.
pub fn iter(mask: &CpuMask) -> impl Iterator<Item = CpuId> + '_ {
    mask.bits.iter().enumerate().flat_map(|(index, word)| {
        let mut bits = *word;
        std::iter::from_fn(move || {
            (bits != 0).then(|| {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                CpuId(index as u32 * 64 + bit)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut mask = of([3, 64, 1023].map(CpuId));
        assert_eq!(iter(&mask).collect::<Vec<_>>(), [3, 64, 1023].map(CpuId));
        assert_eq!((count(&mask), first(&mask)), (3, Some(CpuId(3))));
        clear(&mut mask, CpuId(3));
        assert!(!has(&mask, CpuId(3)) && has(&mask, CpuId(64)));
        assert_eq!(
            first(&and(&mask, &of([1023, 5].map(CpuId)))),
            Some(CpuId(1023))
        );
        assert!(is_empty(&and(&mask, &of([CpuId(5)]))));
        assert_eq!(count(&first_n(70)), 70);
    }
}
