# SPDX-License-Identifier: GPL-2.0-only
"""Distributions: merged by adding bucket counts; percentiles only ever come from merged buckets."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True)
class Histogram:
    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    buckets_ns: list[tuple[int, int]]  # lowest value of the bucket, count; ascending

    @staticmethod
    def parse(data: Any) -> "Histogram":
        """Raises ValueError where the data contradict themselves."""
        try:
            buckets = [(int(value), int(count)) for value, count in data["buckets_ns"]]
            made = Histogram(int(data["count"]), int(data["min_ns"]), int(data["max_ns"]), int(data["sum_ns"]), buckets)
        except (KeyError, TypeError) as error:
            raise ValueError(f"histogram: {error!r}") from error
        if any(low[0] >= high[0] for low, high in pairwise(buckets)):
            raise ValueError("histogram: buckets are not in ascending order")
        if sum(count for _, count in buckets) != made.count:
            raise ValueError("histogram: bucket counts do not add up to count")
        return made

    @property
    def mean_ns(self) -> float:
        return self.sum_ns / self.count if self.count else math.nan

    def percentile_ns(self, percent: float) -> float:
        """The smallest value below or at which `percent` of the samples lie (to the bucket: 0.1 %)."""
        if not self.count:
            return math.nan
        rank = max(1, math.ceil(percent / 100 * self.count - 1e-9))
        seen = 0
        for value, count in self.buckets_ns:
            seen += count
            if seen >= rank:
                # The last sample is known exactly, and no sample lies outside the range.
                return float(self.max_ns if rank == self.count else min(max(value, self.min_ns), self.max_ns))
        return float(self.max_ns)


EMPTY = Histogram(0, 0, 0, 0, [])


def merge(histograms: Iterable[Histogram]) -> Histogram:
    filled = [h for h in histograms if h.count]
    if not filled:
        return EMPTY
    total: Counter[int] = Counter()
    for histogram in filled:
        for value, count in histogram.buckets_ns:
            total[value] += count
    return Histogram(
        count=sum(h.count for h in filled),
        min_ns=min(h.min_ns for h in filled),
        max_ns=max(h.max_ns for h in filled),
        sum_ns=sum(h.sum_ns for h in filled),
        buckets_ns=sorted(total.items()),
    )
