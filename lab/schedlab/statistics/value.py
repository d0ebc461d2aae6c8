# SPDX-License-Identifier: GPL-2.0-or-later
"""One scheduler's value of a statistic, with its interval."""

import math
from dataclasses import dataclass

from schedlab.statistics.interval import NO_INTERVAL, Interval, interval
from schedlab.statistics.replicates import Replicates


@dataclass(frozen=True)
class Value:
    n: int
    value: float
    interval: Interval

    @property
    def half_width(self) -> float:
        return (self.interval.high - self.interval.low) / 2


MISSING = Value(0, math.nan, NO_INTERVAL)


def values(found: Replicates) -> dict[str, Value]:
    """By statistic."""
    n = len(found.seeds)
    return {
        name: Value(n, point, interval(point, found.drawn[name], [found.left_out[name]]) if n > 1 else NO_INTERVAL)
        for name, point in found.full.items()
    }
