// SPDX-License-Identifier: GPL-2.0-or-later
//! What runs an image: its translation, or the interpreter.

use std::ptr::from_ref;

use crate::host::Host;
use crate::interpret::{self, Interpreter};
use crate::native::Native;

/// Holds no state of a run, so that one serves many hosts.
pub enum Executor {
    Native(Native),
    Interpreter(Interpreter),
}

impl Executor {
    /// Sets what a host has from its executor.
    ///
    /// # Safety
    /// The host must not call back after this executor has moved or is gone.
    pub unsafe fn attach(&self, host: &mut Host) {
        match self {
            Self::Native(native) => {
                host.invoke = Some(native.invoke());
                host.executor = from_ref(native).cast();
            }
            Self::Interpreter(interpreter) => {
                host.invoke = Some(interpret::invoke);
                host.executor = from_ref(interpreter).cast();
            }
        }
    }

    /// Calls a function as a program: its frames are counted from here. A host with a fault executes nothing and gives
    /// 0.
    ///
    /// # Safety
    /// `host` must be [attached](Self::attach) to this executor and describe memory and helpers as the image refers to
    /// them; `function` must be one of the image's. Code that was translated without checks may do anything with any
    /// memory.
    pub unsafe fn call(&self, host: *mut Host, function: u32, args: [u64; 5]) -> u64 {
        // SAFETY: as the caller promises; nothing here holds a reference to the host while the code runs.
        unsafe {
            if (*host).fault != 0 {
                return 0;
            }
            let depth = std::mem::take(&mut (*host).depth);
            let [r1, r2, r3, r4, r5] = args;
            let result = match self {
                Self::Native(native) => {
                    native.functions()[function as usize](host, r1, r2, r3, r4, r5)
                }
                Self::Interpreter(interpreter) => interpreter.call(host, function, args),
            };
            (*host).depth = depth;
            result
        }
    }
}
