# SPDX-License-Identifier: GPL-2.0-or-later
"""The experimental design: what two schedulers' repetitions have in common, and how many repetitions show a difference.

The first decides how they are compared. Power is that of Student's t with its noncentral distribution, two-sided at
5 %, seen in 80 of 100 campaigns (Cohen 1988).
"""

import math
from collections.abc import Collection
from functools import cache

import numpy as np
from scipy import special

from schedlab.campaign import where

SEEDS = "paired by seed"  # the simulator: the same draws for all
BLOCKS = "paired by block"  # a real kernel: every block holds each scheduler once
HOSTS = "paired by block on one host"  # a fleet: as blocks, and nothing else, since other blocks are other hosts'
INDEPENDENT = "independent"

PAIRED_TEST = {SEEDS: "paired t over seeds", BLOCKS: "paired t over blocks", HOSTS: "paired t over blocks"}


ALPHA = 0.05
POWER = 0.8
TARGET_PCT = 1.0
# Nobody runs more: beyond this it says "more than".
MOST_RUNS = 1000


def of_place(place: str) -> str:
    if place == where.SSH:
        return HOSTS
    return SEEDS if where.of_record(place).simulated else BLOCKS


def of_pair(planned: str, reference: Collection[int], other: Collection[int]) -> str:
    """Paired as planned, unless more than half of the smaller group has lost its partner: never of a fleet."""
    shared = len(set(reference) & set(other))
    if planned == HOSTS:
        return planned
    return planned if shared and 2 * shared >= min(len(reference), len(other)) else INDEPENDENT


def detectable_pct(se_pct: float, n: int, paired: bool) -> float:
    """The smallest true change that would be found with the given power. `se_pct`: standard error of the change."""
    if n < 2 or not math.isfinite(se_pct):
        return math.nan
    return float(_noncentralities(paired)[min(n, MOST_RUNS) - 2]) * se_pct


def runs_for(target_pct: float, se_pct: float, n: int, paired: bool) -> float:
    """Runs a scheduler needs to find a change of `target_pct`; infinite beyond MOST_RUNS."""
    if n < 2 or not math.isfinite(se_pct):
        return math.nan
    counts = np.arange(2, MOST_RUNS + 1)
    spread = se_pct * math.sqrt(n)
    enough = np.flatnonzero(_noncentralities(paired) * spread / np.sqrt(counts) <= target_pct)
    return float(counts[enough[0]]) if len(enough) else math.inf


def power(difference: float, se: float, df: float) -> float:
    """Chance to find a true difference; the other side's tail is left out, as R's power.t.test does."""
    return float(1 - special.nctdtr(df, abs(difference) / se, special.stdtrit(df, 1 - ALPHA / 2)))


@cache
def _noncentralities(paired: bool) -> np.ndarray:
    """For 2, 3 … runs: the change, in standard errors, that is found with the given power."""
    n = np.arange(2, MOST_RUNS + 1)
    df = (n - 1 if paired else 2 * n - 2).astype(float)
    return special.nctdtrinc(df, 1 - POWER, special.stdtrit(df, 1 - ALPHA / 2))
