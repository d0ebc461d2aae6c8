# SPDX-License-Identifier: GPL-2.0-or-later
"""The models of the applications run in the simulator at two loads, under its checkers, and keep their promises."""

import json
import subprocess
from pathlib import Path

import pytest

from schedlab import checkout
from schedlab.catalogue import machines, workloads
from tests.applications.conftest import APPLICATIONS, FILES


@pytest.fixture(scope="module")
def simulator() -> Path:
    return checkout.need_binary("schedlab-sim")


@pytest.mark.parametrize("scheduler", ["bfs", "cfs"])
@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_model_keeps_its_promises_at_two_loads(simulator: Path, name: str, scheduler: str):
    promises = FILES[name]["metrics"]["promises"]
    loads = workloads.find(name).loads_on(machines.find("desktop-4").cpus)
    few, many = loads[0], loads[-1]
    elapsed_s = []
    for load in (few, many):
        command = [str(simulator), "cell", "--json", "--scheduler", scheduler, "--workload", name, "--load", str(load)]
        command += ["--machine", "desktop-4"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=checkout.root())
        assert done.returncode == 0, done.stderr
        record = json.loads(done.stdout)
        assert record["status"] == "ok", record["reason"]
        for promise in promises:
            assert promise in record["metrics"] or record["histograms"][promise]["count"] > 0, promise
        elapsed_s.append(record["metrics"]["elapsed_s"])
    # More jobs or threads finish the same work sooner; the other two run for a fixed time.
    if name not in ("mplayer", "oltp"):
        assert elapsed_s[1] < 0.8 * elapsed_s[0]
