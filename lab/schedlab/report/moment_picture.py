# SPDX-License-Identifier: GPL-2.0-or-later
"""The moment that explains a page's first difference: two schedules side by side, one below the other on a phone."""

from pathlib import Path

from schedlab.format.finding import explained
from schedlab.format.sentences import machine_name
from schedlab.report import explaining_moment, schedule_picture, world
from schedlab.report.figure import json_text
from schedlab.report.html import Markup, element, join
from schedlab.statistics.summary import Summary

_WIDTH = 400  # of each


def section(summary: Summary, results_in: Path) -> Markup:
    """Of the difference that the page names first, if any; empty where there is no trace of it."""
    pair = explained(summary)
    found = explaining_moment.find(summary, *pair, results_in) if pair else None
    if found is None:
        return Markup("")
    panels = found.shown.panels
    groups = schedule_picture.groups_of(panels)
    start, end, first = panels[0].found.start_ns, panels[0].found.end_ns, found.shown.cell
    waited = found.wait.end_ns - found.wait.start_ns
    caption = join(
        [
            element("b", "The moment that explains it"),
            " ",
            element("b", schedule_picture.world_of(found.shown), class_="world"),
            f" {found.row.title} of {first['workload']}: under {panels[0].label} task {found.name} {found.wait.pid} "
            f"waits {schedule_picture.span(waited)}, which is typical of that number; beside it what {panels[1].label} "
            f"does at the same time. On {machine_name(first['machine'])} at load {first['load']}, "
            f"{schedule_picture.span(end - start)} from {start / 1e9:.4f} s on. Above, each CPU and the task on it; "
            "below, each task, running (full) or waiting (hatched).",
            "" if found.shown.simulated else f" {schedule_picture.APART}",
        ]
    )
    windows = [
        element(
            "div",
            element(
                "p",
                element("b", panel.label),
                schedule_picture.kernel_of(panel, panels),
                schedule_picture.counts(panel),
                class_="note",
            ),
            element(
                "div",
                schedule_picture.svg(panel, groups, _WIDTH),
                class_="schedule-window",
                tabindex="0",
                data_scheduler=panel.label,
            ),
        )
        for panel in panels
    ]
    described = json_text(schedule_picture.described(panels, groups))
    data = Markup(f'<script type="application/json" class="schedule">{described}</script>')
    parts = [
        element("figcaption", caption),
        schedule_picture.groups_legend(groups),
        element("div", *windows, class_="beside"),
        data,
    ]
    return element("figure", *parts, class_=f"schedule {world.kind(found.shown.place)}", id="moment")
