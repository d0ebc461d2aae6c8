# SPDX-License-Identifier: GPL-2.0-or-later
"""Which numbers of a cell are compared, and why others are not.

A number belongs here if it means the same in both worlds, and says something that no other number here says.
"""

from pathlib import Path

from schedlab.catalogue import toml
from schedlab.catalogue.workloads import RT_APP
from schedlab.statistics.agreement import TOTAL, Measure
from schedlab.statistics.samples import MEAN

MEASURES: list[Measure] = [
    ("elapsed_s", MEAN),
    ("throughput_per_s", MEAN),
    ("switches_voluntary", MEAN),
    ("switches_involuntary", MEAN),
    ("wakeup_latency_us", "p50"),
    ("wakeup_latency_us", "p99"),
    ("waiting_us", TOTAL),
    ("turnaround_us", "p50"),
    ("turnaround_us", "p99"),
    ("round_trip_us", "p50"),
    ("round_trip_us", "p99"),
    ("probe_latency_us", "p50"),
    ("lateness_us", "p50"),
    ("lateness_us", "p99"),
    ("cpu_s", MEAN),
]

# Below this in both worlds a number is too small for its ratio to mean anything, and is no row.
FLOORS: dict[str, float] = {"switches_voluntary": 50, "switches_involuntary": 50, "waiting_us": 1_000}
# Nor is time spent waiting if it is less than this a wait: a kernel's account leaves out the wake-up before and the
# switch after, and the simulator's has both.
SHORTEST_WAIT_US = 100.0
WAIT: Measure = ("waiting_us", MEAN)

LEFT_OUT = {
    "elapsed time where the workload's file fixes it, throughput where it does not": (
        "the first cannot differ, and the second is the first again"
    ),
    "percentiles of `waiting_us`": (
        "the simulator knows every wait and a kernel only each task's sum; the sum over all tasks is compared"
    ),
    "`wakeup_latency_us` of workloads that do not log it": "a kernel does not tell it",
    "`work_us`": "turnaround less the wake-up, which are both there",
    "`cpu_usage_pct`": "CPU time over elapsed time, which are both there",
    "`max_lag_us`, `starvation_max_us`, `idle_while_waiting_pct`": "known to the simulator alone",
    "shares of the CPU by task": "no record has them",
    "counts of frames": "few and in steps of one; their lateness is compared",
}


def fixes_its_time(workload: Path) -> bool:
    """Whether a workload ends after a time that its file sets, whatever its tasks have done."""
    if workload.suffix == RT_APP:
        return True
    return any(key.startswith("after") for key in toml.read(workload).get("end", {}))


def applies(name: str, fixed_time: bool) -> bool:
    """Whether a metric says something of a workload."""
    return name != ("elapsed_s" if fixed_time else "throughput_per_s")


def too_small(name: str, simulated: float, kernel: float, wait: float) -> bool:
    """`wait` is the simulator's mean, where the metric is the time spent waiting."""
    most = max(simulated, kernel)
    if most < FLOORS.get(name, 0.0):
        return True
    return name == WAIT[0] and most * wait < SHORTEST_WAIT_US * simulated
