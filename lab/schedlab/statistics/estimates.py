# SPDX-License-Identifier: GPL-2.0-or-later
"""What is estimated, each with its interval: one scheduler's value of a statistic, and its change against a reference.

A change is the ratio of means, or of percentiles of merged histograms, in percent of the reference. The interval is
the bootstrap's, which is the same for the ratio, its logarithm and the percentage.
"""

import math
from dataclasses import dataclass

import numpy as np

from schedlab.statistics.bootstrap import NO_INTERVAL, Interval, interval
from schedlab.statistics.samples import Replicates, Sample, replicates


@dataclass(frozen=True, slots=True)
class Value:
    n: int
    value: float
    interval: Interval

    @property
    def half_width(self) -> float:
        return (self.interval.high - self.interval.low) / 2


MISSING = Value(0, math.nan, NO_INTERVAL)


def values(found: Replicates) -> dict[str, Value]:
    """By statistic."""
    n = len(found.seeds)
    return {
        name: Value(n, point, interval(point, found.drawn[name], [found.left_out[name]]) if n > 1 else NO_INTERVAL)
        for name, point in found.full.items()
    }


@dataclass(frozen=True, slots=True)
class Change:
    n: int  # pairs, or the smaller group's repetitions
    pct: float
    interval: Interval  # in percent
    paired: bool
    se_pct: float = math.nan  # standard error, of the bootstrap, for n - 1 degrees of freedom


def no_change(paired: bool) -> Change:
    return Change(0, math.nan, NO_INTERVAL, paired)


def changes(reference: Sample, other: Sample, paired: bool) -> dict[str, Change]:
    """By statistic. Paired: the same seed or block holds both, so repetitions are resampled together."""
    if not paired:
        if not (reference.seeds and other.seeds):
            return {name: no_change(False) for name in reference.statistics}
        return changes_of_groups(replicates(reference, 1), replicates(other, 2))
    shared = set(reference.seeds) & set(other.seeds)
    seeds = [seed for seed in reference.seeds if seed in shared]
    if not seeds:
        return {name: no_change(True) for name in reference.statistics}
    return changes_of_pairs(replicates(reference.only(seeds)), replicates(other.only(seeds)))


def changes_of_pairs(reference: Replicates, other: Replicates) -> dict[str, Change]:
    """Of the same seeds in the same order."""
    n = len(reference.seeds)
    found = {}
    for name, before in reference.full.items():
        point = _pct(before, other.full[name])
        if n < 2:
            found[name] = Change(n, point, NO_INTERVAL, True)
            continue
        drawn = _pcts(reference.drawn[name], other.drawn[name])
        left_out = _pcts(reference.left_out[name], other.left_out[name])
        found[name] = Change(n, point, interval(point, drawn, [left_out]), True, _error(drawn, n))
    return found


def changes_of_groups(reference: Replicates, other: Replicates) -> dict[str, Change]:
    """Of two groups that were drawn independently."""
    n = min(len(reference.seeds), len(other.seeds))
    found = {}
    for name, before in reference.full.items():
        after = other.full[name]
        point = _pct(before, after)
        if n < 2:
            found[name] = Change(n, point, NO_INTERVAL, False)
            continue
        drawn = _pcts(reference.drawn[name], other.drawn[name])
        left_out = [
            _pcts(reference.left_out[name], np.array(after)),
            _pcts(np.array(before), other.left_out[name]),
        ]
        found[name] = Change(n, point, interval(point, drawn, left_out), False, _error(drawn, n))
    return found


def _error(drawn: np.ndarray, n: int) -> float:
    """The bootstrap's spread is too small by the root of (n - 1) / n."""
    finite = drawn[np.isfinite(drawn)]
    return float(finite.std()) * math.sqrt(n / (n - 1)) if len(finite) else math.nan


def _pct(before: float, after: float) -> float:
    return float(_pcts(np.array(before), np.array(after)))


def _pcts(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(before != 0, (after / before - 1) * 100, np.nan)
