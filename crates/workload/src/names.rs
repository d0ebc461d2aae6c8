// SPDX-License-Identifier: GPL-2.0-or-later
//! Metric names (`docs/records.md`) and who produces them.

/// Distributions that programs log.
pub const LOGGED: &[&str] = &[
    "turnaround_us",
    "work_us",
    "wakeup_latency_us",
    "probe_latency_us",
    "round_trip_us",
    "lateness_us",
];

/// Counters that programs count and that are metrics under their own name.
pub const COUNTED: &[&str] = &["dropped_frames", "frames_shown", "frames_not_shown"];

/// What every place measures of every run.
pub const MEASURED: &[&str] = &[
    "elapsed_s",
    "cpu_s",
    "cpu_usage_pct",
    "switches_voluntary",
    "switches_involuntary",
];

/// What only some places can measure: never promised.
pub const PLACE_DEPENDENT: &[&str] = &[
    "waiting_us",
    "migrations",
    "max_lag_us",
    "starvation_max_us",
    "idle_while_waiting_pct",
    "disk_wait_s",
];

pub const THROUGHPUT: &str = "throughput_per_s";
