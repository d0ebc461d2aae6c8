// SPDX-License-Identifier: GPL-2.0-or-later
//! Spin locks of a policy. One CPU runs policy code at a time, so nobody waits: what is held is kept to see that it is
//! taken once and given back.

#[derive(Default)]
pub struct SpinLocks {
    held: Vec<u64>,
}

impl SpinLocks {
    /// False: it is held already.
    pub fn take(&mut self, lock: u64) -> bool {
        let is_free = !self.held.contains(&lock);
        if is_free {
            self.held.push(lock);
        }
        is_free
    }

    /// False: it was not held.
    pub fn give_back(&mut self, lock: u64) -> bool {
        let held = self.held.iter().position(|held| *held == lock);
        held.map(|held| self.held.swap_remove(held)).is_some()
    }

    /// The code that was under way is through; false where it has kept a lock.
    #[inline]
    pub fn settle(&mut self) -> bool {
        let none = self.held.is_empty();
        if !none {
            self.held.clear();
        }
        none
    }
}
