# SPDX-License-Identifier: GPL-2.0-or-later
"""The far end of a fleet on a real kernel: when nobody is left at the other end, the kernel's own scheduler goes on."""

from pathlib import Path

import pytest

from tests.vm_policies import shards
from tests.vm_policies.conftest import Said, run_script


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("shards")
    # Much longer than anybody waits.
    shards.write(folder / "long.json", [shards.cell("bfs", "latt", 2, {"duration_s": "600"})])
    return run_script("serve.sh", loader, {"/test/shards": folder}, ["/test/shards/long.json"], limit_s=300)


def test_its_scheduler_goes_with_the_connection(said: Said) -> None:
    gone = said.event("gone")
    assert gone["ran"].startswith("bfs"), gone
    assert (gone["exit"], gone["state"]) == (130, "disabled"), gone
    assert (gone["locked"], gone["left"]) == ("tests", ""), gone
    assert "sched_ext:free" in gone["said"], gone
    assert "after" not in gone["said"], gone


def test_somebody_elses_scheduler_stays(said: Said) -> None:
    refused = said.event("refused")
    assert refused["exit"] == 3, refused
    assert refused["ops"].startswith("vtime"), refused
    assert "vtime" in refused["said"], refused
