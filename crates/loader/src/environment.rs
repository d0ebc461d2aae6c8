// SPDX-License-Identifier: GPL-2.0-or-later
//! What the machine is like at a moment: what measurements depend on besides the scheduler.
//!
//! What the system does not tell is empty, zero or left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::kernel::{self, Kernel};
use crate::sysfs::{State, text};

const CPUS: &str = "/sys/devices/system/cpu";
/// So long is looked how busy the machine is while nothing of ours runs.
const WINDOW: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Environment {
    /// Release, and how and when it was built.
    pub kernel: String,
    pub preempt: String,
    pub hz: u32,
    /// Another one with every boot.
    pub boot: String,
    pub cpu_model: String,
    pub microcode: String,
    /// How many CPUs are online, and which.
    pub cpus: u32,
    pub online: String,
    /// Of hardware threads: `on`, `off`, `notsupported` …
    pub smt: String,
    /// All that any CPU has.
    pub governors: String,
    /// `on` or `off`.
    pub turbo: String,
    pub clocksource: String,
    /// By the name of the weakness.
    pub mitigations: BTreeMap<String, String>,
    /// What the machine runs on, where it is a virtual one.
    pub virtualised: String,
    /// `none` of a kernel without sched_ext, `free`, or the scheduler that is loaded.
    pub sched_ext: String,
    pub load_1_min: f64,
    /// Of all CPUs' time, for half a second, with what a hypervisor took.
    pub busy_pct: f64,
    /// Of the warmest sensor.
    pub temperature_c: Option<f64>,
    /// How often a CPU was slowed down because it was hot.
    pub throttled: u64,
}

impl Environment {
    /// Takes half a second.
    pub fn read() -> Self {
        let before = times();
        std::thread::sleep(WINDOW);
        let busy_pct = busy_pct(before, times());
        let running = Kernel::read();
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            kernel: format!("{} {}", running.release, told("/proc/sys/kernel/version"))
                .trim()
                .to_owned(),
            preempt: running.preempt,
            hz: running.hz,
            boot: told("/proc/sys/kernel/random/boot_id"),
            cpu_model: value_of(&info, "model name"),
            microcode: value_of(&info, "microcode"),
            cpus: kernel::online_cpus(),
            online: told("/sys/devices/system/cpu/online"),
            smt: told("/sys/devices/system/cpu/smt/control"),
            governors: governors(),
            turbo: turbo(
                &told("/sys/devices/system/cpu/intel_pstate/no_turbo"),
                &told("/sys/devices/system/cpu/cpufreq/boost"),
            ),
            clocksource: told("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            mitigations: mitigations(),
            virtualised: virtualised(&info),
            sched_ext: State::read().map_or_else(|_| "none".to_owned(), |state| loaded(&state)),
            load_1_min: first_number(&told("/proc/loadavg")).unwrap_or(0.0),
            busy_pct,
            temperature_c: temperature_c(),
            throttled: files_of_cpus("thermal_throttle/core_throttle_count")
                .iter()
                .filter_map(|text| text.parse::<u64>().ok())
                .sum(),
        }
    }
}

fn told(path: impl AsRef<Path>) -> String {
    text(path).unwrap_or_default()
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Of `/proc/cpuinfo`, the first CPU's.
fn value_of(info: &str, key: &str) -> String {
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(name, _)| name.trim() == key);
    values
        .next()
        .map(|(_, value)| value.trim().to_owned())
        .unwrap_or_default()
}

/// Ticks of all CPUs: those that were busy, and all.
fn times() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    ticks(&stat)
}

fn ticks(stat: &str) -> (u64, u64) {
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    // user nice system idle iowait irq softirq steal; what guests take is in user already.
    let numbers: Vec<u64> = fields
        .skip(1)
        .take(8)
        .filter_map(|field| field.parse().ok())
        .collect();
    let all = numbers.iter().sum::<u64>();
    (all - numbers.iter().skip(3).take(2).sum::<u64>(), all)
}

fn busy_pct(before: (u64, u64), after: (u64, u64)) -> f64 {
    let all = after.1.saturating_sub(before.1);
    if all == 0 {
        return 0.0;
    }
    after.0.saturating_sub(before.0) as f64 / all as f64 * 100.0
}

fn folder(path: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The texts of a file that every CPU may have.
fn files_of_cpus(file: &str) -> Vec<String> {
    let is_cpu = |path: &Path| {
        name(path)
            .strip_prefix("cpu")
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
    };
    folder(CPUS)
        .iter()
        .filter(|path| is_cpu(path))
        .filter_map(|path| text(path.join(file)).ok())
        .collect()
}

fn governors() -> String {
    let found: BTreeSet<String> = files_of_cpus("cpufreq/scaling_governor")
        .into_iter()
        .collect();
    found.into_iter().collect::<Vec<_>>().join(",")
}

fn turbo(no_turbo: &str, boost: &str) -> String {
    match (no_turbo, boost) {
        ("0", _) | ("", "1") => "on",
        ("1", _) | ("", "0") => "off",
        _ => "",
    }
    .to_owned()
}

fn mitigations() -> BTreeMap<String, String> {
    folder("/sys/devices/system/cpu/vulnerabilities")
        .iter()
        .filter_map(|path| Some((name(path), text(path).ok()?)))
        .collect()
}

fn virtualised(info: &str) -> String {
    let flags = value_of(info, "flags");
    let kind = told("/sys/hypervisor/type");
    if kind.is_empty() && !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return String::new();
    }
    let vendor = told("/sys/class/dmi/id/sys_vendor");
    [kind, vendor, "yes".to_owned()]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

fn loaded(state: &State) -> String {
    if state.is_disabled() {
        "free".to_owned()
    } else if state.ops.is_empty() {
        state.state.clone()
    } else {
        state.ops.clone()
    }
}

fn temperature_c() -> Option<f64> {
    let zones = folder("/sys/class/thermal").into_iter();
    let readings = zones.filter_map(|zone| text(zone.join("temp")).ok()?.parse::<f64>().ok());
    readings.map(|milli| milli / 1000.0).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_is_neither_idle_nor_waits_for_a_disk() {
        let before = ticks("cpu  100 10 20 1000 50 3 4 5 70 0\ncpu0 1 1 1 1\n");
        assert_eq!(before, (142, 1192));
        let after = ticks("cpu  110 10 25 1070 60 3 4 10 90 0\n");
        assert!((busy_pct(before, after) - 20.0).abs() < 1e-9);
        assert!(busy_pct(before, before).abs() < 1e-9);
        assert_eq!(ticks(""), (0, 0));
    }

    #[test]
    fn turbo_is_what_the_driver_says_first() {
        for (no_turbo, boost, expected) in [
            ("0", "", "on"),
            ("1", "1", "off"),
            ("", "1", "on"),
            ("", "0", "off"),
            ("", "", ""),
        ] {
            assert_eq!(turbo(no_turbo, boost), expected);
        }
    }

    #[test]
    fn a_loaded_scheduler_is_named() {
        let state = |state: &str, ops: &str| State {
            state: state.into(),
            ops: ops.into(),
            ..State::default()
        };
        assert_eq!(loaded(&state("disabled", "")), "free");
        assert_eq!(loaded(&state("enabled", "bpfland")), "bpfland");
        assert_eq!(loaded(&state("disabling", "")), "disabling");
    }

    #[test]
    fn a_machine_says_what_it_is() {
        let info = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu sse2\n\nprocessor\t: 1\n";
        assert_eq!(value_of(info, "model name"), "Some CPU @ 2 GHz");
        assert_eq!(value_of(info, "microcode"), "");
        let here = Environment::read();
        assert!(!here.sched_ext.is_empty());
        assert!(here.cpus > 0 && !here.kernel.is_empty() && !here.boot.is_empty());
        assert!((0.0..=100.0).contains(&here.busy_pct));
    }
}
