# SPDX-License-Identifier: GPL-2.0-only
"""Dunnett's comparison of several treatments with one control (Dunnett 1955).

SciPy's own function takes groups, and its error is always that of one-way groups. This one takes t and its degrees
of freedom, so that the error may be that of a design with blocks. The multivariate t of more than two dimensions
is integrated by lot, from a fixed seed: p is right to about 1 %.
"""

import math

import numpy as np
from scipy import special

_SEED = 1955
_POINTS = 10_000


def p_values(t: list[float], df: float, n: list[int], n_control: int) -> list[float]:
    """Two-sided. `t`: each treatment against the control, all with the same pooled error."""
    if len(t) == 1:
        return [float(2 * special.stdtr(df, -abs(t[0])))] if df > 0 else [math.nan]
    if df <= 0 or not all(map(math.isfinite, t)):
        return [math.nan] * len(t)
    from scipy import stats

    shares = np.array([m / (m + n_control) for m in n])
    correlation = np.sqrt(np.outer(shares, shares))
    np.fill_diagonal(correlation, 1)
    found = []
    for value in t:
        ends = np.full(len(t), abs(value))
        drawn = {"maxpts": _POINTS, "random_state": np.random.default_rng(_SEED)}
        inside = stats.multivariate_t.cdf(ends, shape=correlation, df=df, lower_limit=-ends, **drawn)
        found.append(min(1.0, max(0.0, 1 - float(inside))))
    return found
