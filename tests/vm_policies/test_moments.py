# SPDX-License-Identifier: GPL-2.0-or-later
"""What a policy's clock says in its callbacks, in an exact guest and in the simulator: when within a wake-up, a message
and a switch the kernel does its work. A policy tells the mean of each stretch; messages of three kinds go round.
"""

import json
import re
import shutil
from pathlib import Path
from statistics import mean

import pytest

from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[2]
POLICY = Path(__file__).with_name("moments")
IDLE_POLICY = Path(__file__).with_name("idle_moments")
RING = ROOT / "machines/probes/ring.toml"
SLEEPS = ROOT / "machines/probes/sleeps.toml"
STRETCHES = ["stopping to dispatch", "dispatch to running", "running to runnable", "runnable to stopping"]
TOLERANCE_PCT = 10
LENGTHS = [1, 12, 23, 34]
# A ring gives TCP nothing to send back, so that every message is acknowledged apart, which the model does not know:
# only what follows the wake-up is as elsewhere.
UNLIKE = {("tcp", "running to runnable")}
PLACES = [["--on", "vm", "--tier", "exact", "-m", "1"], ["-m", "guest-exact-1", "--exact-costs"]]


def _told_ns(place: list[str], policy: Path, workload: Path, load: int, output: Path) -> list[float]:
    """The numbers in the error that a policy ends with: the mean over copies of it that differ in their names.

    A name is a part of the object, and with the kernel's memory laid out otherwise a message takes up to a tenth more.
    """
    copies = [output.parent / "policies" / (policy.name + "x" * length) for length in LENGTHS]
    for copy in copies:
        copy.mkdir(parents=True, exist_ok=True)
        shutil.copy(policy / f"scx_{policy.name}.bpf.c", copy / f"scx_{copy.name}.bpf.c")
    schedulers = ",".join(["default", *map(str, copies)])
    words = ["compare", schedulers, "-w", str(workload), "--load", str(load), "-n", "1", *place]
    done = schedlab(*words, "-o", str(output))
    records = [json.loads(file.read_text()) for file in (output / "cells").glob("*.json")]
    reasons = [record["reason"] for record in records if policy.name in record["cell"]["scheduler"]]
    assert len(reasons) == len(copies), done.stderr
    told = [re.search(r"(?:moments|account)((?: \d+)+)", reason) for reason in reasons]
    assert all(told), reasons
    return [mean(map(int, column)) for column in zip(*(each[1].split() for each in told), strict=True)]


@pytest.mark.usefixtures("can_boot", "loader")
@pytest.mark.parametrize("kind", ["pipe", "socket", "tcp"])
def test_clocks_in_callbacks(kind: str, tmp_path: Path) -> None:
    workload = tmp_path / f"{kind}.toml"
    text = RING.read_text().replace('name = "ring"', f'name = "{kind}"').replace('kind = "pipe"', f'kind = "{kind}"')
    workload.write_text(text)
    kernel, simulator = (
        _told_ns(place, POLICY, workload, 3, tmp_path / name)
        for place, name in zip(PLACES, ("kernel", "sim"), strict=True)
    )
    off = {
        stretch: f"{here:.0f} ns in the simulator, {there:.0f} in the kernel"
        for stretch, here, there in zip(STRETCHES, simulator, kernel, strict=True)
        if (kind, stretch) not in UNLIKE and abs(here - there) > there * TOLERANCE_PCT / 100
    }
    assert not off


@pytest.mark.usefixtures("can_boot", "loader")
def test_an_account_begins_with_the_wake_up_of_an_idle_cpu(tmp_path: Path) -> None:
    """`rq_clock_skip_update()`: the switch that a wake-up asks for keeps the wake-up's clock."""
    (kernel,), (simulator,) = (
        _told_ns(place, IDLE_POLICY, SLEEPS, 1, tmp_path / name)
        for place, name in zip(PLACES, ("kernel", "sim"), strict=True)
    )
    assert abs(simulator - kernel) <= kernel * TOLERANCE_PCT / 100, f"{simulator:.0f} ns for {kernel:.0f} in the kernel"
