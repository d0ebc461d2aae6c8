# SPDX-License-Identifier: GPL-2.0-or-later
"""The same cells in the simulator and on a real kernel, number beside number.

What is compared is the value over all repetitions, as every table shows it: a mean, or a percentile of the merged
histograms.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.statistics.samples import MEAN, groups, of_all

Measure = tuple[str, str]  # a metric, a statistic of it

MEASURES: list[Measure] = [
    ("elapsed_s", MEAN),
    ("switches_voluntary", MEAN),
    ("switches_involuntary", MEAN),
    ("wakeup_latency_us", "p50"),
    ("wakeup_latency_us", "p99"),
]


class Place(NamedTuple):
    """Where a number stands, whichever machine it comes from."""

    label: str
    workload: str
    load: int
    metric: str
    statistic: str


@dataclass(frozen=True)
class Agreement:
    """Both values in the metric's unit."""

    place: Place
    simulated: float
    kernel: float

    @property
    def ratio(self) -> float:
        """Simulated over measured; NaN where nothing was measured and something simulated."""
        if self.kernel:
            return self.simulated / self.kernel
        return math.nan if self.simulated else 1.0


def values(
    manifest: Manifest, found: Mapping[str, Record], measures: Collection[Measure] = MEASURES
) -> dict[Place, float]:
    """In the metric's unit. A cell without a result, and an empty distribution, have none."""
    there = {}
    for group in groups(manifest, dict(found)):
        asked = [statistic for name, statistic in measures if name == group.metric]
        for label, sample in group.samples.items() if asked else ():
            known = of_all(sample)
            for statistic in asked:
                value = known.get(statistic, math.nan)
                if math.isfinite(value):
                    there[Place(label, group.workload, group.load, group.metric, statistic)] = value
    return there


def agreements(simulated: Mapping[Place, float], kernel: Mapping[Place, float]) -> Iterator[Agreement]:
    """Of every number that both have, in the order of the first."""
    for place, value in simulated.items():
        if place in kernel:
            yield Agreement(place, value, kernel[place])
