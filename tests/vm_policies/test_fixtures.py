# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies that check for themselves what maps, kfuncs and helpers do, on a real kernel.

In the simulator crates/kernel/tests/it/executions.rs runs them.
"""

import subprocess
from pathlib import Path

import pytest

from schedlab import checkout
from tests.vm_policies.conftest import Said, run_script

POLICIES = Path(__file__).parents[2] / "crates" / "kernel" / "tests" / "policies"
FIXTURES = ["maps", "kinds"]


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("objects")
    sim = checkout.need_binary("schedlab-sim")
    for name in FIXTURES:
        made = [sim, "object", POLICIES / f"{name}.bpf.c", folder / f"{name}.bpf.o"]
        subprocess.run(made, check=True, capture_output=True)
    return run_script("fixtures.sh", loader, {"/test/objects": folder}, FIXTURES)


@pytest.mark.parametrize("name", FIXTURES)
def test_the_kernel_agrees(said: Said, name: str):
    event = said.event("fixture", fixture=name)
    assert "EXIT: unregistered from user space" in event["said"]
    assert (event["exit"], event["ran"], event["state"]) == (0, 0, "disabled"), event["said"]
