// SPDX-License-Identifier: GPL-2.0-or-later
//! What a policy's code costs, in native instructions of the kernel's machine. `docs/simulator.md` says how each figure
//! was measured; the prices of helpers and kfuncs stand beside them, in [`super::helpers`] and [`super::kfuncs`].

/// Entering and leaving a callback: the trampoline. The kernel's code that makes the call is not among them.
const CALLBACK: u64 = 90;
/// A BPF instruction, in 256ths: the kernel's compiler makes 1.3 of one.
const INSTRUCTION_256: u64 = 333;

/// The work of a policy's code in one callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// BPF instructions executed.
    pub instructions: u64,
    /// Native instructions of the helpers and kfuncs called.
    pub outside: u64,
}

impl Work {
    /// All of it, in native instructions.
    #[inline]
    pub fn native(self) -> u64 {
        CALLBACK + ((self.instructions * INSTRUCTION_256) >> 8) + self.outside
    }
}
