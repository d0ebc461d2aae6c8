# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the simulator's numbers lie from a real kernel's, and what that leaves of a change.

An error is the natural logarithm of a ratio, without its sign: of a value, the simulator's over the kernel's; of a
change from one scheduler to another, the simulator's ratio of both over the kernel's. Both are known from cells that
ran in both worlds (the ledger, docs/agreement.md). What a new value or change may be off by is the conformal quantile
of the known errors: the ceil(0.95 (n + 1))-th of n in order, which 95 % of new ones do not exceed if they are like the
known (Papadopoulos et al. 2002). For a workload with FEWEST known errors it is taken from these, for another from
those of all workloads.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schedlab.statistics.bootstrap import Interval
from schedlab.statistics.estimates import Change

LEVEL = 0.95
FEWEST = 10

Key = tuple[str, str, str]  # workload, metric, statistic


@dataclass(frozen=True)
class ModelError:
    """Errors by workload, metric and statistic."""

    of_values: Mapping[Key, list[float]] = field(default_factory=dict)
    of_changes: Mapping[Key, list[float]] = field(default_factory=dict)

    def value_log(self, key: Key) -> float:
        """NaN where nothing is known of the metric and statistic."""
        return _quantile(_like(self.of_values, key))

    def change_log(self, key: Key) -> float:
        return _quantile(_like(self.of_changes, key))

    def change_pct(self, key: Key) -> float:
        return math.expm1(self.change_log(key)) * 100


def _like(known: Mapping[Key, list[float]], key: Key) -> list[float]:
    own = known.get(key, [])
    if len(own) >= FEWEST:
        return own
    return [error for (_, *measure), errors in known.items() if measure == list(key[1:]) for error in errors]


def _quantile(errors: list[float]) -> float:
    if not errors:
        return math.nan
    return sorted(errors)[min(math.ceil(LEVEL * (len(errors) + 1)), len(errors)) - 1]


def widened(change: Change, model_pct: float) -> Change:
    """The change with an interval that covers the model's error, too; both are independent of each other.

    NaN, where the error is not known, widens nothing.
    """
    low, high = change.interval.low, change.interval.high
    if not model_pct > 0 or not min(low, change.pct) > -100 or not math.isfinite(low + high):
        return change
    centre, model = _log(change.pct), _log(model_pct)
    ends = [centre - math.hypot(centre - _log(low), model), centre + math.hypot(_log(high) - centre, model)]
    return replace(change, interval=Interval(*(math.expm1(end) * 100 for end in ends), change.interval.method))


def _log(pct: float) -> float:
    return math.log1p(pct / 100)
