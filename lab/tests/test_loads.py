# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads that count in a machine's CPUs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import request
from schedlab.catalogue import workloads
from schedlab.collect import manifest
from schedlab.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
COUNTER = ROOT / "workloads" / "counter.toml"


@pytest.mark.parametrize(
    ("given", "cpus", "there"),
    [
        ([1, "cpus / 2", "cpus", "32 * cpus"], 16, [1, 8, 16, 512]),
        ([1, "cpus / 2", "cpus", "32 * cpus"], 2, [1, 2, 64]),
        ([1, "cpus / 2", "cpus", "32 * cpus"], 1, [1, 32]),
        (["3 * (cpus + 1) % 4 - -1", "1_000"], 2, [2, 1000]),
        # Rounds down, also below 0, and is at least 1.
        (["cpus - 100", " (1 - cpus) / 2 + 3 "], 4, [1]),
    ],
)
def test_levels_are_those_of_the_cpus(given: list[int | str], cpus: int, there: list[int]) -> None:
    assert workloads.loads_on(COUNTER, tuple(given), cpus) == there


@pytest.mark.parametrize(
    "text",
    ["", "cpu", "cpus_2", "2 cpus", "cpus ** 2", "cpus // 2", "cpus +", "0x10", "cpus(1)", "1.5", "(" * 5000],
)
def test_what_is_no_expression_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"counter\.toml: (expected|unknown name) ") as error:
        workloads.loads_on(COUNTER, (1, text), 4)
    assert "\n" not in str(error.value)


def test_a_division_by_nothing_is_said_of_the_machine() -> None:
    assert workloads.loads_on(COUNTER, ("8 / (cpus - 1)",), 4) == [2]
    with pytest.raises(InputError, match=r"counter\.toml: .*divisor"):
        workloads.loads_on(COUNTER, ("8 / (cpus - 1)",), 1)


@pytest.fixture
def counting(checkout: Path) -> Path:
    path = checkout / "workloads" / "latt.toml"
    path.write_text(path.read_text().replace("[1, 4]", '[1, "cpus / 2", "cpus"]'))
    return checkout


def test_machines_of_one_comparison_have_loads_of_their_own(counting: Path) -> None:
    asked = request("bfs", workload_names="latt", machine_names="desktop-4,server-2x8-smt", repetitions=1)
    planned = campaign(asked, counting / "bin" / "schedlab-sim")
    there = [[cell.data["load"] for cell in block.cells] for block in planned.blocks]
    assert there == [[1, 2, 4], [1, 16, 32]]
    # What was asked is in the manifest as the file has it.
    assert manifest.describe(planned, "").data["workloads"][0]["loads"] == [1, "cpus / 2", "cpus"]


def test_a_guest_counts_its_own_cpus(counting: Path) -> None:
    asked = request("bfs", workload_names="latt", machine_names="3", place="vm", repetitions=1)
    planned = campaign(asked, counting / "bin" / "schedlab-host")
    assert {cell.data["load"] for cell in planned.cells} == {1, 3}


def test_the_host_counts_those_that_are_online(counting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    asked = request("bfs", workload_names="latt", place="host", repetitions=1)
    planned = campaign(asked, counting / "bin" / "schedlab-host")
    assert {cell.data["load"] for cell in planned.cells} == {1, 3, 6}


def test_loads_of_the_command_line_are_those_of_every_machine(counting: Path) -> None:
    asked = request("bfs", workload_names="latt", load="2,9", machine_names="desktop-4,server-2x8-smt", repetitions=1)
    planned = campaign(asked, counting / "bin" / "schedlab-sim")
    assert [[cell.data["load"] for cell in block.cells] for block in planned.blocks] == [[2, 9], [2, 9]]


def test_a_comparison_runs_them_and_a_listing_shows_them(lab: Callable, counting: Path) -> None:
    done = lab("compare", "bfs,cfs", "-w", "latt", "-m", "desktop-4,server-2x8-smt", "-n", "2", "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    found = {(row["machine"], row["load"]) for row in json.loads(done.stdout)["results"]}
    assert found == {("desktop-4", n) for n in (1, 2, 4)} | {("server-2x8-smt", n) for n in (1, 16, 32)}
    assert (counting / "out" / "report.html").is_file()
    assert "(clients = 1, cpus / 2, cpus)" in lab("list", "workloads").stdout
    assert json.loads(lab("list", "workloads", "--json").stdout)[0]["loads"] == [1, "cpus / 2", "cpus"]
