# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab run: a campaign file says what the command line of compare says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.campaign import campaign_file
from schedlab.campaign.matrix import campaign
from schedlab.campaign.request import request
from schedlab.errors import InputError

WHOLE = """\
schedulers = ["bfs", "bfs:rules=424", "cfs"]
workloads = ["latt", "pipe"]
loads = [2]
machines = ["desktop-4", "server-2x8-smt"]
on = "sim"
repetitions = 3
seed_base = 5
built_in = true
[params]
"latt.duration_s" = 3
"""


def test_a_file_and_the_command_line_make_the_same_cells(lab: Callable, checkout: Path) -> None:
    (checkout / "campaign.toml").write_text(WHOLE)
    assert lab("run", "campaign.toml", "-o", "one", "--no-report").returncode == 0
    words = (
        "bfs,bfs:rules=424,cfs -w latt,pipe --load 2 -m desktop-4,server-2x8-smt -n 3 --seed-base 5 -p duration_s=3 "
        "--built-in"
    )
    assert lab("compare", *words.split(), "-o", "two", "--no-report").returncode == 0
    cells = [json.loads((checkout / name / "manifest.json").read_text())["cells"] for name in ("one", "two")]
    assert cells[0] == cells[1]
    assert len(cells[0]) == 3 * 2 * 1 * 2 * 3
    assert all(cell["cell"]["built_in"] is True for cell in cells[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schedulers = [", "campaign.toml: not valid TOML: "),
        ("", "campaign.toml: key 'schedulers': expected a list of schedulers\n"),
        ('schedulers = "bfs"', "campaign.toml: key 'schedulers': expected a list of strings\n"),
        (
            'schedulers = ["bfs"]\nworkload = ["latt"]',
            "campaign.toml: unknown key 'workload'; did you mean workloads",
        ),
        ('schedulers = ["bfs"]\nloads = [1.5]', "campaign.toml: key 'loads': expected a list of integers\n"),
        (
            'schedulers = ["bfs"]\non = "mars"',
            "campaign.toml: key 'on': expected one of sim, vm, host, ssh:FILE, dask[:ADDRESS], slurm, got 'mars'\n",
        ),
        ('schedulers = ["bfs"]\nrepetitions = "3"', "campaign.toml: key 'repetitions': expected an integer, got '3'\n"),
        ('schedulers = ["bfs"]\n[params]\nlatt.x = 3', "campaign.toml: key 'params.latt': expected a string or a"),
        ('schedulers = ["bfs"]\nbuilt_in = 1', "campaign.toml: key 'built_in': expected true or false, got 1\n"),
        ('schedulers = ["bsf"]', "unknown scheduler 'bsf'; did you mean bfs?"),
    ],
)
def test_a_broken_file_is_one_line(lab: Callable, checkout: Path, text: str, message: str) -> None:
    (checkout / "campaign.toml").write_text(text)
    result = lab("run", "campaign.toml")
    assert result.returncode == 2
    assert result.stderr.startswith(f"schedlab: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("place", ["dask", "dask:10.0.0.1:8786", "slurm"])
def test_a_cluster_runs_the_simulator_s_cells(checkout: Path, place: str) -> None:
    (checkout / "campaign.toml").write_text(f'schedulers = ["bfs"]\nworkloads = ["latt"]\non = "{place}"\n')
    asked = request(**campaign_file.read(checkout / "campaign.toml"))
    assert (asked.place, asked.record_place) == (place.partition(":")[0], "sim")
    assert asked.address == place.partition(":")[2]
    engine = checkout / "bin" / "schedlab-sim"
    here = request("bfs", workload_names="latt")
    assert [cell.id for cell in campaign(asked, engine).cells] == [cell.id for cell in campaign(here, engine).cells]


def test_a_fleet_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text('schedulers = ["default"]\non = "ssh:hosts.toml"\n')
    assert campaign_file.read(tmp_path / "campaign.toml")["place"] == "ssh:hosts.toml"
    (tmp_path / "campaign.toml").write_text('schedulers = ["default"]\non = "ssh"\n')
    with pytest.raises(InputError, match=r"key 'on': expected one of sim, vm, host, ssh:FILE, .*, got 'ssh'"):
        campaign_file.read(tmp_path / "campaign.toml")
