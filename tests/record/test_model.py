# SPDX-License-Identifier: GPL-2.0-or-later
"""Models do what their real tasks were measured to do.

Of tasks that are described, in the guests of whose profiles a nanosecond is an instruction, only those that compute: a
system call or a switch, which the simulator charges in the nanoseconds of a real CPU, has another length there. Of
applications every kind with two hundredths of the CPU time or more.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from schedlab.capture import model
from schedlab.catalogue import workloads

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "profiles"
CPU_PCT = 5
BLOCKS_PCT = 15
# Whether they also block as often: the guest's disk was its memory, where `mixed` never waits.
COMPUTING = {
    "counter": {"child": True},
    "latt": {"client": True},
    "mixed": {"child": False},
    "pi": {"child": True},
    "playback": {"player": True, "client": True, "audio": True},
}


# Applications: with what of their work is simulated here. The real oltp runs five times as long as its model.
APPLICATIONS = {
    "compile-e2fsprogs": {},
    "compile-vlc": {},
    "kbuild": {},
    "transcode": {"scale_pct": "10"},
    "lrzip": {"scale_pct": "5"},
    "mplayer": {},
    "oltp": {"scale_pct": "5", "duration_ms": "500"},
}


@pytest.mark.parametrize("workload", COMPUTING)
def test_a_model_runs_as_long_and_blocks_as_often_as_its_profile(workload: str) -> None:
    sides = {name: (real, ours) for name, real, ours in compared(workload)}
    for name, blocks in COMPUTING[workload].items():
        real, ours = sides[name]
        assert real
        assert ours
        assert ours.cpu_ms == pytest.approx(real.cpu_ms, rel=CPU_PCT / 100)
        if blocks:
            assert ours.blocks_per_s == pytest.approx(real.blocks_per_s, rel=BLOCKS_PCT / 100)


# They wait for files, too, which the models have in memory (io_schedule, in the stacks of their context switches).
WAIT_FOR_FILES = {"compile-e2fsprogs": ["cc1"], "mplayer": ["mplayer"]}


@pytest.mark.parametrize("workload", APPLICATIONS)
def test_the_model_of_an_application_uses_the_cpu_and_blocks_as_it_does(workload: str) -> None:
    rows = compared(workload, APPLICATIONS[workload])
    assert model.out_of_bounds(rows, workloads.find(workload).leaves_out) == []
    assert model.blocks_out_of_bounds(rows, WAIT_FOR_FILES.get(workload, [])) == []


def test_who_blocks_too_seldom_or_too_often_is_named() -> None:
    rows: list[model.Row] = [
        ("near", model.Side(1e3, 500), model.Side(2e3, 151)),
        ("seldom", model.Side(1e3, 300), model.Side(1e3, 179)),
        ("often", model.Side(1e3, 100), model.Side(1e3, 141)),
        ("few", model.Side(1e3, 49), None),
        ("never", model.Side(1e3, 60), None),
        ("files", model.Side(1e3, 60), model.Side(1e3, 0)),
    ]
    assert model.blocks_out_of_bounds(rows, ["files"]) == ["seldom (-40 %)", "often (+41 %)", "never (-100 %)"]


def test_what_is_out_of_bounds_is_named() -> None:
    def side(cpu_ms: float) -> model.Side:
        return model.Side(cpu_ms, 0)

    rows: list[model.Row] = [
        ("near", side(500), side(500 * 1.159)),
        ("slow", side(300), side(300 * 1.161)),
        ("fast", side(100), side(83)),
        ("small", side(19), side(190)),
        ("smaller", side(10), None),
        ("missing", side(51), None),
        ("out", side(20), None),
        ("new", None, side(20)),
        ("newer", None, side(19)),
    ]
    assert model.out_of_bounds(rows, ["out"]) == [
        "slow (+16 %)",
        "fast (-17 %)",
        "small (+900 %)",
        "missing (not in the model)",
        "new (not measured)",
    ]


def compared(workload: str, params: dict[str, str] | None = None) -> list[model.Row]:
    profile = tomllib.loads((PROFILES / f"{workload}.toml").read_text())
    return model.sides(workloads.find(workload).path, profile, params or {})


def calibrate(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "schedlab", "calibrate", "latt", *map(str, options)]
    return subprocess.run(command, cwd=ROOT / "lab", capture_output=True, text=True, check=False)


def test_the_command_lays_them_side_by_side() -> None:
    done = calibrate("--model")
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(
        r"^client +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE
    )
    assert found
    real, ours, ratio, *_ = map(float, found.groups())
    assert ratio == pytest.approx(ours / real, abs=0.01)


def test_the_command_fails_where_the_model_is_further_than_that(tmp_path: Path) -> None:
    other = tmp_path / "latt.toml"
    text, count = re.subn(r"(\.cpu\][^\[]*?mean_us = )", r"\g<1>1", (PROFILES / "latt.toml").read_text())
    assert count
    other.write_text(text)
    done = calibrate("--model", "-o", other)
    line = (
        rf"schedlab: latt: the model's CPU time is off by more than {model.CPU_PCT} % of {other}: client \(-\d+ %\).*\n"
    )
    assert re.fullmatch(line, done.stderr), done.stderr
    assert (done.returncode, "client" in done.stdout) == (1, True)
    # As --help says; the profile has its load.
    words = " ".join(calibrate("--help").stdout.split())
    assert f"{model.LARGE_PCT} % of the CPU time or more is off by more than {model.CPU_PCT} %" in words
    assert calibrate("--model", "--load", "3").returncode == 2


def test_parameters_are_the_model_s() -> None:
    done = calibrate("--model", "-p", "duration_s=2")
    assert done.returncode == 1
    assert "client (-" in done.stderr
