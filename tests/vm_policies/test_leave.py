# SPDX-License-Identifier: GPL-2.0-or-later
"""A CPU goes offline while tasks wait for it that may run nowhere else.

What the model says of an inactive CPU (docs/simulator.md) is held here against the kernel: it asks the policy for tasks
until it has told it, and not afterwards.
"""

from pathlib import Path

import pytest

from tests.vm_policies.conftest import SCHEDULERS, Said, run_script

# Without callbacks for CPUs it is loaded anew at each of them: the kernel takes all tasks from it.
RESTARTS = "vtime"


@pytest.fixture(scope="module")
def left(can_boot: None, loader: Path) -> Said:
    return run_script("leave.sh", loader, {}, SCHEDULERS, limit_s=60 * len(SCHEDULERS))


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_cpu_goes_and_its_tasks_run_elsewhere(left: Said, name: str) -> None:
    result = left.event("left", scheduler=name)
    assert result["online"] == 0, result
    assert result["elsewhere"] == 3, result
    assert "stall" not in result["log"], result


def test_an_inactive_cpu_asks_until_the_policy_is_told(left: Said) -> None:
    taken = {name: left.event("left", scheduler=name)["taken"] for name in SCHEDULERS if name != RESTARTS}
    assert sum(counts["inactive"] for counts in taken.values()) > 0, taken
    assert sum(counts["told"] for counts in taken.values()) == 0, taken
