# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixes of the tree's own workloads, as mixes.toml has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schedlab.catalogue import toml
from schedlab.errors import InputError, unknown

FILE = Path(__file__).with_name("mixes.toml")
DEFAULT = "desktop"


@dataclass(frozen=True)
class Run:
    workload: str
    load: int | str  # which may count in CPUs
    params: Mapping[str, str]
    measures: Mapping[str, str]  # by kind METRIC or METRIC.STATISTIC


@dataclass(frozen=True)
class Mix:
    name: str
    about: str
    runs: list[Run]


def find(name: str, file: Path = FILE) -> Mix:
    known = _all(file)
    if name not in known:
        raise unknown("mix", name, known)
    return known[name]


@cache
def _all(file: Path) -> dict[str, Mix]:
    return {name: _mix(name, table, f"{file}: [{name}]") for name, table in toml.read(file).items()}


def _mix(name: str, table: Any, where: str) -> Mix:
    _keys(table, {"about": str, "run": list}, where)
    return Mix(
        name, table["about"], [_run(run, f"{where}: run {number}") for number, run in enumerate(table["run"], 1)]
    )


def _run(table: Any, where: str) -> Run:
    _keys(table, {"workload": str, "load": int | str, "params": dict, "measures": dict}, where)
    params = {key: str(value) for key, value in table["params"].items()}
    return Run(table["workload"], table["load"], params, table["measures"])


def _keys(table: Any, expected: Mapping[str, Any], where: str) -> None:
    if not isinstance(table, dict):
        raise InputError(f"{where}: expected a table")
    for key in table:
        if key not in expected:
            raise InputError(f"{where}: {unknown('key', key, expected)}")
    for key, kind in expected.items():
        if not isinstance(table.get(key), kind):
            raise InputError(f"{where}: key '{key}': expected {getattr(kind, '__name__', kind)}")
