# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads: one TOML file each in workloads/, or a file by its path, also rt-app's JSON."""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.catalogue import loads, toml
from schedlab.errors import InputError, unknown

# What ends so is rt-app's.
RT_APP = ".json"


@dataclass(frozen=True)
class Workload:
    name: str
    path: Path
    title: str
    load: str  # the parameter that is the load
    loads: list[int | str]  # which may count in CPUs: see loads_on()
    params: list[str] = field(default_factory=list)
    promises: list[str] = field(default_factory=list)  # the metrics it is judged by
    # Paths from its own folder: what it draws from, and what a real application's input is made with.
    beside: list[str] = field(default_factory=list)
    leaves_out: list[str] = field(default_factory=list)  # the profile's kinds of task that no task stands for

    @property
    def sources(self) -> list[Path]:
        """All that it consists of."""
        return [self.path, *(self.path.parent / name for name in self.beside)]

    def within(self, folder: str) -> dict[str, Path]:
        """Its sources by where they have to lie for the file to be in another folder."""
        places = [posixpath.normpath(posixpath.join(folder, name)) for name in [self.path.name, *self.beside]]
        return dict(zip(places, self.sources, strict=True))

    def loads_on(self, cpus: int) -> list[int]:
        """Load levels that show something on so many CPUs, the least first."""
        return loads.at(self.loads, cpus, f"{self.path}: key 'loads'")


def files() -> dict[str, Path]:
    base = checkout.root() / "workloads"
    return {path.stem: path for path in sorted(base.glob("*.toml"))}


def find(name: str) -> Workload:
    if toml.is_path(name) or name.endswith(RT_APP):
        path = Path(name)
        if not path.is_file():
            raise InputError(f"{path}: no such workload file")
        return read(path.resolve())
    available = files()
    if name not in available:
        raise unknown("workload", name, available)
    return read(available[name])


def read(path: Path) -> Workload:
    if path.suffix == RT_APP:
        return _rt_app(path)
    data = toml.read(path)
    name = toml.text(data, "name", path)
    if name != path.stem:
        raise InputError(f"{path}: key 'name': expected '{path.stem}', as the file is called, got '{name}'")
    params = data.get("params", {})
    if not isinstance(params, dict):
        raise InputError(f"{path}: key 'params': expected a table")
    metrics = data.get("metrics", {})
    promises = metrics.get("promises", []) if isinstance(metrics, dict) else []
    if not isinstance(promises, list) or not all(isinstance(p, str) for p in promises):
        raise InputError(f"{path}: key 'metrics.promises': expected a list of metric names")
    return Workload(
        name=name,
        path=path,
        title=toml.text(data, "title", path, ""),
        load=toml.text(data, "load", path, ""),
        loads=loads.check(data.get("loads", [1]), f"{path}: key 'loads'"),
        params=list(params),
        promises=promises,
        beside=_beside(data, path),
        leaves_out=_leaves_out(data, path),
    )


def _leaves_out(data: dict[str, Any], path: Path) -> list[str]:
    kinds = data.get("leaves_out", [])
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise InputError(f"{path}: key 'leaves_out': expected a list of a profile's tasks")
    return kinds


def _beside(data: dict[str, Any], path: Path) -> list[str]:
    profile = toml.text(data, "profile", path, "")
    if profile and not (path.parent / profile).is_file():
        raise InputError(f"{path}: key 'profile': expected a profile's file, there is no '{profile}'")
    return [profile, *_made_with(data, path)] if profile else _made_with(data, path)


def _made_with(data: dict[str, Any], path: Path) -> list[str]:
    table: Any = data
    for key in ("command", "input"):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise InputError(f"{path}: key '{key}': expected a table")
    files = table.get("files", [])
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise InputError(f"{path}: key 'command.input.files': expected a list of paths")
    for name in files:
        if not (path.parent / name).is_file():
            raise InputError(f"{path}: key 'command.input.files': expected files of the workload, there is no '{name}'")
    return files


def _rt_app(path: Path) -> Workload:
    """The runners make a workload of it (crates/workload/src/rtapp): this is what all of these have."""
    name = re.sub(r"[^a-z0-9]", "-", path.stem.lower())
    if not name[:1].isalpha():
        raise InputError(f"{path}: expected a file name that begins with a letter, the workload is called after it")
    return Workload(
        name=name,
        path=path,
        title=f"{name}: tasks as rt-app describes them",
        load="copies",
        loads=[1],
        params=["copies", "duration_s"],
        promises=["wakeup_latency_us", "elapsed_s", "cpu_s", "throughput_per_s"],
    )
