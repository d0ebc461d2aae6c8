# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenes of BFS: on a machine on which nothing costs anything, what its tasks go on with, and who ran when."""

from pathlib import Path

from tests.policies.schedules import Schedule, free_machine, simulate

FOR_EVER = "{ run_ms = 1000 }"
SLEEPS = "{ sleep_ms = 500 }"


def run(folder: Path, scheduler: str, tasks: str, duration_ms: int = 40, **machine: int) -> Schedule:
    return simulate(
        folder, f"bfs:rules={scheduler}", tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False
    )
