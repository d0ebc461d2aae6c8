# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of bfs against the kernel's own scheduler and others: ratios, noise floor, rank.

A value's ratio is to the mean of the default's two runs around it. The noise floor is how far these two lie apart, and
no less than 1 %. Several runs are a geometric mean, with the 95 % interval of Student's t over the logarithms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from schedlab.report.markdown import table

LEAST_FLOOR = 0.01
# So near to the first counts as first.
NEAR = 0.03
_LEVEL = 0.95


@dataclass(frozen=True)
class Ratio:
    """To default, turned so that less is better."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    what: str
    default: float  # as measured, the mean
    floor: float
    ratios: dict[str, Ratio]  # by scheduler, without default
    absent: dict[str, str]  # why a scheduler has no value

    @property
    def bfs(self) -> Ratio | None:
        return self.ratios.get("bfs")

    @property
    def worse(self) -> bool:
        """Whether bfs is worse than default by more than noise; one without a value is."""
        return self.bfs is None or (self.bfs.value > 1 + self.floor and self.bfs.low > 1)

    @property
    def rank(self) -> int:
        """Of bfs among all with a value and default."""
        if self.bfs is None:
            return len(self.ratios) + 2
        return 1 + sum(value < self.bfs.value for value in self._values())

    @property
    def leads(self) -> bool:
        return self.bfs is not None and self.bfs.value <= min(self._values()) * (1 + NEAR)

    def _values(self) -> list[float]:
        return [1.0, *(ratio.value for ratio in self.ratios.values())]


def row(
    what: str,
    before: Sequence[float],
    after: Sequence[float],
    measured: dict[str, Sequence[float]],
    absent: dict[str, str],
    better: str,
) -> Row:
    """Values by repetition; `better` is `lower` or `higher`."""
    turn = 1 if better == "lower" else -1
    middle = [(math.log(a) + math.log(b)) / 2 for a, b in zip(before, after, strict=True)]
    apart = sum(math.log(b / a) for a, b in zip(before, after, strict=True)) / len(middle)
    ratios = {
        name: ratio([turn * (math.log(value) - own) for value, own in zip(values, middle, strict=True)])
        for name, values in measured.items()
    }
    floor = max(LEAST_FLOOR, math.exp(abs(apart)) - 1)
    return Row(what, math.exp(sum(middle) / len(middle)), floor, ratios, absent)


def ratio(logs: Sequence[float]) -> Ratio:
    """Of logarithms of ratios, one for each repetition."""
    mean, n = sum(logs) / len(logs), len(logs)
    if n == 1:
        return Ratio(math.exp(mean), math.exp(mean), math.exp(mean))
    error = math.sqrt(sum((each - mean) ** 2 for each in logs) / (n - 1) / n)
    half = float(special.stdtrit(n - 1, (1 + _LEVEL) / 2)) * error
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def lines(title: str, rows: Sequence[Row], rivals: Sequence[str], with_intervals: bool) -> list[str]:
    """In Markdown."""
    names = ["bfs", *rivals]
    header = ["cell", "default", "noise, %", *names, "rank of bfs", "worse than default"]
    made = []
    for each in rows:
        rank = f"{each.rank} of {len(each.ratios) + 1}" if each.bfs else "–"
        texts = [_text(each, name, with_intervals) for name in names]
        told = [each.what, _number(each.default), f"{100 * each.floor:.1f}", *texts, rank]
        made.append([*told, "yes" if each.worse else "no"])
    return [f"**{title}**", "", *table(header, made).splitlines(), "", verdict(rows)]


def verdict(rows: Sequence[Row]) -> str:
    worse, leads = sum(each.worse for each in rows), sum(each.leads for each in rows)
    return (
        f"Of {len(rows)} cells bfs is worse than default by more than the noise in {worse}, "
        f"and first or within {100 * NEAR:.0f} % of the first in {leads}."
    )


def _text(row: Row, name: str, with_intervals: bool) -> str:
    ratio = row.ratios.get(name)
    if ratio is None:
        return row.absent.get(name, "–")
    text = f"{ratio.value:.2f}"
    if with_intervals:
        text += f" ({ratio.low:.2f}–{ratio.high:.2f})"
    return f"**{text}**" if name == "bfs" else text


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
