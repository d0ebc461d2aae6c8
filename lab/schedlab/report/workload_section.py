# SPDX-License-Identifier: GPL-2.0-or-later
"""The section of one workload: charts first, then numbers, then everything else that was measured."""

from pathlib import Path
from typing import Any

from schedlab.format.sentences import machine_name
from schedlab.report import charts, function_tables, oneway_plots, schedule_picture
from schedlab.report.html import Markup, element, join
from schedlab.report.palette import legend
from schedlab.report.tables import by_measure, caption, numbers
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import Summary


def section(summary: Summary, workload: dict[str, Any], results_in: Path, with_plots: bool = True) -> Markup:
    """`results_in`: where the campaign's records and traces are."""
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
        parts.append(schedule_picture.section(summary, workload["name"], results_in))
    return element("section", *parts, id=workload["name"])


def _title(workload: dict[str, Any]) -> str:
    """The name is in the heading already."""
    title = workload["title"].removeprefix(f"{workload['name']}: ")
    return title[:1].upper() + title[1:] + ("." if title and not title.endswith(".") else "")


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
    parts.append(function_tables.section(summary, rows[0].workload, machine))
    plots = [oneway_plots.draw(part, labels, load_name) for part in shown] if with_plots else []
    parts.append(
        _folded("Every run: one-way plots and quantiles", [*plots, oneway_plots.quantile_tables(summary, rows)])
    )
    parts.append(_folded("All other metrics", [numbers(part, labels, load_name) for part in others]))
    return join(parts)


def _folded(title: str, content: list[Markup]) -> Markup:
    if not any(content):
        return Markup("")
    return element("details", element("summary", title), element("div", *content, class_="tables"))
