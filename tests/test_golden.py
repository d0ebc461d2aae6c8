# SPDX-License-Identifier: GPL-2.0-or-later
"""Trace hashes of every scheduler, version and workload, as committed: the same cell gives the same trace everywhere.

Whoever changes a scheduler, a workload, a cost or the simulator changes some of these, and commits the new ones with
the reason: UPDATE_GOLDEN=1 python -m pytest tests/test_golden.py
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests/golden.json"
SIMULATOR = ROOT / "target/release/schedlab-sim"
SCHEDULERS = [f"bfs:rules={rules}" for rules in ("232", "311", "424", "modern")]
SCHEDULERS += [f"cfs:rules={rules}" for rules in ("2.6.31", "2.6.32", "3.6")]
SCHEDULERS += [f"eevdf:rules={rules}" for rules in ("6.6", "6.12", "7.2")]
SCHEDULERS += [f"sd:rules={rules}" for rules in ("rsdl", "sd")]
SCHEDULERS += [f"mlfq:rules={rules}" for rules in ("windows", "textbook")]
SCHEDULERS += ["o1", "rr", "fifo", "vtime"]
WORKLOADS = {"latt": 15, "pipe": 8, "hackbench": 2, "counter": 5}
MACHINES = ("desktop-4", "server-2x8-smt")
# What the others add is the workloads' own: two schedulers on one machine show it.
OTHER_WORKLOADS = {
    "compile-e2fsprogs": 4,
    "compile-vlc": 4,
    "cyclictest": 2,
    "kbuild": 4,
    "lrzip": 4,
    "mixed": 5,
    "mplayer": 4,
    "oltp": 4,
    "pi": 5,
    "playback": 4,
    "rt-pipe": 1,
    "rt-tcp": 1,
    "rw": 5,
    "schbench": 4,
    "slices": 4,
    "transcode": 4,
}
THOROUGH = ("bfs:rules=modern", "cfs:rules=3.6")

pytestmark = pytest.mark.skipif(not SIMULATOR.exists(), reason="no simulator in target/release: make build")


def test_every_scheduler_and_workload_is_here() -> None:
    def names(pattern: str) -> set[str]:
        return {path.name.removesuffix(".toml") for path in ROOT.glob(pattern)}

    folders = {path.parent.name for path in ROOT.glob("schedulers/*/scx_*.bpf.c")}
    assert {scheduler.partition(":")[0] for scheduler in SCHEDULERS} == folders
    assert WORKLOADS.keys() | OTHER_WORKLOADS.keys() == names("workloads/*.toml")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_traces_are_the_committed_ones(scheduler: str) -> None:
    cells = [(workload, load, machine) for workload, load in WORKLOADS.items() for machine in MACHINES]
    if scheduler in THOROUGH:
        cells += [(workload, load, MACHINES[0]) for workload, load in OTHER_WORKLOADS.items()]
    got = {
        f"{scheduler} {workload} {machine}": trace_hash(scheduler, workload, load, machine)
        for workload, load, machine in cells
    }
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(golden | got, indent=1, sort_keys=True) + "\n")
        return
    assert got == {name: golden.get(name) for name in got}


def trace_hash(scheduler: str, workload: str, load: int, machine: str) -> str:
    cell = [SIMULATOR, "cell", "--json", "--scheduler", scheduler, "--workload", workload]
    cell += ["--load", str(load), "--machine", machine, "--seed", "1"]
    done = subprocess.run(cell, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["trace_hash"]
