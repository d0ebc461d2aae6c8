# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of a campaign that never ran, for what reading many of them takes: their numbers are drawn.

python bench/many_records.py DIR [CELLS]    (default: 100,000)
"""

import json
import random
import sys
from collections import Counter
from pathlib import Path

from schedlab import atomic
from schedlab.campaign.cells import cell_id
from schedlab.catalogue import metrics

SCHEDULERS = ["bfs", "cfs", "eevdf", "o1", "vtime"]
WORKLOADS = ["latt", "pipe", "hackbench", "make"]
LOADS = [1, 2, 4, 8, 16]
MACHINES = [f"machine-{number}" for number in range(10)]
_SAMPLES = 100
_DISTRIBUTIONS = ["wakeup_latency_us", "turnaround_us"]
_SCALARS = ["elapsed_s", "cpu_s", "switches_voluntary", "switches_involuntary", "migrations", "starvation_max_us"]


def write(folder: Path, cells: int) -> None:
    """As `schedlab compare` leaves them; a part of the last repetition is missing where `cells` asks for it."""
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    each = len(SCHEDULERS) * len(WORKLOADS) * len(LOADS) * len(MACHINES)
    repetitions = -(-cells // each)
    planned = []
    for repetition in range(repetitions):
        for machine in MACHINES:
            for workload in WORKLOADS:
                for load in LOADS:
                    for scheduler in SCHEDULERS:
                        data = _cell(scheduler, workload, load, machine, repetition)
                        planned.append({"id": cell_id(data), "label": scheduler, "role": "measured", "cell": data})
    planned = planned[:cells]
    for entry in planned:
        text = json.dumps(_record(entry["id"], entry["cell"]), separators=(",", ":"))
        (folder / "cells" / f"{entry['id']}.json").write_text(text)
    atomic.write_json_lines(folder / "manifest.json", _manifest(repetitions) | {"cells": planned})


def _cell(scheduler: str, workload: str, load: int, machine: str, repetition: int) -> dict:
    return {
        "scheduler": scheduler,
        "tunables": {},
        "workload": workload,
        "load": load,
        "params": {"duration_s": "20"},
        "place": "sim",
        "machine": machine,
        "repetition": repetition,
        "seed": 1 + repetition,
        "digests": dict.fromkeys(("scheduler", "workload", "machine", "engine"), "0123456789abcdef"),
    }


def _record(name: str, cell: dict) -> dict:
    draw = random.Random(name)
    shared = random.Random(f"{cell['seed']} {cell['workload']} {cell['load']} {cell['machine']}").random()
    size = (1 + 0.2 * SCHEDULERS.index(cell["scheduler"])) * cell["load"] * (1 + 0.2 * shared)
    return {
        "format": 1,
        "id": name,
        "cell": cell,
        "status": "ok",
        "reason": "",
        "metrics": {metric: size * (1 + 0.05 * draw.random()) for metric in _SCALARS},
        "histograms": {metric: _histogram(draw, size * 1e6) for metric in _DISTRIBUTIONS},
        "trace_hash": "00",
        "provenance": {"place": "sim", "engine": "drawn", "kernel": "", "cpus": 4, "hz": 250, "tier": ""},
        "cost": {"wall_s": 0.0, "events": 1},
    }


def _histogram(draw: random.Random, mean_ns: float) -> dict:
    times = [_lowest(int(mean_ns * (0.1 + draw.expovariate(1)))) for _ in range(_SAMPLES)]
    return {
        "count": _SAMPLES,
        "min_ns": min(times),
        "max_ns": max(times),
        "sum_ns": sum(times),
        "buckets_ns": sorted(Counter(times).items()),
    }


def _lowest(ns: int) -> int:
    shift = max(0, ns.bit_length() - 11)
    return ns >> shift << shift


def _manifest(repetitions: int) -> dict:
    promises = [*_DISTRIBUTIONS, "elapsed_s"]
    return {
        "format": 1,
        "command": "python bench/many_records.py",
        "schedlab": "0",
        "place": "sim",
        "schedulers": SCHEDULERS,
        "workloads": [
            {"name": name, "title": f"{name}, drawn", "load": "tasks", "loads": LOADS, "promises": promises}
            for name in WORKLOADS
        ],
        "machines": [{"name": name, "title": name} for name in MACHINES],
        "metrics": metrics.describe(),
        "repetitions": repetitions,
        "seed_base": 1,
        "digests": {},
        "host": {"system": "none", "machine": "none", "cpu": "", "cpus": 1, "python": "3"},
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
