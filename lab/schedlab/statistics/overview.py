# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict over all loads: one line for a metric of a workload on a machine."""

import math
from dataclasses import dataclass
from itertools import groupby

from schedlab.metrics import sort_key
from schedlab.statistics.row import Row
from schedlab.statistics.summary import Summary
from schedlab.statistics.verdict import CLAIMS, NOISE, OPEN, SAME, UNKNOWN

MIXED = "mixed"
# Where no load carries a claim, the first of these that one does.
_WEAKER = [OPEN, NOISE, SAME]


@dataclass(frozen=True)
class Line:
    """One metric of one workload on one machine, over all loads."""

    rows: list[Row]

    @property
    def first(self) -> Row:
        return self.rows[0]

    def word(self, label: str) -> str:
        """Better or worse where no load says otherwise and at least one says so."""
        seen = {row.verdict(label) for row in self.rows}
        claims = seen & CLAIMS
        if len(claims) > 1:
            return MIXED
        return claims.pop() if claims else next((word for word in _WEAKER if word in seen), UNKNOWN)

    def agreeing(self, label: str) -> int:
        """Loads whose own verdict is the line's."""
        return sum(row.verdict(label) == self.word(label) for row in self.rows)

    def smaller_than_pct(self, label: str) -> float:
        """Ruled out at every load: a difference this large."""
        bounds = [row.against[label].smaller_than_pct for row in self.rows if label in row.changes]
        return max((bound for bound in bounds if math.isfinite(bound)), default=math.nan)

    def extremes(self, label: str) -> tuple[Row, Row] | None:
        """The loads with the smallest and the largest change."""
        rows = [row for row in self.rows if label in row.changes and math.isfinite(row.changes[label].pct)]
        if not rows:
            return None
        return min(rows, key=lambda r: r.changes[label].pct), max(rows, key=lambda r: r.changes[label].pct)


def lines(summary: Summary) -> list[Line]:
    def key(row: Row) -> tuple:
        return (workloads.index(row.workload), machines.index(row.machine), sort_key(row.metric), row.statistic)

    workloads = [w["name"] for w in summary.manifest.data["workloads"]]
    machines = [m["name"] for m in summary.manifest.data["machines"]]
    return [Line(list(part)) for _, part in groupby(sorted(summary.headlines(), key=key), key=key)]
