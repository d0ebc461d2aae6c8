# SPDX-License-Identifier: GPL-2.0-or-later
"""The loader on a real kernel: it says what runs, leaves nothing behind, and trusts only the kernel's word."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.vm_policies import shards
from tests.vm_policies.conftest import Said, run_script

# Six counters on two CPUs, first in, first out: some always wait, a second at a time.
HOGS = shards.cell("fifo", "counter", 6, {"work_us": "3000000"})
FIRST = shards.cell("default", "pipe", 1, {"trips": "100"})
SECOND = shards.cell("vtime", "latt", 2, {"duration_s": "20"})


@pytest.fixture(scope="module")
def counters(loader: Path) -> dict[str, list[str]]:
    """The names of each scheduler's counters, of those that have any."""
    done = subprocess.run([loader, "list", "--json"], capture_output=True, check=True)
    known = {scheduler["name"]: [stat["name"] for stat in scheduler["stats"]] for scheduler in json.loads(done.stdout)}
    return {name: stats for name, stats in known.items() if stats}


@pytest.fixture(scope="module")
def said(
    can_boot: None, loader: Path, counters: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Said:
    folder = tmp_path_factory.mktemp("shards")
    shards.write(folder / "hogs.json", [HOGS])
    shards.write(folder / "long.json", [SECOND])
    shards.write(folder / "two.json", [FIRST, SECOND])
    shards.write(folder / "bad.json", [FIRST, shards.cell("vtime", "pipe", 1, tunables={"slyce_us": "3"})])
    return run_script("loader.sh", loader, {"/test/shards": folder}, sorted(counters))


def record(said: Said, of: dict[str, Any], status: str) -> dict[str, Any]:
    found = [json.loads(line) for line in said.lines if line.startswith('{"format"')]
    (fitting,) = [r for r in found if r["id"] == of["id"] and r["status"] == status]
    return fitting


def test_the_script_ran_without_complaints(said: Said):
    assert said.exit_code == 0
    assert [line for line in said.lines if line.startswith("stderr: ")] == []


def test_a_scheduler_by_its_own_name(said: Said):
    loaded = said.event("loaded")
    assert loaded["ops"].startswith("vtime_0.")
    assert loaded["switch_all"] == 1
    assert f"ops: {loaded['ops']}" in loaded["status"]
    ended = said.event("terminated")
    assert ended["exit"] == 0
    assert ended["state"] == "disabled"
    assert f"{loaded['ops']} schedules" in ended["said"]
    assert "command line: scx_vtime --stats 0.5" in ended["said"]
    assert "this scheduler counts nothing" in ended["said"]
    assert "EXIT: unregistered from user space" in ended["said"]


def test_refuses_beside_another_scheduler_and_names_it(said: Said):
    for event in (said.event("second"), said.event("busy")):
        assert event["exit"] == 3
        assert f"{said.event('loaded')['ops']} is running" in event["said"]
    assert said.event("second")["ops"] == said.event("loaded")["ops"], "it must go on running"


def test_counters_are_shown_by_the_loader_and_to_others(said: Said, counters: dict[str, list[str]]):
    for name, stats in counters.items():
        event = said.event("counted", scheduler=name)
        assert event["exec"] == name, "exec runs under whatever runs, and says so"
        for told in (event["stats"], event["monitor"]):
            # "kicks 12  preemptions 3", a line an interval; busy seconds leave something in at least one.
            lines = [line for line in told.split("|") if line.startswith(f"{stats[0]} ")]
            assert lines, told
            words = [line.split() for line in lines]
            assert all(line[::2] == stats for line in words), told
            assert sum(int(count) for line in words for count in line[1::2]) > 0, told


def test_taken_away_by_the_kernel(said: Said):
    event = said.event("sysrq")
    assert event["exit"] == 0
    assert "EXIT: disabled by sysrq-S" in event["said"]


def test_loaded_again_when_a_cpu_goes_or_comes(said: Said):
    event, end = said.event("hotplug"), said.event("hotplug-end")
    assert event["state"] == "enabled", end["said"]
    assert event["again"] == 2, end["said"]
    assert (end["exit"], end["state"]) == (0, "disabled"), end["said"]


def test_an_ejection_is_a_result(said: Said):
    event = said.event("ejected")
    assert event["exit"] == 0
    assert event["state"] == "disabled"
    ejected = record(said, HOGS, "ejected")
    assert "stall" in ejected["reason"]
    assert ejected["provenance"]["ops"].startswith("fifo_")


def test_a_scheduler_taken_away_makes_the_run_void(said: Said):
    event = said.event("void")
    assert event["exit"] == 1
    assert "sysrq" in record(said, SECOND, "void")["reason"]


def test_ctrl_c_leaves_finished_records_and_nothing_else(said: Said):
    event = said.event("interrupted")
    assert event["exit"] == 130
    assert event["state"] == "disabled"
    assert event["records"] == 1
    assert event["left"] == 0
    assert (event["autogroup_during"], event["autogroup"]) == (0, 1)
    assert event["said"].strip("|") == "schedlab-host: interrupted"
    resumed = said.event("resumed")
    assert resumed["exit"] == 0
    # The quotes are gone on the way here.
    assert resumed["said"] == f"{{done:{FIRST['id']},status:skipped}}|{{done:{SECOND['id']},status:ok}}|"
    assert resumed["state"] == "disabled"


def test_a_clock_that_is_set_meanwhile_is_no_part_of_what_is_measured(said: Said):
    resumed = said.event("resumed")
    assert resumed["set_clock"] == 1
    # It latts for 20 s.
    assert 19.5 < resumed["elapsed_s"] < 30


def test_bad_input_is_refused_before_anything_runs(said: Said):
    event = said.event("bad")
    assert event["exit"] == 2
    assert event["said"].count("|") == 1, "one line"
    assert "/test/shards/bad.json: cells[1]" in event["said"]
    assert "slyce_us" in event["said"]
    assert event["records"] == 0


def test_without_root_it_says_so(said: Said):
    event = said.event("nobody")
    assert event["exit"] == 3
    assert "loading a scheduler needs root: sudo scx_vtime" in event["said"]
