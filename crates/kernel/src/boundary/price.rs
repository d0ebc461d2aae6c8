// SPDX-License-Identifier: GPL-2.0-or-later
//! What a policy's code costs, in native instructions of the kernel's machine. `docs/simulator.md` says how each figure
//! was measured; the prices of helpers and kfuncs stand beside them, in [`super::helpers`] and [`super::kfuncs`].

/// Entering and leaving a callback: the call, the trampoline, and the program's own first and last instructions.
const CALLBACK: u64 = 111;
/// A BPF instruction, in 256ths: the kernel's compiler makes 1.33 of one.
const INSTRUCTION_256: u64 = 340;
/// The same where the scheduler is part of the kernel: 1. Calls cost it nothing, as no boundary is crossed.
const BUILT_IN_256: u64 = 256;

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

    /// The same if the scheduler were part of the kernel.
    #[inline]
    pub fn built_in(self) -> u64 {
        (self.instructions * BUILT_IN_256) >> 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_paid_for_where_there_is_one() {
        let work = Work {
            instructions: 256,
            outside: 500,
        };
        assert_eq!(work.native(), 111 + 340 + 500);
        assert_eq!(work.built_in(), 256);
    }
}
