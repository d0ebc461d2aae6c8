# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads run on a real kernel, and their records have what they promise.

The kernel's own scheduler runs every synthetic workload, the others those that were first; the models of real
applications stand for programs that have tests of their own.
"""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from schedlab.collect import records
from tests.vm_policies import shards
from tests.vm_policies.conftest import SCHEDULERS, WORKLOADS, Said, run_script

# Load and parameters that show something in a few seconds of an emulated machine; the first load a file offers, else.
SHORT: dict[str, tuple[int, dict[str, str]]] = {
    "pipe": (2, {"trips": "1000"}),
    "hackbench": (2, {"fds": "5", "loops": "20"}),
    "latt": (3, {"duration_s": "4"}),
    "counter": (3, {}),
    "rt-pipe": (1, {"interval_ms": "50"}),
    "rt-tcp": (1, {"interval_ms": "50"}),
    "pi": (3, {"work_us": "200000"}),
    "rw": (3, {"blocks": "20"}),
    "mixed": (3, {"blocks": "20"}),
    "playback": (3, {"frames": "50", "decode_us": "5000"}),
    "schbench": (2, {"duration_s": "3"}),
    "cyclictest": (2, {"duration_s": "2"}),
    "slices": (2, {"duration_s": "3"}),
}
# What a run may well have none of.
MAY_BE_ZERO = {"dropped_frames", "frames_not_shown", "switches_involuntary"}
FILES = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(WORKLOADS.glob("*.toml"))}
EVERYWHERE = ("counter", "hackbench", "latt", "pipe")
PAIRS = [("default", name) for name, data in FILES.items() if "command" not in data]
PAIRS += [(scheduler, workload) for scheduler in SCHEDULERS for workload in EVERYWHERE]


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("shards")
    cells = []
    for scheduler, workload in PAIRS:
        load, params = SHORT.get(workload, (FILES[workload]["loads"][0], {}))
        cells.append(shards.cell(scheduler, workload, load, params))
    shards.write(folder / "all.json", cells)
    return run_script("records.sh", loader, {"/test/shards": folder}, [], limit_s=120 + 60 * len(cells))


@pytest.fixture(scope="module")
def found(said: Said) -> dict[tuple[str, str], dict[str, Any]]:
    lines = [json.loads(line) for line in said.lines if line.startswith('{"format"')]
    return {(line["cell"]["scheduler"], line["cell"]["workload"]): line for line in lines}


def test_every_cell_has_a_result_and_the_kernels_own_scheduler_is_back(said: Said):
    end = said.event("end")
    assert end == {"event": "end", "exit": 0, "state": "disabled", "files": len(PAIRS)}, "\n".join(said.lines)
    assert [line for line in said.lines if line.startswith("stderr: ")] == []


@pytest.mark.parametrize(("scheduler", "workload"), PAIRS)
def test_a_record_keeps_its_workloads_promises(
    said: Said, found: dict[tuple[str, str], dict[str, Any]], scheduler: str, workload: str
):
    assert (scheduler, workload) in found, "\n".join(said.lines)
    record = found[scheduler, workload]
    assert record["status"] == "ok", record["reason"]
    # The lab reads it as it reads the simulator's.
    records.parse(record, record["id"])
    for name in FILES[workload]["metrics"]["promises"]:
        values = record["histograms"].get(name)
        if values is None:
            assert record["metrics"][name] > (-1 if name in MAY_BE_ZERO else 0), name
        else:
            assert values["count"] > 0, name
            assert values["count"] == sum(count for _, count in values["buckets_ns"])
            assert values["min_ns"] <= values["sum_ns"] / values["count"] <= values["max_ns"]
    assert all(math.isfinite(value) and value >= 0 for value in record["metrics"].values())
    assert 0 < record["metrics"]["elapsed_s"] <= record["cost"]["wall_s"]
    # Two CPUs: no more than 200 %, give or take the accounting of a tick.
    assert record["metrics"]["cpu_usage_pct"] <= 210


@pytest.mark.parametrize(("scheduler", "workload"), PAIRS)
def test_a_record_says_what_it_ran_on(found: dict[tuple[str, str], dict[str, Any]], scheduler: str, workload: str):
    origin = found[scheduler, workload]["provenance"]
    ops = origin.get("ops", "")
    assert ops == "" if scheduler == "default" else ops.startswith(f"{scheduler}_")
    assert (origin["place"], origin["tier"], origin["cpus"]) == ("vm-emulated", "emulated", 2)
    assert origin["hz"] in (100, 250, 300, 1000)
    assert origin["kernel"][0].isdigit()
    assert origin["preempt"] in ("lazy", "full", "voluntary", "none")


def test_a_latt_client_answers_each_wakeup(found: dict[tuple[str, str], dict[str, Any]]):
    for scheduler in ("default", *SCHEDULERS):
        histograms = found[scheduler, "latt"]["histograms"]
        woken, answered = histograms["wakeup_latency_us"]["count"], histograms["turnaround_us"]["count"]
        # The end may come between the two.
        assert woken - 3 <= answered <= woken
        assert woken >= 6
