# SPDX-License-Identifier: GPL-2.0-or-later
"""A difference that a script does not accept, as it is written: `wakeup_latency_us.p99 > +5 %`."""

import re
from dataclasses import dataclass

_CONDITION = re.compile(r"(?P<metric>\w+)(\.(?P<statistic>\w+))?\s*(?P<sign>[<>])\s*(?P<limit>[+-]?\d+(\.\d+)?)\s*%?")


@dataclass(frozen=True)
class Threshold:
    text: str
    metric: str
    statistic: str  # "": every one of the metric
    above: bool  # what lies above the limit crosses it
    limit_pct: float  # of the reference


def threshold(text: str) -> Threshold:
    """Raises ValueError with what was expected."""
    found = _CONDITION.fullmatch(text.strip())
    if not found:
        raise ValueError(f"expected METRIC[.STATISTIC] > or < PERCENT, as in 'elapsed_s > +5 %', got '{text}'")
    return Threshold(text, found["metric"], found["statistic"] or "", found["sign"] == ">", float(found["limit"]))
