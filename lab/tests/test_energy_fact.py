# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page says of the counters behind `energy_j`."""

from typing import Any

import pytest

from schedlab.campaign.cells import cell_id
from schedlab.collect import records
from schedlab.collect.records import Record
from schedlab.report.energy_fact import energy

NONE = "no energy: /sys/class/powercap has no package domain"


def record(**origin: Any) -> Record:
    return Record("", {}, "ok", "", {}, {}, "", {"place": "host", **origin}, {})


def measured(idle_mw: int, step_uj: int = 9_766) -> Record:
    names = {"energy": "package-0, package-1"}
    return record(**names, energy_step_uj=step_uj, energy_idle_mw=idle_mw, energy_idle_range_mw=idle_mw // 100)


def test_where_nobody_looked_nothing_is_said() -> None:
    assert energy([]) == ""
    assert energy([record()]) == ""


def test_where_there_is_none_the_reason_is_said_once() -> None:
    assert energy([record(energy=NONE), record(energy=NONE)]) == NONE


def test_how_well_it_was_measured_is_said() -> None:
    assert energy([measured(20_000)]) == (
        "package-0, package-1; smallest step seen 9.766 mJ; without work 20.0 W, single measurements within 0.2 W"
    )
    # Of several shards the smallest step, and the range of what they found.
    assert energy([measured(20_000), measured(31_000, 61)]) == (
        "package-0, package-1; smallest step seen 0.061 mJ; "
        "without work 20.0 to 31.0 W, single measurements within 0.3 W"
    )


def test_one_that_went_is_told_beside_the_others() -> None:
    gone = "no energy: the counter of package-1 is gone (/sys/class/powercap/intel-rapl:1/energy_uj)"
    assert energy([measured(20_000), record(energy=gone)]).startswith(f"{gone}; package-0, package-1; ")


def test_a_record_keeps_what_its_runner_told() -> None:
    origin = {"place": "host", "engine": "e", "kernel": "7.2", "cpus": 1, "hz": 250}
    told = measured(20_000).provenance
    cell = {"scheduler": "bfs"}
    data = {"format": 1, "id": cell_id(cell), "cell": cell, "status": "ok", "provenance": origin | told}
    assert energy([records.parse(data, data["id"])]) == energy([measured(20_000)])
    for key in ("energy_step_uj", "energy_idle_mw", "energy_idle_range_mw"):
        bad = data | {"provenance": origin | told | {key: "many"}}
        with pytest.raises(records.CorruptRecord, match=f"'provenance.{key}': expected a number"):
            records.parse(bad, data["id"])
