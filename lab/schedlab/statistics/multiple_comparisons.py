# SPDX-License-Identifier: GPL-2.0-or-later
"""Several comparisons at once: Tukey's method for all pairs of means, Dunnett's for all treatments with one control.

Every difference is divided by the same estimate of the error, and holds the same group's mean; so the chance that the
largest is beyond a limit is an integral over both. The trapezoidal rule converges geometrically on such integrands
(Trefethen and Weideman 2014), here to about 1e-12, and one call does all points.

SciPy has the studentized range, at 10 ms a p and 100 ms a critical value: the page of a large campaign would take ten
seconds longer. SciPy's Dunnett (1955) takes groups, so that its error is always that of one-way groups; this one takes
t and its degrees of freedom, so that the error may be that of a design with blocks. SciPy also integrates over the
multivariate t by lot, which leaves the second digit of a small p to chance, or takes fifty times as long. Tests check
that all this is still so, and the values against SciPy's.
"""

import math
from functools import cache

import numpy as np
from scipy import special

_STEP = 0.2  # of the normal variable
_NORMAL_END = 9.0  # what lies beyond has a chance of 1e-19
_LOG_STEP = 0.06
_FEWEST = 81  # points over the error
_NEGLIGIBLE = 40.0  # e to the minus this


_NARROW = 1e-12


@cache
def _error_estimates(df: float) -> tuple[np.ndarray, np.ndarray]:
    """The estimated error over the true one, and weights that add up to one: the root of chi-squared over `df`."""

    def logarithm(x: float) -> float:  # of the density of x, the estimate's logarithm; 0 at its highest
        return df * (x - np.expm1(2 * x) / 2)

    ends = []
    for direction in (-1, 1):
        x = direction * np.sqrt(_NEGLIGIBLE / df)
        while logarithm(x) > -_NEGLIGIBLE:
            x *= 1.2
        ends.append(x)
    points = max(_FEWEST, int((ends[1] - ends[0]) / _LOG_STEP))
    x = np.linspace(*ends, points)
    weights = np.exp(logarithm(x))
    return np.exp(x), weights / weights.sum()


@cache
def _shared_mean(finest: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A normal variable and its weights. `finest`: the width of the steepest rise in what is integrated."""
    step = _STEP * min(1.0, finest)
    z = np.arange(-_NORMAL_END, _NORMAL_END + step, step)
    return z, step * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


def tukey_p(t: float, groups: int, df: float) -> float:
    """Two-sided, for the largest of all differences between `groups` means."""
    if not (math.isfinite(t) and df > 0):
        return math.nan
    if groups == 2:
        return float(2 * special.stdtr(df, -abs(t)))
    spread, weights = _error_estimates(df)
    # z is the highest mean; beyond: the chance that not all others lie within the limit below it.
    z, chance = _shared_mean()
    lower = special.ndtr(z)
    out_of_reach = special.ndtr(z - math.sqrt(2) * abs(t) * spread[:, None])
    beyond = lower ** (groups - 1) - (lower - out_of_reach) ** (groups - 1)
    return min(1.0, max(0.0, float(weights @ (beyond @ chance)) * groups))


def tukey_critical(groups: int, df: float, level: float) -> float:
    """Half the width of an interval, in standard errors of the difference.

    For whole degrees of freedom, rounded down, so that a report computes few: intervals of Games and Howell come out a
    trace too wide rather than too narrow.
    """
    if groups == 2 and df >= 1:
        return float(special.stdtrit(math.floor(df), (1 + level) / 2))
    return _critical(groups, math.floor(df), level) if df >= 1 else math.nan


@cache
def _critical(groups: int, df: int, level: float) -> float:
    """From that of one comparison and Bonferroni's of all pairs, between which it lies, by secants of logarithms."""

    def above(x: float) -> float:
        return math.log(tukey_p(math.exp(x), groups, df) / (1 - level))

    pairs = groups * (groups - 1) / 2
    before, x = (math.log(special.stdtrit(df, 1 - (1 - level) / 2 / count)) for count in (1, pairs))
    at_before, at = above(before), above(x)
    while abs(at) > _NARROW:
        before, at_before, x = x, at, x - at * (x - before) / (at - at_before)
        at = above(x)
    return math.exp(x)


def dunnett_p(t: list[float], df: float, n: list[int], n_control: int) -> list[float]:
    """Two-sided. `t`: each treatment against the control, all with the same pooled error."""
    if len(t) == 1:
        return [float(2 * special.stdtr(df, -abs(t[0])))] if df > 0 else [math.nan]
    if df <= 0 or not all(map(math.isfinite, t)):
        return [math.nan] * len(t)
    # What the control's mean contributes to each difference, and what the treatment's own does.
    common = [math.sqrt(m / (m + n_control)) for m in n]
    own = [math.sqrt(n_control / (m + n_control)) for m in n]
    spread, weights = _error_estimates(df)
    z, chance = _shared_mean(min(own))
    found = []
    for value in t:
        limit = abs(value) * spread[:, None]
        inside = np.zeros((len(spread), len(z)))  # logarithm of the chance
        for share, rest in zip(common, own, strict=True):
            beyond = special.ndtr((-limit - share * z) / rest) + special.ndtr((-limit + share * z) / rest)
            with np.errstate(divide="ignore"):
                inside += np.log1p(-np.minimum(beyond, 1.0))
        found.append(min(1.0, max(0.0, float(weights @ (-np.expm1(inside) @ chance)))))
    return found
