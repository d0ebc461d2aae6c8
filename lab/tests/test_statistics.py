# SPDX-License-Identifier: GPL-2.0-or-later
"""Statistics against SciPy and against examples worked by hand."""

import math
from array import array
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from lab.tests.cost import seconds
from schedlab.collect.histogram import EMPTY, Histogram
from schedlab.statistics import verdict
from schedlab.statistics.bootstrap import (
    BCA,
    CONSTANT,
    NO_INTERVAL,
    NONE,
    PERCENTILE,
    Interval,
    interval,
    reach_of,
    resamples,
)
from schedlab.statistics.estimates import Change, changes, values
from schedlab.statistics.runs import quantile_table
from schedlab.statistics.samples import Distributions, Scalars, replicates

SKEWED = [1.02, 1.05, 0.98, 1.31, 1.11, 1.00, 1.75, 1.08, 1.20, 0.99]
OTHER = [1.22, 1.19, 1.28, 1.41, 1.35, 1.18, 2.05, 1.33, 1.38, 1.27]


def scalars(data: list[float]) -> Scalars:
    return Scalars(list(range(len(data))), data)


def test_the_quantile_table_uses_the_n_plus_1_rule() -> None:
    # Nine values: rank p(n+1) = 1 for 10 %, 2.5 for 25 %, 5, 7.5 and 9.
    table = quantile_table([9, 1, 8, 2, 7, 3, 6, 4, 5])
    assert table == pytest.approx({"min": 1, "10 %": 1, "25 %": 2.5, "median": 5, "75 %": 7.5, "90 %": 9, "max": 9})
    # Four values: rank 0.5 for 10 % falls below the first, 1.25 for 25 % lies a quarter on.
    table = quantile_table([10, 20, 40, 80])
    assert table == pytest.approx(
        {"min": 10, "10 %": 10, "25 %": 12.5, "median": 30, "75 %": 70, "90 %": 80, "max": 80}
    )


def pct(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    return (b.mean(axis=axis) / a.mean(axis=axis) - 1) * 100


def without_each(data: list[float]) -> np.ndarray:
    return np.array([data[:i] + data[i + 1 :] for i in range(len(data))])


# The formula is checked on SciPy's own draws, so that both must agree to the last digits.


def test_the_interval_of_one_group_is_scipy_s_bca() -> None:
    theirs = stats.bootstrap((SKEWED,), np.mean, method="BCa", rng=1)
    ours = interval(float(np.mean(SKEWED)), theirs.bootstrap_distribution, [without_each(SKEWED).mean(axis=1)], False)
    assert ours.method == BCA
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_the_interval_of_a_paired_change_is_scipy_s_bca() -> None:
    theirs = stats.bootstrap((SKEWED, OTHER), pct, paired=True, method="BCa", rng=1)
    point = float(pct(np.array(SKEWED), np.array(OTHER), 0))
    left_out = pct(without_each(SKEWED), without_each(OTHER), 1)
    ours = interval(point, theirs.bootstrap_distribution, [left_out], False)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_the_interval_of_an_independent_change_is_scipy_s_two_sample_bca() -> None:
    other = OTHER[:7]
    theirs = stats.bootstrap((SKEWED, other), pct, method="BCa", rng=1)
    point = float(pct(np.array(SKEWED), np.array(other), 0))
    left_out = [
        pct(without_each(SKEWED), np.array([other] * 10), 1),
        pct(np.array([SKEWED] * 7), without_each(other), 1),
    ]
    ours = interval(point, theirs.bootstrap_distribution, left_out, False)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


# Ten thousand cells, ten repetitions each, thirty metrics and percentiles: each has a value and a change.
_INTERVALS = 1_000 * 30 * 2


def test_scipy_s_bootstrap_would_be_felt() -> None:
    """SciPy takes draws that are there already, and asks a function for the whole and for all but one repetition."""
    data = np.array(SKEWED)
    drawn, left_out = resamples(10, 9_999) @ data / 10, without_each(SKEWED).mean(axis=1)
    level = 1 - 2 * float(stats.norm.sf(reach_of(10)))

    def looked_up(kept: np.ndarray, axis: int) -> np.ndarray:
        return data.mean() if kept.shape[axis] == 10 else left_out[45 - kept.sum(axis=axis)]

    def theirs() -> tuple[float, float]:
        result = SimpleNamespace(bootstrap_distribution=drawn)
        found = stats.bootstrap(
            (range(10),), looked_up, vectorized=True, n_resamples=0, bootstrap_result=result, confidence_level=level
        )
        return tuple(found.confidence_interval)

    def ours() -> Interval:
        return interval(float(data.mean()), drawn, [left_out])

    assert (ours().low, ours().high) == pytest.approx(theirs(), rel=1e-9)
    cost = seconds(theirs)
    assert cost * _INTERVALS > 20
    assert seconds(ours) < cost / 2


@pytest.mark.filterwarnings("ignore")
def test_of_two_repetitions_scipy_has_no_interval_that_reaches_as_far_as_student_s() -> None:
    found = values(replicates(scalars([1.0, 2.0])))["mean"].interval
    assert (found.low, found.high, found.method) == (1.0, 2.0, BCA)
    level = 1 - 2 * float(stats.norm.sf(reach_of(2)))
    theirs = stats.bootstrap(([1.0, 2.0],), np.mean, method="BCa", rng=1, confidence_level=level)
    assert np.isnan(theirs.confidence_interval).all()


@pytest.mark.parametrize("paired", [True, False])
def test_changes_draw_as_scipy_draws(paired: bool) -> None:
    """End to end both are drawn by lot: the ends agree to a twentieth of the width."""
    ours = changes(scalars(SKEWED), scalars(OTHER), paired)["mean"]
    level = 1 - 2 * float(stats.norm.sf(reach_of(10)))
    theirs = stats.bootstrap(
        (SKEWED, OTHER), pct, paired=paired, method="BCa", rng=1, confidence_level=level
    ).confidence_interval
    assert ours.pct == pytest.approx((sum(OTHER) / sum(SKEWED) - 1) * 100)
    assert (ours.interval.low, ours.interval.high) == pytest.approx(
        (theirs.low, theirs.high), abs=(theirs.high - theirs.low) / 20
    )


@pytest.mark.parametrize(("n", "least"), [(5, 0.88), (10, 0.90), (20, 0.91)])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(n: int, least: float) -> None:
    """Of 1,000 campaigns; skewed noise, and seeds that differ more than the schedulers. Plain BCa of five: 0.84."""
    draw = np.random.default_rng(100 + n)
    held = 0
    for _ in range(1000):
        shared = draw.gamma(20, 1, n)
        one, two = (factor * shared + draw.gamma(2, 0.2, n) - 0.4 for factor in (1, 1.05))
        found = changes(scalars(one.tolist()), scalars(two.tolist()), paired=True)["mean"].interval
        held += found.low <= 5 <= found.high
    assert least < held / 1000 < 0.98


@pytest.mark.parametrize("paired", [True, False])
def test_the_standard_error_is_that_of_the_ratio(paired: bool) -> None:
    """The delta method for a ratio of means; uncorrected, the bootstrap of five is a tenth too small."""
    draw = np.random.default_rng(6)
    one, two = draw.normal(100, 1, 5), draw.normal(103, 1, 5)
    relative = (one / one.mean(), two / two.mean())
    spread = (relative[1] - relative[0]).var(ddof=1) if paired else sum(r.var(ddof=1) for r in relative)
    expected = two.mean() / one.mean() * math.sqrt(spread / 5) * 100
    found = changes(scalars(one.tolist()), scalars(two.tolist()), paired)["mean"]
    assert found.se_pct == pytest.approx(expected, rel=0.03)
    assert math.isnan(changes(scalars([1.0]), scalars([2.0]), paired)["mean"].se_pct)


def test_ends_lie_as_far_out_as_student_s() -> None:
    assert reach_of(5) == pytest.approx(stats.t.ppf(0.975, 4) * np.sqrt(5 / 4))
    reaches = [reach_of(n) for n in (2, 3, 5, 10, 30, 1000)]
    assert reaches == sorted(reaches, reverse=True)
    assert reaches[-1] == pytest.approx(1.96, rel=0.01)


def test_a_skewed_sample_has_a_skewed_interval() -> None:
    found = values(replicates(scalars(SKEWED)))["mean"]
    assert found.value == pytest.approx(np.mean(SKEWED))
    assert found.interval.high - found.value > 1.3 * (found.value - found.interval.low)


def test_resamples_draw_n_of_n_and_streams_differ() -> None:
    one, two = resamples(7, 500, 1), resamples(7, 500, 2)
    assert (one.sum(axis=1) == 7).all()
    # Each repetition is drawn once on average; the error of that mean is 0.04.
    assert one.mean(axis=0) == pytest.approx(np.ones(7), abs=0.2)
    assert (one != two).any()


def test_pairing_takes_out_what_both_share() -> None:
    base = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    other = [b * f for b, f in zip(base, [1.10, 1.11, 1.09, 1.10, 1.11, 1.10], strict=True)]
    paired = changes(scalars(base), scalars(other), paired=True)["mean"]
    apart = changes(scalars(base), scalars(other), paired=False)["mean"]
    assert paired.pct == apart.pct
    # Each pair alone changed by 9 to 11 %.
    assert 9 <= paired.interval.low < paired.pct < paired.interval.high <= 11 + 1e-9
    assert apart.interval.low < 0 < 100 < apart.interval.high


def test_only_seeds_that_both_have_are_paired() -> None:
    one = Scalars([1, 2, 3, 4], [10, 20, 30, 40])
    two = Scalars([2, 3, 5], [22, 33, 999])
    change = changes(one, two, paired=True)["mean"]
    assert change.n == 2
    assert change.pct == pytest.approx(10)
    assert change.interval == Interval(pytest.approx(10), pytest.approx(10), CONSTANT)
    none = changes(one, Scalars([7], [1]), paired=True)["mean"]
    assert none.n == 0
    assert math.isnan(none.pct)


def histogram(samples: list[int]) -> Histogram:
    counts = sorted({ns: samples.count(ns) for ns in samples}.items())
    return Histogram.of(len(samples), min(samples), max(samples), sum(samples), counts)


def test_statistics_of_distributions_are_those_of_the_merged_histogram() -> None:
    parts = [[1000] * 99 + [9000], [2000] * 100, [1000] * 50 + [3000] * 150]
    sample = Distributions([1, 2, 3], [histogram(part) for part in parts], 1000.0)
    together = sorted(ns for part in parts for ns in part)
    found = values(replicates(sample))
    assert found["mean"].value == pytest.approx(sum(together) / len(together) / 1000)
    for name, share in {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}.items():
        assert found[name].value == np.quantile(together, share, method="inverted_cdf") / 1000, name


def test_resampling_distributions_is_resampling_repetitions() -> None:
    generator = np.random.default_rng(3)
    parts = [list(map(int, generator.integers(1000, 2000, 20) * (1 + seed % 3))) for seed in range(8)]
    sample = Distributions(list(range(8)), [histogram(part) for part in parts], 1.0)
    weights = np.array([[2, 0, 1, 0, 3, 1, 1, 0], [0, 8, 0, 0, 0, 0, 0, 0]], dtype=float)
    found = sample.evaluate(weights)
    for row, drawn in enumerate(weights.astype(int)):
        together = [ns for part, times in zip(parts, drawn, strict=True) for ns in part * times]
        assert found["mean"][row] == pytest.approx(np.mean(together))
        assert found["p90"][row] == np.quantile(together, 0.9, method="inverted_cdf")


@pytest.mark.parametrize("times", [1, 2**20], ids=["few samples", "more than a float32 counts"])
def test_each_repetition_and_all_others_are_resamples_too(times: int) -> None:
    parts = [histogram([1000 + 10 * seed, 2000, 3000 + seed]) for seed in range(7)]
    many = [replace(h, count=h.count * times, counts=array("q", [c * times for c in h.counts])) for h in parts]
    for sample in (scalars(SKEWED), Distributions(list(range(8)), [*many, EMPTY], 1000.0)):
        n = len(sample.seeds)
        for found, weights in ((sample.each(), np.eye(n)), (sample.without_each(), 1 - np.eye(n))):
            for name, expected in sample.evaluate(weights).items():
                np.testing.assert_allclose(found[name], expected, rtol=1e-15)


def test_the_same_data_give_the_same_interval() -> None:
    assert values(replicates(scalars(SKEWED))) == values(replicates(scalars(SKEWED)))


def test_what_does_not_vary_has_a_point_for_an_interval() -> None:
    found = values(replicates(scalars([3.0] * 6)))["mean"]
    assert found.interval == Interval(3.0, 3.0, CONSTANT)
    change = changes(scalars([2.0] * 6), scalars([3.0] * 6), paired=True)["mean"]
    assert change.interval == Interval(50.0, 50.0, CONSTANT)
    assert verdict.verdict(change, "lower") == verdict.WORSE


def test_one_repetition_has_no_interval_and_carries_no_claim() -> None:
    assert values(replicates(scalars([3.0])))["mean"].interval == NO_INTERVAL
    for paired in (True, False):
        change = changes(scalars([2.0]), scalars([3.0]), paired)["mean"]
        assert change.pct == pytest.approx(50)
        assert change.interval.method == NONE
        assert verdict.verdict(change, "lower") == verdict.UNKNOWN
        two = changes(scalars([2.0, 3.0]), scalars([3.0, 4.0]), paired)["mean"]
        assert two.interval.low < two.pct < two.interval.high


def test_a_change_against_zero_is_not_a_number() -> None:
    change = changes(scalars([0.0] * 5), scalars([1.0] * 5), paired=True)["mean"]
    assert math.isnan(change.pct)
    assert verdict.verdict(change, "lower") == verdict.UNKNOWN


@pytest.mark.parametrize(
    ("low", "pct", "high", "better", "word"),
    [
        (2, 3, 4, "lower", verdict.WORSE),
        (2, 3, 4, "higher", verdict.BETTER),
        (-4, -3, -2, "lower", verdict.BETTER),
        (-4, -3, -2, "higher", verdict.WORSE),
        (2, 3, 4, "", verdict.MORE),
        (-4, -3, -2, "", verdict.LESS),
        (-1, 3, 7, "lower", verdict.UNCLEAR),
        (1, 3, 7, "lower", verdict.UNCLEAR),
        (-7, -3, -1, "lower", verdict.UNCLEAR),
        (-0.9, 0.1, 1, "lower", verdict.SAME),
        (0.1, 0.5, 0.9, "lower", verdict.SAME),
        (0.1, 0.5, 1.1, "lower", verdict.UNCLEAR),
        (1.1, 1.2, 1.3, "lower", verdict.WORSE),
    ],
)
def test_verdicts(low: float, pct: float, high: float, better: str, word: str) -> None:
    for method in (BCA, PERCENTILE):
        change = Change(10, pct, Interval(low, high, method), True)
        assert verdict.verdict(change, better) == word
    enough, few = (Change(n, pct, Interval(low, high, BCA), True) for n in (verdict.FEWEST, verdict.FEWEST - 1))
    assert verdict.verdict(enough, better) == word
    assert verdict.verdict(few, better) == verdict.UNKNOWN


def test_what_is_negligible_is_the_users_to_say() -> None:
    change = Change(10, 3, Interval(2, 4, BCA), True)
    words = [verdict.verdict(change, "lower", negligible_pct=limit) for limit in (0, 1, 2, 3, 4)]
    assert words == [verdict.WORSE, verdict.WORSE, verdict.UNCLEAR, verdict.UNCLEAR, verdict.SAME]


def test_no_difference_says_how_large_one_could_be() -> None:
    assert verdict.bound_pct(Change(10, 1, Interval(-2, 5, BCA), True)) == 5
    assert verdict.bound_pct(Change(10, -1, Interval(-6, 2, BCA), True)) == 6
    assert verdict.bound_pct(Change(10, 1, Interval(-2, 5.01, BCA), True)) == 5.1
    assert verdict.bound_pct(Change(10, 0, Interval(0, 0, CONSTANT), True)) == 0.1
