# SPDX-License-Identifier: GPL-2.0-or-later
"""Effect size, power, Holm, drift, outliers and quantiles: against published examples and by their properties."""

import csv
import math
from collections import defaultdict
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from schedlab.statistics import design, effect
from schedlab.statistics.runs import SHARES, fences, outliers, quantile_table
from schedlab.statistics.stability import drift
from schedlab.statistics.verdict import holm

# Effect size


def test_hedges_g_of_the_textbook_s_two_groups() -> None:
    """Borenstein and others 2009, chapter 4: means 103 and 100, deviations 5.5 and 4.5, 50 each.

    Their g is 0.5924, its variance 0.0411.
    """
    spread = math.sqrt((49 * 5.5**2 + 49 * 4.5**2) / 98)
    found = effect.of_groups(3, spread, 50, 50)
    assert found.g == pytest.approx(0.5924, abs=1e-4)
    assert ((found.high - found.low) / 2 / 1.959964) ** 2 == pytest.approx(0.0411, abs=5e-5)


def test_hedges_g_of_the_textbook_s_pairs() -> None:
    """The same chapter: 50 pairs, difference 3, deviation 5.5, correlation 0.7; g = 0.4160, variance 0.0127."""
    found = effect.of_pairs(3, 5.5 / math.sqrt(2 * (1 - 0.7)), 50, 0.7)
    assert found.g == pytest.approx(0.4160, abs=1e-4)
    assert ((found.high - found.low) / 2 / 1.959964) ** 2 == pytest.approx(0.0127, abs=5e-5)


def test_hedges_g_of_values_is_that_of_their_summary() -> None:
    draw = np.random.default_rng(4)
    one, two = draw.normal(10, 2, 8), draw.normal(12, 2, 8)
    r = float(np.corrcoef(one, two)[0, 1])
    pooled = math.sqrt((one.var(ddof=1) + two.var(ddof=1)) / 2)
    difference = float(two.mean() - one.mean())
    assert astuple(effect.hedges(one, two, True)) == pytest.approx(astuple(effect.of_pairs(difference, pooled, 8, r)))
    assert astuple(effect.hedges(one, two, False)) == pytest.approx(astuple(effect.of_groups(difference, pooled, 8, 8)))
    back = effect.hedges(two, one, False)
    assert back.g == pytest.approx(-effect.hedges(one, two, False).g)
    assert effect.hedges(one * 1e3, two * 1e3, False).g == pytest.approx(-back.g)


@pytest.mark.filterwarnings("error")
def test_no_spread_has_no_g() -> None:
    flat = np.full(5, 2.0)
    assert math.isnan(effect.hedges(flat, flat + 1, True).g)
    assert math.isnan(effect.hedges(flat, flat + 1, False).g)
    assert math.isnan(effect.hedges(flat[:1], flat[:1], True).g)
    half = effect.hedges(flat, np.array([1.0, 2.0, 3.0, 4.0, 5.0]), True)
    assert math.isfinite(half.g)


# Power


def test_power_is_r_s_power_t_test() -> None:
    """power.t.test(n = 20, delta = 1) gives 0.8689528."""
    assert design.power(1, math.sqrt(2 / 20), 38) == pytest.approx(0.8689528, abs=1e-7)


def test_runs_are_r_s_power_t_test() -> None:
    """power.t.test(power = 0.80, delta = 1) gives n = 16.71477 a group: 17."""
    se = math.sqrt(2 / 10)  # of a difference of two groups of ten with a deviation of one
    assert design.runs_for(1, se, 10, paired=False) == 17
    assert design.power(1, math.sqrt(2 / 17), 32) >= 0.8 > design.power(1, math.sqrt(2 / 16), 30)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("n", [2, 5, 10, 40])
def test_what_is_detectable_is_detected_in_four_of_five(n: int, paired: bool) -> None:
    df = n - 1 if paired else 2 * n - 2
    smallest = design.detectable_pct(0.7, n, paired)
    assert design.power(smallest, 0.7, df) == pytest.approx(0.8, abs=1e-6)
    # The two answers are one: to see what is detectable now, no more runs are needed.
    assert design.runs_for(smallest * (1 + 1e-9), 0.7, n, paired) == n


def test_more_runs_see_smaller_differences() -> None:
    needed = [design.runs_for(target, 2.0, 10, True) for target in (8, 4, 2, 1, 0.5)]
    assert needed == sorted(needed)
    assert len(set(needed)) == len(needed)
    assert design.runs_for(0.01, 2.0, 10, True) == math.inf
    assert design.runs_for(1, 0.0, 10, True) == 2
    assert math.isnan(design.runs_for(1, 2.0, 1, True))
    assert math.isnan(design.runs_for(1, math.nan, 10, True))
    assert math.isnan(design.detectable_pct(1, 1, True))


def test_the_advice_holds_when_followed() -> None:
    """Campaigns with as many runs as advised find the difference about four times in five."""
    draw = np.random.default_rng(7)
    n = int(design.runs_for(1.0, 3.0 / math.sqrt(10), 10, True))
    found = stats.ttest_1samp(draw.normal(1.0, 3.0, (4000, n)), 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


# Holm


def test_holm_is_r_s_p_adjust() -> None:
    """p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm"); and Holm's first step, the smallest times their number."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, 0.001, 0.6, 0.01]) == pytest.approx([0.08, 0.004, 0.6, 0.03])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_what_was_not_tested_does_not_count() -> None:
    found = holm([0.01, math.nan, 0.02, math.nan])
    assert found[0] == pytest.approx(0.02)
    assert found[2] == pytest.approx(0.02)
    assert math.isnan(found[1])
    assert math.isnan(found[3])
    assert all(map(math.isnan, holm([math.nan, math.nan])))


@pytest.mark.parametrize("seed", range(5))
def test_holm_keeps_order_and_lies_between_p_and_bonferroni(seed: int) -> None:
    p = np.random.default_rng(seed).uniform(0, 0.2, 30)
    adjusted = np.array(holm(p.tolist()))
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(1, p * 30) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_holm_keeps_false_claims_rare() -> None:
    draw = np.random.default_rng(11)
    wrong = sum(min(holm(draw.uniform(0, 1, 40).tolist())) < 0.05 for _ in range(2000))
    assert wrong / 2000 == pytest.approx(0.05, abs=0.015)


# Drift


@pytest.mark.parametrize("values", [[3, 1, 2, 5, 4], [2.5, 3.5, 3.0, 9.0, 4.0, 8.0, 7.0]])
def test_drift_of_few_blocks_is_the_exact_permutation_test(values: list[float]) -> None:
    found = drift(np.array(values, dtype=float))
    order = np.arange(len(values))
    theirs = stats.spearmanr(order, values)
    assert found.rho == pytest.approx(float(theirs.statistic))
    exact = stats.permutation_test(
        (values,), lambda x: stats.spearmanr(order, x).statistic, permutation_type="pairings", n_resamples=np.inf
    )
    assert found.p == pytest.approx(float(exact.pvalue))


def test_drift_of_many_blocks_is_drawn_the_same_every_time() -> None:
    values = np.random.default_rng(3).normal(100, 1, 20)
    found = drift(values)
    assert drift(values) == found
    assert found.p == pytest.approx(float(stats.spearmanr(np.arange(20), values).pvalue), abs=0.02)
    assert drift(values * 1e6).p == found.p
    # What ran counts as one of the 10,000 orders, so that no p is 0.
    assert drift(np.arange(1.0, 21.0)).p == 1e-4
    warming = drift(values + np.arange(20))
    assert warming.p < 0.001
    assert warming.change_pct == pytest.approx(19 / warming_mean(values) * 100, abs=2)


def warming_mean(values: np.ndarray) -> float:
    return float((values + np.arange(len(values))).mean())


@pytest.mark.filterwarnings("error")
def test_drift_edges() -> None:
    for values in ([1.0], [1.0, 2.0, 3.0, 4.0], [5.0] * 8, [], [math.nan] * 9):
        assert math.isnan(drift(np.array(values)).p)
    assert drift(np.array([1.0, math.nan, 2.0, 3.0, 4.0, 5.0])).n == 5


# Outliers


HANDBOOK = (
    "30 171 184 201 212 250 265 270 272 289 305 306 322 322 336 346 351 370 390 404 409 411 436 437 439 441 444 "
    "448 451 453 470 480 482 487 494 495 499 503 514 521 522 527 548 550 559 560 570 572 574 578 585 592 592 607 "
    "616 618 621 629 637 638 640 656 668 707 709 719 737 739 752 758 766 792 792 794 802 818 830 832 843 858 860 "
    "869 918 925 953 991 1000 1005 1068 1441"
)


def test_fences_and_quartiles_of_the_handbook() -> None:
    """NIST/SEMATECH e-Handbook 7.1.6: quartiles 429.75 and 742.25, fences -39 and 1211, one outlier, 1441."""
    values = np.array(HANDBOOK.split(), dtype=float)
    table = quantile_table(values.tolist())
    assert (table["25 %"], table["median"], table["75 %"]) == (429.75, 559.5, 742.25)
    assert fences(values) == (-39.0, 1211.0)
    assert outliers(values) == [89]


@pytest.mark.filterwarnings("error")
def test_outlier_edges() -> None:
    assert outliers(np.array([1.0, 1.0, 1.0, 1.0, 99.0])[:4]) == []
    assert outliers(np.full(9, 3.0)) == []
    assert outliers(np.array([3.0] * 9 + [4.0])) == [9]
    assert outliers(np.array([3.0, math.nan, 3.1, 2.9, 3.0, 3.1, 9.0, 2.9, 3.0, 3.05])) == [6]


# Quantiles


def test_quantiles_are_monotone_and_do_not_depend_on_order_or_unit() -> None:
    draw = np.random.default_rng(5)
    for n in (1, 2, 3, 9, 10, 31):
        values = draw.gamma(2, 3, n)
        table = list(quantile_table(values.tolist()).values())
        assert table == sorted(table)
        assert list(quantile_table(draw.permutation(values * 8).tolist()).values()) == pytest.approx(
            [v * 8 for v in table]
        )
        assert (table[0], table[-1]) == (values.min(), values.max())


def _graysky() -> dict[tuple[str, str, str], dict[str, float]]:
    """Seven-PC study of 2012: its complete quantile rows, and its means, in seconds."""
    rows: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    with (Path(__file__).with_name("data") / "graysky-2012.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            key = (row.pop("machine"), row.pop("benchmark"), row.pop("kernel"))
            rows[key] = {name: float(value) for name, value in row.items()}
    return rows


def _runs(row: dict[str, float], n: int, with_mean: bool) -> list[float] | None:
    """Some n runs, ascending, that have these quantiles by the (n+1)p rule, and this mean; None where none have."""
    rules, values = [np.ones(n) / n] if with_mean else [], [row["mean"]] if with_mean else []
    for name, share in zip(("min", "p10", "p25", "median", "p75", "p90", "max"), SHARES.values(), strict=True):
        rank = min(max(share * (n + 1), 1), n)
        weights = np.zeros(n)
        weights[math.floor(rank) - 1] = 1 - rank % 1
        weights[math.ceil(rank) - 1] += rank % 1
        rules.append(weights)
        values.append(row[name])
    # Printed with seven digits: each may be off by half of the last one.
    slack = 0.5 * 10.0 ** (math.floor(math.log10(row["median"])) - 6)
    ascending = np.eye(n)[:-1] - np.eye(n)[1:]
    rules_, values_ = np.array(rules), np.array(values)
    found = linprog(
        np.zeros(n),
        A_ub=np.vstack([ascending, rules_, -rules_]),
        b_ub=np.concatenate([np.zeros(n - 1), values_ + slack, slack - values_]),
        bounds=(None, None),
    )
    return found.x.tolist() if found.success else None


def test_the_first_study_s_rows_and_means_are_those_of_the_n_plus_1_rule() -> None:
    """For every row that is printed whole there are 9 to 18 runs whose table and mean these are.

    The study says "at least ten" and not how many; under this rule p10 lies between the two fastest runs for
    9 to 18, and on the fastest for nine or fewer.
    """
    rows = _graysky()
    assert len(rows) == 17
    for key, row in rows.items():
        # Not this mean: both kernels' end in the same four digits, and the difference printed is another.
        with_mean = key != ("athlonxp", "make", "ck")
        runs = next((r for n in range(9, 19) if (r := _runs(row, n, with_mean))), None)
        assert runs, key
        published = [row[name] for name in ("min", "p10", "p25", "median", "p75", "p90", "max")]
        assert list(quantile_table(runs).values()) == pytest.approx(published, rel=1e-6), key
        if with_mean:
            assert np.mean(runs) == pytest.approx(row["mean"], rel=1e-6), key


def test_another_rule_cannot_have_made_the_first_study_s_table() -> None:
    """One row has p10 equal to min and p90 to max: under the (n+1)p rule a table of nine runs that differ."""
    row = _graysky()["athlonxp", "make", "ck"]
    assert (row["min"], row["max"]) == (row["p10"], row["p90"])
    runs = _runs(row, 9, with_mean=False)
    assert runs
    usual = np.quantile(np.array(runs) + np.arange(9) * 1e-3, 0.1)
    assert usual > runs[0] + 5e-4
    assert quantile_table((np.array(runs) + np.arange(9) * 1e-3).tolist())["10 %"] == runs[0]
