# SPDX-License-Identifier: GPL-2.0-or-later
"""Many durations as a table of quantiles, and the lognormal that is nearest to them."""

import itertools
import math
import statistics
from dataclasses import dataclass

_ROWS = 20
# The last part, which holds the few longest, is told apart once more.
_LAST_ROWS = 5


@dataclass(frozen=True)
class Distribution:
    """Durations in nanoseconds, sorted; the longest can be told from a table only if it is alone in its row."""

    values_ns: list[int]

    @staticmethod
    def of(values_ns: list[int]) -> "Distribution":
        return Distribution(sorted(values_ns))

    def table(self) -> list[tuple[int, int]]:
        """Mean and size of up to twenty equal parts of the sorted values, the last in up to five: the mean is kept."""
        *most, last = _parts(self.values_ns, _ROWS)
        return [(round(statistics.fmean(part)), len(part)) for part in [*most, *_parts(last, _LAST_ROWS)]]

    @property
    def median_ns(self) -> float:
        return statistics.median(self.values_ns)

    @property
    def mean_ns(self) -> float:
        return statistics.fmean(self.values_ns)

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithms; what took no time at all counts as a nanosecond."""
        logs = [math.log(max(1, value)) for value in self.values_ns]
        return statistics.pstdev(logs)


def _parts(values: list[int], most: int) -> list[list[int]]:
    rows = min(most, len(values))
    edges = [len(values) * row // rows for row in range(rows + 1)]
    return [values[low:high] for low, high in itertools.pairwise(edges)]
