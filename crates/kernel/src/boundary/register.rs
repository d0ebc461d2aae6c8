// SPDX-License-Identifier: GPL-2.0-or-later
//! Values as registers hold them.

use super::shown::Shown;

/// A value as a register holds it.
pub trait Register: Shown {
    fn of(register: u64) -> Self;
    fn register(self) -> u64;
}

macro_rules! registers {
    ($($number:ty)*) => {
        $(impl Register for $number {
            #[inline]
            fn of(register: u64) -> Self {
                register as $number
            }
            #[inline]
            #[allow(clippy::cast_lossless, reason = "signed numbers are extended")]
            fn register(self) -> u64 {
                self as u64
            }
        })*
    };
}

registers! { u32 u64 i32 i64 }

impl Register for bool {
    #[inline]
    fn of(register: u64) -> Self {
        register as u8 != 0
    }
    #[inline]
    fn register(self) -> u64 {
        u64::from(self)
    }
}

impl Register for () {
    #[inline]
    fn of(_register: u64) -> Self {}
    #[inline]
    fn register(self) -> u64 {
        0
    }
}

impl<T: Shown> Register for *mut T {
    #[inline]
    fn of(register: u64) -> Self {
        std::ptr::with_exposed_provenance_mut(register as usize)
    }
    #[inline]
    fn register(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T: Shown> Register for *const T {
    #[inline]
    fn of(register: u64) -> Self {
        std::ptr::with_exposed_provenance(register as usize)
    }
    #[inline]
    fn register(self) -> u64 {
        self.expose_provenance() as u64
    }
}
