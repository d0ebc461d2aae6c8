# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of cells in rivals.toml, checked."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedlab.catalogue import toml
from schedlab.errors import InputError, unknown

FILE = Path(__file__).with_name("rivals.toml")
_PERCENTILE = re.compile(r"(\w+)\.p(\d{1,2}(?:\.\d+)?)")
_KEYS = {"what": str, "workload": str, "load": int, "per_cpu": bool, "params": dict, "emulated": dict, "metric": str}
_REQUIRED = ("what", "workload", "load", "metric")
_EXPECTED = {str: "a string", int: "an integer", bool: "true or false", dict: "a table"}


@dataclass(frozen=True)
class Cell:
    what: str
    workload: str  # its file, from the top of the tree
    load: int
    metric: str  # a metric's name, or HISTOGRAM.pPERCENT
    params: tuple[tuple[str, str], ...] = ()
    emulated: tuple[tuple[str, str], ...] = ()  # what of params is otherwise in the emulated tier
    per_cpu: bool = False  # the load is so many for each CPU

    @property
    def percentile(self) -> tuple[str, float] | None:
        """A histogram and the per cent of it, of a latency."""
        found = _PERCENTILE.fullmatch(self.metric)
        return (found[1], float(found[2])) if found else None

    def load_on(self, cpus: int) -> int:
        return self.load * cpus if self.per_cpu else self.load

    def in_tier(self, tier: str) -> "Cell":
        params = dict(self.params) | (dict(self.emulated) if tier == "emulated" else {})
        return replace(self, params=tuple(params.items()), emulated=())


@dataclass(frozen=True)
class Listed:
    rivals: list[str]
    cells: list[Cell]

    def on(self, cpus: int, tier: str) -> list[Cell]:
        """Those that are taken there, and of two that are the same on so many CPUs the first.

        On several CPUs latencies come from the emulated tier alone, and all else from the exact one.
        """
        found: dict[tuple, Cell] = {}
        for cell in (cell.in_tier(tier) for cell in self.cells):
            exact = cpus == 1 or cell.percentile is None
            if exact == (tier == "exact"):
                found.setdefault((cell.workload, cell.load_on(cpus), cell.params, cell.metric), cell)
        return list(found.values())


def read(path: Path = FILE) -> Listed:
    data = toml.read(path)
    for key in data:
        if key not in ("rivals", "cell"):
            raise InputError(f"{path}: {unknown('key', key, ['rivals', 'cell'])}")
    rivals = data.get("rivals", [])
    if not isinstance(rivals, list) or not all(type(name) is str for name in rivals):
        raise InputError(f"{path}: key 'rivals': expected a list of programs' names")
    cells = data.get("cell", [])
    if not isinstance(cells, list) or not cells:
        raise InputError(f"{path}: key 'cell': expected [[cell]] at least once")
    return Listed(rivals, [cell(f"{path}: cell {number}", entry) for number, entry in enumerate(cells, 1)])


def cell(where: str, entry: dict[str, Any]) -> Cell:
    """`where` it stands, for what is wrong with it."""
    for key, value in entry.items():
        if key not in _KEYS:
            raise InputError(f"{where}: {unknown('key', key, list(_KEYS))}")
        if type(value) is not _KEYS[key]:
            raise InputError(f"{where}: key '{key}': expected {_EXPECTED[_KEYS[key]]}, got {value!r}")
    for key in _REQUIRED:
        if key not in entry:
            raise InputError(f"{where}: key '{key}': expected {_EXPECTED[_KEYS[key]]}")
    params, emulated = (
        tuple((key, str(value)) for key, value in entry.get(table, {}).items()) for table in ("params", "emulated")
    )
    return Cell(**{**entry, "params": params, "emulated": emulated})
