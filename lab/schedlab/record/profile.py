# SPDX-License-Identifier: GPL-2.0-only
"""A profile: what a workload's tasks were measured to do, for its model to be made from."""

from collections.abc import Mapping

from schedlab.record.distribution import Distribution
from schedlab.record.kinds import Kind

_ABOUT = {
    "cpu": "CPU time of a whole task",
    "run": "CPU time between two blocks",
    "sleep": "blocked until something outside came",
    "wait": "blocked until another task came",
}


def text(made: Mapping[str, str | int], kinds: Mapping[str, Kind], remarks: list[str]) -> str:
    """`made` says when, where and of what."""
    lines = ["# SPDX-License-Identifier: GPL-2.0-only"]
    lines += [f"# Measured by schedlab calibrate {made['workload']}; docs/recording.md says how to read it."]
    lines += [f"# {remark[0].upper()}{remark[1:]}." for remark in remarks]
    lines += ["", "[made]", *(f"{key} = {_value(value)}" for key, value in made.items())]
    for name, kind in kinds.items():
        lines += ["", f"[task.{_value(name)}]", f"tasks = {kind.tasks}"]
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
    for value, weight in of.table():
        cell = f" [{value}, {weight}],"
        if len(row) + len(cell) > 120:
            lines.append(row)
            row = "   "
        row += cell
    return [*lines, row, "] }"]


def _value(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = "".join(c if c.isprintable() else " " for c in value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
