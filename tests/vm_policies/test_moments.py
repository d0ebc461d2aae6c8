# SPDX-License-Identifier: GPL-2.0-or-later
"""What a policy's clock says in its callbacks, in an exact guest and in the simulator: when within a wake-up, a message
and a switch the kernel does its work. A policy tells the mean of each stretch; messages of three kinds go round.
"""

import json
import re
from pathlib import Path

import pytest

from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[2]
POLICY = Path(__file__).with_name("moments")
RING = ROOT / "machines/probes/ring.toml"
STRETCHES = ["stopping to dispatch", "dispatch to running", "running to runnable", "runnable to stopping"]
TOLERANCE_PCT = 10
# A ring gives TCP nothing to send back, so that every message is acknowledged apart, which the model does not know:
# only what follows the wake-up is as elsewhere.
UNLIKE = {("tcp", "running to runnable")}
PLACES = [["--on", "vm", "--tier", "exact", "-m", "1"], ["-m", "guest-exact-1", "--exact-costs"]]


def _stretches_ns(place: list[str], workload: Path, output: Path) -> list[int]:
    words = ["compare", f"default,{POLICY}", "-w", str(workload), "--load", "3", "-n", "1", *place, "-o", str(output)]
    done = schedlab(*words)
    records = [json.loads(file.read_text()) for file in (output / "cells").glob("*.json")]
    reasons = [record["reason"] for record in records if record["cell"]["scheduler"].endswith("moments")]
    assert len(reasons) == 1, done.stderr
    told = re.search(r"moments (\d+) (\d+) (\d+) (\d+)", reasons[0])
    assert told, reasons[0]
    return [int(number) for number in told.groups()]


@pytest.mark.usefixtures("can_boot", "loader")
@pytest.mark.parametrize("kind", ["pipe", "socket", "tcp"])
def test_clocks_in_callbacks(kind: str, tmp_path: Path) -> None:
    workload = tmp_path / f"{kind}.toml"
    text = RING.read_text().replace('name = "ring"', f'name = "{kind}"').replace('kind = "pipe"', f'kind = "{kind}"')
    workload.write_text(text)
    kernel, simulator = (
        _stretches_ns(place, workload, tmp_path / name) for place, name in zip(PLACES, ("kernel", "sim"), strict=True)
    )
    off = {
        stretch: f"{here} ns in the simulator, {there} in the kernel"
        for stretch, here, there in zip(STRETCHES, simulator, kernel, strict=True)
        if (kind, stretch) not in UNLIKE and abs(here - there) > there * TOLERANCE_PCT / 100
    }
    assert not off
