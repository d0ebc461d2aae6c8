# SPDX-License-Identifier: GPL-2.0-or-later
"""By how much one scheduler is better than another within a block: the logarithm of a ratio, above zero where better.

A measure may have several parts, workloads of a mix for example: its gain is the mean of theirs, so that no workload
counts more for its larger numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schedlab.catalogue.metrics import metric
from schedlab.collect.histogram import ns_per_unit
from schedlab.collect.records import Record
from schedlab.statistics.samples import MEAN, PERCENTILES

Key = tuple[str, int]  # a workload at a load


@dataclass(frozen=True)
class Part:
    run: Key
    metric: str
    statistic: str

    @property
    def sign(self) -> int:
        return 1 if metric(self.metric).better == "higher" else -1

    def value(self, record: Record) -> float:
        """NaN where it has none."""
        if self.metric not in record.histograms:
            return record.metrics.get(self.metric, math.nan) if self.statistic == MEAN else math.nan
        histogram = record.histograms[self.metric]
        if self.statistic == MEAN:
            return histogram.mean_ns / ns_per_unit(self.metric)
        return histogram.percentile_ns(PERCENTILES[self.statistic]) / ns_per_unit(self.metric)


@dataclass(frozen=True)
class Measure:
    title: str
    higher: bool  # whether people say of it that more is better
    parts: Sequence[Part]

    def gain(self, incumbent: Mapping[Key, Record], other: Mapping[Key, Record]) -> float:
        """NaN where a part has no value, or none above zero."""
        found = []
        for part in self.parts:
            values = [
                part.value(records[part.run]) if part.run in records else math.nan for records in (incumbent, other)
            ]
            if not all(math.isfinite(value) and value > 0 for value in values):
                return math.nan
            found.append(part.sign * math.log(values[1] / values[0]))
        return sum(found) / len(found)


def measures(kinds: Mapping[str, Sequence[Part]]) -> list[Measure]:
    """One for each kind, called as its parts are where they are all called the same."""
    return [_measure(kind, parts) for kind, parts in kinds.items()]


def _measure(kind: str, parts: Sequence[Part]) -> Measure:
    titles = {(metric(part.metric).title, part.statistic) for part in parts}
    title = kind
    if len(titles) == 1:
        ((title, statistic),) = titles
        title += f" ({statistic})" * (statistic != MEAN)
    return Measure(title, any(part.sign > 0 for part in parts), parts)


def part(run: Key, text: str) -> Part:
    """METRIC or METRIC.STATISTIC"""
    name, _, statistic = text.partition(".")
    return Part(run, name, statistic or MEAN)
