# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of a guest, and the picture of a campaign whose cells have them (data/latt-*.trace).

What was traced before the workload's tasks were made is not in these files.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from schedlab.campaign.cells import MEASURED
from schedlab.campaign.matrix import PlannedCell
from schedlab.collect import traces
from schedlab.report import schedule_picture

DATA = Path(__file__).parent / "data"


def lines_of(scheduler: str) -> list[str]:
    return (DATA / f"latt-{scheduler}.trace").read_text().splitlines()


def planned(label: str, role: str = MEASURED, **more: Any) -> PlannedCell:
    data = {"workload": "latt", "machine": "2", "load": 4, "seed": 1, **more}
    return PlannedCell(f"id-{label}", data, label, role)


def drawn(folder: Path, kept: dict[str, list[str]], place: str = "vm-exact") -> str:
    """The section of a campaign whose cells have these traces."""
    for label, lines in kept.items():
        traces.keep(folder, f"id-{label}", lines)
    cells = [planned(label) for label in kept]
    manifest = SimpleNamespace(data={"place": place, "machines": [{"name": "2"}]}, cells=cells)
    return str(schedule_picture.section(SimpleNamespace(manifest=manifest), "latt", folder))  # type: ignore[arg-type]
