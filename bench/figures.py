# SPDX-License-Identifier: GPL-2.0-or-later
"""A budget with what was measured."""

from dataclasses import dataclass


class NotMeasured(Exception):
    """The text says why."""


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    unit: str
    budget: str
    hit: bool
    detail: str = ""

    def line(self) -> str:
        verdict = "hit" if self.hit else "miss"
        line = f"  {self.what:44} {self.value:8.2f} {self.unit:13} {self.budget:>8}  {verdict:4}  {self.detail}"
        return line.rstrip()


def at_most(what: str, value: float, unit: str, limit: float, detail: str = "") -> Figure:
    return Figure(what, value, unit, f"<= {limit:g}", value <= limit, detail)


def at_least(what: str, value: float, unit: str, limit: float, detail: str = "") -> Figure:
    return Figure(what, value, unit, f">= {limit:g}", value >= limit, detail)
