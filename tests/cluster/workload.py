# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of a few milliseconds, so many as are asked for, and what is kept of them."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.command_line import LAB

ROOT = LAB.parent
LOADS = (60, 61, 62, 63, 64)
WORK_US = 200_000
SHORT = """\
# SPDX-License-Identifier: GPL-2.0-or-later
name = "short"
title = "tasks that compute"
source = "test"
load = "tasks"
loads = [60, 61, 62, 63, 64]
[params]
tasks = { default = 1, min = 1, max = 64, about = "tasks" }
work_us = { default = 200_000, min = 1, max = 100_000_000, about = "of each" }
[[task]]
name = "worker"
count = "tasks"
program = [{ run_us = "work_us" }]
[metrics]
promises = ["elapsed_s"]
"""


class Campaign:
    """bfs and cfs at five loads, so often that it is so many cells."""

    def __init__(self, folder: Path, cells: int) -> None:
        self.cells = cells
        self._file = folder / "short.toml"
        self._file.write_text(SHORT)

    def command(self, on: str, out: Path, *more: str) -> list[str]:
        words = ["compare", "bfs,cfs", "-w", str(self._file), "-n", str(self.cells // (2 * len(LOADS)))]
        return [sys.executable, "-m", "schedlab", *words, "--on", on, "-o", str(out), "--no-report", *more]

    def start(self, on: str, out: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
        # A process group of its own, so that it can be killed with all that it started.
        return subprocess.Popen(
            self.command(on, out),
            cwd=LAB,
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def run(
        self, on: str, out: Path, environment: dict[str, str] | None = None, *more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(on, out, *more),
            cwd=LAB,
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )


def kept(out: Path) -> list[dict[str, Any]]:
    """Every record that is there, however often; without what differs from run to run."""
    found = [json.loads(path.read_text()) for path in (out / "cells").glob("*.json")]
    for path in (out / "packs").glob("*.gz"):
        _, *lines = gzip.decompress(path.read_bytes()).splitlines()
        found += [json.loads(line) for line in lines]
    for record in found:
        del record["cost"]
    return found
