# SPDX-License-Identifier: GPL-2.0-or-later
"""One number of every step of a list, its levels, and what is said of them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from schedlab.bisection.one_run import Question
from schedlab.catalogue.metrics import metric
from schedlab.format.numbers import number, percent, scale
from schedlab.statistics.change_points import Segment, segments

_LONGEST_TITLE = 60


@dataclass(frozen=True)
class Point:
    name: str  # a commit or kernel
    title: str
    value: float | None  # in the metric's unit; None: it has none
    why: str  # it has none


@dataclass(frozen=True)
class Change:
    """Between two levels."""

    at: Point  # the first of the new level
    before: Segment
    after: Segment
    worse: bool

    @property
    def pct(self) -> float:
        return self.after.change_pct(self.before)


@dataclass(frozen=True)
class Series:
    asked: Question
    points: list[Point]
    smallest_pct: float
    command: str

    @property
    def measured(self) -> list[Point]:
        return [point for point in self.points if point.value is not None]

    @cached_property
    def levels(self) -> list[Segment]:
        """By position among the measured. A value of zero has no level: then there is but one."""
        values = [point.value for point in self.measured if point.value is not None]
        if not all(value > 0 for value in values):
            return []
        return segments(values, self.smallest_pct)

    @cached_property
    def changes(self) -> list[Change]:
        found = self.measured
        upwards = self.asked.is_worse_upwards()
        return [
            Change(found[after.start], before, after, (after.level > before.level) == upwards)
            for before, after in pairwise(self.levels)
        ]

    def shown(self, value: float) -> str:
        """For people, in the unit that suits all of them."""
        factor, unit = self.scale
        return f"{number(value * factor)} {unit}".rstrip()

    @property
    def scale(self) -> tuple[float, str]:
        return scale(metric(self.asked.measure[0]).unit, [point.value or 0.0 for point in self.points])

    def told(self, point: Point) -> str:
        wide = max(len(one.name) for one in self.points)
        value = self.shown(point.value) if point.value is not None else f"no value: {point.why}"
        return f"{point.name:<{wide}}  {value:>12}  {point.title[:_LONGEST_TITLE]}".rstrip()

    def sentences(self) -> list[str]:
        found = self.changes
        lacking = len(self.points) - len(self.measured)
        without = f"; {lacking} without a value" if lacking else ""
        if not found:
            return [f"no change by more than {self.smallest_pct:g} % in {len(self.measured)} steps{without}"]
        count = f"{len(found)} change{'s' * (len(found) > 1)} of level in {len(self.measured)} steps{without}:"
        return [count, *(f"  {self.said(change)}" for change in found)]

    def said(self, change: Change) -> str:
        known = f"{change.at.name} ({change.at.title})" if change.at.title else change.at.name
        levels = f"from {self.shown(change.before.level)} to {self.shown(change.after.level)}"
        return f"{known}: {'worse' if change.worse else 'better'}, {percent(change.pct)}, {levels}"
