# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program sets up for its scheduler on a real kernel is what the simulator begins with."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout
from tests.programs import carried
from tests.vm_policies.conftest import Said, need_program, run_script

CPUS = 2
MAGIC = "6712000000000000"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_program("cargo")
    return carried.build(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, program: Path) -> Said:
    return run_script("snapshots.sh", loader, {"/programs/scx_carried": program}, [], cpus=CPUS)


@pytest.fixture(scope="module")
def taken(said: Said) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.lines if line.startswith('{"format"')]


def simulate(snapshot: dict[str, Any], folder: Path) -> dict[str, Any]:
    file = folder / "carried.bpf.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    words = ["cell", "--scheduler", file, "--workload", "pipe", "--machine", "netbook", "--json"]
    words += ["--param", "trips=100", "--execute", "paranoid"]
    done = subprocess.run([checkout.need_binary("schedlab-sim"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("event", "status"), [("plain", 0), ("goes_on", 0), ("fails", 1), ("beside", 3)])
def test_the_former_scheduler_is_back_and_no_process_is_left(said: Said, event: str, status: int):
    ended = said.event(event)
    assert ended["exit"] == status, ended
    assert ended["state"] == ("enabled" if event == "beside" else "disabled")
    assert ended["left"] == (1 if event == "beside" else 0)


def test_the_simulator_begins_with_what_the_program_set_up(said: Said, taken: list[dict[str, Any]], tmp_path: Path):
    plain = taken[0]
    # Its init refuses to begin without, and counts how often it has run.
    record = simulate(plain, tmp_path)
    assert (record["status"], record.get("reason", "")) == ("ok", "")
    assert plain["program"]["options"] == ["--slice-us", "2000"]
    assert plain["cpus"] == CPUS
    known = plain["set_up"]
    assert known["runs"] == [{"program": "add_primary_cpu", "context": "00000000"}]
    assert "left_out" in known["left_out"]
    assert "tick" in known["cleared"]
    assert "enqueue" not in known["cleared"]
    assert known["members"]["timeout_ms"] == "88130000"
    assert known["maps"]["per_cpu"]["entries"] == [{"key": "01000000", "values": [MAGIC] * CPUS}]
    assert known["maps"]["a_hash_with_a_long_name"]["entries"] == [{"key": "02000000", "values": [MAGIC]}]
    # The compiler's section of texts is data, though it has no types.
    assert known["data"][".rodata.str1.1"] == b"text\0".hex()
    assert not [name for name in known["maps"] if name.startswith(".")]
    assert plain["absent"] == []


def test_nothing_runs_in_the_simulator_without_it(program: Path):
    words = ["cell", "--scheduler", program, "--workload", "pipe", "--machine", "netbook", "--json"]
    done = subprocess.run([checkout.need_binary("schedlab-sim"), *words], capture_output=True, text=True, check=False)
    record = json.loads(done.stdout)
    assert (record["status"], record["reason"]) == ("ejected", "scx_bpf_error (constants were not set)")


def test_what_the_program_goes_on_to_do_is_named_as_absent(taken: list[dict[str, Any]], tmp_path: Path):
    goes_on = taken[1]
    assert goes_on["absent"] == ["it ran add_primary_cpu 1 times in the 2 s after the scheduler was attached"]
    assert len(goes_on["set_up"]["runs"]) == 1
    assert simulate(goes_on, tmp_path)["status"] == "ok"


def test_a_program_without_luck_is_quoted(said: Said):
    expected = "schedlab-host: scx_carried ended before its scheduler was enabled: exit status: 1: Error: this program"
    assert said.event("fails")["said"].startswith(expected), said.event("fails")
    assert "is running (/sys/kernel/sched_ext/state: enabled)" in said.event("beside")["said"]
