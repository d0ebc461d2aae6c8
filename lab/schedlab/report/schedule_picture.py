# SPDX-License-Identifier: GPL-2.0-or-later
"""The schedule of a short window of a cell, once for each scheduler: who runs where, and who waits.

The picture is drawn here as SVG, and once more by schedule.js, which zooms and names what the pointer meets. It says
whether it was simulated or comes from a real kernel, and of which release.
"""

from collections import Counter
from pathlib import Path
from typing import Any

from schedlab.format.sentences import machine_name
from schedlab.report import palette, shown_schedules, world
from schedlab.report.figure import json_text
from schedlab.report.html import Markup, element, escape, join
from schedlab.report.shown_schedules import Panel, Shown
from schedlab.statistics.summary import Summary
from schedlab.trace.schedule import Stretch

_MOST_TASK_ROWS = 24
WIDTH, _NAMES, _RIGHT = 900, 110, 12
_CPU_ROW, _TASK_ROW, _AXIS = 22, 13, 26
_OUTSIDE = "other tasks of the machine"
APART = (
    "These runs were traced, which takes time of its own: they are runs apart, and none of the measured ones. Times "
    "count from when the workload's tasks were let go."
)


def section(summary: Summary, workload: str, results_in: Path) -> Markup:
    """Of the first machine, the highest load and the first seed; a sentence where there is nothing to show."""
    shown = shown_schedules.find(summary, workload, results_in)
    if shown is None:
        return Markup("")
    if shown.panels:
        return _figure(shown)
    why = "; ".join(shown.faults) or "nobody ever waited for a CPU"
    return element("p", f"No picture of the schedule: {why}.", class_="note")


def _figure(shown: Shown) -> Markup:
    panels = shown.panels
    start, end = panels[0].found.start_ns, panels[0].found.end_ns
    groups = groups_of(panels)
    first = shown.cell
    about = f"On {machine_name(first['machine'])} at load {first['load']}, seed {first['seed']}"
    caption = join(
        [
            element("b", "Who runs, who waits"),
            " ",
            element("b", world_of(shown), class_="world"),
            f" {about}, {ms(end - start)} ms from {start / 1e9:.3f} s on. Above, each CPU and the task on it; "
            "below, each task, running (full) or waiting (hatched).",
            "" if shown.simulated else f" {APART}",
        ]
    )
    legend = groups_legend(groups)
    data = Markup(f'<script type="application/json" class="schedule">{json_text(described(panels, groups))}</script>')
    parts = []
    for panel in panels:
        drawn = element("div", svg(panel, groups), class_="schedule-window", tabindex="0", data_scheduler=panel.label)
        parts.append(element("p", element("b", panel.label), kernel_of(panel, panels), counts(panel), class_="note"))
        parts.append(drawn)
    parts += [element("p", f"No picture of {fault}.", class_="note") for fault in shown.faults]
    return element(
        "figure", element("figcaption", caption), legend, *parts, data, class_=f"schedule {world.kind(shown.place)}"
    )


def groups_legend(groups: list[str]) -> Markup:
    return element(
        "p", *[element("span", _swatch(name, i), name) for i, name in enumerate(groups)], _waits(), class_="legend"
    )


def world_of(shown: Shown) -> str:
    """Where this happened: nobody may take a simulated schedule for a kernel's, nor the other way round."""
    place = world.title(shown.place)
    kernels = ", ".join(f"Linux {kernel}" for kernel in dict.fromkeys(panel.kernel for panel in shown.panels))
    return place if shown.simulated else f"{place}, {kernels}"


def kernel_of(panel: Panel, panels: list[Panel]) -> str:
    """Its own, where not all have the same."""
    return f" on Linux {panel.kernel}" if len({other.kernel for other in panels}) > 1 else ""


def groups_of(panels: list[Panel]) -> list[str]:
    tasks = sorted(
        (pid, name) for panel in panels for pid, name in panel.found.names.items() if pid not in panel.outside
    )
    groups = list(dict.fromkeys(name for _, name in tasks))
    return [*groups, _OUTSIDE] if any(panel.outside & panel.found.names.keys() for panel in panels) else groups


def _group(panel: Panel, pid: int) -> str:
    return _OUTSIDE if pid in panel.outside else panel.found.names[pid]


def counts(panel: Panel) -> str:
    found = panel.found
    turns = sum(run.pid not in panel.outside for run in found.runs)
    waited = sum(w.end_ns - w.start_ns for w in found.waits)
    return (
        f": {turns} turns on {len(found.cpus)} CPUs, {span(waited)} of waiting by all tasks together, "
        f"{span(max((w.end_ns - w.start_ns for w in found.waits), default=0))} the longest"
    )


def span(ns: float) -> str:
    return f"{ms(ns)} ms" if ns >= 1e5 or not ns else f"{ns / 1e3:,.3g} µs"


def ms(ns: float) -> str:
    return f"{ns / 1e6:,.3g}" if ns < 1e9 else f"{ns / 1e6:,.0f}"


def _swatch(group: str, index: int) -> Markup:
    filled = colour(group, index)
    return Markup(f'<svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" fill="{filled}"/></svg>')


def _waits() -> Markup:
    line = palette.SOFT[0]
    hatch = f'<path d="M0 4 4 0M0 8 8 0M0 12 12 0M4 12 12 4M8 12 12 8" stroke="{line}"/>'
    return element("span", Markup(f'<svg viewBox="0 0 12 12" aria-hidden="true">{hatch}</svg>'), "waits for a CPU")


def colour(group: str, index: int) -> str:
    return palette.ASIDE[0] if group == _OUTSIDE else palette.colour(index)


def described(panels: list[Panel], groups: list[str]) -> dict[str, Any]:
    start = panels[0].found.start_ns
    return {
        "start_ns": start,
        "end_ns": panels[0].found.end_ns,
        "groups": groups,
        "colours": [colour(group, index) for index, group in enumerate(groups)],
        "panels": [_panel(panel, groups, start) for panel in panels],
    }


def _panel(panel: Panel, groups: list[str], start: int) -> dict[str, Any]:
    """Times in nanoseconds from the start of the window; tasks by their place in the list. A task that is none of the
    workload's has its own name beside its group.
    """
    found = panel.found
    at = {pid: index for index, pid in enumerate(found.names)}
    return {
        "scheduler": panel.label,
        "cpus": found.cpus,
        "tasks": [
            [pid, groups.index(_group(panel, pid)), *([name] if pid in panel.outside else [])]
            for pid, name in found.names.items()
        ],
        "rows": [at[pid] for pid in _task_rows(panel)],
        "runs": [[s.cpu, at[s.pid], s.start_ns - start, s.end_ns - s.start_ns] for s in found.runs],
        "waits": [[at[s.pid], s.start_ns - start, s.end_ns - s.start_ns] for s in found.waits],
    }


def _task_rows(panel: Panel) -> list[int]:
    """Of the workload's tasks. Where there are too many, those that wait longest; in order of their numbers."""
    waited: Counter[int] = Counter({pid: 0 for pid in panel.found.names if pid not in panel.outside})
    for wait in panel.found.waits:
        waited[wait.pid] += wait.end_ns - wait.start_ns
    return sorted(pid for pid, _ in waited.most_common(_MOST_TASK_ROWS))


def svg(panel: Panel, groups: list[str], width: int = WIDTH) -> Markup:
    height, inside = drawing(panel, groups, width)
    name = escape(f"schedule under {panel.label}").replace('"', "&quot;")
    head = (
        f'<svg role="img" aria-label="{name}" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" '
        'font-size="11">'
    )
    return Markup(f"{head}{inside}</svg>")


def drawing(panel: Panel, groups: list[str], width: int = WIDTH) -> tuple[int, Markup]:
    """Its height, and what is in it."""
    found = panel.found
    cpus, tasks = found.cpus, _task_rows(panel)
    top = len(cpus) * _CPU_ROW + 8
    height = top + len(tasks) * _TASK_ROW + _AXIS
    scale = (width - _NAMES - _RIGHT) / max(1, found.end_ns - found.start_ns)
    soft, line = palette.SOFT[0], palette.LINE[0]
    out = []
    for at, cpu in enumerate(cpus):
        out.append(_label(f"CPU {cpu}", at * _CPU_ROW + 15, soft))
    for at, pid in enumerate(tasks):
        out.append(_label(f"{found.names[pid]} {pid}", top + at * _TASK_ROW + 10, soft))
    bottom = top + len(tasks) * _TASK_ROW
    for tick in ticks(found.end_ns - found.start_ns, width // 110):
        x = _NAMES + tick * scale
        out.append(f'<path d="M{x:.1f} 0V{bottom + 3}" stroke="{line}"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="{soft}">{_tick(tick)}</text>')

    def bar(s: Stretch, y: float, high: float, attributes: str) -> str:
        x, width = _NAMES + (s.start_ns - found.start_ns) * scale, (s.end_ns - s.start_ns) * scale
        return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.4):.1f}" height="{high}" {attributes}/>'

    for s in found.waits:
        if s.pid in tasks:
            y = top + tasks.index(s.pid) * _TASK_ROW + 4.5
            out.append(bar(s, y, 3, f'fill="{soft}" opacity="0.55"'))
    for s in found.runs:
        group = _group(panel, s.pid)
        filled = f'fill="{colour(group, groups.index(group))}"'
        out.append(bar(s, cpus.index(s.cpu) * _CPU_ROW + 2, _CPU_ROW - 4, filled))
        if s.pid in tasks:
            out.append(bar(s, top + tasks.index(s.pid) * _TASK_ROW + 1, _TASK_ROW - 2, filled))
    return height, Markup("".join(out))


def _label(text: str, y: float, colour: str) -> str:
    return f'<text x="{_NAMES - 8}" y="{y}" text-anchor="end" fill="{colour}">{escape(text[:18])}</text>'


def ticks(length_ns: int, most: int = 8) -> list[int]:
    """About so many at most, at round times."""
    steps = (digit * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in steps if length_ns / step <= most)
    return list(range(0, length_ns + 1, step))


def _tick(ns: int) -> str:
    if ns % 1_000_000 == 0:
        return f"{ns // 1_000_000} ms"
    return f"{ns / 1_000:g} µs"
