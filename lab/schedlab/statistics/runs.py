# SPDX-License-Identifier: GPL-2.0-or-later
"""One number a repetition: what tests, spreads, quantile tables and outliers go by.

Of a distribution it is the repetition's own mean or percentile: for a test, one run is one observation, however many
samples it holds. Values that are shown come from the merged histograms instead (estimates.py). The quantile table
follows the (n+1)p rule, as JMP does it. Runs that lie far from
the others, beyond Tukey's fences (one and a half interquartile ranges beyond the quartiles), are marked for a look and
never removed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedlab.statistics.samples import Sample

SHARES = {"min": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "90 %": 0.9, "max": 1.0}


FEWEST = 5
_FENCE = 1.5


def quantile_table(values: list[float]) -> dict[str, float]:
    found = np.quantile(np.asarray(values, dtype=float), list(SHARES.values()), method="weibull")
    return dict(zip(SHARES, map(float, found), strict=True))


def outliers(values: np.ndarray) -> list[int]:
    """Positions, in order."""
    if np.count_nonzero(~np.isnan(values)) < FEWEST:
        return []
    low, high = fences(values)
    return np.flatnonzero((values < low) | (values > high)).tolist()


def fences(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values[~np.isnan(values)], [0.25, 0.75], method="weibull")
    reach = _FENCE * (high - low)
    return float(low - reach), float(high + reach)


@dataclass(frozen=True, slots=True)
class Runs:
    """In the metric's unit, in the order of seeds or blocks. A repetition without a value is left out."""

    seeds: list[int]
    values: np.ndarray
    missing: int  # repetitions without a value: an empty distribution

    def at(self, seeds: Sequence[int]) -> np.ndarray:
        by_seed = dict(zip(self.seeds, self.values.tolist(), strict=True))
        return np.array([by_seed[seed] for seed in seeds])

    @property
    def quantiles(self) -> dict[str, float]:
        return quantile_table(self.values.tolist()) if len(self.values) else {}

    @property
    def outlier_seeds(self) -> list[int]:
        """Marked, never removed."""
        return [self.seeds[at] for at in outliers(self.values)]


def runs(sample: Sample) -> dict[str, Runs]:
    """By statistic."""
    found = {}
    for name, values in sample.each().items():
        there = np.isfinite(values)
        seeds = [seed for seed, is_there in zip(sample.seeds, there, strict=True) if is_there]
        found[name] = Runs(seeds, values[there], int((~there).sum()))
    return found
