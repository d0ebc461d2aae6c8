# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenes of control groups with limits: what is written into a workload, and who ran when."""

from pathlib import Path

from tests.policies.schedules import Schedule, free_machine, simulate

FOR_EVER = "{ run_ms = 100_000 }"
# The first period begins when the tasks do.
EEVDF = "eevdf:first_period=whole"


def cgroup(name: str, *keys: str) -> str:
    return "\n".join(["[[cgroup]]", f'name = "{name}"', *keys]) + "\n"


def limited(name: str, quota_ms: int, period_ms: int = 100, *keys: str) -> str:
    return cgroup(name, f"max_us = {quota_ms}_000", f"period_us = {period_ms}_000", *keys)


def run(
    folder: Path, scheduler: str, tasks: str, duration_ms: int, *arguments: str, hz: int = 1000, **machine: int
) -> Schedule:
    """On a machine on which nothing costs anything."""
    machine_file = free_machine(folder, hz=hz, **machine)
    return simulate(folder, scheduler, tasks, duration_ms / 1000, machine_file, *arguments, strict=False)


def spans(schedule: Schedule, name: str) -> list[tuple[float, float]]:
    """When tasks of that name ran, turns that follow each other as one."""
    joined: list[tuple[float, float]] = []
    for start, end in sorted(span for one in schedule.tasks(name) for span in schedule.on_cpu[one]):
        if joined and start - joined[-1][1] < 0.01:
            joined[-1] = (joined[-1][0], end)
        elif end - start >= 0.01:
            joined.append((start, end))
    return [(round(start, 2), round(end, 2)) for start, end in joined]


def near(ran: list[tuple[float, float]], expected: list[tuple[float, float]]) -> bool:
    """To the tick."""
    return len(ran) == len(expected) and all(
        abs(one - other) <= 1.1
        for span, wanted in zip(ran, expected, strict=True)
        for one, other in zip(span, wanted, strict=True)
    )
