# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of what each change of bfs buys (bench/changes.py): edits that fit the policy, cells that exist, ratios."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import changes
from rival_cells import Cell

from schedlab import checkout
from schedlab.catalogue import machines, metrics, workloads
from schedlab.errors import InputError

CHANGES, CELLS = changes.read()
SOURCE = checkout.root() / "schedulers"


def test_each_change_can_be_taken_out_of_the_policy_as_it_is(tmp_path):
    assert len(CHANGES) == 8
    for number, change in enumerate(CHANGES, 1):
        arm = changes.without(change, number, SOURCE, tmp_path)
        assert (tmp_path / f"bfs_without_{number}" / f"scx_bfs_without_{number}.bpf.c").is_file()
        assert changes.label_of(arm).startswith(f"bfs_without_{number}")
        assert change.edits or change.tunables, change.what


def test_an_edit_that_does_not_fit_is_an_error_that_names_it(tmp_path):
    edit = changes.Edit("task.h", "no such line", "")
    with pytest.raises(InputError, match=r"'mine': task\.h has 0 of 1: 'no such line'"):
        changes.without(changes.Change("mine", [edit]), 1, SOURCE, tmp_path)


def test_unknown_keys_of_the_list_are_errors(tmp_path):
    file = tmp_path / "changes.toml"
    file.write_text('[[change]]\nwhat = "a"\nedits = []\n')
    with pytest.raises(InputError, match=r"change 1: .*edits"):
        changes.read(file)


def test_the_cells_exist():
    for cell, names, _ in CELLS:
        workload = workloads.find(cell.workload)
        assert {name for name, _ in cell.params} <= set(workload.params), cell.what
        assert metrics.metric(cell.percentile[0] if cell.percentile else cell.metric), cell.what
        assert all(machines.find(name) for name in names)


def test_a_change_that_helps_is_above_one_whichever_way_is_better():
    slower = {"bfs": [1.0, 2.0], "without": [2.0, 4.0]}
    (longer,) = changes.column(slower, ["without"], 1)
    (more,) = changes.column(slower, ["without"], -1)
    assert longer
    assert more
    assert (longer.value, more.value) == (pytest.approx(2), pytest.approx(0.5))


def test_who_was_thrown_out_has_no_value():
    assert list(changes.column({"bfs": [1.0]}, ["without"], 1)) == [None]
    assert changes.text(None) == "–"


def test_a_cell_is_measured_with_and_without_a_change(tmp_path):
    arm = changes.without(CHANGES[2], 3, SOURCE, tmp_path / "policies")
    cell = Cell("pipe", "pipe", 1, "throughput_per_s", (("trips", "500"),))
    place = changes.Place("sim", "guest-exact-1", 1)
    values = changes.measured(cell, place, ["bfs", arm], 1, tmp_path / "out")
    (found,) = changes.column(values, [changes.label_of(arm)], -1)
    assert found
    assert found.value > 1.1
