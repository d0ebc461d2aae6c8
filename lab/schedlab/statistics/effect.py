# SPDX-License-Identifier: GPL-2.0-or-later
"""Hedges g: a difference in units of the run-to-run spread, with its interval.

Formulas of Borenstein, Hedges, Higgins and Rothstein 2009, "Introduction to Meta-Analysis", chapter 4. Of pairs the
spread is that of the groups too, not of the differences, so that g means the same in both designs.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Effect:
    """In standard deviations; NaN where nothing spreads."""

    g: float
    low: float
    high: float


NO_EFFECT = Effect(math.nan, math.nan, math.nan)


def hedges(reference: np.ndarray, other: np.ndarray, paired: bool) -> Effect:
    """Other minus reference; paired values stand at the same places."""
    n1, n2 = len(reference), len(other)
    if min(n1, n2) < 2:
        return NO_EFFECT
    difference = float(other.mean() - reference.mean())
    v1, v2 = float(reference.var(ddof=1)), float(other.var(ddof=1))
    if v1 + v2 <= negligible(reference, other) ** 2:
        return NO_EFFECT
    if paired:
        spread = math.sqrt((v1 + v2) / 2)
        product = math.sqrt(v1 * v2)
        r = (
            float(((reference - reference.mean()) * (other - other.mean())).sum()) / (n1 - 1) / product
            if product
            else 0
        )
        return of_pairs(difference, spread, n1, min(1.0, r))
    spread = math.sqrt(((n1 - 1) * v1 + (n2 - 1) * v2) / (n1 + n2 - 2))
    return of_groups(difference, spread, n1, n2)


def of_groups(difference: float, spread: float, n1: int, n2: int) -> Effect:
    d = difference / spread
    return _corrected(d, (n1 + n2) / (n1 * n2) + d * d / (2 * (n1 + n2)), n1 + n2 - 2)


def of_pairs(difference: float, spread: float, n: int, r: float) -> Effect:
    """`r`: the correlation of the pairs."""
    d = difference / spread
    return _corrected(d, (1 / n + d * d / (2 * n)) * 2 * (1 - r), n - 1)


def negligible(*groups: np.ndarray) -> float:
    """Spread below this is the rounding of floating point, not of measurement."""
    return 1e-12 * max((float(np.abs(group).max()) for group in groups if len(group)), default=0.0)


def _corrected(d: float, variance: float, df: int) -> Effect:
    # Hedges 1981, exact; 1 - 3 / (4 df - 1) to a good approximation.
    j = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2) if df > 1 else math.nan
    half = float(special.ndtri((1 + LEVEL) / 2)) * j * math.sqrt(max(0.0, variance))
    return Effect(j * d, j * d - half, j * d + half)
