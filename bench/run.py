# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures every budget and prints it with its figure and `hit` or `miss`. Results stay in build/bench.

run.py [sim|run|campaign|vm]…    these alone
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import campaign
import exact
from figures import Figure, NotMeasured, at_most

from schedlab import checkout
from schedlab.collect import records
from schedlab.collect.records import Record

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build/bench"


def output(*command: str, may_end: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in may_end:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotMeasured(f"{last}; again with: {' '.join(command)}")
    return done.stdout


def run_anew(name: str, *command: str) -> Path:
    """A comparison or campaign, to its end; returns the folder of its results."""
    folder = OUT / name
    if folder.exists():
        shutil.rmtree(_before(folder), ignore_errors=True)
        folder.rename(_before(folder))
    output("./schedlab", *command, "-o", str(folder))
    return folder


def records_in(folder: Path) -> list[Record]:
    # Deleted after the measurement: for five minutes ext4 passes over a deleted file's inode before it uses it again.
    shutil.rmtree(_before(folder), ignore_errors=True)
    found = [records.read(path, path.stem) for path in sorted((folder / "cells").glob("*.json"))]
    failed = [record.reason for record in found if record.status != records.OK]
    if failed or not found:
        raise NotMeasured(failed[0] if failed else f"no records in {folder}")
    return found


def _before(folder: Path) -> Path:
    """Where the last run's results are meanwhile."""
    return folder.with_name(f"{folder.name}.old")


def simulator() -> Iterator[Figure]:
    """It measures itself: with the smallest policy, and with those that carry a published algorithm."""
    program = str(checkout.need_binary("schedlab-sim"))
    for scheduler in ("vtime", "bfs", "cfs"):
        # Status 1 says that a budget was missed, which is a figure like any other.
        for line in output(program, "bench", "--json", "--scheduler", scheduler, may_end=(0, 1)).splitlines():
            said = json.loads(line)
            yield Figure(f"{scheduler}: {said['name']}", said["value"], said["unit"], said["budget"], said["hit"])


def main_job() -> Iterator[Figure]:
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    commands = [line.split() for line in lines if line.startswith("\t./schedlab ")]
    start = time.monotonic()
    for number, command in enumerate(commands):
        folder = OUT / f"run-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        output(*command, "-o", str(folder))
    yield at_most("make run after set-up", time.monotonic() - start, "s", 120)


GROUPS: dict[str, tuple[str, Sequence[Callable[[], Iterator[Figure]]]]] = {
    "sim": ("simulator, one core", [simulator]),
    "run": ("the main job", [main_job]),
    "campaign": (
        "a large campaign in the simulator",
        [partial(campaign.figures, partial(run_anew, "campaign", "run"), records_in)],
    ),
    "vm": (
        "real kernel, exact virtual machine",
        [partial(exact.figures, cpus) for cpus in exact.BUDGETS],
    ),
}


def main(names: Sequence[str]) -> int:
    """A missed budget is a figure like any other; what could not be measured is a failure."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"bench: {unknown[0]}: expected one of {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    status = 0
    for name in names or GROUPS:
        title, measurements = GROUPS[name]
        print(title, flush=True)
        for measure in measurements:
            try:
                for figure in measure():
                    print(figure.line(), flush=True)
            except NotMeasured as reason:
                print(f"  not measured: {reason}", flush=True)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
