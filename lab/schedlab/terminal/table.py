# SPDX-License-Identifier: GPL-2.0-or-later
"""The result tables: one per workload and machine, a section per metric, loads down.

There are three ways to lay out a table's body; the first that fits the terminal is taken. A result is text: a value, a
change, and the word that says without colour what it means.
"""

import math
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from schedlab.catalogue.metrics import metric, sort_key
from schedlab.format.numbers import decimals, interval, number, p_value, percent, scale, spread
from schedlab.format.sentences import WORDS, machine_name, model_error, runs_needed, same_within
from schedlab.statistics import verdict
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.estimates import Change, Value
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary

_STYLE = {"good": "green", "bad": "red"}


# Two spaces between columns.
_GAP = 2
# The same scheduler twice: what a difference looks like where there is none.
CONTROL = "A/A"


def _heading(row: Row, unit: str) -> str:
    """wake-up latency, p99 (ms), lower is better"""
    words = row.title + (f" ({unit})" if unit else "")
    return words + (f", {row.better} is better" if row.better else "")


def _value(found: Value | None, factor: float) -> Text:
    if found is None or not math.isfinite(found.value):
        return Text("–")
    places = decimals(found.value * factor)
    text = Text(number(found.value * factor, places))
    return text.append(spread(found.half_width * factor, places), style="dim")


def _comparison(found: Comparison | None) -> Text:
    """Effect, interval, p, word; empty for the reference."""
    if found is None or not math.isfinite(found.change.pct):
        return Text()
    word = found.verdict
    words = WORDS[word]
    if word == verdict.SAME:
        return Text(same_within(found.smaller_than_pct), style="dim")
    style = _STYLE.get(words.tone, "")
    text = Text(percent(found.change.pct), style=style)
    text.append(interval(found.change.interval.low, found.change.interval.high) + model_error(found), style="dim")
    if word != verdict.UNKNOWN and math.isfinite(found.p_adjusted):
        text.append(f" {p_value(found.p_adjusted)}", style="dim")
    if words.short:
        text.append(f" {words.short}", style=style or "dim")
    if word == verdict.UNCLEAR and (runs := runs_needed(found)):
        text.append(f", {runs}", style="dim")
    return text


def _control(found: Change) -> Text:
    if not math.isfinite(found.pct):
        return Text("–")
    return Text(percent(found.pct) + interval(found.interval.low, found.interval.high), style="dim")


@dataclass(frozen=True)
class Section:
    """One metric and statistic: a row per load."""

    title: str
    rows: list[Row]
    factor: float  # from the metric's unit to the shown one


@dataclass(frozen=True)
class Layout:
    header: list[str]
    bodies: list[list[list[Text]]]  # by section
    left: int  # columns, from the first, that are text

    def width(self) -> int:
        return sum(self._widths()) + _GAP * (len(self.header) - 1)

    def table(self, at: int, width: int) -> Table:
        """One section; only the first has a header, and the columns of all stand in line where they fit."""
        fits = self.width() <= width
        made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=at == 0)
        for column, (text, needed) in enumerate(zip(self.header, self._widths(), strict=True)):
            justify = "left" if 0 < column < self.left else "right"
            last = column == len(self.header) - 1
            made.add_column(text, justify=justify, min_width=None if last and not fits else needed, header_style="bold")
        for line in self.bodies[at]:
            made.add_row(*line)
        return made

    def _widths(self) -> list[int]:
        lines = [[Text(text) for text in self.header], *[line for body in self.bodies for line in body]]
        return [
            max(part.cell_len for line in lines for part in line[at].split() or [Text()])
            for at in range(len(self.header))
        ]


def choose(sections: list[Section], load: str, labels: list[str], width: int) -> Layout:
    layouts = [
        _across(sections, load, labels, "  "),
        _across(sections, load, labels, "\n"),
        _stacked(sections, load, labels),
    ]
    return next((layout for layout in layouts if layout.width() <= width), layouts[-1])


def _across(sections: list[Section], load: str, labels: list[str], between: str) -> Layout:
    """Schedulers across; value and change in one line, or in two."""
    controlled = any(row.control for section in sections for row in section.rows)
    bodies = []
    for section in sections:
        body = []
        for row in section.rows:
            line = [Text(str(row.load))]
            for label in labels:
                parts = [_value(row.values.get(label), section.factor), _comparison(row.against.get(label))]
                line.append(Text(between).join(part for part in parts if part))
            if controlled:
                line.append(_control(row.control) if row.control else Text())
            body.append(line)
        bodies.append(body)
    return Layout([load, *labels, *([CONTROL] if controlled else [])], bodies, 1)


def _stacked(sections: list[Section], load: str, labels: list[str]) -> Layout:
    """Schedulers down, for narrow terminals and many schedulers."""
    bodies = []
    for section in sections:
        body = []
        for row in section.rows:
            for at, label in enumerate(labels):
                name = Text(str(row.load) if at == 0 else "")
                body.append(
                    [
                        name,
                        Text(label),
                        _value(row.values.get(label), section.factor),
                        _comparison(row.against.get(label)),
                    ]
                )
            if row.control:
                body.append([Text(), Text(CONTROL, style="dim"), Text(), _control(row.control)])
        bodies.append(body)
    return Layout([load, "scheduler", "value", f"against {labels[0]}"], bodies, 2)


def show(summary: Summary, console: Console) -> None:
    for (workload, machine), part in groupby(summary.headlines(), key=lambda row: (row.workload, row.machine)):
        load = next(w["load"] for w in summary.manifest.data["workloads"] if w["name"] == workload) or "load"
        sections = _sections(list(part))
        layout = choose(sections, load, summary.manifest.labels, console.width)
        console.print(Text.assemble((workload, "bold"), f" on {machine_name(machine)}"))
        for at, section in enumerate(sections):
            console.print(Text(section.title, style="italic"))
            console.print(layout.table(at, console.width))
        console.print()


def _sections(rows: list[Row]) -> list[Section]:
    def key(row: Row) -> tuple:
        return (sort_key(row.metric), row.metric, row.statistic)

    sections = []
    for (_, name, _), part in groupby(sorted(rows, key=key), key=key):
        section = list(part)
        factor, unit = scale(metric(name).unit, [v.value for row in section for v in row.values.values()])
        sections.append(Section(_heading(section[0], unit), section, factor))
    return sections
