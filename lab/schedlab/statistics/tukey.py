# SPDX-License-Identifier: GPL-2.0-or-later
"""The studentized range, as Tukey's methods need it: p and critical values on the scale of Student's t.

SciPy has it, at 10 ms a p and 100 ms a critical value: the page of a large campaign would take ten seconds longer. A
test checks that this is still so, and the values against SciPy's. Critical values are computed for whole degrees of
freedom, rounded down, so that a report computes few of them: intervals of Games and Howell come out a trace too wide
rather than too narrow.
"""

import math
from functools import cache

from scipy import special

from schedlab.statistics import error

_NARROW = 1e-12


def p_value(t: float, groups: int, df: float) -> float:
    """Two-sided, for the largest of all differences between `groups` means."""
    if not (math.isfinite(t) and df > 0):
        return math.nan
    if groups == 2:
        return float(2 * special.stdtr(df, -abs(t)))
    spread, weights = error.estimates(df)
    # z is the highest mean; beyond: the chance that not all others lie within the limit below it.
    z, chance = error.shared()
    lower = special.ndtr(z)
    out_of_reach = special.ndtr(z - math.sqrt(2) * abs(t) * spread[:, None])
    beyond = lower ** (groups - 1) - (lower - out_of_reach) ** (groups - 1)
    return min(1.0, max(0.0, float(weights @ (beyond @ chance)) * groups))


def critical(groups: int, df: float, level: float) -> float:
    """Half the width of an interval, in standard errors of the difference."""
    if groups == 2 and df >= 1:
        return float(special.stdtrit(math.floor(df), (1 + level) / 2))
    return _critical(groups, math.floor(df), level) if df >= 1 else math.nan


@cache
def _critical(groups: int, df: int, level: float) -> float:
    """From that of one comparison and Bonferroni's of all pairs, between which it lies, by secants of logarithms."""

    def above(x: float) -> float:
        return math.log(p_value(math.exp(x), groups, df) / (1 - level))

    pairs = groups * (groups - 1) / 2
    before, x = (math.log(special.stdtrit(df, 1 - (1 - level) / 2 / count)) for count in (1, pairs))
    at_before, at = above(before), above(x)
    while abs(at) > _NARROW:
        before, at_before, x = x, at, x - at * (x - before) / (at - at_before)
        at = above(x)
    return math.exp(x)
