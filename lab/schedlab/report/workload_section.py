# SPDX-License-Identifier: GPL-2.0-or-later
"""The section of one workload: charts first, then numbers, then everything else that was measured."""

from itertools import groupby
from typing import Any

from schedlab.format.numbers import scale
from schedlab.metrics import metric, sort_key
from schedlab.report import charts, oneway_plots, palette, quantiles, schedule_picture, tables
from schedlab.report.html import Markup, element, join, table
from schedlab.statistics.row import Row
from schedlab.statistics.summary import Summary
from schedlab.terminal.legend import repetitions
from schedlab.terminal.table import machine_name


def section(summary: Summary, workload: dict[str, Any], with_plots: bool = True) -> Markup:
    rows = [row for row in summary.rows if row.workload == workload["name"]]
    if not rows:
        return Markup("")
    load_name = workload["load"] or "load"
    machines = [m["name"] for m in summary.manifest.data["machines"]]
    parts: list[object] = [
        element("h2", workload["name"]),
        element("p", _title(workload), class_="lead"),
        legend(summary.manifest.labels),
    ]
    for machine in machines:
        here = [row for row in rows if row.machine == machine]
        if here:
            parts.append(_machine(summary, machine, here, load_name, len(machines) > 1, with_plots))
    if with_plots:
        parts.append(schedule_picture.section(summary, workload["name"]))
    return element("section", *parts, id=workload["name"])


def _title(workload: dict[str, Any]) -> str:
    """The name is in the heading already."""
    title = workload["title"].removeprefix(f"{workload['name']}: ")
    return title[:1].upper() + title[1:] + ("." if title and not title.endswith(".") else "")


def legend(labels: list[str], names: dict[str, str] | None = None) -> Markup:
    """`names`: what to say instead of a label."""
    entries = [
        element("span", _boxed(swatch(i)), (names or {}).get(label, label), data_scheduler=label)
        for i, label in enumerate(labels)
    ]
    return element("p", *entries, class_="legend")


def _boxed(drawn: str) -> Markup:
    return Markup(f'<svg viewBox="0 0 12 12" aria-hidden="true">{drawn}</svg>')


_OUTLINES = {
    "circle": '<circle cx="6" cy="6" r="4.5" fill="{0}"/>',
    "square": '<rect x="2" y="2" width="8" height="8" fill="{0}"/>',
    "triangle-up": '<path d="M6 1.5 11 10.5H1z" fill="{0}"/>',
    "diamond": '<path d="M6 .5 11 6 6 11.5 1 6z" fill="{0}"/>',
    "cross": '<path d="M4 1h4v3h3v4H8v3H4V8H1V4h3z" fill="{0}"/>',
    "triangle-down": '<path d="M6 10.5 11 1.5H1z" fill="{0}"/>',
}


def swatch(index: int) -> str:
    """A scheduler's sign, twelve units wide and high."""
    return _OUTLINES[palette.shape(index)].format(palette.colour(index))


def _machine(
    summary: Summary, machine: str, rows: list[Row], load_name: str, several: bool, with_plots: bool
) -> Markup:
    labels = summary.manifest.labels
    parts: list[object] = [element("h3", f"On {machine_name(machine)}")] if several else []
    shown = by_measure([row for row in rows if row.headline])
    others = by_measure([row for row in rows if not row.headline])
    figures = [charts.draw(caption(part), part, labels, load_name) for part in shown]
    parts.append(element("div", *figures, class_="charts"))
    parts.append(element("div", *[numbers(part, labels, load_name) for part in shown], class_="tables"))
    plots = [oneway_plots.draw(part, labels, load_name) for part in shown] if with_plots else []
    parts.append(_folded("Every run: one-way plots and quantiles", [*plots, quantiles.tables(summary, rows)]))
    parts.append(_folded("All other metrics", [numbers(part, labels, load_name) for part in others]))
    return join(parts)


def _folded(title: str, content: list[Markup]) -> Markup:
    if not any(content):
        return Markup("")
    return element("details", element("summary", title), element("div", *content, class_="tables"))


def by_measure(rows: list[Row]) -> list[list[Row]]:
    def key(row: Row) -> tuple:
        return (sort_key(row.metric), row.statistic)

    return [list(part) for _, part in groupby(sorted(rows, key=key), key=key)]


def caption(rows: list[Row]) -> Markup:
    better = metric(rows[0].metric).better
    return join([element("b", rows[0].title), f", {better} is better" if better else ""])


def numbers(rows: list[Row], labels: list[str], load_name: str, where: str = "") -> Markup:
    factor, unit = scale(metric(rows[0].metric).unit, [v.value for row in rows for v in row.values.values()])
    header: list[object] = [load_name, *labels]
    body: list[list[object]] = [
        [str(row.load), *[tables.cell(row.values.get(x), row.against.get(x), factor) for x in labels]] for row in rows
    ]
    if any(row.control for row in rows):
        header.append("default against itself")
        for line, row in zip(body, rows, strict=True):
            line.append(tables.control(row.control))
    if len(labels) > 2 and any(row.omnibus for row in rows):
        header.append("all together")
        for line, row in zip(body, rows, strict=True):
            line.append(tables.together(row.omnibus))
    title = rows[0].title + (f" ({unit})" if unit else "") + f"{where}, n = {repetitions(rows)}"
    tested = tables.method(rows)
    title += f"; p: {tested}, Holm" if tested else ""
    return table(header, body, title, class_="numbers", data_measure=f"{rows[0].metric} {rows[0].statistic}")
