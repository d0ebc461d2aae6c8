# SPDX-License-Identifier: GPL-2.0-only
"""The repetitions of one cell group under one scheduler, ready to be weighed."""

from collections.abc import Sequence
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
        self._values = np.array(sorted({value for h in histograms for value, _ in h.buckets_ns}), dtype=float)
        at = {value: index for index, value in enumerate(self._values)}
        self._counts = np.zeros((len(self.histograms), len(self._values)))
        for row, histogram in enumerate(self.histograms):
            for value, count in histogram.buckets_ns:
                self._counts[row, at[value]] = count
        self._sums = np.array([h.sum_ns for h in self.histograms], dtype=float)
        self._totals = self._counts.sum(axis=1)
        # No resample holds more: whole numbers that are exact in half the memory, and multiplied in half the time.
        self._narrow = self._totals.max(initial=0) * len(self.histograms) < 2**24
        if self._narrow:
            self._counts = self._counts.astype(np.float32)
        filled = [h for h in self.histograms if h.count]
        # Buckets start below their smallest sample; nothing was smaller than the minimum.
        self._low = min((h.min_ns for h in filled), default=0)

    @property
    def statistics(self) -> list[str]:
        return [MEAN, *PERCENTILES]

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]:
        parts = [self._evaluate(weights[at : at + _ROWS_AT_ONCE]) for at in range(0, len(weights), _ROWS_AT_ONCE)]
        return {name: np.concatenate([part[name] for part in parts]) for name in self.statistics}

    def _evaluate(self, weights: Weights) -> dict[str, np.ndarray]:
        totals = weights @ self._totals
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {MEAN: weights @ self._sums / totals / self.ns_per_unit}
        seen = np.cumsum((weights.astype(np.float32) if self._narrow else weights) @ self._counts, axis=1)
        for name, percent in PERCENTILES.items():
            rank = np.maximum(1, np.ceil(percent / 100 * totals - 1e-9))
            values = np.full(len(weights), np.nan)
            if len(self._values):
                values = np.maximum(self._values[(seen >= rank[:, None]).argmax(axis=1)], self._low)
            found[name] = np.where(totals > 0, values, np.nan) / self.ns_per_unit
        return found

    def only(self, seeds: Sequence[int]) -> "Distributions":
        at = [self.seeds.index(seed) for seed in seeds]
        return Distributions(list(seeds), [self.histograms[index] for index in at], self.ns_per_unit)
