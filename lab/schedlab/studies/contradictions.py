# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a claim is contradicted, in words: where the counters of our own two runs differ most.

CPU time and how busy the CPUs were come first: elapsed time is the one divided by the other. What kept CPUs from being
busy follows: they idled although tasks waited, or tasks waited for the disk. Of the rest those that differ most are
named.
"""

import math
from collections.abc import Iterable

import numpy as np

from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import number, percent, scale
from schedlab.studies.experiments import Measured
from schedlab.studies.published import Claim
from schedlab.studies.score import Reproduction, cells
from schedlab.studies.study_file import Study

_FIRST = ("cpu_s", "cpu_usage_pct", "idle_while_waiting_pct", "disk_wait_s")
_REST = ("migrations", "switches_voluntary", "switches_involuntary", "wakeup_latency_us", "waiting_us")
_MOST_OF_THE_REST = 2
# Smaller differences explain nothing. A counter that may be nearly zero has to differ by this share of elapsed time.
_LEAST_PCT = 0.5
_MAY_BE_NOTHING = {"idle_while_waiting_pct", "disk_wait_s"}


def contradicted(study: Study, reproductions: Iterable[Reproduction], measured: Measured) -> dict[str, str]:
    """By the claims' ids."""
    return {v.claim.id: _why(study, v.claim, measured) for v in reproductions if v.agrees is False}


def _why(study: Study, claim: Claim, measured: Measured) -> str:
    first = [said for name in _FIRST if (said := _compared(study, claim, measured, name))]
    rest = sorted(
        (said for name in _REST if (said := _compared(study, claim, measured, name))), reverse=True, key=lambda s: s[0]
    )
    found = first + rest[:_MOST_OF_THE_REST]
    if not found:
        return f"our runs of {claim.a} and {claim.b} differ in no counter by {_LEAST_PCT:g} %"
    return f"{claim.a} : {claim.b} in our runs: " + ", ".join(text for _, text in found)


def _compared(study: Study, claim: Claim, measured: Measured, name: str) -> tuple[float, str] | None:
    """How far apart the two sides are, with the words for it; None where they are alike or one was not measured."""
    a, b = (_mean(study, claim, side, measured, name) for side in (claim.a, claim.b))
    if a is None or b is None or a == b or (a and b and abs(a / b - 1) * 100 < _LEAST_PCT):
        return None
    if name in _MAY_BE_NOTHING and _negligible(study, claim, measured, name, abs(a - b)):
        return None
    known = metric(name)
    factor, unit = scale(known.unit, [a, b])
    values = f"{number(a * factor)} : {number(b * factor)} {unit}".rstrip()
    if not a or not b:
        return math.inf, f"{known.title} {values}"
    return abs(math.log(a / b)), f"{known.title} {values} ({percent((a / b - 1) * 100)})"


def _negligible(study: Study, claim: Claim, measured: Measured, name: str, apart: float) -> bool:
    if metric(name).unit != "s":
        return apart < _LEAST_PCT
    longest = max(_mean(study, claim, side, measured, "elapsed_s") or 0.0 for side in (claim.a, claim.b))
    return apart * 100 < _LEAST_PCT * longest


def _mean(study: Study, claim: Claim, side: str, measured: Measured, name: str) -> float | None:
    values = [
        measured.counter(experiment, claim.machine, scheduler, load, name)
        for experiment, scheduler, load in cells(study, claim, side)
    ]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
