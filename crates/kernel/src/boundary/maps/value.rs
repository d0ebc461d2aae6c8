// SPDX-License-Identifier: GPL-2.0-or-later
//! Memory of one value, or of an array of them.

use std::ffi::c_void;

use crate::boundary::area::Area;
use crate::boundary::shared::Shared;

/// Values are kept in words, so that they are aligned as the policy expects.
pub type Value = Shared<[u64]>;

pub fn zeroed(bytes: usize) -> Value {
    vec![0; bytes.div_ceil(8)].into_boxed_slice().into()
}

/// The place of a value in storage, which may be made.
pub fn stored(value: &mut Option<Value>, bytes: usize, create: bool) -> *mut c_void {
    if value.is_none() && create {
        *value = Some(zeroed(bytes));
    }
    (value.as_ref()).map_or(std::ptr::null_mut(), |value| value.pointer().cast())
}

pub fn area(value: &Value) -> Area {
    Area::of(value.pointer(), value.len() * 8)
}
