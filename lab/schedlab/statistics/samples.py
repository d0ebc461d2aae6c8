# SPDX-License-Identifier: GPL-2.0-or-later
"""The repetitions of one cell group under one scheduler, ready to be weighed."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from schedlab.collect.histogram import Histogram
from schedlab.statistics.resampling import Weights

MEAN = "mean"
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
_ROWS_AT_ONCE = 512


class Sample(Protocol):
    seeds: list[int]
    resample_count: int

    @property
    def statistics(self) -> list[str]: ...

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]: ...

    def each(self) -> dict[str, np.ndarray]:
        """Of every repetition by itself."""
        ...

    def without_each(self) -> dict[str, np.ndarray]:
        """Of all others: the jackknife."""
        ...

    def only(self, seeds: Sequence[int]) -> "Sample": ...


class Scalars:
    """One number a repetition."""

    resample_count = 9_999

    def __init__(self, seeds: list[int], values: Sequence[float]) -> None:
        self.seeds = seeds
        self.values = np.asarray(values, dtype=float)

    @property
    def statistics(self) -> list[str]:
        return [MEAN]

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]:
        # Every row draws the same number.
        return {MEAN: weights @ self.values / weights[0].sum()}

    def each(self) -> dict[str, np.ndarray]:
        return {MEAN: self.values}

    def without_each(self) -> dict[str, np.ndarray]:
        return self.evaluate(1 - np.eye(len(self.seeds)))

    def only(self, seeds: Sequence[int]) -> "Scalars":
        at = [self.seeds.index(seed) for seed in seeds]
        return Scalars(list(seeds), self.values[at])


class Distributions:
    """One histogram a repetition; a statistic is always one of the merged histogram."""

    resample_count = 1_999

    def __init__(self, seeds: list[int], histograms: Sequence[Histogram], ns_per_unit: float) -> None:
        self.seeds = seeds
        self.histograms = list(histograms)
        self.ns_per_unit = ns_per_unit
        values = [np.asarray(h.values_ns) for h in self.histograms]
        self._values, at = np.unique(np.concatenate(values), return_inverse=True)
        self._counts = np.zeros((len(self.histograms), len(self._values)))
        row = np.repeat(np.arange(len(values)), [len(own) for own in values])
        self._counts[row, at] = np.concatenate([np.asarray(h.counts) for h in self.histograms])
        self._sums = np.array([h.sum_ns for h in self.histograms], dtype=float)
        self._totals = self._counts.sum(axis=1)
        # No resample holds more: whole numbers that are exact in half the memory, and multiplied in half the time.
        if self._totals.max(initial=0) * len(self.histograms) < 2**24:
            self._counts = self._counts.astype(np.float32)
        filled = [h for h in self.histograms if h.count]
        # Buckets start below their smallest sample; nothing was smaller than the minimum.
        self._low = min((h.min_ns for h in filled), default=0)

    @property
    def statistics(self) -> list[str]:
        return [MEAN, *PERCENTILES]

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]:
        narrow = weights.astype(self._counts.dtype, copy=False)
        return self._merged(weights @ self._totals, weights @ self._sums, lambda rows: narrow[rows] @ self._counts)

    def each(self) -> dict[str, np.ndarray]:
        return self._merged(self._totals, self._sums, lambda rows: self._counts[rows])

    def without_each(self) -> dict[str, np.ndarray]:
        whole = self._counts.sum(axis=0)
        totals, sums = self._totals.sum() - self._totals, self._sums.sum() - self._sums
        return self._merged(totals, sums, lambda rows: whole - self._counts[rows])

    def _merged(
        self, totals: np.ndarray, sums: np.ndarray, counts: Callable[[slice], np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Of as many merged histograms as there are totals; `counts` gives the buckets of some of them."""
        found = {name: np.full(len(totals), np.nan) for name in self.statistics}
        with np.errstate(invalid="ignore", divide="ignore"):
            found[MEAN] = sums / totals / self.ns_per_unit
        for at in range(0, len(totals) if len(self._values) else 0, _ROWS_AT_ONCE):
            rows = slice(at, at + _ROWS_AT_ONCE)
            seen, own = np.cumsum(counts(rows), axis=1), totals[rows]
            for name, percent in PERCENTILES.items():
                rank = np.maximum(1, np.ceil(percent / 100 * own - 1e-9))
                values = np.maximum(self._values[(seen >= rank[:, None]).argmax(axis=1)], self._low)
                found[name][rows] = np.where(own > 0, values, np.nan) / self.ns_per_unit
        return found

    def only(self, seeds: Sequence[int]) -> "Distributions":
        at = [self.seeds.index(seed) for seed in seeds]
        return Distributions(list(seeds), [self.histograms[index] for index in at], self.ns_per_unit)
