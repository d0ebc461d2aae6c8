# SPDX-License-Identifier: GPL-2.0-only
"""The studentized range, as Tukey's methods need it: p and critical values on the scale of Student's t.

For two groups q is t times the root of two, which spares the slow integral. Critical values are computed
for whole degrees of freedom, rounded down, so that a report computes few of them: intervals of Games and
Howell come out a trace too wide rather than too narrow.
"""

import math
from functools import cache

from scipy import special


def p_value(t: float, groups: int, df: float) -> float:
    """Two-sided, for the largest of all differences between `groups` means."""
    if not (math.isfinite(t) and df > 0):
        return math.nan
    if groups == 2:
        return float(2 * special.stdtr(df, -abs(t)))
    from scipy import stats

    return float(stats.studentized_range.sf(abs(t) * math.sqrt(2), groups, df))


def critical(groups: int, df: float, level: float) -> float:
    """Half the width of an interval, in standard errors of the difference."""
    return _critical(groups, math.floor(df), level) if df >= 1 else math.nan


@cache
def _critical(groups: int, df: int, level: float) -> float:
    if groups == 2:
        return float(special.stdtrit(df, (1 + level) / 2))
    from scipy import stats

    return float(stats.studentized_range.ppf(level, groups, df)) / math.sqrt(2)
