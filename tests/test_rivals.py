# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of bfs against others (bench/rivals.py): its list of cells, the order of runs, ratios, floor and rank."""

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import rival_cells
import rival_table
import rivals

from schedlab.campaign import cells
from schedlab.catalogue import workloads
from schedlab.errors import InputError

LISTED = rival_cells.read()
CELL = """[[cell]]
what = "a"
workload = "workloads/pipe.toml"
load = 1
metric = "throughput_per_s"
"""


def test_the_list_is_of_sixteen_cells_at_least_whose_workloads_and_parameters_exist():
    assert len(LISTED.cells) >= 16
    for cell in LISTED.cells:
        workload = workloads.find(str(Path(rival_cells.FILE).parents[1] / cell.workload))
        assert {name for name, _ in cell.params} <= set(workload.params), cell.what
        assert dict(cell.emulated).keys() <= dict(cell.params).keys(), cell.what
        measured = cell.percentile[0] if cell.percentile else cell.metric
        # How long a run takes is known of every workload that ends by itself.
        assert measured in {*workload.promises, "elapsed_s"}, cell.what


def test_latencies_are_exact_on_one_cpu_and_emulated_on_several():
    def latencies(cpus, tier):
        return {cell.percentile is not None for cell in LISTED.on(cpus, tier)}

    assert latencies(1, "exact") == {True, False}
    assert latencies(1, "emulated") == set()
    assert latencies(2, "exact") == {False}
    assert latencies(2, "emulated") == {True}


def test_a_run_may_be_longer_where_a_guests_second_is_one():
    cell = rival_cells.cell(
        "here",
        {
            "what": "a",
            "workload": "w",
            "load": 1,
            "metric": "turnaround_us.p99",
            "params": {"run": 1, "ms": 5},
            "emulated": {"ms": 50},
        },
    )
    assert cell.in_tier("exact").params == (("run", "1"), ("ms", "5"))
    assert cell.in_tier("emulated").params == (("run", "1"), ("ms", "50"))


def test_cells_that_are_the_same_on_one_cpu_are_one():
    def oltp(cpus):
        return [cell.load_on(cpus) for cell in LISTED.on(cpus, "exact") if cell.workload.endswith("oltp.toml")]

    assert oltp(1) == [1, 32]
    assert oltp(2) == [1, 2, 64]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "key 'cell': expected [[cell]] at least once"),
        (CELL + "cpus = 2\n", "cell 1: unknown key 'cpus'"),
        (CELL.replace("load = 1", "load = true"), "cell 1: key 'load': expected an integer, got True"),
        (CELL.replace("load = 1\n", ""), "cell 1: key 'load': expected an integer"),
        ('rivals = "scx_a"\n' + CELL, "key 'rivals': expected a list of programs' names"),
        ("rounds = 1\n" + CELL, "unknown key 'rounds'"),
    ],
)
def test_a_wrong_list_is_named(tmp_path, text, says):
    path = tmp_path / "cells.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        rival_cells.read(path)
    assert str(path) in str(refused.value)
    assert says in str(refused.value)


def test_every_cell_meets_the_default_before_and_after_all_others():
    chosen = LISTED.on(2, "exact")
    asked = rivals.asked_for(chosen, [], 2, "exact", None)
    campaign, found = rivals.planned(asked, chosen, 2)
    assert [len(block.cells) for block in campaign.blocks] == [4 * len({id_of(c) for c in chosen})] * 2
    first = [(cell.label, cell.role) for cell in campaign.blocks[0].cells[:4]]
    assert first == [
        ("default", cells.WARM_UP),
        ("default", cells.MEASURED),
        ("bfs", cells.MEASURED),
        ("default (again)", cells.CONTROL),
    ]
    pipe = found[chosen[0], "bfs", 1].data
    assert (pipe["load"], pipe["params"], pipe["seed"]) == (1, {"trips": "2000"}, 2)
    assert pipe["modelled"]


def id_of(cell):
    return (cell.workload, cell.load_on(2), cell.params)


def test_only_programs_that_are_there_take_part(tmp_path):
    there = tmp_path / "scx_a"
    there.write_text("")
    there.chmod(0o755)
    assert rivals.installed(["scx_a", "scx_no_such"], str(tmp_path)) == {"scx_a": there}


def row(bfs, other=None, before=100.0, after=100.0, better="lower"):
    measured = {"bfs": bfs} | ({"other": other} if other else {})
    n = len(bfs)
    return rival_table.row("cell", [before] * n, [after] * n, measured, {}, better)


def test_a_ratio_is_to_the_mean_of_both_defaults_and_less_is_better():
    assert row([90.0]).bfs.value == pytest.approx(0.9)
    assert row([110.0], better="higher").bfs.value == pytest.approx(100 / 110)
    between = row([100.0], before=80.0, after=125.0)
    assert between.bfs.value == pytest.approx(1)
    assert between.floor == pytest.approx(125 / 80 - 1)


def test_a_difference_below_the_noise_is_none():
    assert row([100.9]).floor == rival_table.LEAST_FLOOR
    assert not row([100.9]).worse
    assert row([102.0]).worse
    assert not row([102.0], before=100.0, after=104.0).worse


def test_runs_that_differ_have_the_interval_of_student():
    ratio = row([100.0, 110.0, 121.0]).bfs
    assert ratio.value == pytest.approx(1.1)
    half = 4.302652729911275 * math.log(1.1) / math.sqrt(3)
    assert ratio.high == pytest.approx(1.1 * math.exp(half))
    # Its mean is above the noise, but not for certain.
    assert not row([100.0, 110.0, 121.0]).worse


def test_the_rank_counts_default_and_three_per_cent_are_near():
    ahead = row([90.0], [95.0])
    assert (ahead.rank, ahead.leads) == (1, True)
    near = row([92.0], [90.0])
    assert (near.rank, near.leads) == (2, True)
    far = row([95.0], [90.0])
    assert (far.rank, far.leads) == (2, False)
    assert row([105.0], [110.0]).rank == 2


def test_what_was_thrown_out_counts_as_worse_and_the_table_says_so():
    gone = rival_table.row("cell", [1.0], [1.0], {"other": [0.5]}, {"bfs": "ejected"}, "lower")
    assert gone.worse
    assert not gone.leads
    text = "\n".join(rival_table.lines("1 CPU", [gone, row([90.0], [95.0])], ["other"], False))
    assert "| cell | 1 | 1.0 | ejected | 0.50 | – | yes |" in text
    assert "| cell | 100 | 1.0 | **0.90** | 0.95 | 1 of 3 | no |" in text
    assert (
        "Of 2 cells bfs is worse than default by more than the noise in 1, and first or within 3 % of the first in 1."
        in text
    )
