// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of the next millisecond: most are posted for so soon, and here it costs the same however many are pending.
//!
//! Time is cut into slots, in which there is room for one event each; a map of bits says which are taken. The slots go
//! round: the same one serves again a turn later, and the events in it are always those of the turn under way, because
//! nothing is posted for a time further away. What finds its slot taken or is further away is the poster's to keep.

/// A slot is 256 ns wide.
const SLOT_BITS: u32 = 8;
const SLOTS: usize = 64 * 64;

pub struct Near {
    keys: Box<[u128; SLOTS]>,
    /// A bit for every slot that is taken, and one for every word with such bits.
    taken: [u64; 64],
    words: u64,
    /// The slot of the present, counted from time 0.
    now: u64,
}

impl Default for Near {
    fn default() -> Self {
        Self {
            keys: vec![0; SLOTS]
                .try_into()
                .expect("as many as there are slots"),
            taken: [0; 64],
            words: 0,
            now: 0,
        }
    }
}

impl Near {
    /// Keeps the key, whose upper half is its time, if it can.
    #[inline]
    pub fn keep(&mut self, key: u128) -> bool {
        let slot = (key >> 64) as u64 >> SLOT_BITS;
        let at = slot as usize % SLOTS;
        let bit = 1 << (at % 64);
        let word = &mut self.taken[at / 64];
        if slot.wrapping_sub(self.now) >= SLOTS as u64 || *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.words |= 1 << (at / 64);
        self.keys[at] = key;
        true
    }

    /// Takes the first key out if it comes before another.
    #[inline]
    pub fn take_before(&mut self, other: u128) -> Option<u128> {
        let at = self.first()?;
        let key = self.keys[at];
        if key > other {
            return None;
        }
        let word = &mut self.taken[at / 64];
        *word &= !(1 << (at % 64));
        if *word == 0 {
            self.words &= !(1 << (at / 64));
        }
        Some(key)
    }

    #[inline]
    pub fn first_key(&self) -> Option<u128> {
        self.first().map(|at| self.keys[at])
    }

    /// The taken slot that comes next: behind the present one, or from the first one on, as the slots go round.
    #[inline]
    fn first(&self) -> Option<usize> {
        let now = self.now as usize % SLOTS;
        let here = self.taken[now / 64] >> (now % 64);
        if here != 0 {
            return Some(now + here.trailing_zeros() as usize);
        }
        let behind = self.words & (!1 << (now / 64));
        let words = if behind == 0 { self.words } else { behind };
        let word = words.trailing_zeros() as usize;
        let bits = self.taken.get(word)?;
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Time moves on to the time of a key: nothing here is earlier.
    #[inline]
    pub fn move_on(&mut self, key: u128) {
        self.now = self.now.max((key >> 64) as u64 >> SLOT_BITS);
    }
}
