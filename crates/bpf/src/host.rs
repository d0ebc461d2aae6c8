// SPDX-License-Identifier: GPL-2.0-or-later
//! What executing code sees of the world around it. The translation's C has the same structure.

use std::ffi::c_void;

/// A helper or kfunc, with its arguments as registers have them.
pub type Call = unsafe extern "C" fn(*mut Host, u64, u64, u64, u64, u64) -> u64;

/// Runs a function of the image: by index, with `r1` to `r5`.
pub type Invoke = unsafe extern "C" fn(*mut Host, u32, *const [u64; 5]) -> u64;

/// Says whether an access is allowed: address, bytes, 1 for a write.
pub type Access = unsafe extern "C" fn(*mut Host, u64, u64, u64) -> u64;

/// One running image. Who embeds it may put it first into a larger structure.
#[repr(C)]
pub struct Host {
    /// Operations executed; exact when the outermost function has returned.
    pub executed: u64,
    /// More than so many are a fault, which is noticed at jumps backwards and calls.
    pub limit: u64,
    /// What went wrong, a number of [`FaultKind`]; 0: nothing. Functions return at once where it is set.
    pub fault: u32,
    /// Where: function and operation, by index.
    pub fault_function: u32,
    pub fault_op: u32,
    pub fault_bytes: u32,
    pub fault_address: u64,
    /// The block of global data.
    pub data: *mut u8,
    /// The value of map 0; that of map N is `N * map_stride` bytes further.
    pub maps: *mut u8,
    pub map_stride: u64,
    /// Addresses of the kernel's variables.
    pub variables: *const *mut u8,
    /// Helpers and kfuncs, as the image numbers them.
    pub calls: *const Call,
    /// Where the arena lies, and where user space would see it.
    pub arena: *mut u8,
    pub arena_user: u64,
    /// Looked at by code that was translated so, and by the interpreter when told.
    pub access: Option<Access>,
    /// For helpers that call back.
    pub invoke: Option<Invoke>,
    /// The executor's own.
    pub executor: *const c_void,
    /// The embedder's own.
    pub owner: *mut c_void,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FaultKind {
    /// An access that [`Host::access`] refused.
    Access = 1,
    /// [`Host::limit`] is reached.
    Limit = 2,
    /// A call of what the kernel has not.
    Missing = 3,
    /// Calls nested deeper than the kernel allows.
    Depth = 4,
    /// A helper or kfunc found its arguments wrong.
    Outside = 5,
}
