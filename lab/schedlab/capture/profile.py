# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile: what a workload's tasks were measured to do, for its model to be made from."""

import textwrap
from collections.abc import Mapping

from schedlab.capture.distribution import Distribution
from schedlab.capture.kinds import Kind

_ABOUT = {
    "cpu": "CPU time of a whole task",
    "run": "CPU time between two blocks",
    "sleep": "blocked until something outside came",
    "wait": "blocked until another task came",
    "blocked": "blocked, for whatever came",
}


def text(made: Mapping[str, str | int], kinds: Mapping[str, Kind], remarks: list[str]) -> str:
    """`made` says when, where and of what."""
    lines = ["# SPDX-License-Identifier: GPL-2.0-or-later"]
    lines += [f"# Measured by schedlab calibrate {made['workload']}; docs/recording.md says how to read it."]
    for remark in remarks:
        lines += textwrap.wrap(f"{remark[0].upper()}{remark[1:]}.", 120, initial_indent="# ", subsequent_indent="# ")
    lines += ["", "[made]", *(f"{key} = {_value(value)}" for key, value in made.items())]
    for name, kind in kinds.items():
        lines += ["", f"[task.{_value(name)}]", f"tasks = {kind.tasks}", f"blocks = {kind.mean_blocks:.3f} # of a task"]
        for what, distribution in kind.distributions().items():
            lines += ["", *_distribution(name, what, distribution)]
    return "\n".join([*lines, ""])


def _distribution(task: str, what: str, of: Distribution) -> list[str]:
    lines = [
        f"[task.{_value(task)}.{what}] # {_ABOUT[what]}",
        f"count = {len(of.values_ns)}",
        f"mean_us = {of.mean_ns / 1e3:.3f}",
        f"median_us = {of.median_ns / 1e3:.3f}",
        f"sigma = {of.sigma:.3f}",
        f"max_us = {of.values_ns[-1] / 1e3:.3f}",
        "ns = { table = [",
    ]
    row = "   "
    for value, weight in _merged(of.table()):
        cell = f" [{value}, {weight}],"
        if len(row) + len(cell) > 120:
            lines.append(row)
            row = "   "
        row += cell
    return [*lines, row, "] }"]


def _merged(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Equal values next to each other as one."""
    merged: list[tuple[int, int]] = []
    for value, weight in rows:
        if merged and merged[-1][0] == value:
            weight += merged.pop()[1]
        merged.append((value, weight))
    return merged


def _value(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = "".join(c if c.isprintable() else " " for c in value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
