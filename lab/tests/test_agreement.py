# SPDX-License-Identifier: GPL-2.0-or-later
"""The same cells in the simulator and on a real kernel, number beside number, and the page that shows them."""

import math
from pathlib import Path
from typing import Any

import pytest

from schedlab.campaign.matrix import PlannedCell
from schedlab.collect.histogram import Histogram
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import Record
from schedlab.errors import InputError
from schedlab.report import compatibility_tables, markdown
from schedlab.statistics.agreement import Agreement, Place, agreements, repeated, values

ROOT = Path(__file__).resolve().parents[2]


def _campaign(machine: str, elapsed_s: list[float], status: str = "ok") -> tuple[Manifest, dict[str, Record]]:
    """A cell a repetition, with wake-ups of 1 to 100 µs."""
    buckets = [(us * 1000, 1) for us in range(1, 101)]
    latency = Histogram.of(100, 1_000, 100_000, sum(ns for ns, _ in buckets), buckets)
    cells, found = [], {}
    for seed, value in enumerate(elapsed_s):
        data = {"workload": "latt", "machine": machine, "load": 4, "seed": seed}
        cells.append(PlannedCell(f"{machine}{seed}", data, "mine", "measured"))
        numbers = {"elapsed_s": value, "migrations": 3.0}
        record = Record(cells[-1].id, data, status, "", numbers, {"wakeup_latency_us": latency}, "", {}, {})
        found[record.id] = record
    shown = {"workloads": [{"name": "latt"}], "machines": [{"name": machine}]}
    return Manifest(shown, cells), found


def test_values_are_those_over_all_repetitions_of_what_is_compared() -> None:
    where = ("mine", "latt", 4)
    assert values(*_campaign("desktop", [1.0, 2.0])) == {
        Place(*where, "elapsed_s", "mean"): 1.5,
        Place(*where, "wakeup_latency_us", "p50"): 50.0,
        Place(*where, "wakeup_latency_us", "p99"): 99.0,
    }
    assert values(*_campaign("desktop", [1.0]), [("migrations", "mean")]) == {Place(*where, "migrations", "mean"): 3.0}


def test_the_least_and_the_most_are_those_of_any_repetition() -> None:
    (elapsed,) = repeated(*_campaign("desktop", [1.0, 4.0, 2.5]), [("elapsed_s", "mean")]).values()
    assert (elapsed.value, elapsed.least, elapsed.most) == (2.5, 1.0, 4.0)


def test_a_cell_without_a_result_has_no_value() -> None:
    assert values(*_campaign("desktop", [1.0], status="ejected")) == {}


def test_what_both_have_is_compared_whatever_the_machine() -> None:
    simulated = values(*_campaign("desktop", [3.0])) | {Place("other", "latt", 4, "elapsed_s", "mean"): 1.0}
    found = list(agreements(simulated, values(*_campaign("1", [2.0]))))
    assert [(a.place.label, a.place.metric, a.ratio) for a in found] == [
        ("mine", "elapsed_s", 1.5),
        ("mine", "wakeup_latency_us", 1.0),
        ("mine", "wakeup_latency_us", 1.0),
    ]


@pytest.mark.parametrize(("simulated", "kernel", "ratio"), [(1, 2, 0.5), (0, 0, 1), (0, 5, 0)])
def test_a_ratio(simulated: float, kernel: float, ratio: float) -> None:
    place = Place("mine", "latt", 4, "elapsed_s", "mean")
    assert Agreement(place, simulated, kernel).ratio == ratio
    assert math.isnan(Agreement(place, 1, 0).ratio)


def _data(**changes: Any) -> dict[str, Any]:
    ok = {"latt": {"status": "ok", "reason": ""}}
    mine = {"label": "mine", "file": "scx_mine", "digest": "12ab", "version": "1.2"}
    bad = {"label": "bad", "file": "bad.bpf.o", "digest": "34cd", "version": ""}
    stall = {"latt": {"status": "ejected", "reason": "runnable task stall"}}
    row = {"label": "mine", "workload": "latt", "load": 1, "metric": "elapsed_s", "statistic": "mean"}
    data = {
        "machine": "small",
        "kernel": {"release": "7.2", "cpus": 1, "tier": "exact"},
        "workloads": ["latt"],
        "repetitions": 1,
        "schedulers": [
            mine | {"missing": [], "absent": ["map m"], "simulator": ok, "kernel": ok},
            bad | {"missing": ["kfunc a", "helper b"], "absent": [], "simulator": {}, "kernel": stall},
        ],
        "agreement": [row | {"ratio": 0.956}, row | {"load": 4, "ratio": 1.02}, row | {"load": 8, "ratio": None}],
    }
    return data | changes


def test_a_page_says_what_ran_what_is_missing_and_how_near_it_is() -> None:
    text = compatibility_tables.text(_data())
    for line in [
        "| scheduler | version | digest | simulator: latt | kernel: latt |",
        "| scx_mine | 1.2 | `12ab` | ok | ok |",
        "| bad.bpf.o | – | `34cd` | refused | ejected |",
        "- scx_mine is simulated without a part of what its program sets up: map m.",
        "- bad.bpf.o refers to what the model has not: kfunc a; helper b.",
        "- bad.bpf.o in the kernel (latt): ejected: runnable task stall.",
        "| mine | latt | 0.96–1.02 |",
    ]:
        assert line in text.splitlines(), text


def test_a_page_without_a_kernel_has_the_simulator_alone() -> None:
    text = compatibility_tables.text(_data(kernel=None, agreement=[]))
    assert "| scheduler | version | digest | simulator: latt |\n" in text
    assert "over the kernel's" not in text


def test_what_is_made_goes_between_its_lines_and_nowhere_else() -> None:
    page = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n"
    assert markdown.put(page, "x", "new\n") == page.replace("old", "new")
    with pytest.raises(InputError, match="expected a page with the lines '<!-- y: begin -->'"):
        markdown.put(page, "y", "new\n")
