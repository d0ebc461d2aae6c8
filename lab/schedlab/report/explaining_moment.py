# SPDX-License-Identifier: GPL-2.0-or-later
"""The moment that explains the difference that a page names first, under both schedulers side by side.

It is found under the one that is worse: the wait that its number stands for, which is one of average length for a mean,
the median wait for p50, that at the ninety-ninth percentile for p99. Among waits of about that length it is the first
during which the other one's tasks wait less. Both are shown at the same time of the run.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab.campaign.cells import MEASURED
from schedlab.campaign.matrix import PlannedCell
from schedlab.campaign.shown import shown
from schedlab.errors import LabError
from schedlab.report.case_picture import window
from schedlab.report.shown_schedules import Panel, Shown, look
from schedlab.statistics.rows import Row
from schedlab.statistics.samples import PERCENTILES
from schedlab.statistics.summary import Summary
from schedlab.statistics.verdict import WORSE
from schedlab.trace.schedule import Schedule, Stretch, Wanted

# So many turns of each are looked through, from the run's start.
MOST_RUNS = 4_000
# The share of the waits, beside the wanted one, of which any will do.
_ALIKE = 0.1
# The window: so many times the wait, and no less than so many turns take.
_AROUND, _FEWEST_TURNS = 4, 4
_WHOLE = Wanted(0, 10**18, MOST_RUNS)


@dataclass(frozen=True)
class Moment:
    row: Row
    shown: Shown  # the worse one first
    wait: Stretch  # under it
    name: str  # of the task


def find(summary: Summary, row: Row, label: str, results_in: Path) -> Moment | None:
    """`label` differs from the reference in the row. None where there is no such moment, or no trace that has it."""
    cells = _cells(summary, row)
    pair = [label, row.reference] if row.verdict(label) == WORSE else [row.reference, label]
    if any(one not in cells for one in pair):
        return None
    place = summary.manifest.data["place"]
    see = look(place, results_in)
    try:
        found = [_whole(see, one, cells[one]) for one in pair]
    except (LabError, OSError, ValueError):
        # Each workload's own picture says what is in the way.
        return None
    panels = [panel for panel in found if panel]
    wait = _wait(panels[0], panels[1], row.statistic) if len(panels) == 2 else None
    if wait is None:
        return None
    start, end = _around(wait, panels[0].found)
    cut = [replace(panel, found=window(panel.found, start, end)) for panel in panels]
    # Where much happens a window ends early: the same for both.
    end = min(panel.found.end_ns for panel in cut)
    cut = [replace(panel, found=window(panel.found, start, end)) for panel in panels]
    return Moment(row, Shown(place, cells[pair[0]].data, cut), wait, panels[0].found.names[wait.pid])


def _whole(see: Callable[[str, PlannedCell, Wanted], Panel | None], label: str, cell: PlannedCell) -> Panel | None:
    return see(label, cell, _WHOLE)


def _cells(summary: Summary, row: Row) -> dict[str, PlannedCell]:
    """By column: the first seed's. Of a real kernel those that were traced, at whatever load."""
    mine = [cell for cell in summary.manifest.cells if cell.data["load"] == row.load and cell.role == MEASURED]
    found = shown(mine, row.workload, row.machine, most=len(summary.manifest.labels))
    if summary.manifest.data["place"] != "sim":
        found = shown(summary.manifest.cells, row.workload, row.machine)
    return found


def _wait(worse: Panel, better: Panel, statistic: str) -> Stretch | None:
    until = min(worse.found.end_ns, better.found.end_ns)
    waits = [wait for wait in worse.found.waits if wait.pid not in worse.outside and wait.end_ns < until]
    if not waits:
        return None
    ordered = sorted(waits, key=lambda wait: (_length(wait), wait.start_ns))
    at = _wanted(ordered, statistic)
    reach = max(1, round(_ALIKE * (len(ordered) - at)))
    alike = sorted(ordered[max(0, at - reach) : at + reach], key=lambda wait: wait.start_ns)
    less = (wait for wait in alike if _waiting(better, wait) < _waiting(worse, wait))
    return next(less, None)


def _wanted(ordered: Sequence[Stretch], statistic: str) -> int:
    """The position of the wait that the statistic stands for, in order of length."""
    if statistic in PERCENTILES:
        return min(len(ordered) - 1, math.ceil(PERCENTILES[statistic] / 100 * len(ordered)) - 1)
    mean = sum(map(_length, ordered)) / len(ordered)
    return min(range(len(ordered)), key=lambda at: abs(_length(ordered[at]) - mean))


def _length(stretch: Stretch) -> int:
    return stretch.end_ns - stretch.start_ns


def _waiting(panel: Panel, during: Stretch) -> int:
    """Of all the workload's tasks together, in nanoseconds."""
    return sum(
        max(0, min(wait.end_ns, during.end_ns) - max(wait.start_ns, during.start_ns))
        for wait in panel.found.waits
        if wait.pid not in panel.outside
    )


def _around(wait: Stretch, found: Schedule) -> tuple[int, int]:
    length = _length(wait) * _AROUND
    starts = sorted(run.start_ns for run in found.runs if run.start_ns >= wait.start_ns)
    if len(starts) > _FEWEST_TURNS:
        length = max(length, starts[_FEWEST_TURNS] - wait.start_ns)
    start = max(found.start_ns, wait.start_ns - length // 4)
    return start, start + length
