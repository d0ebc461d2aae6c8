# SPDX-License-Identifier: GPL-2.0-or-later
"""The conditions of --fail-on, judged: in sentences, and for continuous integration as JUnit's test cases.

A suite is a workload, with a case a condition, and one that fails where cells have no value. So all of them pass just
where the status is 0.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from schedlab.export import junit
from schedlab.export.junit import ERROR, FAILURE, SKIPPED, Case, Suite
from schedlab.format.numbers import interval, percent
from schedlab.format.sentences import WORDS, where
from schedlab.statistics import verdict
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.crossings import concerned, crossings
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary, Trouble
from schedlab.statistics.threshold import Threshold


class Conditions:
    """InputError: one of them concerns no row."""

    def __init__(self, limits: Iterable[Threshold], summary: Summary) -> None:
        self.limits = list(limits)
        self.summary = summary
        self.crossed = list(crossings(self.limits, summary))

    def sentences(self) -> list[str]:
        return [f"--fail-on '{limit.text}': {_change(row, found)}" for limit, row, found in self.crossed]

    def write_junit(self, path: Path, no_value: Iterable[Trouble]) -> None:
        """`no_value`: cells that should have one; those of a scheduler that was thrown out are a result."""
        troubles: dict[str, list[Trouble]] = defaultdict(list)
        for trouble in no_value:
            troubles[trouble.workload].append(trouble)
        names = [workload["name"] for workload in self.summary.manifest.data["workloads"]]
        junit.write(path, "schedlab compare", [self._suite(name, troubles[name]) for name in names])

    def _suite(self, workload: str, troubles: list[Trouble]) -> Suite:
        return Suite(workload, [*(self._case(workload, limit) for limit in self.limits), _whole(troubles)])

    def _case(self, workload: str, limit: Threshold) -> Case:
        rows = [row for row in concerned(limit, self.summary) if row.workload == workload]
        if not rows:
            return Case(limit.text, SKIPPED, f"{workload} has no such metric")
        judged = [(row, found) for row in rows for found in row.against.values()]
        all_of_them = "\n".join(_change(row, found) for row, found in judged)
        beyond = [_change(row, found) for at, row, found in self.crossed if at == limit and row.workload == workload]
        if beyond:
            return Case(limit.text, FAILURE, beyond[0], "\n".join(beyond), all_of_them)
        if all(found.verdict == verdict.UNKNOWN for _, found in judged):
            return Case(limit.text, SKIPPED, WORDS[verdict.UNKNOWN].long, output=all_of_them)
        return Case(limit.text, output=all_of_them)


def _whole(troubles: list[Trouble]) -> Case:
    name = "every cell has a value"
    lines = [
        f"{trouble.status}: {trouble.label}, load {trouble.load}, {trouble.machine}, seed {trouble.seed}: "
        f"{trouble.reason or 'no reason given'}"
        for trouble in troubles
    ]
    return Case(name, ERROR, lines[0], "\n".join(lines)) if lines else Case(name)


def _change(row: Row, found: Comparison) -> str:
    """cfs is +21 % [19, 24] against bfs in wake-up latency, p99, of latt at load 1 on desktop-4"""
    change = found.change
    if not math.isfinite(change.pct):
        return f"{found.label} has no change against {found.reference} in {where(row)}: {found.note}"
    extent = interval(change.interval.low, change.interval.high)
    return f"{found.label} is {percent(change.pct)}{extent} against {found.reference} in {where(row)}"
