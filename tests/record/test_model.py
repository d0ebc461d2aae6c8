# SPDX-License-Identifier: GPL-2.0-only
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

from schedlab.record import model

ROOT = Path(__file__).resolve().parents[2]
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


# Applications: the part of their work that is simulated here, in %. How often they block depends on who preempts whom,
# and is not compared: make that is preempted by its child does not wait for it.
APPLICATIONS = {"compile-e2fsprogs": 100, "kbuild": 100, "transcode": 10, "lrzip": 5, "mplayer": 100}
APPLICATION_PCT = 16
LARGE = 0.02
# The rest of the input, which the model leaves out and says so.
LEFT_OUT = {"lrzip+19/6"}


@pytest.mark.parametrize("workload", COMPUTING)
def test_a_model_runs_as_long_and_blocks_as_often_as_its_profile(workload: str) -> None:
    sides = {name: (real, ours) for name, real, ours in compared(workload, 100)}
    for name, blocks in COMPUTING[workload].items():
        real, ours = sides[name]
        assert real
        assert ours
        assert ours.cpu_ms == pytest.approx(real.cpu_ms, rel=CPU_PCT / 100)
        if blocks:
            assert ours.blocks_per_s == pytest.approx(real.blocks_per_s, rel=BLOCKS_PCT / 100)


@pytest.mark.parametrize("workload", APPLICATIONS)
def test_the_model_of_an_application_uses_the_cpu_as_it_does(workload: str) -> None:
    part = APPLICATIONS[workload] / 100
    sides = compared(workload, APPLICATIONS[workload])
    whole_ms = sum(real.cpu_ms for _, real, _ in sides if real)
    for name, real, ours in sides:
        if real and real.cpu_ms >= LARGE * whole_ms and name not in LEFT_OUT:
            assert ours, name
            assert ours.cpu_ms == pytest.approx(real.cpu_ms * part, rel=APPLICATION_PCT / 100), name


def compared(workload: str, scale_pct: int) -> list[tuple[str, model.Side | None, model.Side | None]]:
    profile = tomllib.loads((ROOT / "profiles" / f"{workload}.toml").read_text())
    return model.sides(ROOT / "workloads" / f"{workload}.toml", profile, scale_pct)


def test_the_command_lays_them_side_by_side() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", "calibrate", "latt", "--model"],
        cwd=ROOT / "lab",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(
        r"^client +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE
    )
    assert found
    real, ours, ratio, *_ = map(float, found.groups())
    assert ratio == pytest.approx(ours / real, abs=0.01)
