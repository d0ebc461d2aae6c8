# SPDX-License-Identifier: GPL-2.0-or-later
"""Analysis of variance and its comparisons, against published examples and against SciPy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from lab.tests.cost import seconds
from schedlab.statistics import multiple_comparisons
from schedlab.statistics.blocks import additive, paired_t
from schedlab.statistics.oneway import GAMES_HOWELL, TUKEY_KRAMER, OneWay, omega_squared, oneway


def groups(*values: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(v, dtype=float) for name, v in zip("abcdef", values, strict=False)}


# Dobson 1983, R's data set PlantGrowth: control and two treatments.
PLANTS = groups(
    [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
)


def pair(found: OneWay, one: str, two: str) -> object:
    return next(p for p in found.pairs if (p.reference, p.other) == (one, two))


def test_anova_and_tukey_of_plant_growth_are_r_s() -> None:
    """summary(aov), TukeyHSD and effectsize::omega_squared; car::leveneTest gives F = 1.1192, p = 0.3412."""
    found = oneway(PLANTS)
    assert found.method == TUKEY_KRAMER
    assert found.levene_p == pytest.approx(0.3412, abs=5e-5)
    assert found.omnibus.method == "one-way ANOVA"
    assert "spreads alike" in found.omnibus.why
    assert found.omnibus.f == pytest.approx(4.8461, abs=5e-5)
    assert (found.omnibus.df_between, found.omnibus.df_within) == (2, 27)
    assert found.omnibus.p == pytest.approx(0.01591, abs=5e-6)
    assert found.omnibus.omega_squared == pytest.approx(0.2040788, abs=5e-8)
    expected = {
        ("a", "b"): (-0.371, -1.0622161, 0.3202161, 0.3908711),
        ("a", "c"): (0.494, -0.1972161, 1.1852161, 0.1979960),
        ("b", "c"): (0.865, 0.1737839, 1.5562161, 0.0120064),
    }
    for (one, two), (difference, low, high, p) in expected.items():
        got = pair(found, one, two)
        assert (got.difference, got.low, got.high) == pytest.approx((difference, low, high), abs=1e-6)
        assert got.p_within == pytest.approx(p, abs=1e-6)


def test_unequal_spreads_are_welch_s_and_games_howell_s() -> None:
    """Data and SPSS values of ONEWAY … /POSTHOC=GH, as SciPy's tests carry them."""
    wild = [
        [30.0, 23.0, 51.0],
        [-81.0, 71.0, -27.0, 63.0],
        [42.0, 11.0, 29.0, 19.0, 50.0],
        [23.0, 22.0, 20.0, 18.0, 9.0],
    ]
    found = oneway(groups(*wild))
    assert found.method == GAMES_HOWELL
    assert found.omnibus.method == "Welch's ANOVA"
    assert "spreads differ" in found.omnibus.why
    expected = {
        ("a", "b"): (-28.16666667, 0.8727542747886180),
        ("a", "c"): (-4.466666667, 0.9752628408671710),
        ("a", "d"): (-16.26666667, 0.4262506151302880),
        ("b", "c"): (23.7, 0.9148950609000590),
        ("b", "d"): (11.9, 0.9861432250093960),
        ("c", "d"): (-11.8, 0.4755344436335670),
    }
    for (one, two), (difference, p) in expected.items():
        got = pair(found, one, two)
        assert got.difference == pytest.approx(difference)
        assert got.p_within == pytest.approx(p, abs=1e-7)
    # SPSS's interval of c to d; ours takes whole degrees of freedom and is never narrower, and little wider.
    low, high = -39.8894857524254, 16.2894857524254
    got = pair(found, "c", "d")
    assert got.low <= low
    assert got.high >= high
    assert got.high - got.low < 1.1 * (high - low)


def test_welch_s_anova_of_plant_growth_is_r_s() -> None:
    """oneway.test(weight ~ group): F = 5.181, df 2 and 17.128, p = 0.01739. Levene would not choose it here."""
    from schedlab.statistics.oneway import _welch

    f, df = _welch(PLANTS, {name: values.var(ddof=1) for name, values in PLANTS.items()})
    assert f == pytest.approx(5.181, abs=5e-4)
    assert df == pytest.approx(17.128, abs=5e-4)
    assert stats.f.sf(f, 2, df) == pytest.approx(0.01739, abs=5e-6)
    assert stats.f_oneway(*PLANTS.values(), equal_var=False).statistic == pytest.approx(f)


def test_unequal_groups_are_tukey_kramer_s() -> None:
    """Relief by brand of medicine (SAS Institute), groups of 8, 5 and 5: Matlab's multcompare (SciPy's tests)."""
    first = [24.5, 23.5, 26.28, 26.4, 27.1, 29.9, 30.1, 30.1]
    found = oneway(groups(first, [28.4, 34.2, 29.5, 32.2, 30.1], [26.1, 28.3, 24.3, 26.2, 27.8]))
    expected = {
        ("a", "b"): (3.645, 0.26792930251500, 7.02207069748501, 0.03371498443080),
        ("a", "c"): (-0.695, -4.07207069748500, 2.68207069748500, 0.85572267328807),
        ("b", "c"): (-4.34, -8.08652355712281, -0.59347644287720, 0.02259047020620),
    }
    assert found.method == TUKEY_KRAMER
    for (one, two), values in expected.items():
        got = pair(found, one, two)
        assert (got.difference, got.low, got.high, got.p_within) == pytest.approx(values, abs=1e-6)
    assert (
        pair(found, "a", "b").high - pair(found, "a", "b").low < pair(found, "b", "c").high - pair(found, "b", "c").low
    )


def test_the_handbook_s_example() -> None:
    """NIST/SEMATECH e-Handbook 7.4.3.3: F = 9.72, error 1.331 with 16 degrees of freedom."""
    data = groups(
        [6.9, 5.4, 5.8, 4.6, 4.0], [8.3, 6.8, 7.8, 9.2, 6.5], [8.0, 10.5, 8.1, 6.9, 9.3], [5.8, 3.8, 6.1, 5.6, 6.2]
    )
    found = oneway(data)
    assert found.omnibus.f == pytest.approx(9.72, abs=0.005)
    assert found.error == pytest.approx(1.331, abs=5e-4)
    assert found.omnibus.df_within == 16


def test_two_groups_f_is_t_squared_and_tukey_is_t() -> None:
    one, two = PLANTS["a"], PLANTS["c"][:7]
    found = oneway({"a": one, "c": two})
    t = stats.ttest_ind(two, one)
    assert found.method == TUKEY_KRAMER
    assert found.omnibus.f == pytest.approx(float(t.statistic) ** 2)
    assert found.omnibus.p == pytest.approx(float(t.pvalue))
    (only,) = found.pairs
    assert only.t == pytest.approx(float(t.statistic))
    assert only.p == only.p_within == pytest.approx(float(t.pvalue))
    ends = t.confidence_interval()
    assert (only.low, only.high) == pytest.approx((ends.low, ends.high))
    # The shortcut for two groups is the integral's own value.
    assert multiple_comparisons.tukey_p(only.t, 2, 15) == pytest.approx(
        stats.studentized_range.sf(abs(only.t) * math.sqrt(2), 2, 15)
    )
    assert multiple_comparisons.tukey_critical(2, 15, 0.95) == pytest.approx(
        stats.studentized_range.ppf(0.95, 2, 15) / math.sqrt(2)
    )


def test_two_groups_welch_is_t_squared_too() -> None:
    one, two = np.array([1.0, 1.1, 0.9, 1.0, 1.05, 0.95]), np.array([1.0, 9.0, -7.0, 4.0, 12.0, -3.0])
    found = oneway({"a": one, "b": two})
    t = stats.ttest_ind(two, one, equal_var=False)
    assert found.method == GAMES_HOWELL
    assert found.omnibus.f == pytest.approx(float(t.statistic) ** 2)
    assert found.omnibus.df_within == pytest.approx(float(t.df))
    assert found.pairs[0].p == pytest.approx(float(t.pvalue))


# Box, Hunter and Hunter 1978, "Statistics for Experimenters": boys' shoes (R: MASS::shoes), and penicillin, whose
# rows are treatments and whose columns are blends.
SHOES = np.array(
    [[13.2, 8.2, 10.9, 14.3, 10.7, 6.6, 9.5, 10.8, 8.8, 13.3], [14.0, 8.8, 11.2, 14.2, 11.8, 6.4, 9.8, 11.3, 9.3, 13.6]]
)
PENICILLIN = np.array(
    [[89, 84, 81, 87, 79], [88, 77, 87, 92, 81], [97, 92, 87, 89, 80], [94, 79, 85, 84, 88]], dtype=float
)


def test_paired_t_of_the_boys_shoes() -> None:
    """t.test(A, B, paired = TRUE): t = -3.3489, df = 9, p = 0.008539, mean of the differences -0.41."""
    found = paired_t(SHOES[1], SHOES[0])
    assert found.difference == pytest.approx(-0.41)
    assert found.t == pytest.approx(-3.3489, abs=5e-5)
    assert found.df == 9
    assert found.p == pytest.approx(0.008539, abs=5e-7)
    # Two schedulers in blocks: F is t squared, and Tukey is t.
    both = additive(SHOES.T, ["A", "B"])
    assert both.omnibus.f == pytest.approx(found.t**2)
    assert both.omnibus.p == pytest.approx(found.p)
    assert both.p_within["A", "B"] == pytest.approx(found.p)
    # Without the blocks nothing is to be seen: ten boys differ more than two soles.
    assert oneway({"A": SHOES[0], "B": SHOES[1]}).omnibus.p > 0.7


def test_randomised_blocks_of_the_penicillin_experiment() -> None:
    """Their table of variance: blends 264 with 4, treatments 70 with 3, error 226 with 12 degrees of freedom."""
    found = additive(PENICILLIN.T, list("ABCD"))
    assert found.n == 5
    assert found.error == pytest.approx(226 / 12)
    assert found.omnibus.f == pytest.approx((70 / 3) / (226 / 12))
    assert (found.omnibus.df_between, found.omnibus.df_within) == (3, 12)
    assert found.omnibus.p == pytest.approx(0.3387, abs=5e-5)
    assert found.block_f == pytest.approx((264 / 4) / (226 / 12))
    assert found.block_p == pytest.approx(0.0407, abs=5e-5)
    q = 5 / math.sqrt(226 / 12 / 5)  # C is 89 on average, A 84
    assert found.p_within["A", "C"] == pytest.approx(stats.studentized_range.sf(q, 4, 12), rel=1e-6)


def test_what_a_block_has_in_common_changes_nothing() -> None:
    shifted = PENICILLIN + np.array([100, -50, 3, 0, 1000])
    one, two = additive(PENICILLIN.T, list("ABCD")), additive(shifted.T, list("ABCD"))
    assert two.omnibus.f == pytest.approx(one.omnibus.f)
    assert two.error == pytest.approx(one.error)
    assert two.block_f > one.block_f


# Dunnett 1955: blood counts of a control and two drugs; R's DescTools and multcomp.
BLOOD = groups([7.40, 8.50, 7.20, 8.24, 9.84, 8.32], [9.76, 8.80, 7.68, 9.36], [12.80, 9.68, 12.16, 9.20, 10.55])


def test_dunnett_s_own_example() -> None:
    found = oneway(BLOOD)
    t = [pair(found, "a", other).t for other in "bc"]
    assert t == pytest.approx([0.85703, 3.69375], abs=5e-6)
    p = multiple_comparisons.dunnett_p(t, 12, [4, 5], 6)
    assert p == pytest.approx([0.6201020, 0.0058254], rel=1e-4)
    theirs = stats.dunnett(BLOOD["b"], BLOOD["c"], control=BLOOD["a"], rng=np.random.default_rng(1))
    assert p == pytest.approx(theirs.pvalue, rel=0.01)


@pytest.mark.parametrize(("n", "control"), [([10] * 4, 10), ([3, 9, 20], 5), ([100, 100], 4)])
def test_dunnett_is_the_integral_that_scipy_takes_by_lot(n: list[int], control: int) -> None:
    t = [0.3, 1.0, 2.5, 4.0][: len(n)]
    shares = np.array([m / (m + control) for m in n])
    correlation = np.sqrt(np.outer(shares, shares))
    np.fill_diagonal(correlation, 1)
    for df in (2.0, 12.0, 1996.0):
        drawn = {"maxpts": 100_000, "random_state": np.random.default_rng(1)}
        inside = [
            stats.multivariate_t.cdf([v] * len(n), shape=correlation, df=df, lower_limit=[-v] * len(n), **drawn)
            for v in t
        ]
        assert multiple_comparisons.dunnett_p(t, df, n, control) == pytest.approx(1 - np.array(inside), abs=2e-5)


@pytest.mark.parametrize("groups", [3, 5, 20])
def test_the_studentized_range_is_scipy_s(groups: int) -> None:
    """Also where degrees of freedom are a fraction, as Games and Howell's are."""
    for df, t in itertools.product((1.3, 2.0, 7.5, 1996.0), (0.5, 2.0, 6.0)):
        theirs = stats.studentized_range.sf(t * math.sqrt(2), groups, df)
        assert multiple_comparisons.tukey_p(t, groups, df) == pytest.approx(theirs, abs=1e-8)
    for df in (1, 10):
        theirs = stats.studentized_range.ppf(0.95, groups, df)
        assert multiple_comparisons.tukey_critical(groups, df, 0.95) == pytest.approx(theirs / math.sqrt(2), rel=1e-8)


def test_a_tiny_p_of_the_studentized_range_is_told_from_none() -> None:
    """Nearly Bonferroni's there, of which SciPy's rounding leaves nothing."""
    p = multiple_comparisons.tukey_p(9.0, 4, 500)
    assert p == pytest.approx(6 * 2 * stats.t.sf(9.0, 500), rel=0.05)


# Own quadrature where SciPy has a function: only while SciPy's cost would be felt.

# Ten thousand cells of three schedulers, ten repetitions each: so many places where all pairs are compared.
_PLACES = 333


def test_scipy_s_studentized_range_would_be_felt() -> None:
    theirs = seconds(lambda: stats.studentized_range.sf(3.1, 3, 27))
    ours = seconds(lambda: [multiple_comparisons.tukey_p(2.2, 3, 27) for _ in range(10)]) / 10
    assert theirs * 3 * _PLACES > 1
    assert ours < theirs / 10
    theirs = seconds(lambda: stats.studentized_range.ppf(0.95, 3, 27))
    ours = seconds(lambda: multiple_comparisons._critical.__wrapped__(3, 27, 0.95))
    # Each is computed once; a page has some ten different degrees of freedom.
    assert theirs * 10 > 0.5
    assert ours < theirs / 10


def test_scipy_s_dunnett_would_be_felt_where_its_digits_hold() -> None:
    """With the usual number of points, another draw is another second digit; with enough of them, it takes long."""
    t, df = 4.0, 45.0
    correlation = np.full((4, 4), 0.5) + np.eye(4) / 2

    def theirs(points: int, seed: int) -> float:
        drawn = {"maxpts": points, "random_state": np.random.default_rng(seed)}
        return 1 - stats.multivariate_t.cdf([t] * 4, shape=correlation, df=df, lower_limit=[-t] * 4, **drawn)

    (p,) = {round(p, 12) for p in multiple_comparisons.dunnett_p([t] * 4, df, [10] * 4, 10)}
    assert max(abs(theirs(4_000, seed) / p - 1) for seed in range(10)) > 0.01
    assert all(theirs(100_000, seed) == pytest.approx(p, rel=0.01) for seed in range(3))
    four = seconds(lambda: theirs(100_000, 1)) * 4
    assert four * _PLACES > 10
    assert seconds(lambda: multiple_comparisons.dunnett_p([0.3, 1.0, 2.5, 4.0], df, [10] * 4, 10)) < four / 10


def test_dunnett_with_one_treatment_is_t() -> None:
    assert multiple_comparisons.dunnett_p([2.5], 9, [6], 5) == pytest.approx([2 * stats.t.sf(2.5, 9)])


def test_omega_squared_from_f_is_that_from_sums_of_squares() -> None:
    found = oneway(PLANTS)
    everything = np.concatenate(list(PLANTS.values()))
    total = ((everything - everything.mean()) ** 2).sum()
    within = found.error * 27
    assert found.omnibus.omega_squared == pytest.approx((total - within - 2 * found.error) / (total + found.error))
    assert omega_squared(0.5, 2, 30) == 0
    assert omega_squared(math.inf, 2, 30) == 1


# Properties: nothing depends on the order of repetitions or on the unit.


@pytest.mark.parametrize("seed", range(5))
def test_neither_order_nor_unit_matters(seed: int) -> None:
    draw = np.random.default_rng(seed)
    data = {name: draw.gamma(4, 1 + i, size=int(draw.integers(3, 12))) for i, name in enumerate("abc")}
    found = oneway(data)
    other = oneway({name: draw.permutation(values) * 1e6 for name, values in data.items()})
    assert other.method == found.method
    assert other.omnibus.f == pytest.approx(found.omnibus.f)
    assert other.omnibus.p == pytest.approx(found.omnibus.p)
    for one, two in zip(found.pairs, other.pairs, strict=True):
        assert two.p_within == pytest.approx(one.p_within)
        assert (two.difference, two.low, two.high) == pytest.approx(
            (one.difference * 1e6, one.low * 1e6, one.high * 1e6)
        )
        assert one.p <= one.p_within + 1e-9, "more comparisons are never more certain"


def test_a_larger_difference_has_a_smaller_p() -> None:
    ps = [oneway({**PLANTS, "a": PLANTS["a"] - shift}).omnibus.p for shift in (0, 0.5, 1, 2, 4)]
    assert ps == sorted(ps, reverse=True)
    assert len(set(ps)) == len(ps)


# Where there is nothing to compute with, a note says so, and nothing raises or warns.


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("data", "note"),
    [
        (groups([1.0], [2.0]), "fewer than two values of a, b: left out"),
        (groups([1.0, 2.0], [2.0]), "fewer than two values of b: left out"),
        (groups([1.0, 2.0]), "fewer than two groups: nothing to compare"),
        ({}, "fewer than two groups: nothing to compare"),
        (groups([3.0] * 4, [3.0] * 4), "no spread within any group: nothing to test against"),
        (groups([3.0] * 4, [4.0] * 4), "no spread within any group: nothing to test against"),
        (groups([0.1 + 0.2] * 4, [0.3] * 4), "no spread within any group: nothing to test against"),
    ],
)
def test_one_way_edges(data: dict, note: str) -> None:
    found = oneway(data)
    assert found.note == note
    assert found.pairs == []
    assert math.isnan(found.omnibus.p)


@pytest.mark.filterwarnings("error")
def test_one_group_without_spread_still_has_its_pair() -> None:
    found = oneway(groups([5.0] * 6, [6.0, 7.0, 9.0, 4.0, 12.0, 8.0]))
    assert found.method == GAMES_HOWELL
    assert found.note == "a group without spread: Welch's F has no weight for it"
    assert math.isnan(found.omnibus.p)
    one_sample = stats.ttest_1samp([6.0, 7.0, 9.0, 4.0, 12.0, 8.0], 5.0)
    assert found.pairs[0].p == pytest.approx(one_sample.pvalue)
    # Two of them have a difference, and nothing to hold it against.
    pair = oneway(groups([5.0] * 6, [7.0] * 6, [6.0, 7.0, 9.0, 4.0, 12.0, 8.0])).pairs[0]
    assert pair.difference == 2
    assert math.isnan(pair.p)


@pytest.mark.filterwarnings("error")
def test_groups_of_two_are_compared() -> None:
    found = oneway(groups([1.0, 2.0], [5.0, 6.0]))
    assert math.isnan(found.levene_p)
    assert found.omnibus.p == pytest.approx(stats.ttest_ind([1, 2], [5, 6]).pvalue)


@pytest.mark.filterwarnings("error")
def test_block_edges() -> None:
    assert math.isnan(paired_t(np.array([1.0]), np.array([2.0])).p)
    assert math.isnan(paired_t(np.array([]), np.array([])).difference)
    same = paired_t(np.array([1.1, 2.2, 3.3]), np.array([2.1, 3.2, 4.3]))
    assert math.isnan(same.p)
    assert same.difference == pytest.approx(1)
    assert (
        additive(np.ones((1, 3)), list("abc")).note
        == "fewer than two complete blocks of two schedulers: nothing to test"
    )
    lifted = additive(np.array([[1.1, 2.1], [2.2, 3.2], [3.3, 4.3]]), list("ab"))
    assert lifted.note == "schedulers differ by the same in every block: no spread to test against"
    assert lifted.error == 0
