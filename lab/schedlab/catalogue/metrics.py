# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics: names for people, units, and which way is better. docs/records.md says what each means."""

from collections.abc import Iterable
from dataclasses import dataclass

from schedlab.catalogue import described


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    unit: str
    better: str  # "lower", "higher" or "" where neither is


_UNITS = {"_per_s": "1/s", "_us": "µs", "_ns": "ns", "_ms": "ms", "_s": "s", "_pct": "%", "_j": "J"}

# What a workload is judged by when its file promises nothing.
FALLBACK_HEADLINES = ["wakeup_latency_us", "turnaround_us", "throughput_per_s", "elapsed_s"]

# By name, in the order in which tables and pages show them.
_known: dict[str, Metric] = {}


def describe() -> list[described.Entry]:
    return described.entries(metrics=True)["metrics"]


def learn(entries: Iterable[described.Entry]) -> None:
    """A manifest has what was described when its cells ran: to read them takes no simulator."""
    _known.update({e["name"]: Metric(e["name"], e["title"], e["unit"], e["better"]) for e in entries})


def known() -> dict[str, Metric]:
    if not _known:
        learn(describe())
    return _known


def metric(name: str) -> Metric:
    """The metric of that name; one that is not known takes its unit from its suffix."""
    if name in known():
        return known()[name]
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            return Metric(name, name.removesuffix(suffix).replace("_", " "), unit, "")
    return Metric(name, name.replace("_", " "), "", "")


def sort_key(name: str) -> tuple[int, str]:
    order = list(known())
    return (order.index(name) if name in order else len(order), name)
