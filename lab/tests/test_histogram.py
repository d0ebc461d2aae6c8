# SPDX-License-Identifier: GPL-2.0-or-later
"""Merged histograms and their percentiles against NumPy on the raw samples."""

from collections import Counter

import numpy as np
import pytest

from schedlab.collect.histogram import EMPTY, Histogram, merge


def lowest(ns: int) -> int:
    """Three significant digits: 2,048 steps to the power of two above."""
    shift = max(0, ns.bit_length() - 11)
    return ns >> shift << shift


def histogram(samples: np.ndarray) -> Histogram:
    buckets = Counter(lowest(int(ns)) for ns in samples)
    return Histogram.of(
        len(samples), int(samples.min()), int(samples.max()), int(samples.sum()), sorted(buckets.items())
    )


def draws(seed: int, count: int, median_ns: float = 50_000) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(np.log(median_ns), 1.5, count).astype(np.int64)


@pytest.mark.parametrize("percent", [1, 50, 90, 99, 99.9, 100])
def test_percentiles_of_a_merge_are_those_of_all_samples_together(percent: float) -> None:
    parts = [draws(seed, 1000 + 377 * seed, 10_000 * seed) for seed in range(1, 6)]
    together = np.concatenate(parts)
    merged = merge(map(histogram, parts))
    expected = np.quantile(together, percent / 100, method="inverted_cdf")
    assert merged.percentile_ns(percent) == pytest.approx(expected, rel=1e-3)
    assert merged.percentile_ns(percent) <= expected


def test_a_merge_keeps_count_extremes_and_sum_exactly() -> None:
    parts = [draws(seed, 500) for seed in range(3)]
    together = np.concatenate(parts)
    merged = merge(map(histogram, parts))
    assert merged == histogram(together)
    assert merged.mean_ns == pytest.approx(together.mean(), rel=1e-12)


def test_a_merged_percentile_is_not_the_average_of_percentiles() -> None:
    # Nine quiet repetitions and a bad one: the average of medians says 11, the median of all says 1.
    quiet = [histogram(np.array([1] * 100)) for _ in range(9)]
    bad = histogram(np.array([101] * 100))
    assert merge([*quiet, bad]).percentile_ns(50) == 1


def test_small_values_are_exact() -> None:
    found = histogram(np.array([10, 20, 30, 40]))
    assert [found.percentile_ns(p) for p in (25, 26, 50, 75, 100)] == [10, 20, 20, 30, 40]


def test_empty_histograms_do_not_pull_the_minimum_to_zero() -> None:
    merged = merge([EMPTY, histogram(np.array([500, 700]))])
    assert (merged.count, merged.min_ns) == (2, 500)
    assert np.isnan(merge([EMPTY]).percentile_ns(50))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 3}, "do not add up"),
        ({"buckets_ns": [[20, 1], [10, 1]]}, "ascending"),
        ({"buckets_ns": [[10]]}, "not enough values"),
        ({"buckets_ns": None}, "histogram"),
        ({"min_ns": "x"}, "as integers"),
    ],
)
def test_contradictions_are_refused(change: dict, message: str) -> None:
    data = {"count": 2, "min_ns": 10, "max_ns": 20, "sum_ns": 30, "buckets_ns": [[10, 1], [20, 1]]}
    Histogram.parse(data)
    with pytest.raises(ValueError, match=message):
        Histogram.parse(data | change)
