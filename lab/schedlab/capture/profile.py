# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile: what a workload's tasks were measured to do, for its model to be made from.

Tasks of one name are of one kind. A kind has the distributions of how long its tasks ran and blocked: tables of
quantiles, and the lognormal that is nearest to each.
"""

import itertools
import math
import statistics
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schedlab.capture.tasks import Run, Sleep, Task, Wait

_ROWS = 20
# The last part, which holds the longest, is split once more.
_LAST_ROWS = 5


_ABOUT = {
    "cpu": "CPU time of a whole task",
    "run": "CPU time between two blocks",
    "sleep": "blocked until something outside came",
    "wait": "blocked until another task came",
    "blocked": "blocked, for whatever came",
}


@dataclass(frozen=True)
class Distribution:
    """Durations in nanoseconds, sorted."""

    values_ns: list[int]

    @staticmethod
    def of(values_ns: list[int]) -> "Distribution":
        return Distribution(sorted(values_ns))

    def table(self) -> list[tuple[int, int]]:
        """Mean and size of up to twenty equal parts of the sorted values, the last in up to five: the mean is kept."""
        *most, last = _parts(self.values_ns, _ROWS)
        return [(round(statistics.fmean(part)), len(part)) for part in [*most, *_parts(last, _LAST_ROWS)]]

    @property
    def median_ns(self) -> float:
        return statistics.median(self.values_ns)

    @property
    def mean_ns(self) -> float:
        return statistics.fmean(self.values_ns)

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithms; what took no time at all counts as a nanosecond."""
        logs = [math.log(max(1, value)) for value in self.values_ns]
        return statistics.pstdev(logs)


def _parts(values: list[int], most: int) -> list[list[int]]:
    rows = min(most, len(values))
    edges = [len(values) * row // rows for row in range(rows + 1)]
    return [values[low:high] for low, high in itertools.pairwise(edges)]


@dataclass
class Kind:
    """Durations in nanoseconds: a task's whole CPU time, its runs between two blocks, and its blocks.

    `blocked` are blocks of which nobody knows what ended them; `blocks` is how often each task blocked.
    """

    tasks: int = 0
    cpu: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)
    sleep: list[int] = field(default_factory=list)
    wait: list[int] = field(default_factory=list)
    blocked: list[int] = field(default_factory=list)

    def distributions(self) -> dict[str, Distribution]:
        of = {"cpu": self.cpu, "run": self.run, "sleep": self.sleep, "wait": self.wait, "blocked": self.blocked}
        return {name: Distribution.of(values) for name, values in of.items() if values}

    @property
    def mean_blocks(self) -> float:
        return sum(self.blocks) / self.tasks


def kinds(tasks: Iterable[Task]) -> dict[str, Kind]:
    """By name, the one with most CPU time first."""
    found: dict[str, Kind] = {}
    for task in tasks:
        kind = found.setdefault(task.comm, Kind())
        kind.tasks += 1
        run_ns = total_ns = 0
        for step in task.steps:
            match step:
                case Run(ns):
                    run_ns += ns
                    total_ns += ns
                case Sleep(ns) | Wait(ns):
                    (kind.sleep if isinstance(step, Sleep) else kind.wait).append(ns)
                    kind.run.append(run_ns)
                    run_ns = 0
        kind.run.append(run_ns)
        kind.cpu.append(total_ns)
        kind.blocks.append(sum(isinstance(step, Sleep | Wait) for step in task.steps))
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].cpu), item[0])))


def text(made: Mapping[str, str | int], kinds: Mapping[str, Kind], remarks: list[str]) -> str:
    """`made` says when, where and of what."""
    lines = ["# SPDX-License-Identifier: GPL-2.0-or-later"]
    lines += [f"# Measured by schedlab calibrate {made['workload']}; docs/recording.md says how to read it."]
    for remark in remarks:
        lines += textwrap.wrap(f"{remark[0].upper()}{remark[1:]}.", 120, initial_indent="# ", subsequent_indent="# ")
    lines += ["", "[made]", *(f"{key} = {_value(value)}" for key, value in made.items())]
    for name, kind in kinds.items():
        lines += ["", f"[task.{_value(name)}]", f"tasks = {kind.tasks}", f"blocks = {kind.mean_blocks:.3f} # of a task"]
        for what, distribution in kind.distributions().items():
            lines += ["", *_distribution(name, what, distribution)]
    return "\n".join([*lines, ""])


def _distribution(task: str, what: str, of: Distribution) -> list[str]:
    lines = [
        f"[task.{_value(task)}.{what}] # {_ABOUT[what]}",
        f"count = {len(of.values_ns)}",
        f"mean_us = {of.mean_ns / 1e3:.3f}",
        f"median_us = {of.median_ns / 1e3:.3f}",
        f"sigma = {of.sigma:.3f}",
        f"max_us = {of.values_ns[-1] / 1e3:.3f}",
        "ns = { table = [",
    ]
    row = "   "
    for value, weight in _merged(of.table()):
        cell = f" [{value}, {weight}],"
        if len(row) + len(cell) > 120:
            lines.append(row)
            row = "   "
        row += cell
    return [*lines, row, "] }"]


def _merged(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Equal values next to each other as one."""
    merged: list[tuple[int, int]] = []
    for value, weight in rows:
        if merged and merged[-1][0] == value:
            weight += merged.pop()[1]
        merged.append((value, weight))
    return merged


def _value(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = "".join(c if c.isprintable() else " " for c in value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
