// SPDX-License-Identifier: GPL-2.0-or-later
//! How much a policy may do before a checker speaks: what is a matter of taste is a number here.

/// The limits of the checks that no kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// A CPU may stand idle so long beside a waiting task that may use it.
    pub idle_ns: u64,
    /// A task may wait so long, and [`Self::share_ns`] for every weight of its own that the others have.
    pub starvation_ns: u64,
    pub share_ns: u64,
    /// No task has to be given more patience than that, whatever its weight.
    pub patience_ns: u64,
    /// A policy may keep a task to itself while CPUs are idle for so long in all.
    pub lost_ns: u64,
    /// So many runs in a row may begin with next to no slice.
    pub slivers: u32,
    /// Control groups may get what their limits allow (`limits.rs`), because the policy is one that keeps limits.
    pub limits: bool,
    /// How often everybody who waits is looked at in a strict run.
    pub audit_ns: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            idle_ns: 10_000_000,
            starvation_ns: 10_000_000_000,
            share_ns: 0,
            patience_ns: 10_000_000_000,
            lost_ns: 1_000_000_000,
            slivers: 32,
            limits: false,
            audit_ns: 1_000_000_000,
        }
    }
}

impl Bounds {
    /// How long a task of this weight may wait beside others of so much weight in all.
    pub fn wait_ns(&self, weight: u64, all: u64) -> u64 {
        let shares = all.saturating_sub(weight) / weight.max(1);
        self.starvation_ns
            .saturating_add(self.share_ns.saturating_mul(shares))
            .min(self.patience_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_light_wait_longer_up_to_a_limit() {
        let bounds = Bounds {
            starvation_ns: 1_000,
            share_ns: 50,
            patience_ns: 4_000,
            ..Bounds::default()
        };
        assert_eq!(bounds.wait_ns(100, 100), 1_000);
        assert_eq!(bounds.wait_ns(100, 1_100), 1_500);
        assert_eq!(bounds.wait_ns(1, 10_001), 4_000);
        assert_eq!(Bounds::default().wait_ns(1, 10_001), 10_000_000_000);
    }
}
