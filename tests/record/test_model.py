# SPDX-License-Identifier: GPL-2.0-only
"""Models do what their real tasks were measured to do.

Only kinds of task that compute: in the guests of the profiles a nanosecond is an instruction, so that a system call or
a switch, which the simulator charges in the nanoseconds of a real CPU, has another length there.
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


@pytest.mark.parametrize("workload", COMPUTING)
def test_a_model_runs_as_long_and_blocks_as_often_as_its_profile(workload: str) -> None:
    profile = tomllib.loads((ROOT / "profiles" / f"{workload}.toml").read_text())
    simulated = model.simulated(ROOT / "workloads" / f"{workload}.toml", profile["made"])
    for name, blocks in COMPUTING[workload].items():
        real, ours = model.of_profile(profile["task"][name]), model.of_model(simulated[name])
        assert ours.cpu_us == pytest.approx(real.cpu_us, rel=CPU_PCT / 100)
        if blocks:
            assert ours.blocks_per_s == pytest.approx(real.blocks_per_s, rel=BLOCKS_PCT / 100)


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
