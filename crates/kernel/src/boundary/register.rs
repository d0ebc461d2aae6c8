// SPDX-License-Identifier: GPL-2.0-or-later
//! Values as registers hold them.

use bpf::btf::TypeId;

use super::shown::RbNode;
use super::types::{Shown, Types};

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

/// A function of the policy that says whether one node of a tree goes before another; as code passes it.
pub struct Less(pub u64);

impl Shown for Less {
    fn describe(types: &mut Types) -> TypeId {
        let (less, one) = (bool::describe(types), <*mut RbNode>::describe(types));
        let other = <*const RbNode>::describe(types);
        let function = types.btf.prototype(less, &[("a", one), ("b", other)]);
        types.btf.pointer(function)
    }
}

impl Register for Less {
    fn of(register: u64) -> Self {
        Self(register)
    }
    fn register(self) -> u64 {
        self.0
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
