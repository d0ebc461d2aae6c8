# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies that check for themselves what maps, kfuncs and helpers do, on a real kernel.

In the simulator crates/kernel/tests/it/executions.rs runs them; coverage.rs beside it says that they leave nothing out.
"""

import subprocess
from pathlib import Path

import pytest

from schedlab import checkout
from tests.vm_policies.conftest import Said, run_script

POLICIES = Path(__file__).parents[2] / "crates" / "kernel" / "tests" / "policies" / "both"
FIXTURES = sorted(path.name.removesuffix(".bpf.c") for path in POLICIES.glob("*.bpf.c"))


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("objects")
    sim = checkout.need_binary("schedlab-sim")
    for name in FIXTURES:
        made = [sim, "object", POLICIES / f"{name}.bpf.c", folder / f"{name}.bpf.o"]
        subprocess.run(made, check=True, capture_output=True)
    files = {"/test/objects": folder, "/test/higher.toml": Path(__file__).parent / "higher.toml"}
    return run_script("fixtures.sh", loader, files, FIXTURES)


@pytest.mark.parametrize("name", FIXTURES)
def test_the_kernel_agrees(said: Said, name: str):
    event = said.event("fixture", fixture=name)
    assert "EXIT: unregistered from user space" in event["said"]
    assert (event["exit"], event["ran"], event["state"]) == (0, 0, "disabled"), event["said"]


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("released", "releases", 3),
        ("requeues", "reenqueues", 2),
        ("iterators", "reversals", 1),
        ("immediate", "late", 3),
    ],
)
def test_what_it_counts_happened(said: Said, name: str, first: str, count: int):
    shown = said.event("fixture", fixture=name)["said"].split("|")
    counted = [line.split() for line in shown if line.startswith(f"{first} ")]
    totals = [sum(int(line[2 * place + 1]) for line in counted) for place in range(count)]
    assert min(totals) > 0, shown
