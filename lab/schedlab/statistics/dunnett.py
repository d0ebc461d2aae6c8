# SPDX-License-Identifier: GPL-2.0-or-later
"""Dunnett's comparison of several treatments with one control (Dunnett 1955).

SciPy's own function takes groups, so that its error is always that of one-way groups; this one takes t and its degrees
of freedom, so that the error may be that of a design with blocks. SciPy integrates over the multivariate t by lot,
which leaves the second digit of a small p to chance, or takes fifty times as long: a test checks both.
"""

import math

import numpy as np
from scipy import special

from schedlab.statistics import error


def p_values(t: list[float], df: float, n: list[int], n_control: int) -> list[float]:
    """Two-sided. `t`: each treatment against the control, all with the same pooled error."""
    if len(t) == 1:
        return [float(2 * special.stdtr(df, -abs(t[0])))] if df > 0 else [math.nan]
    if df <= 0 or not all(map(math.isfinite, t)):
        return [math.nan] * len(t)
    # What the control's mean contributes to each difference, and what the treatment's own does.
    common = [math.sqrt(m / (m + n_control)) for m in n]
    own = [math.sqrt(n_control / (m + n_control)) for m in n]
    spread, weights = error.estimates(df)
    z, chance = error.shared(min(own))
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
