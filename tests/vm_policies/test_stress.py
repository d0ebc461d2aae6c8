# SPDX-License-Identifier: GPL-2.0-or-later
"""Every scheduler survives what users do to it: storms of forks and yields, affinities that change all the time, CPUs
that go and come.

One guest for each scheduler, so that one that hangs takes no other's results along; the failure names the guest's
console. SCHEDLAB_STRESS_S shortens the 45 s under hotplug of each scheduler, for trying something out.
"""

import os
from pathlib import Path

import pytest

from tests.vm_policies.conftest import SCHEDULERS, Said, need_program, run_script

STRESS_S = int(os.environ.get("SCHEDLAB_STRESS_S", "45"))
STORM_S = 5


@pytest.fixture(scope="module", params=SCHEDULERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def stressed(can_boot: None, loader: Path, name: str) -> Said:
    files = {"/bin/stress-ng": need_program("stress-ng")}
    arguments = [name, str(STORM_S), str(STRESS_S)]
    return run_script("stress.sh", loader, files, arguments, limit_s=180 + 2 * (STRESS_S + 2 * STORM_S))


@pytest.mark.parametrize("phase", ["forks", "yields", "hotplug"])
def test_stays_enabled_under(stressed: Said, name: str, phase: str):
    result = stressed.event(phase)
    assert result["stress_ng"] == 0, result["said"]
    # The log tells of every end of the scheduler: only hotplug may have ended it before we did.
    assert result["state"] == "enabled", result["log"]
    assert result["ops"].startswith(f"{name}_"), result
    assert result["rejected"] == 0
    assert "stall" not in result["log"], result["log"]
    if phase != "hotplug":
        assert result["log"].count("EXIT:") == 0, result["log"]


def test_cpu_1_went_and_came_many_times(stressed: Said):
    assert stressed.event("end")["offlined"] >= min(5, STRESS_S // 5)


def test_unloads_cleanly(stressed: Said):
    end = stressed.event("end")
    assert end["loader"] == 0, end["log"]
    assert end["left"] == "disabled"
    assert "stall" not in end["log"], end["log"]
    assert [line for line in stressed.lines if line.startswith("stderr: ")] == []
