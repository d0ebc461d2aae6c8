# SPDX-License-Identifier: GPL-2.0-or-later
"""One number a repetition: what tests, spreads, quantile tables and outliers go by.

Of a distribution it is the repetition's own mean or percentile: for a test, one run is one observation, however many
samples it holds. Values that are shown come from the merged histograms instead (value.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedlab.statistics.outliers import outliers
from schedlab.statistics.quantiles import quantile_table
from schedlab.statistics.samples import Sample


@dataclass(frozen=True)
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
