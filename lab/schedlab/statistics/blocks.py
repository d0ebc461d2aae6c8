# SPDX-License-Identifier: GPL-2.0-or-later
"""Randomised blocks: each block holds each scheduler once, and what a whole block has in common is taken out.

A block is a boot of a guest or a round on the host; in the simulator it is a seed, whose draws all schedulers share.
The additive model: value = scheduler + block + error. A pair of schedulers is compared by its own differences (paired
t), which needs no common spread; the omnibus F and Tukey's method use the error of all schedulers together.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from schedlab.statistics import multiple_comparisons
from schedlab.statistics.effect import negligible
from schedlab.statistics.oneway import Omnibus, omega_squared


@dataclass(frozen=True)
class PairedTest:
    n: int
    difference: float  # mean of other minus reference, in the metric's unit
    t: float  # NaN where all differences are the same
    df: float
    p: float


@dataclass(frozen=True)
class Blocks:
    n: int  # complete blocks
    omnibus: Omnibus
    block_f: float  # how much blocks differ from each other
    block_p: float
    error: float  # variance of what neither scheduler nor block explains
    df: float
    p_within: dict[tuple[str, str], float]  # Tukey's, by (reference, other)
    t: dict[tuple[str, str], float]  # with the common error
    note: str


def paired_t(reference: np.ndarray, other: np.ndarray) -> PairedTest:
    """Values stand at the same places."""
    n = len(reference)
    difference = other - reference
    mean = float(difference.mean()) if n else math.nan
    if n < 2 or difference.std(ddof=1) <= negligible(reference, other):
        return PairedTest(n, mean, math.nan, n - 1, math.nan)
    t = mean / float(difference.std(ddof=1)) * math.sqrt(n)
    return PairedTest(n, mean, t, n - 1, float(2 * special.stdtr(n - 1, -abs(t))))


def additive(table: np.ndarray, labels: list[str], why: str = "") -> Blocks:
    """`table`: complete blocks × schedulers."""
    n, k = table.shape
    if n < 2 or k < 2:
        return _nothing(n, "fewer than two complete blocks of two schedulers: nothing to test")
    grand = table.mean()
    columns, rows = table.mean(axis=0), table.mean(axis=1)
    df = float((n - 1) * (k - 1))
    error = float(((table - columns - rows[:, None] + grand) ** 2).sum()) / df
    if error <= negligible(table.ravel()) ** 2:
        return _nothing(n, "schedulers differ by the same in every block: no spread to test against")
    f = n * float(((columns - grand) ** 2).sum()) / (k - 1) / error
    block_f = k * float(((rows - grand) ** 2).sum()) / (n - 1) / error
    omnibus = Omnibus(
        "two-way ANOVA, blocks removed",
        why,
        f,
        k - 1,
        df,
        float(special.fdtrc(k - 1, df, f)),
        omega_squared(f, k - 1, n * k),
    )
    se = math.sqrt(2 * error / n)
    t = {(labels[i], labels[j]): float(columns[j] - columns[i]) / se for i, j in combinations(range(k), 2)}
    within = {key: multiple_comparisons.tukey_p(value, k, df) for key, value in t.items()}
    return Blocks(n, omnibus, block_f, float(special.fdtrc(n - 1, df, block_f)), error, df, within, t, "")


def _nothing(n: int, note: str) -> Blocks:
    nan = math.nan
    return Blocks(n, Omnibus("none", note, nan, nan, nan, nan, nan), nan, nan, 0.0, nan, {}, {}, note)
