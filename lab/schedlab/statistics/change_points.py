# SPDX-License-Identifier: GPL-2.0-or-later
"""Where in a series of values the level changes: optimal partitioning of logarithms, with a stated penalty.

Optimal partitioning (Jackson et al. 2005; PELT finds the same sooner) is exact: of all ways to cut the series it finds
the one that costs least: the squared distances from the segments' means, and a penalty for each cut. The penalty is
3 s² ln n, as the modified information criterion of Zhang and Siegmund (2007) has it for short segments. s is the
spread of a value, by the median difference of neighbours, so that the changes themselves do not count as spread; below
FEWEST values it is not known, and any change that is large enough counts. There is no randomness in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

FEWEST = 6
# Of the median absolute difference of neighbours to their standard deviation, and of that to one value's own.
_MAD, _NEIGHBOURS = 1.4826, math.sqrt(2)


@dataclass(frozen=True)
class Segment:
    """Steps of one level."""

    start: int
    end: int  # the first behind it
    level: float  # geometric mean

    def change_pct(self, before: "Segment") -> float:
        return (self.level / before.level - 1) * 100


def segments(values: Sequence[float], smallest_pct: float) -> list[Segment]:
    """Of values above zero. A change between neighbours in the list is larger than `smallest_pct`."""
    if any(not value > 0 for value in values):
        raise ValueError("expected values above zero")
    if not len(values):
        return []
    logs = np.log(np.asarray(values, dtype=float))
    ends = _ends(logs, math.log1p(smallest_pct / 100))
    cuts = [0, *ends]
    # Two levels that differ by less than what is asked for are one.
    while len(cuts) > 2:
        levels = [logs[a:b].mean() for a, b in pairwise(cuts)]
        sizes = [abs(after - before) for before, after in pairwise(levels)]
        least = min(range(len(sizes)), key=sizes.__getitem__)
        if sizes[least] > math.log1p(smallest_pct / 100):
            break
        del cuts[least + 1]
    return [Segment(a, b, float(np.exp(logs[a:b].mean()))) for a, b in pairwise(cuts)]


def _ends(logs: np.ndarray, smallest: float) -> list[int]:
    """Of the segments, the last included."""
    n = len(logs)
    spread = float(np.median(np.abs(np.diff(logs)))) * _MAD / _NEIGHBOURS if n >= FEWEST else 0.0
    # A single value that differs by the smallest size costs half its square where it is not cut off.
    penalty = max(3 * spread**2 * math.log(n), smallest**2 / 2)
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (logs, logs**2))
    best, before = np.zeros(n + 1), np.zeros(n + 1, dtype=int)
    best[0] = -penalty
    for end in range(1, n + 1):
        starts = np.arange(end)
        inside = squares[end] - squares[:end] - (sums[end] - sums[:end]) ** 2 / (end - starts)
        costs = best[:end] + inside + penalty
        before[end] = int(costs.argmin())
        best[end] = costs[before[end]]
    found = [n]
    while before[found[-1]]:
        found.append(int(before[found[-1]]))
    return found[::-1]
