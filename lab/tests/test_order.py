# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which a real kernel's cells run."""

from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from schedlab.campaign import cells
from schedlab.campaign.matrix import CONTROL_LABEL, Campaign, campaign, shuffled
from schedlab.campaign.request import request


@pytest.fixture
def plan(checkout: Path) -> Campaign:
    asked = request("bfs,cfs", workload_names="latt,pipe", place="vm", machine_names="2", repetitions=40)
    return campaign(asked, checkout / "bin" / "schedlab-host")


def groups(plan: Campaign) -> list[list[str]]:
    """The labels in the order they run, for every block, workload and load."""
    found = []
    for block in plan.blocks:
        measured = [cell for cell in block.cells if cell.role in (cells.MEASURED, cells.CONTROL)]
        for _, part in groupby(measured, key=lambda cell: (cell.data["workload"], cell.data["load"])):
            found.append([cell.label for cell in part])
    return found


def test_every_block_holds_every_scheduler_and_both_defaults_once(plan: Campaign) -> None:
    assert len(plan.blocks) == 40
    # latt at two loads and pipe at one, in each of 40 blocks.
    assert len(groups(plan)) == 120
    for labels in groups(plan):
        assert sorted(labels) == ["bfs", "cfs", "default", CONTROL_LABEL]


def test_no_scheduler_has_a_favourite_position(plan: Campaign) -> None:
    counts = Counter((label, at) for labels in groups(plan) for at, label in enumerate(labels))
    assert len(counts) == 16
    # 120 draws of one position in four: 30 expected, and 15 or 45 are over three standard deviations away.
    assert all(15 < count < 45 for count in counts.values()), counts


def test_blocks_differ_in_order_and_the_seed_decides_it(checkout: Path, plan: Campaign) -> None:
    assert len({tuple(labels) for labels in groups(plan)}) > 12
    engine = checkout / "bin" / "schedlab-host"
    same = request("bfs,cfs", workload_names="latt,pipe", place="vm", machine_names="2", repetitions=40)
    assert groups(campaign(same, engine)) == groups(plan)
    other = request("bfs,cfs", workload_names="latt,pipe", place="vm", machine_names="2", repetitions=40, seed_base=99)
    assert groups(campaign(other, engine)) != groups(plan)


def test_the_order_is_the_same_everywhere() -> None:
    # A golden value: no generator whose stream depends on a version or a platform.
    assert shuffled(list("abcdefgh"), 1, 0, "2", "latt", 4) == list("afgcehdb")


def test_blocks_warm_up_and_measure_the_default_at_both_ends(plan: Campaign) -> None:
    for block in plan.blocks:
        assert [cell.role for cell in block.cells[:2]] == [cells.WARM_UP, cells.FIRST]
        assert block.cells[-1].role == cells.LAST
        ends = [cell for cell in block.cells if cell.role in (cells.WARM_UP, cells.FIRST, cells.LAST)]
        assert {cell.data["scheduler"] for cell in ends} == {"default"}
        assert len(ends) == 3


def test_cells_of_different_roles_have_different_ids_and_the_same_seed(plan: Campaign) -> None:
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)
    for number, block in enumerate(plan.blocks):
        assert {cell.data["seed"] for cell in block.cells} == {1 + number}


def test_more_repetitions_keep_the_cells_there_are(checkout: Path) -> None:
    engine = checkout / "bin" / "schedlab-host"
    few, many = (campaign(request("bfs", workload_names="latt", place="host", repetitions=n), engine) for n in (3, 9))
    assert {cell.id for cell in few.cells} < {cell.id for cell in many.cells}


def test_default_among_the_schedulers_is_not_added_again(checkout: Path) -> None:
    asked = request("default,bfs", workload_names="latt", place="host", repetitions=1)
    plan = campaign(asked, checkout / "bin" / "schedlab-host")
    assert [arm.label for arm in plan.arms] == ["default", "bfs", CONTROL_LABEL]


def test_the_simulator_needs_no_control(checkout: Path) -> None:
    plan = campaign(request("bfs,cfs", workload_names="latt"), checkout / "bin" / "schedlab-sim")
    assert Counter(cell.label for cell in plan.cells) == {"bfs": 20, "cfs": 20}
