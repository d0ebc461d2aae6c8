// SPDX-License-Identifier: GPL-2.0-or-later
//! The boundary to the policy: calls into it, the functions it calls, and the memory both sides touch.
//!
//! The model enters the policy with [`call!`]; the policy comes back through the table of [`kfuncs`], whose functions
//! turn addresses into ids and hand over to the model's [`Kernel`]. Whatever both sides touch is [`Shared`].
//!
//! Why no reference of Rust's is ever overtaken by the policy:
//!
//! - Shared values are reached through raw pointers that were made once; the policy has copies of the same pointers.
//!   A reference to such a value borrows the model, which a call needs whole, so none is alive during a call.
//! - A call gives the policy a pointer to the model that is made last, from the `&mut` of the caller. The caller's own
//!   reference rests until the call returns; a kfunc's `&mut` is made from that pointer and ends before it returns.
//! - A kfunc may lead to another call, with a pointer made from its own `&mut`. When that call returns, the table gets
//!   back the pointer of the call around it, since the inner one ends with the kfunc.
//!
//! The tests below play a policy with nested calls against a small stand-in of the model. They use no foreign code, so
//! that `cargo +nightly miri test -p kernel --lib boundary` can check the claims above.

pub mod kfuncs;
mod maps;
pub mod requests;
mod shared;
mod view;

use std::ffi::c_void;

use policy::abi::{SchedExtOps, ScxHost};

pub use kfuncs::{Kernel, Walk};
pub use maps::Maps;
pub use shared::Shared;
pub use view::{View, comm};

use crate::consts::OPS_KEEP_BUILTIN_IDLE;
use crate::ids::{CpuId, TaskId};
use requests::Requests;

pub struct Boundary {
    pub ops: SchedExtOps,
    host: Shared<ScxHost>,
    pub view: View,
    pub maps: Maps,
    pub requests: Requests,
}

/// What a policy can ask the time, and where it runs.
pub struct Moment {
    pub clock_ns: u64,
    pub cpu: CpuId,
    pub in_interrupt: bool,
    pub current: TaskId,
}

impl Boundary {
    pub fn new<K: Kernel>(ops: SchedExtOps, cpus: usize, tasks: usize) -> Self {
        let view = View::new(cpus, tasks);
        Self {
            ops,
            host: Shared::new(kfuncs::table::<K>(cpus, &view.masks)),
            view,
            maps: Maps::new(cpus),
            requests: Requests::default(),
        }
    }

    /// Whether the model tracks idle CPUs for the policy.
    #[inline]
    pub fn builtin_idle(&self) -> bool {
        self.ops.update_idle.is_none() || self.ops.flags & OPS_KEEP_BUILTIN_IDLE != 0
    }

    /// The table that the policy is pointed at. It stays in place as long as this boundary.
    pub fn host(&self) -> *mut ScxHost {
        self.host.pointer()
    }
}

/// What [`leave`] needs to put back.
#[must_use]
#[derive(Clone, Copy)]
pub struct Entered {
    around: *mut c_void,
}

/// Before a callback: tell the policy time and place, and count its work from here.
///
/// The pointer to the model that the policy gets is the last thing made of `kernel`: nothing may use `kernel` until
/// the callback has returned.
#[inline]
pub fn enter<K: Kernel>(kernel: &mut K) -> Entered {
    let moment = kernel.moment();
    let boundary = kernel.boundary();
    let current = boundary.view.pointer(moment.current);
    let host = boundary.host.pointer();
    let sim: *mut c_void = std::ptr::from_mut(kernel).cast();
    // SAFETY: the table is in place, and no reference into it lives.
    unsafe {
        let around = std::mem::replace(&mut (*host).sim, sim);
        (*host).now_ns = moment.clock_ns;
        (*host).cpu = u64::from(moment.cpu.0);
        (*host).in_task = u64::from(!moment.in_interrupt);
        (*host).current = current;
        (*host).kfuncs = 0;
        (*host).steps = 0;
        Entered { around }
    }
}

/// After a callback: charge what its code did.
#[inline]
pub fn leave<K: Kernel>(kernel: &mut K, entered: Entered) {
    let host = &mut kernel.boundary().host;
    host.sim = entered.around;
    let (kfuncs, steps) = (host.kfuncs, host.steps);
    kernel.charge_policy(kfuncs, steps);
}

/// Call a callback if the policy has it; `Option` of what it returned.
///
/// Arguments are evaluated before the policy is entered, because they may use the model.
macro_rules! call {
    ($kernel:expr, $op:ident) => {
        $crate::boundary::call!(@ $kernel, $op,)
    };
    ($kernel:expr, $op:ident, $first:expr) => {{
        let first = $first;
        $crate::boundary::call!(@ $kernel, $op, first)
    }};
    ($kernel:expr, $op:ident, $first:expr, $second:expr) => {{
        let (first, second) = ($first, $second);
        $crate::boundary::call!(@ $kernel, $op, first, second)
    }};
    ($kernel:expr, $op:ident, $first:expr, $second:expr, $third:expr) => {{
        let (first, second, third) = ($first, $second, $third);
        $crate::boundary::call!(@ $kernel, $op, first, second, third)
    }};
    (@ $kernel:expr, $op:ident, $($arg:ident),*) => {
        match $kernel.boundary.ops.$op {
            None => None,
            Some(callback) => {
                $crate::boundary::Kernel::calls($kernel, stringify!($op));
                let entered = $crate::boundary::enter($kernel);
                // SAFETY: a callback of the loaded policy, called as the kernel does, with pointers to values that
                // stay in place; it reaches the model only through the table that `enter` has just set.
                let result = unsafe { callback($($arg),*) };
                $crate::boundary::leave($kernel, entered);
                Some(result)
            }
        }
    };
}

pub(crate) use call;

#[cfg(test)]
mod tests;
