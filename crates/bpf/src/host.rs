// SPDX-License-Identifier: GPL-2.0-or-later
//! What executing code sees of the world around it. The translation's C has the same structure.

use std::ffi::c_void;

/// A helper or kfunc, with its arguments as registers have them.
pub type Call = unsafe extern "C" fn(*mut Host, u64, u64, u64, u64, u64) -> u64;

/// Runs a function of the image: by index, with `r1` to `r5`.
pub type Invoke = unsafe extern "C" fn(*mut Host, u32, *const [u64; 5]) -> u64;

/// Says whether an access is allowed: address, bytes, 1 for a write.
pub type Access = unsafe extern "C" fn(*mut Host, u64, u64, u64) -> u64;

/// The stack of a BPF function under way.
#[repr(C)]
pub struct Frame {
    /// That of the function that called it.
    pub outer: *const Frame,
    pub low: u64,
    pub high: u64,
}

/// An area of memory that [`Host::access`] has allowed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Allowed {
    pub start: u64,
    pub bytes: u64,
    /// 1 where it may be written, else 0.
    pub writable: u64,
}

impl Allowed {
    /// So many are kept, each in the place of the line of 64 bytes that was touched.
    pub const PLACES: usize = 256;

    pub fn place(address: u64) -> usize {
        (address / 64) as usize % Self::PLACES
    }
}

/// One running image. Who embeds it may put it first into a larger structure.
#[repr(C)]
pub struct Host {
    /// Operations executed; exact when the outermost function has returned.
    pub executed: u64,
    /// More than so many are a fault, which is noticed at jumps backwards and where a function begins.
    pub limit: u64,
    /// What went wrong, a number of [`FaultKind`]; 0: nothing. Functions return at once where it is set.
    pub fault: u32,
    /// Where: function and operation, by index.
    pub fault_function: u32,
    pub fault_op: u32,
    pub fault_bytes: u32,
    pub fault_address: u64,
    /// Calls within calls that are under way: of functions of the image, and from helpers back into it.
    pub depth: u32,
    /// Kept by the interpreter, and by code that was translated to ask [`Host::access`]: the innermost stack.
    /// What lies in one of them is the code's own, and [`Host::access`] is not asked about it.
    pub frames: *const Frame,
    /// The block of global data.
    pub data: *mut u8,
    /// The value of map 0; that of map N is `N * map_stride` bytes further.
    pub maps: *mut u8,
    pub map_stride: u64,
    /// Addresses of the kernel's variables.
    pub variables: *const *mut u8,
    /// Helpers and kfuncs, as the image numbers them.
    pub calls: *const Call,
    /// Where the arena lies, at a multiple of 4 GiB, and where user space would see it.
    pub arena: *mut u8,
    pub arena_user: u64,
    /// Looked at by code that was translated so, and by the interpreter when told.
    pub access: Option<Access>,
    /// What need not be asked about again, in [`Allowed::PLACES`] places; null: nothing.
    pub allowed: *const Allowed,
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
    /// A helper or kfunc found its arguments wrong: [`Host::refuse`].
    Outside = 5,
    /// A spin lock taken again, given back though free, or kept.
    Lock = 6,
}

/// [`Host::fault_function`] until the executor has said where.
pub const NOWHERE: u32 = u32::MAX;

/// `MAX_CALL_FRAMES` of the kernel.
pub const FRAMES: u32 = 8;

/// Pointers below are NULL with an offset: loads through them give 0, as those do that the kernel guards by its
/// exception table, and stores are a fault.
pub const NULL_PAGE: u64 = 4096;

impl Host {
    /// For helpers and kfuncs: the caller stops here, with its place in the fault.
    pub fn refuse(&mut self, kind: FaultKind, address: u64, bytes: u32) {
        self.fault = kind as u32;
        self.fault_function = NOWHERE;
        self.fault_address = address;
        self.fault_bytes = bytes;
    }

    /// Whether so many bytes lie in the stack of a function under way.
    ///
    /// # Safety
    /// `frames` must be as an executor left it.
    pub unsafe fn in_stack(&self, address: u64, bytes: u64) -> bool {
        let mut frame = self.frames;
        // SAFETY: an executor takes a frame off the list before its memory ends.
        while let Some(Frame { outer, low, high }) = unsafe { frame.as_ref() } {
            if *low <= address && address <= *high && bytes <= *high - address {
                return true;
            }
            frame = *outer;
        }
        false
    }
}

impl Default for Host {
    fn default() -> Self {
        use std::ptr::{null, null_mut};
        Self {
            executed: 0,
            limit: u64::MAX,
            fault: 0,
            fault_function: 0,
            fault_op: 0,
            fault_bytes: 0,
            fault_address: 0,
            depth: 0,
            frames: null(),
            data: null_mut(),
            maps: null_mut(),
            map_stride: 0,
            variables: null(),
            calls: null(),
            arena: null_mut(),
            arena_user: 0,
            access: None,
            allowed: null(),
            invoke: None,
            executor: null(),
            owner: null_mut(),
        }
    }
}
