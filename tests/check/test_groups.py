# SPDX-License-Identifier: GPL-2.0-or-later
"""Control groups in the swarm's cases: what they alone find, and what a policy may do that heeds their limits."""

from pathlib import Path

import pytest

from tests.check.conftest import POLICIES, check


@pytest.mark.parametrize("name", ["group_queue_gone", "moved_uncounted"])
def test_what_control_groups_show_nothing_else_does(name: str) -> None:
    checked = check(POLICIES / "bugs" / f"{name}.bpf.c", "--no-cgroups", "--seed", "1", "--runs", "300")
    assert (checked.status, checked.data["finding"]) == (0, None), checked


def test_who_hears_of_limits_may_let_tasks_wait_beside_an_idle_cpu(tmp_path: Path) -> None:
    options = ("--seed", "2", "--runs", "150", "-C", tmp_path)
    heeds = check(POLICIES / "limits" / "keeps.bpf.c", *options)
    assert (heeds.status, heeds.data["finding"]) == (0, None), heeds
    deaf = check(POLICIES / "limits" / "deaf.bpf.c", *options)
    assert deaf.finding["by"] == "work conservation"
