# SPDX-License-Identifier: GPL-2.0-or-later
"""The schedule of a short window of a simulated cell, once for each scheduler: who runs where, and who waits.

The picture is drawn here as SVG, and once more by schedule.js, which zooms and names what the pointer meets.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.campaign import where
from schedlab.campaign.cells import MEASURED, file_digest
from schedlab.campaign.matrix import PlannedCell
from schedlab.catalogue import machines, schedulers, workloads
from schedlab.errors import LabError
from schedlab.format.sentences import machine_name
from schedlab.report import palette
from schedlab.report.figure import json_text
from schedlab.report.html import Markup, element, escape, join
from schedlab.statistics.summary import Summary
from schedlab.trace import simulated
from schedlab.trace.schedule import Schedule, Stretch, Wanted, schedule

# Past the start-up, and no longer than what can be told apart after some zooming.
_START_NS = 10_000_000
_LENGTH_NS = 200_000_000
_MOST_RUNS = 400
_MOST_OF_OTHERS = 2_000
_MOST_PANELS = 4
_MOST_TASK_ROWS = 24
_WIDTH, _NAMES, _RIGHT = 900, 110, 12
_CPU_ROW, _TASK_ROW, _AXIS = 22, 13, 26


@dataclass(frozen=True)
class Panel:
    label: str
    found: Schedule


def section(summary: Summary, workload: str) -> Markup:
    """Of the first machine, the highest load and the first seed; nothing where there is no simulator to ask."""
    cells = _cells(summary, workload)
    if not cells:
        return Markup("")
    first = next(iter(cells.values())).data
    about = f"On {machine_name(first['machine'])} at load {first['load']}, seed {first['seed']}"
    try:
        panels = _panels(cells)
    except (LabError, OSError, ValueError) as error:
        return element("p", f"No picture of the schedule: {error}.", class_="note")
    if not panels:
        return element("p", "No picture of the schedule: nobody ever waited for a CPU.", class_="note")
    return _figure(panels, about)


def _cells(summary: Summary, workload: str) -> dict[str, PlannedCell]:
    """By column."""
    if not where.of_record(summary.manifest.data["place"]).simulated:
        return {}
    mine = [c for c in summary.manifest.cells if c.data["workload"] == workload and c.role == MEASURED]
    if not mine:
        return {}
    machine = summary.manifest.data["machines"][0]["name"]
    load = max(c.data["load"] for c in mine)
    seed = min(c.data["seed"] for c in mine)
    chosen = [c for c in mine if (c.data["machine"], c.data["load"], c.data["seed"]) == (machine, load, seed)]
    return {c.label: c for c in chosen[:_MOST_PANELS]}


def _panels(cells: dict[str, PlannedCell]) -> list[Panel]:
    """The window begins where a task first waits under the reference; it is the same for all other schedulers."""
    panels: list[Panel] = []
    wanted = Wanted(_START_NS, _START_NS + _LENGTH_NS, _MOST_RUNS, somebody_waits=True)
    for label, cell in cells.items():
        found = _trace(cell, wanted)
        if found is None and not panels:
            return []
        if found is None:
            continue
        if not panels:
            # A window whose end is idle is cut shortly after the last run or wait.
            busy = max((s.end_ns for s in [*found.runs, *found.waits]), default=found.end_ns)
            found.end_ns = min(found.end_ns, busy + (busy - found.start_ns) // 20)
            wanted = Wanted(found.start_ns, found.end_ns, _MOST_OF_OTHERS)
        panels.append(Panel(label, found))
    return panels


def _trace(cell: PlannedCell, wanted: Wanted) -> Schedule | None:
    with simulated.lines(_traced(cell.data)) as lines:
        return schedule(simulated.events(lines, "sched_"), wanted)


def _traced(data: dict[str, Any]) -> simulated.Traced:
    """The files of the checkout, if they are still what ran."""
    scheduler, workload, machine = (
        schedulers.find(data["scheduler"]),
        workloads.find(data["workload"]),
        machines.find(data["machine"]),
    )
    assert scheduler.path
    assert machine.path
    for kind, name, digest in (
        ("scheduler", data["scheduler"], schedulers.digest(scheduler)),
        ("workload", data["workload"], workload.digest),
        ("machine", data["machine"], file_digest(machine.path)),
    ):
        if data["digests"][kind] not in ("", digest):
            raise LabError(f"{kind} {name} is not what it was when the cells ran")
    return simulated.Traced(
        Path(scheduler.path),
        workload.path,
        machine.path,
        data["load"],
        data["seed"],
        data["tunables"],
        data["params"],
        data.get("built_in", False),
        data.get("api"),
        data.get("exact_costs", False),
    )


def _figure(panels: list[Panel], about: str) -> Markup:
    start, end = panels[0].found.start_ns, panels[0].found.end_ns
    tasks = {pid: name for panel in panels for pid, name in panel.found.names.items()}
    groups = list(dict.fromkeys(name for _, name in sorted(tasks.items())))
    caption = join(
        [
            element("b", "Who runs, who waits"),
            f": {about}, {_ms(end - start)} ms from {start / 1e9:.3f} s on. Above, each CPU and the task on it; "
            "below, each task, running (full) or waiting (hatched).",
        ]
    )
    legend = element(
        "p", *[element("span", _swatch(i), name) for i, name in enumerate(groups)], _waits(), class_="legend"
    )
    data = Markup(f'<script type="application/json" class="schedule">{json_text(_data(panels, groups))}</script>')
    parts = []
    for panel in panels:
        drawn = element("div", _svg(panel, groups), class_="schedule-window", data_scheduler=panel.label)
        parts.append(element("p", element("b", panel.label), _counts(panel.found), class_="note"))
        parts.append(drawn)
    return element("figure", element("figcaption", caption), legend, *parts, data, class_="schedule")


def _counts(found: Schedule) -> str:
    waited = sum(w.end_ns - w.start_ns for w in found.waits)
    return (
        f": {len(found.runs)} turns on {len(found.cpus)} CPUs, {_ms(waited)} ms of waiting by all tasks together, "
        f"{_ms(max((w.end_ns - w.start_ns for w in found.waits), default=0))} ms the longest"
    )


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.3g}" if ns < 1e9 else f"{ns / 1e6:,.0f}"


def _swatch(index: int) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" fill="{_colour(index)}"/></svg>'
    )


def _waits() -> Markup:
    line = palette.SOFT[0]
    hatch = f'<path d="M0 4 4 0M0 8 8 0M0 12 12 0M4 12 12 4M8 12 12 8" stroke="{line}"/>'
    return element("span", Markup(f'<svg viewBox="0 0 12 12" aria-hidden="true">{hatch}</svg>'), "waits for a CPU")


def _colour(index: int) -> str:
    return palette.colour(index)


def _data(panels: list[Panel], groups: list[str]) -> dict[str, Any]:
    start = panels[0].found.start_ns
    return {
        "start_ns": start,
        "end_ns": panels[0].found.end_ns,
        "groups": groups,
        "colours": [_colour(index) for index in range(len(groups))],
        "panels": [_panel(panel, groups, start) for panel in panels],
    }


def _panel(panel: Panel, groups: list[str], start: int) -> dict[str, Any]:
    """Times in nanoseconds from the start of the window; tasks by their place in the list."""
    found = panel.found
    at = {pid: index for index, pid in enumerate(found.names)}
    return {
        "scheduler": panel.label,
        "cpus": found.cpus,
        "tasks": [[pid, groups.index(name)] for pid, name in found.names.items()],
        "rows": [at[pid] for pid in _task_rows(found)],
        "runs": [[s.cpu, at[s.pid], s.start_ns - start, s.end_ns - s.start_ns] for s in found.runs],
        "waits": [[at[s.pid], s.start_ns - start, s.end_ns - s.start_ns] for s in found.waits],
    }


def _task_rows(found: Schedule) -> list[int]:
    """Where there are too many, those that wait longest; in order of their numbers."""
    waited: Counter[int] = Counter(dict.fromkeys(found.names, 0))
    for wait in found.waits:
        waited[wait.pid] += wait.end_ns - wait.start_ns
    return sorted(pid for pid, _ in waited.most_common(_MOST_TASK_ROWS))


def _svg(panel: Panel, groups: list[str]) -> Markup:
    found = panel.found
    cpus, tasks = found.cpus, _task_rows(found)
    top = len(cpus) * _CPU_ROW + 8
    height = top + len(tasks) * _TASK_ROW + _AXIS
    scale = (_WIDTH - _NAMES - _RIGHT) / max(1, found.end_ns - found.start_ns)
    soft, line = palette.SOFT[0], palette.LINE[0]
    out = [f'<svg role="img" viewBox="0 0 {_WIDTH} {height}" font-family="system-ui, sans-serif" font-size="11">']
    for at, cpu in enumerate(cpus):
        out.append(_label(f"CPU {cpu}", at * _CPU_ROW + 15, soft))
    for at, pid in enumerate(tasks):
        out.append(_label(f"{found.names[pid]} {pid}", top + at * _TASK_ROW + 10, soft))
    bottom = top + len(tasks) * _TASK_ROW
    for tick in ticks(found.end_ns - found.start_ns):
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
        colour = f'fill="{_colour(groups.index(found.names[s.pid]))}"'
        out.append(bar(s, cpus.index(s.cpu) * _CPU_ROW + 2, _CPU_ROW - 4, colour))
        if s.pid in tasks:
            out.append(bar(s, top + tasks.index(s.pid) * _TASK_ROW + 1, _TASK_ROW - 2, colour))
    return Markup("".join(out) + "</svg>")


def _label(text: str, y: float, colour: str) -> str:
    return f'<text x="{_NAMES - 8}" y="{y}" text-anchor="end" fill="{colour}">{escape(text[:18])}</text>'


def ticks(length_ns: int) -> list[int]:
    """At most eight, at round times."""
    steps = (digit * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in steps if length_ns / step <= 8)
    return list(range(0, length_ns + 1, step))


def _tick(ns: int) -> str:
    if ns % 1_000_000 == 0:
        return f"{ns // 1_000_000} ms"
    return f"{ns / 1_000:g} µs"
