# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the instructions went: of two columns' counts of a cell the functions that grew or shrank most.

Counted is by run where all of it was counted in every column, else by context switch, else by a thousand instructions.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from schedlab.campaign.cells import MEASURED
from schedlab.campaign.matrix import PlannedCell
from schedlab.collect import function_counts
from schedlab.collect.function_counts import FunctionCounts
from schedlab.collect.manifest import Manifest
from schedlab.errors import InputError, LabError

RUN, SWITCH, THOUSAND = "run", "switch", "1,000 instructions"
SHOWN = 10
# What a compiler calls a part or a copy of a function, and a number that a program gets when it is loaded.
_COPY = re.compile(r"(\.(isra|constprop|part|cold|llvm)(\.\d+)?)+$")
_PROGRAM = re.compile(r"^bpf_prog_[0-9a-f]{16}_")


@dataclass(frozen=True)
class Function:
    """In instructions by unit, of the reference and of the other column."""

    name: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class Spent:
    """One column of a cell beside the reference."""

    label: str
    total_before: float
    total_after: float
    functions: list[Function]  # those with the largest difference first

    @property
    def shown(self) -> list[Function]:
        return [one for one in self.functions if one.difference][:SHOWN]


@dataclass(frozen=True)
class FunctionTable:
    """Of one cell."""

    workload: str
    machine: str
    load: int
    seed: int
    reference: str
    unit: str
    counts: dict[str, FunctionCounts]  # by column
    spent: list[Spent] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)  # by column: why it has no counts

    def units(self, label: str) -> float:
        """How many of them were counted."""
        return _units(self.counts[label], self.unit)


def tables(manifest: Manifest, directory: Path) -> list[FunctionTable]:
    """Of every cell of the first seed, where any was counted."""
    if not function_counts.any_there(directory):
        return []
    cells: dict[tuple[str, str, int], dict[str, PlannedCell]] = {}
    for cell in counted_cells(manifest.cells):
        data = cell.data
        cells.setdefault((data["workload"], data["machine"], data["load"]), {})[cell.label] = cell
    return [_table(place, columns, manifest.labels, directory) for place, columns in cells.items()]


def counted_cells(cells: list[PlannedCell]) -> Iterator[PlannedCell]:
    """Of each column the cells of the first seed."""
    measured = [cell for cell in cells if cell.role == MEASURED]
    first = min((cell.data["seed"] for cell in measured), default=0)
    return (cell for cell in measured if cell.data["seed"] == first)


def _table(
    place: tuple[str, str, int], columns: dict[str, PlannedCell], labels: list[str], directory: Path
) -> FunctionTable:
    counts: dict[str, FunctionCounts] = {}
    faults: dict[str, str] = {}
    for label in labels:
        if label not in columns:
            continue
        try:
            counts[label] = function_counts.read(directory, columns[label].id)
        except InputError:
            raise
        except LabError as error:
            faults[label] = str(error)
    unit = _unit(list(counts.values()))
    seed = next(iter(columns.values())).data["seed"]
    spent = [_spent(label, counts[labels[0]], found, unit) for label, found in counts.items() if label != labels[0]]
    return FunctionTable(*place, seed, labels[0], unit, counts, spent if labels[0] in counts else [], faults)


def _unit(counts: list[FunctionCounts]) -> str:
    if all(one.whole for one in counts):
        return RUN
    return SWITCH if all(one.switches for one in counts) else THOUSAND


def _units(counts: FunctionCounts, unit: str) -> float:
    return {RUN: 1.0, SWITCH: float(counts.switches), THOUSAND: counts.total / 1000}[unit]


def _spent(label: str, before: FunctionCounts, after: FunctionCounts, unit: str) -> Spent:
    old, new = merged(before), merged(after)
    units = _units(before, unit), _units(after, unit)
    functions = [Function(name, old[name] / units[0], new[name] / units[1]) for name in sorted(old | new)]
    functions.sort(key=lambda one: (-abs(one.difference), one.name))
    return Spent(label, before.total / units[0], after.total / units[1], functions)


def merged(counts: FunctionCounts) -> Counter[str]:
    """Parts and copies of a function together, under the name that another build may know it by."""
    found: Counter[str] = Counter()
    for name, instructions in counts.instructions.items():
        found[plain(name)] += instructions
    return found


def plain(name: str) -> str:
    return _PROGRAM.sub("bpf_prog_", _COPY.sub("", name))
