# SPDX-License-Identifier: GPL-2.0-or-later
"""The same cells in the simulator and on a real kernel, number beside number.

What is compared is the value over all repetitions, as every table shows it: a mean, or a percentile of the merged
histograms. Beside it stands each repetition's own.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schedlab.catalogue.metrics import metric
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.statistics.samples import MEAN, Distributions, Sample, groups, of_all

Measure = tuple[str, str]  # a metric, a statistic of it

# Of a distribution: all that was recorded, added up. A kernel that tells a sum by task and a simulator that tells every
# single wait have this in common.
TOTAL = "total"

MEASURES: list[Measure] = [
    ("elapsed_s", MEAN),
    ("switches_voluntary", MEAN),
    ("switches_involuntary", MEAN),
    ("wakeup_latency_us", "p50"),
    ("wakeup_latency_us", "p99"),
]


def title(measure: Measure) -> str:
    name, statistic = measure
    known = metric(name).title
    return known if statistic == MEAN else f"{known}, {statistic}"


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


@dataclass(frozen=True)
class Repeated:
    """The value over all repetitions, and the least and the most of any, in the metric's unit."""

    value: float
    least: float
    most: float


def repeated(
    manifest: Manifest, found: Mapping[str, Record], measures: Collection[Measure] = MEASURES
) -> dict[Place, Repeated]:
    """A cell without a result, and an empty distribution, have none."""
    there = {}
    for group in groups(manifest, dict(found)):
        asked = [statistic for name, statistic in measures if name == group.metric]
        for label, sample in group.samples.items() if asked else ():
            known, each = _statistics(sample)
            for statistic in asked:
                value = known.get(statistic, math.nan)
                if math.isfinite(value):
                    own = [one for one in each[statistic] if math.isfinite(one)]
                    place = Place(label, group.workload, group.load, group.metric, statistic)
                    there[place] = Repeated(value, min(own), max(own))
    return there


def _statistics(sample: Sample) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Of all repetitions together, and of each alone."""
    known, each = of_all(sample), {name: list(map(float, found)) for name, found in sample.each().items()}
    if isinstance(sample, Distributions):
        each[TOTAL] = [histogram.sum_ns / sample.ns_per_unit for histogram in sample.histograms]
        known[TOTAL] = sum(each[TOTAL]) / len(each[TOTAL])
    return known, each


def values(
    manifest: Manifest, found: Mapping[str, Record], measures: Collection[Measure] = MEASURES
) -> dict[Place, float]:
    """The values over all repetitions alone."""
    return {place: known.value for place, known in repeated(manifest, found, measures).items()}


def agreements(simulated: Mapping[Place, float], kernel: Mapping[Place, float]) -> Iterator[Agreement]:
    """Of every number that both have, in the order of the first."""
    for place, value in simulated.items():
        if place in kernel:
            yield Agreement(place, value, kernel[place])
