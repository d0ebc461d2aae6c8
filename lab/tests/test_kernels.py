# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels as columns of a comparison: which one each scheduler runs on, and what is booted when."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from schedlab.campaign import cells, kernels, matrix
from schedlab.campaign.matrix import Campaign, campaign
from schedlab.campaign.request import request
from schedlab.errors import InputError
from schedlab.places import vm as place


@pytest.fixture(autouse=True)
def archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel is there; those of 6.12 load no policy."""

    def resolve(spec: str) -> SimpleNamespace:
        why = "kernel 6.12.1 lacks CONFIG_SCHED_CLASS_EXT=y" if spec.startswith("6.12") else ""
        return SimpleNamespace(sha256=f"{spec:0<64}", without_policies=why)

    monkeypatch.setattr(kernels, "_resolved", resolve)


def plan(schedulers: str, repetitions: int = 2, **more: str) -> Campaign:
    asked = request(schedulers, workload_names="latt", place="vm", machine_names="1", repetitions=repetitions, **more)
    return campaign(asked, place.engine())


def test_a_kernel_follows_the_name_of_the_scheduler(checkout: Path) -> None:
    asked = request("default@6.12,bfs@./linux:rules=424,cfs", workload_names="latt", place="vm")
    assert [(arm.label, arm.kernel) for arm in asked.arms] == [
        ("default@6.12", "6.12"),
        ("bfs@./linux:rules=424", "./linux"),
        ("cfs", ""),
    ]
    assert asked.arms[1].tunables == {"rules": "424"}


def test_parameters_of_its_boot_make_another_kernel(checkout: Path) -> None:
    asked = request("default@7.2,default@7.2 preempt=full", workload_names="latt", place="vm")
    assert [(arm.label, arm.kernel) for arm in asked.arms] == [
        ("default@7.2", "7.2"),
        ("default@7.2 preempt=full", "7.2 preempt=full"),
    ]


def test_one_kernel_for_all_that_name_none(checkout: Path) -> None:
    asked = request("bfs,default@7.1", workload_names="latt", place="vm", kernel="6.16")
    assert [(arm.label, arm.kernel) for arm in asked.arms] == [("bfs", "6.16"), ("default@7.1", "7.1")]


def test_an_at_sign_in_the_path_of_a_policy_stays_in_it(checkout: Path) -> None:
    folder = checkout / "me@home"
    folder.mkdir()
    source = folder / "scx_mine.bpf.c"
    source.write_text("// mine\n")
    (arm,) = request(str(source), workload_names="latt", place="vm").arms
    assert (arm.label, arm.kernel) == ("mine", "")
    (arm,) = request(f"{source}@7.1", workload_names="latt", place="vm").arms
    assert (arm.label, arm.kernel) == ("mine@7.1", "7.1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"schedulers": "bfs@7.1", "place": "sim"}, r"scheduler 'bfs@7\.1': only a guest boots a kernel"),
        ({"schedulers": "bfs", "place": "sim", "kernel": "7.1"}, r"--kernel 7\.1: only a guest boots a kernel"),
        ({"schedulers": "bfs@", "place": "vm"}, "scheduler 'bfs@': expected NAME@KERNEL"),
        ({"schedulers": "@7.1", "place": "vm"}, r"scheduler '@7\.1': expected NAME@KERNEL"),
        ({"schedulers": "bfs@7.1,bfs@7.1", "place": "vm"}, r"'bfs@7\.1' is given twice"),
        ({"schedulers": "bfs@7.1,bfs", "place": "vm", "kernel": "7.1"}, "are the same scheduler here"),
    ],
)
def test_bad_input(checkout: Path, arguments: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        request(**arguments)


def test_each_kernel_boots_once_a_repetition_with_ends_of_its_own(checkout: Path) -> None:
    planned = plan("default@6.12,default@7.1,bfs@7.1", repetitions=8)
    assert len(planned.blocks) == 16
    firsts = {block.kernel for block in planned.blocks[::2]}
    assert firsts == {"6.12", "7.1"}, "the order of the kernels does not change"
    for block in planned.blocks:
        assert {cell.data["kernel"] for cell in block.cells} == {block.kernel}
        roles = [cell.role for cell in block.cells]
        assert [roles[0], roles[1], roles[-1]] == [cells.WARM_UP, cells.FIRST, cells.LAST]
    ids = [cell.id for cell in planned.cells]
    assert len(ids) == len(set(ids))


def test_the_control_is_of_the_first_kernel(checkout: Path) -> None:
    def labels(schedulers: str) -> list[str]:
        return [arm.label for arm in plan(schedulers, 1).arms]

    assert labels("default@6.12,bfs@7.1") == ["default@6.12", "bfs@7.1", "default@6.12 (again)"]
    assert labels("bfs@7.1,cfs") == ["bfs@7.1", "cfs", "default@7.1", "default@7.1 (again)"]
    assert matrix.controlled(["default@6.12", "bfs@7.1", "default@6.12 (again)"]) == (
        "default@6.12",
        "default@6.12 (again)",
    )
    assert matrix.controlled(["default", "bfs"]) is None


def test_another_build_of_a_kernel_makes_other_cells(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {cell.id for cell in plan("default@./linux").cells}
    rebuilt = SimpleNamespace(sha256="f" * 64, without_policies="")
    monkeypatch.setattr(kernels, "_resolved", lambda spec: rebuilt)
    assert not before & {cell.id for cell in plan("default@./linux").cells}


def test_a_policy_is_refused_on_a_kernel_that_loads_none(checkout: Path) -> None:
    said = r"scheduler 'bfs@6\.12': kernel 6\.12\.1 lacks CONFIG_SCHED_CLASS_EXT=y: only 'default' runs there"
    with pytest.raises(InputError, match=said):
        plan("default@6.12,bfs@6.12")


def test_cells_without_a_kernel_are_what_they_were(checkout: Path) -> None:
    for cell in plan("bfs").cells:
        assert "kernel" not in cell.data
        assert "kernel" not in cell.data["digests"]
