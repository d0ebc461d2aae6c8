# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise floor: how far the default scheduler differed from itself in the A/A control.

A claim has to exceed the largest such difference at any load of the same measure on the same machine.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from schedlab.statistics.change import Change

Key = tuple[str, str, str, str]  # workload, machine, metric, statistic


@dataclass(frozen=True)
class Noise:
    """Over the headlines of a report."""

    rows: int
    median_pct: float  # of the sizes
    worst: Change


def floors_pct(controls: Iterable[tuple[Key, Change | None]]) -> dict[Key, float]:
    found: dict[Key, float] = defaultdict(float)
    for key, change in controls:
        if change and math.isfinite(change.pct):
            found[key] = max(found[key], abs(change.pct))
    return dict(found)


def noise(controls: Iterable[Change | None]) -> Noise | None:
    found = [change for change in controls if change and math.isfinite(change.pct)]
    if not found:
        return None
    return Noise(len(found), median(abs(c.pct) for c in found), max(found, key=lambda c: abs(c.pct)))
