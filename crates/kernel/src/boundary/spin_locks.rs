// SPDX-License-Identifier: GPL-2.0-or-later
//! Spin locks of a policy. One CPU runs policy code at a time, so nobody waits: what is held is kept to see that it is
//! taken once and given back, and not taken by what comes in between while an operation that is broken off has it.

#[derive(Default)]
pub struct SpinLocks {
    /// By which of the operations under way, the outermost being 0.
    held: Vec<(u64, usize)>,
    operation: usize,
}

/// What became of an attempt to take a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Taken,
    /// By the same operation: it waits for itself.
    HeldAlready,
    /// By one that is broken off: the lock cannot be had before that goes on.
    HeldByOther,
}

impl SpinLocks {
    pub fn take(&mut self, lock: u64) -> Attempt {
        match self.held.iter().find(|(held, _)| *held == lock) {
            None => {
                self.held.push((lock, self.operation));
                Attempt::Taken
            }
            Some((_, operation)) if *operation == self.operation => Attempt::HeldAlready,
            Some(_) => Attempt::HeldByOther,
        }
    }

    /// False: it was not held.
    pub fn give_back(&mut self, lock: u64) -> bool {
        let held = (self.held.iter())
            .position(|(held, operation)| *held == lock && *operation == self.operation);
        held.map(|held| self.held.swap_remove(held)).is_some()
    }

    /// The operation under way is broken off.
    pub fn enter(&mut self) {
        self.operation += 1;
    }

    /// It goes on.
    pub fn leave(&mut self) {
        self.operation -= 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_an_operation_that_is_broken_off_is_not_ones_own() {
        let mut locks = SpinLocks::default();
        assert_eq!(locks.take(1), Attempt::Taken);
        assert_eq!(locks.take(1), Attempt::HeldAlready);
        locks.enter();
        assert_eq!(locks.take(1), Attempt::HeldByOther);
        assert!(!locks.give_back(1));
        assert_eq!(locks.take(2), Attempt::Taken);
        assert!(locks.give_back(2));
        locks.leave();
        assert!(locks.give_back(1));
        assert!(locks.settle());
    }
}
