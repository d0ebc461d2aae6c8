# SPDX-License-Identifier: GPL-2.0-or-later
"""What is turned in the simulator to see whether a number moves at all: one that never does is no evidence.

HZ          four times as many ticks a second
slice       twice as long, of policies that have a tunable for it
wake-up     no preemption by who wakes, of policies that can do without
policy      another one in the place of the kernel's own
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedlab.catalogue.machines import Machine
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.errors import InputError
from schedlab.ledger.entries import change_pct
from schedlab.ledger.measures import FLOORS
from schedlab.ledger.tallies import quantile
from schedlab.statistics.agreement import Measure, Place, Repeated

HZ, SLICE, WAKE_UP, POLICY = "HZ × 4", "slice × 2", "wake-up without preemption", "another policy"
# Below this, in per cent, a number has not moved.
MOVED_FROM_PCT = 1.0

# By the policy that is turned: twice what its rules have on one CPU, as its folder in schedulers/ says.
TURNED: dict[str, dict[str, str]] = {
    SLICE: {
        "bfs": "bfs:rr_interval_us=12000",
        "bfs:rules=424": "bfs:rules=424+rr_interval_us=12000",
        "cfs": "cfs:latency_us=12000+min_granularity_us=1500",
        "eevdf": "eevdf:base_slice_us=1400",
        "mlfq": "mlfq:quantum_us=62500",
        "rr": "rr:slice_us=200000",
        "sd": "sd:rr_interval_us=20000",
    },
    WAKE_UP: {"cfs": "cfs:wakeup_preempt=off", "eevdf": "eevdf:wakeup_preempt=off"},
}

_HZ = re.compile(r"^(hz\s*=\s*)(\d+)", re.MULTILINE)

Moves = Mapping[Place, float]  # in per cent, without sign


@dataclass(frozen=True)
class Moved:
    """A metric under one knob: of how many numbers, and how large a change, in per cent."""

    knob: str
    measure: Measure
    numbers: int
    median_pct: float
    p90_pct: float


def faster_ticks(machine: Machine) -> str:
    """The machine's file with another HZ."""
    assert machine.path
    text = machine.path.read_text(encoding="utf-8")
    turned, times = _HZ.subn(lambda found: f"{found[1]}{int(found[2]) * 4}", text)
    if times != 1:
        raise InputError(f"{machine.path}: expected one line 'hz = N', found {times}")
    return turned


def moves(base: Mapping[Place, Repeated], turned: Mapping[Place, Repeated], label_of: Mapping[str, str]) -> Moves:
    """How far each number went. `label_of` tells whose a turned scheduler's numbers are beside."""
    found = {}
    for place, value in turned.items():
        before = base.get(place._replace(label=label_of.get(place.label, place.label)))
        if before and max(value.value, before.value) >= FLOORS.get(place.metric, 0.0):
            found[place] = abs(change_pct(value.value, before.value))
    return found


def exchanges(base: Mapping[Place, Repeated]) -> Moves:
    """Every policy in the place of the kernel's own."""
    others = {place: value for place, value in base.items() if place.label != DEFAULT}
    return moves(base, others, dict.fromkeys({place.label for place in others}, DEFAULT))


def moved(by_knob: Mapping[str, Moves]) -> Iterator[Moved]:
    for knob, changes in by_knob.items():
        for measure in dict.fromkeys((place.metric, place.statistic) for place in changes):
            own = [pct for place, pct in changes.items() if (place.metric, place.statistic) == measure]
            yield Moved(knob, measure, len(own), quantile(own, 0.5), quantile(own, 0.9))


def still(by_knob: Mapping[str, Moves]) -> dict[tuple[str, Measure], float]:
    """The numbers of workloads that no knob moves at any load, and how far they went at most, in per cent."""
    most: dict[tuple[str, Measure], float] = {}
    for changes in by_knob.values():
        for place, pct in changes.items():
            key = (place.workload, (place.metric, place.statistic))
            most[key] = max(most.get(key, 0.0), pct)
    return {key: pct for key, pct in most.items() if pct < MOVED_FROM_PCT}
