# SPDX-License-Identifier: GPL-2.0-or-later
"""Distributions of measured tasks, and the profile they go into."""

import math
import random
import sys
import tomllib

import pytest

from schedlab.capture import accounting, profile
from schedlab.capture.profile import Distribution, kinds
from schedlab.capture.tasks import Post, Run, Sleep, Start, Task, Wait


def test_a_table_keeps_the_mean_and_every_value_of_few() -> None:
    few = Distribution.of([30, 10, 20])
    assert few.table() == [(10, 1), (20, 1), (30, 1)]
    generator = random.Random(1)
    many = Distribution.of([round(generator.lognormvariate(math.log(50_000), 0.7)) for _ in range(1003)])
    table = many.table()
    assert sum(weight for _, weight in table) == 1003
    assert [weight // 10 for _, weight in table] == 19 * [5] + 5 * [1], "the longest are told apart once more"
    mean = sum(value * weight for value, weight in table) / 1003
    assert mean == pytest.approx(many.mean_ns, abs=1)
    assert table == sorted(table)
    assert many.median_ns == pytest.approx(50_000, rel=0.1)
    assert many.sigma == pytest.approx(0.7, rel=0.1)


def test_nothing_takes_a_nanosecond_in_logarithms() -> None:
    assert Distribution.of([0, 1]).sigma == 0


def test_runs_lie_between_blocks() -> None:
    child = Task(1, 11, "cc1", steps=[Run(40)])
    steps = [Run(5), Start(child), Run(6), Wait(100), Sleep(7), Run(1), Post(child), Run(2)]
    found = kinds([Task(0, 10, "gcc", steps=steps), child])
    assert list(found) == ["cc1", "gcc"], "most CPU time first"
    assert (found["gcc"].run, found["gcc"].wait, found["gcc"].sleep) == ([11, 0, 3], [100], [7])
    assert (found["gcc"].cpu, found["cc1"].cpu, found["cc1"].tasks) == ([14], [40], 1)


def test_the_profile_is_toml_with_draws() -> None:
    task = Task(0, 10, 'a "b"', steps=[Run(1500), Sleep(2_000_000), Run(2500)])
    made = tomllib.loads(profile.text({"workload": "x", "load": 4, "kernel": "7.2"}, kinds([task]), ["a remark"]))
    assert made["made"] == {"workload": "x", "load": 4, "kernel": "7.2"}
    measured = made["task"]['a "b"']
    assert measured["tasks"] == 1
    assert measured["run"] == {
        "count": 2,
        "mean_us": 2.0,
        "median_us": 2.0,
        "sigma": pytest.approx(math.log(2500 / 1500) / 2, abs=1e-3),
        "max_us": 2.5,
        "ns": {"table": [[1500, 1], [2500, 1]]},
    }
    assert measured["sleep"]["ns"] == {"table": [[2_000_000, 1]]}
    assert measured["cpu"]["mean_us"] == 4.0
    assert "wait" not in measured


def test_accounting_finds_children_and_what_they_used() -> None:
    program = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    end = time.process_time() + 0.2\n"
        "    while time.process_time() < end: pass\n"
        "    for _ in range(10): time.sleep(0.02)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "raise SystemExit(3)\n"
    )
    found, status = accounting.account([sys.executable, "-c", program])
    assert status == 3
    (kind,) = found.values()
    assert kind.tasks == 2
    assert max(kind.cpu) == pytest.approx(0.2e9, rel=0.3)
    # What ended its blocks is not known.
    assert sum(kind.blocked) >= 0.15e9
    assert not kind.sleep
    assert max(kind.blocks) >= 10
