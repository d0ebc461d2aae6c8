# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the two worlds lie apart in a case, in one number.

gap     between the ranges that the repetitions of either world span, over the kernel's value: 0 where they overlap, so
        that a case with several states in both worlds is none
usual   of a number: what nine in ten rows of the ledger lie within, and 1 % at least
times   the gap over what is usual. The number of a case with the most times is the case's disagreement.

Which numbers are compared, and which are too small, is the ledger's (measures). Where one world has a result and the
other has not, this is the disagreement, and greater than any.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schedlab.collect.records import OK
from schedlab.ledger.entries import Entry
from schedlab.ledger.measures import FLOORS, MEASURES, WAIT, too_small
from schedlab.ledger.tallies import of_measure, quantile
from schedlab.statistics.agreement import Measure, Repeated

STATUS: Measure = ("status", "")
Usual = Mapping[Measure, float]  # in per cent

_NINE_IN_TEN = 0.9
_LEAST_USUAL_PCT = 1.0
_FOR_EVER = Repeated(math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class Said:
    """What one world says of a case."""

    status: str  # the first that is not ok, of its repetitions
    reason: str = ""
    numbers: Mapping[Measure, Repeated] = field(default_factory=dict)


@dataclass(frozen=True)
class Disagreement:
    measure: Measure
    gap_pct: float  # with the simulator's sign
    times: float


def usual_pct(ledger: Iterable[Entry]) -> dict[Measure, float]:
    """By number; one without rows has none, and is not compared."""
    rows, found = list(ledger), {}
    for measure in MEASURES:
        if own := of_measure(rows, measure):
            nine_in_ten = quantile([abs(entry.error_pct) for entry in own], _NINE_IN_TEN)
            found[measure] = max(nine_in_ten, _LEAST_USUAL_PCT)
    return found


def all_of(simulator: Said, kernel: Said, usual: Usual) -> dict[Measure, Disagreement]:
    """By number."""
    if simulator.status != kernel.status:
        return {STATUS: Disagreement(STATUS, math.inf, math.inf)}
    found = {}
    wait = simulator.numbers.get(WAIT, _FOR_EVER).value
    for measure, within_pct in usual.items():
        own, there = simulator.numbers.get(measure), kernel.numbers.get(measure)
        if own and there and not too_small(measure[0], own.value, there.value, wait):
            gap_pct = _gap_pct(own, there, FLOORS.get(measure[0], 0.0))
            found[measure] = Disagreement(measure, gap_pct, abs(gap_pct) / within_pct)
    return found


def worst(simulator: Said, kernel: Said, usual: Usual) -> Disagreement | None:
    """None where no number of a case can be compared."""
    return max(all_of(simulator, kernel, usual).values(), key=lambda one: one.times, default=None)


def _gap_pct(own: Repeated, there: Repeated, floor: float) -> float:
    gap = max(0.0, own.least - there.most) - max(0.0, there.least - own.most)
    base = max(there.value, floor)
    return gap / base * 100 if base else math.copysign(math.inf, gap) if gap else 0.0


def is_ok(said: Said) -> bool:
    return said.status == OK
