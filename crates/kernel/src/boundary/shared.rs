// SPDX-License-Identifier: GPL-2.0-or-later
//! Memory that the model and the policy both read and write.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A value that stays in place and that a policy may hold pointers to.
///
/// The owner reaches the value through the one raw pointer that the policy's pointers are copies of. So a reference
/// that the owner takes invalidates none of them, and ends, by the rules for references into the owner, before the
/// owner can be borrowed for the call that lets the policy run.
pub struct Shared<T: ?Sized> {
    at: NonNull<T>,
}

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        Self::from(Box::new(value))
    }
}

impl<T: ?Sized> Shared<T> {
    /// The pointer for the policy.
    pub fn pointer(&self) -> *mut T {
        self.at.as_ptr()
    }
}

impl<T: ?Sized> From<Box<T>> for Shared<T> {
    fn from(value: Box<T>) -> Self {
        Self {
            at: NonNull::from(Box::leak(value)),
        }
    }
}

impl<T> FromIterator<T> for Shared<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from(values.into_iter().collect::<Box<[T]>>())
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as its owner, and the policy, which could write to it, does not run while a
        // reference into its owner lives.
        unsafe { self.at.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for Shared<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the owner is borrowed by nobody else.
        unsafe { self.at.as_mut() }
    }
}

impl<T: ?Sized> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: leaked from a box when this was made, and freed only here.
        drop(unsafe { Box::from_raw(self.at.as_ptr()) });
    }
}
