// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast a machine's clocks may go, who decides it, and what its CPUs take at which speed.

/// Who decides how fast a CPU's clock goes (`scaling_governor`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Governor {
    /// Always as fast as it can.
    #[default]
    Performance,
    /// As fast as the scheduler says that it has to.
    Schedutil,
}

/// Which CPUs have one clock: one policy of cpufreq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocked {
    #[default]
    Core,
    Llc,
    Socket,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequency {
    pub governor: Governor,
    pub clocked: Clocked,
    pub min_khz: u32,
    /// At which costs and capacities hold.
    pub max_khz: u32,
    /// The frequencies that there are, ascending, from the least to the greatest; empty: any between these.
    pub steps_khz: Vec<u32>,
    /// After a change the governor makes no other for so long.
    pub rate_limit_ns: u64,
    /// From the governor's decision until the clock goes at the new frequency.
    pub latency_ns: u64,
}

impl Frequency {
    /// The slowest that is at least as fast, within what the machine can (`cpufreq_driver_resolve_freq()`).
    pub fn resolved(&self, khz: u32) -> u32 {
        let khz = khz.clamp(self.min_khz, self.max_khz);
        let enough = self.steps_khz.iter().find(|step| **step >= khz);
        enough.copied().unwrap_or(khz)
    }
}

/// What a machine takes, in milliwatts. Nothing of it changes what a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Power {
    /// What the machine takes whatever its CPUs do.
    pub base_mw: u64,
    /// A CPU that idles.
    pub idle_mw: u64,
    /// A CPU that is busy, at each step of the frequency; one number where there is one frequency.
    pub busy_mw: Vec<u64>,
}
