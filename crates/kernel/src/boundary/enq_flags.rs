// SPDX-License-Identifier: GPL-2.0-or-later
//! Flags of a task's insertion (`enum scx_enq_flags`), between the model and a policy of an older release, which has other
//! bits for some of them.

use super::enumerations::moved_enq_flags;
use super::release::Release;

/// Bits of the model's and what the policy has for them, where the two differ.
pub struct EnqFlags(Vec<(u64, u64)>);

impl EnqFlags {
    pub fn of(release: Release) -> Self {
        Self(moved_enq_flags(release).collect())
    }

    /// The model's flags as the policy knows them.
    #[inline]
    pub fn shown(&self, flags: u64) -> u64 {
        let moved = self.0.iter().filter(|(ours, _)| flags & ours != 0);
        let kept = self.0.iter().fold(flags, |kept, (ours, _)| kept & !ours);
        moved.fold(kept, |all, (_, theirs)| all | theirs)
    }

    /// The policy's flags as the model knows them. What only another release has means nothing.
    #[inline]
    pub fn meant(&self, flags: u64) -> u64 {
        let moved = self.0.iter().filter(|(_, theirs)| flags & theirs != 0);
        let kept = (self.0.iter()).fold(flags, |kept, (ours, theirs)| kept & !ours & !theirs);
        moved.fold(kept, |all, (ours, _)| all | ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consts::{ENQ_CPU_SELECTED, ENQ_HEAD, ENQ_PREEMPT, ENQ_WAKEUP};

    #[test]
    fn flags_mean_the_same_to_the_model_and_to_a_policy_of_any_release() {
        for release in Release::ALL {
            let flags = EnqFlags::of(release);
            let known = if release < Release::of(615) {
                ENQ_WAKEUP | ENQ_HEAD | ENQ_PREEMPT
            } else {
                ENQ_WAKEUP | ENQ_HEAD | ENQ_PREEMPT | ENQ_CPU_SELECTED
            };
            assert_eq!(flags.meant(flags.shown(known)), known, "{release}");
        }
    }

    #[test]
    fn bits_are_those_of_the_release() {
        let shown = |release| EnqFlags::of(Release::of(release)).shown(ENQ_HEAD | ENQ_WAKEUP);
        assert_eq!(shown(612), 0x11);
        assert_eq!(shown(618), 0x11);
        assert_eq!(shown(619), 0x1_0001);
        let meant = |release, flags| EnqFlags::of(Release::of(release)).meant(flags);
        assert_eq!(meant(618, 0x410), ENQ_HEAD | ENQ_CPU_SELECTED);
        assert_eq!(meant(618, ENQ_HEAD | ENQ_PREEMPT), ENQ_PREEMPT);
        assert_eq!(meant(702, ENQ_HEAD | ENQ_PREEMPT), ENQ_HEAD | ENQ_PREEMPT);
    }
}
