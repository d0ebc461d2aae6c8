# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics: names for people, units, and which way is better. The names are fixed in docs/records.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    unit: str
    better: str  # "lower", "higher" or "" where neither is


_KNOWN = [
    Metric("elapsed_s", "elapsed time", "s", "lower"),
    Metric("throughput_per_s", "throughput", "1/s", "higher"),
    Metric("wakeup_latency_us", "wake-up latency", "µs", "lower"),
    Metric("probe_latency_us", "probe latency", "µs", "lower"),
    Metric("round_trip_us", "round trip", "µs", "lower"),
    Metric("lateness_us", "lateness of frames", "µs", "lower"),
    Metric("work_us", "work", "µs", "lower"),
    Metric("turnaround_us", "turnaround", "µs", "lower"),
    Metric("waiting_us", "waiting", "µs", "lower"),
    Metric("cpu_s", "CPU time", "s", "lower"),
    Metric("cpu_usage_pct", "CPU usage", "% of one CPU", ""),
    Metric("switches_voluntary", "voluntary switches", "", ""),
    Metric("switches_involuntary", "involuntary switches", "", ""),
    Metric("migrations", "migrations", "", ""),
    Metric("max_lag_us", "largest lag", "µs", "lower"),
    Metric("starvation_max_us", "longest starvation", "µs", "lower"),
    Metric("idle_while_waiting_pct", "idle beside waiting tasks", "% of one CPU", "lower"),
    Metric("disk_wait_s", "waits for the disk", "s", "lower"),
    Metric("dropped_frames", "dropped frames", "", "lower"),
    Metric("frames_shown", "frames shown", "", "higher"),
    Metric("frames_not_shown", "frames not shown", "", "lower"),
]
KNOWN = {metric.name: metric for metric in _KNOWN}
ORDER = [metric.name for metric in _KNOWN]

_UNITS = {"_per_s": "1/s", "_us": "µs", "_ns": "ns", "_ms": "ms", "_s": "s", "_pct": "%"}

# What a workload is judged by when its file promises nothing.
FALLBACK_HEADLINES = ["wakeup_latency_us", "turnaround_us", "throughput_per_s", "elapsed_s"]


def metric(name: str) -> Metric:
    """The metric of that name; one that the table does not know takes its unit from its suffix."""
    if name in KNOWN:
        return KNOWN[name]
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            return Metric(name, name.removesuffix(suffix).replace("_", " "), unit, "")
    return Metric(name, name.replace("_", " "), "", "")


def sort_key(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in KNOWN else len(ORDER), name)
