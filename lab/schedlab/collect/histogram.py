# SPDX-License-Identifier: GPL-2.0-or-later
"""Distributions: merged by adding bucket counts; percentiles only ever come from merged buckets."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import lt
from typing import Any

from schedlab.catalogue.metrics import metric

# Histograms hold nanoseconds; their metrics are named in other units.
NS_PER_UNIT = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


# Of a sum of nanoseconds, which is much larger than each.
_MOST = 2**127


@dataclass(frozen=True, slots=True)
class Histogram:
    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    # A bucket's lowest value, ascending, and its count. A campaign holds millions of them, so they are packed integers.
    values_ns: "array[int]"
    counts: "array[int]"

    @staticmethod
    def of(count: int, min_ns: int, max_ns: int, sum_ns: int, buckets_ns: Sequence[tuple[int, int]]) -> "Histogram":
        values, counts = zip(*buckets_ns, strict=True) if buckets_ns else ((), ())
        return Histogram(count, min_ns, max_ns, sum_ns, _packed(values), _packed(counts))

    @staticmethod
    def parse(data: Any) -> "Histogram":
        """Raises ValueError where the data contradict themselves."""
        try:
            numbers = [data[name] for name in ("count", "min_ns", "max_ns", "sum_ns")]
            if not all(type(number) is int and 0 <= number < _MOST for number in numbers):
                raise ValueError("histogram: expected count, min_ns, max_ns and sum_ns as integers from 0 on")
            made = Histogram.of(*numbers, data["buckets_ns"])
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"histogram: {error!r}") from error
        if not all(map(lt, made.values_ns, made.values_ns[1:])):
            raise ValueError("histogram: buckets are not in ascending order")
        if made.counts and (min(made.counts) < 1 or made.values_ns[0] < 0):
            raise ValueError("histogram: a bucket is empty or below 0")
        if sum(made.counts) != made.count:
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
        for value, count in zip(self.values_ns, self.counts, strict=True):
            seen += count
            if seen >= rank:
                # The last sample is known exactly, and no sample lies outside the range.
                return float(self.max_ns if rank == self.count else min(max(value, self.min_ns), self.max_ns))
        return float(self.max_ns)


def _packed(numbers: Sequence[int]) -> "array[int]":
    """In half of the memory where they allow it, which is nearly always."""
    try:
        return array("i", numbers)
    except OverflowError:
        return array("q", numbers)


EMPTY = Histogram.of(0, 0, 0, 0, [])


def merge(histograms: Iterable[Histogram]) -> Histogram:
    filled = [h for h in histograms if h.count]
    if not filled:
        return EMPTY
    total: Counter[int] = Counter()
    for histogram in filled:
        for value, count in zip(histogram.values_ns, histogram.counts, strict=True):
            total[value] += count
    return Histogram.of(
        sum(h.count for h in filled),
        min(h.min_ns for h in filled),
        max(h.max_ns for h in filled),
        sum(h.sum_ns for h in filled),
        sorted(total.items()),
    )


def ns_per_unit(name: str) -> float:
    return NS_PER_UNIT.get(metric(name).unit, 1.0)
