// SPDX-License-Identifier: GPL-2.0-or-later
//! What the running kernel is: release, tick, preemption model, frequency governor.

use std::path::Path;

use serde::Serialize;

/// Facts that go into every record made on this kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    pub release: String,
    pub hz: u32,
    pub cpus: u32,
    /// `lazy`, `full`, `voluntary` or `none`; empty if the kernel does not say.
    pub preempt: String,
    /// `performance`, `schedutil`, …; empty without frequency scaling.
    pub governor: String,
}

impl Kernel {
    pub fn read() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            release: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            hz: tick_hz(),
            cpus: online_cpus(),
            preempt: preempt(
                &read("/sys/kernel/debug/sched/preempt"),
                &read("/proc/sys/kernel/version"),
            ),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .trim()
                .to_owned(),
        }
    }
}

/// Timer interrupts per second: the coarse clock moves once a tick, and its resolution says so exactly.
pub fn tick_hz() -> u32 {
    let mut resolution = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills in the structure it is given.
    let failed =
        unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut resolution) } != 0;
    if failed || resolution.tv_nsec <= 0 {
        return 250;
    }
    let ns = resolution.tv_nsec as u32;
    (1_000_000_000 + ns / 2) / ns
}

pub fn online_cpus() -> u32 {
    // SAFETY: no pointers.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).unwrap_or(1)
}

/// The bracketed word of `none voluntary (full) lazy`, else what the kernel's version string says of its build.
fn preempt(debugfs: &str, version: &str) -> String {
    if let Some((_, rest)) = debugfs.split_once('(') {
        return rest.split(')').next().unwrap_or_default().to_owned();
    }
    let word = version
        .split_whitespace()
        .find(|word| word.starts_with("PREEMPT"));
    match word {
        None => String::new(),
        Some("PREEMPT") => "full".to_owned(),
        Some(word) => word.trim_start_matches("PREEMPT_").to_lowercase(),
    }
}

/// Groups tasks by session below the scheduler under test; off while cells run, restored when dropped.
pub struct AutogroupOff {
    was: Option<String>,
}

const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

impl AutogroupOff {
    /// Does nothing where the kernel has no autogroup or does not let us.
    pub fn hold() -> Self {
        let path = Path::new(AUTOGROUP);
        let was = std::fs::read_to_string(path)
            .ok()
            .filter(|was| was.trim() != "0");
        Self {
            was: was.filter(|_| std::fs::write(path, "0").is_ok()),
        }
    }
}

impl Drop for AutogroupOff {
    fn drop(&mut self) {
        if let Some(was) = &self.was {
            let _ = std::fs::write(AUTOGROUP, was);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preemption_model_is_read_where_it_stands() {
        assert_eq!(preempt("none voluntary full (lazy)\n", ""), "lazy");
        assert_eq!(
            preempt("", "#1 SMP PREEMPT_DYNAMIC Debian 7.2.12-1 (2026-10-30)\n"),
            "dynamic"
        );
        assert_eq!(preempt("", "#1 SMP PREEMPT Mon\n"), "full");
        assert_eq!(preempt("", "#1 SMP Mon\n"), "");
    }

    #[test]
    fn the_tick_is_one_that_kernels_are_built_with() {
        assert!([100, 250, 300, 1000].contains(&tick_hz()), "{}", tick_hz());
    }
}
