# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved results as the reference of a comparison: what a scheduler did before a change.

Their first scheduler becomes the first column, with the cells that the comparison has too: the same workload, load and
machine, with the same parameters and the same files. In the simulator a seed means the same draws whenever it runs, so
that the two are paired as if they had run together. On a real kernel runs of another day differ by more than the
schedulers do.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from schedlab.campaign import cells, where
from schedlab.campaign.matrix import PlannedCell
from schedlab.collect import manifest as manifests
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import OK, Record
from schedlab.collect.store import Store
from schedlab.errors import InputError

# Of a cell's data: what has to be equal for two schedulers to be compared, besides the digests of the files.
_SHARED = ("workload", "load", "params", "place", "machine", "exact_costs", "modelled", "api")


def check(directory: Path, place: str) -> Manifest:
    """The saved manifest. InputError: results of `place` cannot be compared with it."""
    saved = manifests.read(directory)
    for each in (saved.data["place"], place):
        if not where.of_record(each).simulated:
            raise InputError(
                f"--baseline {directory}: only simulated results can be compared with later ones; "
                "on a real kernel, compare both in one command, which shuffles them in blocks"
            )
    return saved


def read(directory: Path, manifest: Manifest) -> tuple[Manifest, dict[str, Record]]:
    """The manifest with the saved column in front, and the records of that column."""
    saved = check(directory, manifest.data["place"])
    label = saved.labels[0]
    mine = [cell for cell in saved.cells if cell.label == label and cell.role == cells.MEASURED]
    wanted = {_conditions(cell.data) for cell in manifest.cells}
    chosen = [cell for cell in mine if _conditions(cell.data) in wanted]
    if not chosen:
        raise InputError(f"--baseline {directory}: {_nothing_shared(mine, manifest.cells)}")
    found, _ = Store(directory).load(cell.id for cell in chosen)
    records = {cell_id: record for cell_id, record in found.items() if record.status == OK}
    if not records:
        raise InputError(f"--baseline {directory}: none of its {len(chosen)} cells that are compared has a value")
    column = f"{label} (baseline)"
    taken = [replace(cell, label=column, role=cells.BASELINE) for cell in chosen if cell.id in records]
    data = manifest.data | {"schedulers": [column, *manifest.labels]}
    return Manifest(data, [*taken, *manifest.cells]), records


def _conditions(data: dict[str, Any]) -> bytes:
    digests = data["digests"]
    shared = {key: data.get(key) for key in _SHARED} | {key: digests[key] for key in ("workload", "machine")}
    return cells.canonical(shared)


def _nothing_shared(saved: Iterable[PlannedCell], now: Iterable[PlannedCell]) -> str:
    def places(found: Iterable[PlannedCell]) -> set[tuple[str, int, str]]:
        return {(cell.data["workload"], cell.data["load"], cell.data["machine"]) for cell in found}

    both = sorted(places(saved) & places(now))
    if not both:
        return "it has none of the workloads, loads and machines that are compared"
    workload, load, machine = both[0]
    there = f"{workload} at load {load} on {machine}"
    return f"{there} ran with another file of the workload or machine, or with other options"
