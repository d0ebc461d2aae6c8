# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of a workload do not map the policy's memory, which would make each of their forks and exits slower."""

from pathlib import Path

import pytest

from tests.vm_policies.conftest import HERE, run_script

# The one with the largest data, and a small one.
SCHEDULERS = ["eevdf", "vtime"]


@pytest.mark.usefixtures("can_boot")
def test_no_task_maps_the_policys_memory(loader: Path) -> None:
    said = run_script("children.sh", loader, {"/test/sleeps.toml": HERE / "sleeps.toml"}, SCHEDULERS)
    for name in SCHEDULERS:
        event = said.event("children", scheduler=name)
        assert event["exit"] == 0
        assert event["runner"] > 0
        assert event["task"] == 0
