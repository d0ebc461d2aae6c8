# SPDX-License-Identifier: GPL-2.0-or-later
"""Did the machine hold still while it was measured? The noise floor, and drift.

The noise floor is how far the default scheduler differed from itself in the A/A control: a claim has to exceed the
largest such difference at any load of the same measure on the same machine.

Drift is of values against the order in which they were run: Spearman's rank correlation with the number of the block,
its p by permutation (all orders of up to seven blocks, else 9,999 orders from a fixed seed). Its size is Theil and
Sen's slope, over the whole run.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from statistics import median

import numpy as np

from schedlab.statistics.estimates import Change

Key = tuple[str, str, str, str]  # workload, machine, metric, statistic


FEWEST_BLOCKS = 5
_ALL_ORDERS = 7
_ORDERS = 9_999
_SEED = 19041


@dataclass(frozen=True)
class Noise:
    """Over the headlines of a report."""

    rows: int
    median_pct: float  # of the sizes
    worst: Change


def floors_pct(controls: Iterable[tuple[Key, Change | None]]) -> dict[Key, float]:
    found: dict[Key, float] = defaultdict(float)
    for key, change in controls:
        if change and math.isfinite(change.pct):
            found[key] = max(found[key], abs(change.pct))
    return dict(found)


def noise(controls: Iterable[Change | None]) -> Noise | None:
    found = [change for change in controls if change and math.isfinite(change.pct)]
    if not found:
        return None
    return Noise(len(found), median(abs(c.pct) for c in found), max(found, key=lambda c: abs(c.pct)))


@dataclass(frozen=True)
class Drift:
    n: int  # blocks
    rho: float  # -1 … 1; NaN where nothing varies or blocks are too few
    p: float
    change_pct: float  # from the first to the last block, of the mean


def drift(values: np.ndarray) -> Drift:
    """`values` in the order of the run: one a block."""
    values = values[~np.isnan(values)]
    n = len(values)
    if n < FEWEST_BLOCKS or np.ptp(values) <= 1e-12 * np.abs(values).max():
        return Drift(n, math.nan, math.nan, math.nan)
    # It takes a second to import, and most commands have no use for it.
    from scipy import stats

    ranks = _standard(stats.rankdata(values))
    rho = float(ranks @ _standard(np.arange(n)))
    by_chance = _orders(n) @ ranks
    as_far = int(np.count_nonzero(np.abs(by_chance) >= abs(rho) - 1e-12))
    p = as_far / len(by_chance) if n <= _ALL_ORDERS else (as_far + 1) / (len(by_chance) + 1)
    mean = float(values.mean())
    slope = float(stats.theilslopes(values).slope) * (n - 1)
    return Drift(n, rho, p, slope / mean * 100 if mean else math.nan)


def _standard(ranks: np.ndarray) -> np.ndarray:
    apart = ranks - ranks.mean()
    return apart / math.sqrt(float(apart @ apart))


@cache
def _orders(n: int) -> np.ndarray:
    """Standardised run numbers in many orders; one a row."""
    if n <= _ALL_ORDERS:
        orders = np.array(list(permutations(range(n))))
    else:
        generator = np.random.default_rng([_SEED, n])
        orders = generator.permuted(np.tile(np.arange(n), (_ORDERS, 1)), axis=1)
    return _standard(np.arange(n))[orders]
