// SPDX-License-Identifier: GPL-2.0-or-later
//! Memory that a policy may touch, as addresses.

/// An area of memory, as addresses.
#[derive(Clone, Copy)]
pub struct Area {
    pub start: u64,
    pub bytes: u64,
}

impl Area {
    pub fn of<T: ?Sized>(at: *const T, bytes: usize) -> Self {
        Self {
            start: at.addr() as u64,
            bytes: bytes as u64,
        }
    }

    pub fn holds(self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset <= self.bytes && bytes <= self.bytes - offset
    }
}
