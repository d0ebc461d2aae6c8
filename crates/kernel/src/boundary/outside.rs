// SPDX-License-Identifier: GPL-2.0-or-later
//! How helpers and kfuncs are written down: name, number or kernel, arguments, and what they do.

use std::ffi::c_void;

use bpf::btf::TypeId;
use bpf::host::{Call, Host};

use super::format::printf;
use super::model::Kernel;
use super::nofault;
use super::release::Release;
use super::types::Types;
use super::world::World;

/// A kfunc of the model.
pub struct Kfunc {
    pub name: &'static str,
    /// The first release that has it in this form, and the first that has not any more.
    pub since: Release,
    pub until: Option<Release>,
    pub price: u64,
    pub calls: Calls,
    pub describe: fn(&mut Types) -> TypeId,
}

impl Kfunc {
    pub fn is_in(&self, release: Release) -> bool {
        self.since <= release && self.until.is_none_or(|until| release < until)
    }
}

/// A helper of the model, by its number in `enum bpf_func_id`.
pub struct Helper {
    pub number: u32,
    pub name: &'static str,
    pub price: u64,
    pub calls: Calls,
}

/// The two forms of a helper or kfunc.
#[derive(Clone, Copy)]
pub struct Calls {
    pub plain: Call,
    /// The operation may be broken off before it.
    pub divided: Call,
}

impl Calls {
    pub fn of(self, divided: bool) -> Call {
        if divided { self.divided } else { self.plain }
    }
}

/// The world around the code that runs: what a helper or kfunc is called with.
///
/// # Safety
/// `host` is that of a policy that was entered with a model of type `K`, and nothing else made of it is alive.
#[inline]
pub unsafe fn back<'k, K: Kernel>(host: *mut Host) -> &'k mut K {
    // SAFETY: the caller's promise.
    unsafe { &mut *(*host).owner.cast::<K>() }
}

/// A function of the policy, from a helper or kfunc.
///
/// # Safety
/// `host` is that of the code that called it.
pub(super) unsafe fn call_back(host: *mut Host, callback: u64, registers: [u64; 5]) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        let function = u32::try_from(callback.checked_sub(1)?).ok()?;
        let result = (*host).invoke?(host, function, &raw const registers);
        ((*host).fault == 0).then_some(result)
    }
}

/// Code is about to call a helper or kfunc of this name: here its operation may be broken off.
///
/// # Safety
/// As for [`back`].
pub(super) unsafe fn seam<K: Kernel>(host: *mut Host, name: &'static str) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*host).fault == 0 {
            back::<K>(host).seam(name);
        }
    }
}

/// Code asked for a helper or kfunc of this price.
#[inline]
pub(super) unsafe fn pay(host: *mut Host, price: u64) {
    // SAFETY: the host of every policy is the first member of a world.
    unsafe { (*host.cast::<World>()).outside += price };
}

/// A price in native instructions, as it is written down: `[40]` is measured, `[~40]` estimated.
macro_rules! price {
    ($price:literal) => {
        $price
    };
    (~ $price:literal) => {
        $price
    };
}

/// A call, from registers to arguments and back. `$host` is the pointer to the host.
macro_rules! outside {
    ($host:ident, $name:expr, $price:expr, ($($argument:ident: $type:ty),*), $result:ty, $body:expr) => {{
        #[allow(unused_variables, unused_mut, reason = "not every call has all five arguments")]
        #[allow(
            unsafe_op_in_unsafe_fn,
            reason = "pointers are those that the policy got from the model, or of its own variables"
        )]
        unsafe extern "C" fn call<K: $crate::boundary::model::Kernel>(
            $host: *mut bpf::host::Host,
            first: u64,
            second: u64,
            third: u64,
            fourth: u64,
            fifth: u64,
        ) -> u64 {
            // SAFETY: called by the policy's code through the table of its host.
            unsafe { $crate::boundary::outside::pay($host, $price) };
            let mut registers = [first, second, third, fourth, fifth].into_iter();
            $(
                let $argument = <$type as $crate::boundary::register::Register>::of(
                    registers.next().unwrap_or_default(),
                );
            )*
            let result: $result = $body;
            $crate::boundary::register::Register::register(result)
        }
        unsafe extern "C" fn divided<K: $crate::boundary::model::Kernel>(
            host: *mut bpf::host::Host,
            first: u64,
            second: u64,
            third: u64,
            fourth: u64,
            fifth: u64,
        ) -> u64 {
            // SAFETY: called as the function that it calls.
            unsafe {
                $crate::boundary::outside::seam::<K>(host, $name);
                call::<K>(host, first, second, third, fourth, fifth)
            }
        }
        $crate::boundary::outside::Calls {
            plain: call::<K>,
            divided: divided::<K>,
        }
    }};
}

/// `since [PRICE] NAME(ARGUMENTS) -> RESULT = |HOST| BODY;`, or `since..until` for a form that went again.
macro_rules! kfuncs {
    ($($since:literal $(.. $until:literal)? [$($price:tt)*] $name:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)?
        = |$host:ident| $body:expr;)*) => {
        pub fn kfuncs<K: $crate::boundary::model::Kernel>() -> Vec<$crate::boundary::outside::Kfunc> {
            vec![$({
                #[allow(unused_mut, unused_assignments, reason = "most have no end")]
                let until = {
                    let mut until = None;
                    $(until = Some($crate::boundary::release::Release::of($until));)?
                    until
                };
                $crate::boundary::outside::Kfunc {
                    name: stringify!($name),
                    since: $crate::boundary::release::Release::of($since),
                    until,
                    price: $crate::boundary::outside::price!($($price)*),
                    calls: $crate::boundary::outside::outside!(
                        $host,
                        stringify!($name),
                        $crate::boundary::outside::price!($($price)*),
                        ($($argument: $type),*),
                        kfuncs!(@ $($result)?),
                        $body
                    ),
                    describe: |types| {
                        let result = <kfuncs!(@ $($result)?) as $crate::boundary::types::Shown>::describe(types);
                        let arguments = [$((
                            stringify!($argument),
                            <$type as $crate::boundary::types::Shown>::describe(types),
                        ),)*];
                        types.btf.prototype(result, &arguments)
                    },
                }
            },)*]
        }
    };
    (@) => { () };
    (@ $result:ty) => { $result };
}

/// `NUMBER [PRICE] NAME(ARGUMENTS) -> RESULT = |HOST| BODY;`
macro_rules! helpers {
    ($($number:literal [$($price:tt)*] $name:ident ($($argument:ident: $type:ty),*) -> $result:ty = |$host:ident| $body:expr;)*) => {
        pub fn helpers<K: $crate::boundary::model::Kernel>() -> Vec<$crate::boundary::outside::Helper> {
            vec![$(
                $crate::boundary::outside::Helper {
                    number: $number,
                    name: stringify!($name),
                    price: $crate::boundary::outside::price!($($price)*),
                    calls: $crate::boundary::outside::outside!(
                        $host,
                        stringify!($name),
                        $crate::boundary::outside::price!($($price)*),
                        ($($argument: $type),*),
                        $result,
                        $body
                    ),
                },
            )*]
        }
    };
}

pub(super) use {helpers, kfuncs, outside, price};

/// Text of the policy up to its NUL, at most so many bytes; none for a null pointer.
///
/// # Safety
/// The text ends with a NUL within that many bytes, or as many bytes may be read.
pub unsafe fn text(at: *const c_void, most: usize) -> Vec<u8> {
    let at = at.cast::<u8>();
    if at.is_null() {
        return Vec::new();
    }
    (0..most)
        // SAFETY: the caller's promise.
        .map(|index| unsafe { *at.add(index) })
        .take_while(|byte| *byte != 0)
        .collect()
}

/// An array of the policy, of so many bytes.
///
/// # Safety
/// It is there.
pub unsafe fn numbers_at(data: *const u64, bytes: u32) -> Vec<u64> {
    (0..bytes as usize / 8)
        // SAFETY: the caller's promise.
        .map(|index| unsafe { *data.add(index) })
        .collect()
}

/// The most of a string that `%s` prints.
const STRING_BYTES: usize = 1_024;

/// A format of the policy, at most so long, with its arguments.
///
/// # Safety
/// As for [`text`], for the format. A string that it names may lie anywhere: what cannot be read is empty, as in the
/// kernel.
pub unsafe fn printed(format: *const c_void, most: usize, arguments: &[u64]) -> String {
    // SAFETY: the caller's promise.
    let format = unsafe { text(format, most) };
    printf(&format, arguments, |at| nofault::text(at, STRING_BYTES))
}
