# SPDX-License-Identifier: GPL-2.0-or-later
"""Which numbers of a cell are compared, and why others are not.

A number belongs here if it means the same in both worlds, and says something that no other number here says.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from schedlab.catalogue import toml
from schedlab.catalogue.workloads import RT_APP
from schedlab.statistics.agreement import TOTAL, Measure, Place, Repeated
from schedlab.statistics.samples import MEAN

_ELAPSED, _THROUGHPUT, _MIGRATIONS = "elapsed_s", "throughput_per_s", "migrations"
# Work that differs by less is the same.
_SAME_WORK = 1.001

MEASURES: list[Measure] = [
    (_ELAPSED, MEAN),
    (_THROUGHPUT, MEAN),
    ("switches_voluntary", MEAN),
    ("switches_involuntary", MEAN),
    (_MIGRATIONS, MEAN),
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
FLOORS: dict[str, float] = {"switches_voluntary": 50, "switches_involuntary": 50, _MIGRATIONS: 50, "waiting_us": 1_000}
# Nor is time spent waiting if it is less than this a wait: a kernel's account leaves out the wake-up before and the
# switch after, and the simulator's has both.
SHORTEST_WAIT_US = 100.0
WAIT: Measure = ("waiting_us", MEAN)

LEFT_OUT = {
    "elapsed time where the workload's file fixes it": "it cannot differ",
    "throughput where all schedulers do the same work": "it is elapsed time again",
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


def telling(numbers: Mapping[Place, Repeated], fixed_time: Collection[str]) -> dict[Place, Repeated]:
    """Without the elapsed time of workloads that fix it, throughput that is elapsed time again, and what is always 0.

    On one CPU no task migrates.
    """
    work: dict[tuple[str, int], list[float]] = {}
    for place, own in numbers.items():
        elapsed = numbers.get(place._replace(metric=_ELAPSED))
        if place.metric == _THROUGHPUT and place.workload not in fixed_time and elapsed:
            work.setdefault((place.workload, place.load), []).append(own.value * elapsed.value)
    same = {key for key, units in work.items() if max(units) <= min(units) * _SAME_WORK}

    migrate = any(own.value for place, own in numbers.items() if place.metric == _MIGRATIONS)

    def tells(place: Place) -> bool:
        if place.metric == _MIGRATIONS:
            return migrate
        if place.metric == _ELAPSED:
            return place.workload not in fixed_time
        return place.metric != _THROUGHPUT or (place.workload, place.load) not in same

    return {place: own for place, own in numbers.items() if tells(place)}


def too_small(name: str, simulated: float, kernel: float, wait: float) -> bool:
    """`wait` is the simulator's mean, where the metric is the time spent waiting."""
    most = max(simulated, kernel)
    if most < FLOORS.get(name, 0.0):
        return True
    return name == WAIT[0] and most * wait < SHORTEST_WAIT_US * simulated
