# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that loads its scheduler itself is one on a real kernel: it is started, watched by the kernel's word, and
stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.programs import carried
from tests.vm_policies import shards
from tests.vm_policies.conftest import Said, need_program, run_script


def cell(options: str, workload: str = "pipe", load: int = 1, **params: str) -> dict[str, Any]:
    return shards.cell("carried", workload, load, params, {"options": options} if options else {})


GOOD = cell("", trips="100")
WITH_OPTIONS = cell("--slice-us '2000'", trips="100")
AFTERWARDS = shards.cell("default", "pipe", 1, {"trips": "100"})
FAILS = cell("--fail", trips="100")
UNKNOWN = cell("--rules 1", trips="100")
# Six counters on two CPUs, first in, first out, a second at a time, and a kernel that gives up soon.
STALLS = cell("--slice-us 3000000 --timeout-ms 500", "counter", 6, work_us="3000000")
LONG = cell("", "latt", 2, duration_s="20")


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    need_program("cargo")
    folder = tmp_path_factory.mktemp("shards")
    program = carried.build(tmp_path_factory.mktemp("program"))
    cells = {
        "good": [GOOD, WITH_OPTIONS, AFTERWARDS],
        "bad": [FAILS, UNKNOWN, AFTERWARDS],
        "ejected": [STALLS],
        "killed": [LONG],
        "interrupted": [LONG],
    }
    for name, of in cells.items():
        shards.write(folder / f"{name}.json", of, schedulers={"carried": "/programs/scx_carried"})
    return run_script("programs.sh", loader, {"/test/shards": folder, "/programs/scx_carried": program}, [])


def record(said: Said, of: dict[str, Any], status: str) -> dict[str, Any]:
    found = [json.loads(line) for line in said.lines if line.startswith('{"format"')]
    fitting = [r for r in found if r["id"] == of["id"] and r["status"] == status]
    assert fitting, "\n".join(said.lines)
    return fitting[0]


def test_the_script_ran_without_complaints(said: Said):
    assert said.exit_code == 0, "\n".join(said.lines)
    assert [line for line in said.lines if line.startswith("stderr: ")] == []


@pytest.mark.parametrize("event", ["good", "bad", "ejected", "killed", "interrupted"])
def test_neither_scheduler_nor_process_is_left(said: Said, event: str):
    ended = said.event(event)
    assert (ended["state"], ended["left"]) == ("disabled", 0), ended


def test_cells_run_under_what_the_program_loads(said: Said):
    assert said.event("good")["exit"] == 0, said.event("good")
    for of in (GOOD, WITH_OPTIONS):
        assert record(said, of, "ok")["provenance"]["ops"] == "carried"
    assert record(said, AFTERWARDS, "ok")["provenance"].get("ops", "") == ""


def test_a_program_that_ends_early_is_a_failed_cell_with_its_last_words(said: Said):
    assert said.event("bad")["exit"] == 1
    reason = record(said, FAILS, "failed")["reason"]
    early = "scx_carried ended before its scheduler was enabled: exit status: 1: Error: "
    assert reason.startswith(f"{early}this program was told to fail; again with: schedlab-host exec "), reason
    assert "--scheduler /programs/scx_carried:options=--fail " in reason
    assert record(said, UNKNOWN, "failed")["reason"].startswith(f"{early}unexpected argument '--rules';")


def test_an_ejection_is_a_result(said: Said):
    assert said.event("ejected")["exit"] == 0
    ejected = record(said, STALLS, "ejected")
    assert "stall (" in ejected["reason"], ejected["reason"]
    assert ejected["provenance"]["ops"] == "carried"


def test_a_program_that_is_killed_makes_the_run_void(said: Said):
    assert said.event("killed")["exit"] == 1
    assert record(said, LONG, "void")["reason"].startswith("scx_carried ended: signal: 9 (SIGKILL)")


def test_ctrl_c_stops_the_program_too(said: Said):
    assert said.event("interrupted")["exit"] == 130
    assert said.event("interrupted")["said"].strip("|") == "schedlab-host: interrupted"
