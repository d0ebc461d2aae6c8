# SPDX-License-Identifier: GPL-2.0-or-later
"""The schedules of one case as an SVG file: the longest wait under each policy, and what ran meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedlab.report import palette
from schedlab.report.html import escape
from schedlab.report.schedule_picture import WIDTH, colour, drawing, groups_of
from schedlab.report.shown_schedules import Panel
from schedlab.trace.schedule import Schedule, Stretch

# More cannot be told apart, and would make a large file.
_MOST_RUNS = 200
_TITLE, _LEGEND, _MARGIN = 22, 24, 10
_AROUND = 0.1  # of the wait, before it and after it


@dataclass(frozen=True)
class Captioned:
    panel: Panel
    caption: str


def captioned(what: str, panel: Panel, whole: bool) -> Captioned:
    """The whole run, or its longest wait."""
    found = panel.found
    found = window(found, found.start_ns, found.end_ns) if whole else longest_wait(found, panel.outside)
    start, length = found.start_ns / 1e6, (found.end_ns - found.start_ns) / 1e6
    return Captioned(replace(panel, found=found), f"{what}: {length:,.0f} ms from {start:,.0f} ms on")


def longest_wait(found: Schedule, outside: frozenset[int] = frozenset()) -> Schedule:
    """The window of it."""
    waits = [wait for wait in found.waits if wait.pid not in outside]
    if not waits:
        return window(found, found.start_ns, found.end_ns)
    longest = max(waits, key=lambda wait: (wait.end_ns - wait.start_ns, -wait.start_ns))
    around = int((longest.end_ns - longest.start_ns) * _AROUND)
    return window(found, longest.start_ns - around, longest.end_ns + around)


def window(found: Schedule, start_ns: int, end_ns: int) -> Schedule:
    """Cut to it, from its beginning on; it ends early where too much runs."""
    start, end = max(start_ns, found.start_ns), min(end_ns, found.end_ns)
    inside = sorted(run.start_ns for run in found.runs if run.end_ns > start and run.start_ns < end)
    if len(inside) > _MOST_RUNS:
        end = inside[_MOST_RUNS]
    runs, waits = _cut(found.runs, start, end), _cut(found.waits, start, end)
    there = {stretch.pid for stretch in [*runs, *waits]}
    return Schedule(start, end, {pid: name for pid, name in found.names.items() if pid in there}, runs, waits)


def _cut(stretches: Sequence[Stretch], start: int, end: int) -> list[Stretch]:
    return [
        replace(one, start_ns=max(one.start_ns, start), end_ns=min(one.end_ns, end))
        for one in stretches
        if one.end_ns > start and one.start_ns < end
    ]


def svg(shown: Sequence[Captioned]) -> str:
    """Above, each CPU and the task on it; below, each task, running or waiting."""
    groups = groups_of([one.panel for one in shown])
    parts, y = [_legend(groups)], _LEGEND
    for one in shown:
        parts.append(f'<text x="{_MARGIN}" y="{y + 15}" font-weight="bold">{escape(one.caption)}</text>')
        height, inside = drawing(one.panel, groups)
        parts.append(f'<g transform="translate(0 {y + _TITLE})">{inside}</g>')
        y += _TITLE + height + _MARGIN
    head = (
        '<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" font-family="system-ui, sans-serif" font-size="11">\n'
        f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>\n'
    )
    return head + "\n".join(parts).replace("><", ">\n<") + "\n</svg>\n"


def _legend(groups: Sequence[str]) -> str:
    parts, x = [], _MARGIN
    for index, group in enumerate(groups):
        parts.append(f'<rect x="{x}" y="7" width="12" height="12" fill="{colour(group, index)}"/>')
        parts.append(f'<text x="{x + 16}" y="17">{escape(group)}</text>')
        x += 16 + 8 * len(group) + 12
    parts.append(f'<rect x="{x}" y="11" width="24" height="3" fill="{palette.SOFT[0]}" opacity="0.55"/>')
    parts.append(f'<text x="{x + 28}" y="17">waits for a CPU</text>')
    return "".join(parts)
