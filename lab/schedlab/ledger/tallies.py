# SPDX-License-Identifier: GPL-2.0-or-later
"""Many rows in a few numbers: how large their errors are, and how often the sign against the kernel's own is right."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schedlab.ledger.entries import Entry
from schedlab.statistics.agreement import Measure


@dataclass(frozen=True)
class Tally:
    """Errors without their signs, in per cent; NaN of no rows."""

    rows: int
    median_pct: float
    p90_pct: float
    largest_pct: float
    within: int  # rows whose simulated value lies among the kernel's repetitions
    kernel_range_pct: float  # median over the rows
    seeded: int  # rows whose cells the simulator ran with many seeds
    among_seeds: int  # of them, those among which the kernel's value lies
    seeds_range_pct: float  # median over them
    beyond_p90_pct: float
    signs: int  # rows with a sign to call
    right: int


def tally(entries: Iterable[Entry]) -> Tally:
    rows = list(entries)
    errors = [abs(row.error_pct) for row in rows]
    beyond = [row.beyond_pct for row in rows if not math.isnan(row.beyond_pct)]
    called = [row.sign_is_right for row in rows if row.sign_is_right is not None]
    return Tally(
        len(rows),
        quantile(errors, 0.5),
        quantile(errors, 0.9),
        max(errors, default=math.nan),
        sum(row.within for row in rows),
        quantile([row.kernel_range_pct for row in rows], 0.5),
        len(beyond),
        sum(pct == 0 for pct in beyond),
        quantile([row.seeds_range_pct for row in rows if not math.isnan(row.seeds_range_pct)], 0.5),
        quantile(beyond, 0.9),
        len(called),
        sum(called),
    )


def quantile(values: Iterable[float], share: float) -> float:
    """The least of the values that so many lie at or below: one of them, because some may be infinite."""
    rising = sorted(values)
    return rising[max(0, math.ceil(share * len(rising)) - 1)] if rising else math.nan


def of_measure(entries: Iterable[Entry], measure: Measure) -> list[Entry]:
    return [entry for entry in entries if (entry.place.metric, entry.place.statistic) == measure]


def worst(entries: Sequence[Entry], count: int) -> list[Entry]:
    """The largest errors first; where many seeds ran, what they explain is none."""
    return sorted(entries, key=lambda entry: (-_unexplained_pct(entry), entry.place))[:count]


def _unexplained_pct(entry: Entry) -> float:
    return abs(entry.error_pct) if math.isnan(entry.beyond_pct) else entry.beyond_pct
