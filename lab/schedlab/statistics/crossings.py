# SPDX-License-Identifier: GPL-2.0-or-later
"""Which changes cross a threshold: those whose verdict is a claim and whose whole 95 % interval lies beyond the limit,
in the simulator with the model's error added. So chance does not cross one, and too few repetitions never do.
"""

from collections.abc import Iterable, Iterator

from schedlab.errors import InputError
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary
from schedlab.statistics.threshold import Threshold
from schedlab.statistics.verdict import CLAIMS


def crossings(thresholds: Iterable[Threshold], summary: Summary) -> Iterator[tuple[Threshold, Row, Comparison]]:
    """All changes against the reference that cross one, in the order of the tables. InputError: one concerns no row."""
    for limit in thresholds:
        rows = concerned(limit, summary)
        if not rows:
            there = ", ".join(dict.fromkeys(f"{row.metric}.{row.statistic}" for row in summary.rows))
            raise InputError(f"--fail-on '{limit.text}': no such metric in these results; there are: {there}")
        for row in rows:
            yield from ((limit, row, found) for found in row.against.values() if _crosses(found, limit))


def concerned(limit: Threshold, summary: Summary) -> list[Row]:
    return [row for row in summary.rows if row.metric == limit.metric and limit.statistic in ("", row.statistic)]


def _crosses(comparison: Comparison, limit: Threshold) -> bool:
    if comparison.verdict not in CLAIMS:
        return False
    whole = comparison.whole.interval
    return whole.low > limit.limit_pct if limit.above else whole.high < limit.limit_pct
