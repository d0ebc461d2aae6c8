# SPDX-License-Identifier: GPL-2.0-or-later
"""Three ways to lay out a table's body; the first that fits the terminal is taken."""

from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from schedlab.statistics.row import Row
from schedlab.terminal import cell

# Two spaces between columns.
_GAP = 2
# The same scheduler twice: what a difference looks like where there is none.
CONTROL = "A/A"


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
                parts = [cell.value(row.values.get(label), section.factor), cell.comparison(row.against.get(label))]
                line.append(Text(between).join(part for part in parts if part))
            if controlled:
                line.append(cell.control(row.control) if row.control else Text())
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
                        cell.value(row.values.get(label), section.factor),
                        cell.comparison(row.against.get(label)),
                    ]
                )
            if row.control:
                body.append([Text(), Text(CONTROL, style="dim"), Text(), cell.control(row.control)])
        bodies.append(body)
    return Layout([load, "scheduler", "value", f"against {labels[0]}"], bodies, 2)
