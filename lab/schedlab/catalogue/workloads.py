# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads: one TOML file each in workloads/, or a file by its path, also rt-app's JSON."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from schedlab import checkout
from schedlab.catalogue import described, toml
from schedlab.errors import InputError, unknown

# What ends so is rt-app's.
RT_APP = ".json"
SUFFIXES = (".toml", RT_APP)


@dataclass(frozen=True)
class Workload:
    name: str
    path: Path
    title: str
    load: str  # the parameter that is the load
    loads: list[int | str]  # which may count in CPUs: see loads_on()
    params: list[str] = field(default_factory=list)
    promises: list[str] = field(default_factory=list)  # the metrics it is judged by
    digest: str = ""  # of all its sources
    # Paths from its own folder: what it draws from, and what a real application's input is made with.
    beside: list[str] = field(default_factory=list)
    leaves_out: list[str] = field(default_factory=list)  # the profile's kinds of task that no task stands for
    remarks: list[str] = field(default_factory=list)  # what of the file has no effect, each with its place
    levels: dict[int, list[int]] = field(default_factory=dict)  # loads by CPUs, as far as they have been asked for

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
        if cpus not in self.levels:
            self.levels[cpus] = loads_on(self.path, tuple(self.loads), cpus)
        return self.levels[cpus]


def files() -> dict[str, Path]:
    base = checkout.root() / "workloads"
    return {path.stem: path for path in sorted(base.glob("*.toml"))}


def find(name: str) -> Workload:
    return find_all([name])[0]


def find_all(names: Iterable[str], cpus: Iterable[int] = ()) -> list[Workload]:
    return _sound(describe([path(name) for name in names], cpus))


def path(name: str) -> Path:
    if toml.is_path(name) or name.endswith(RT_APP):
        given = Path(name)
        if not given.is_file():
            raise InputError(f"{given}: no such workload file")
        return given.resolve()
    available = files()
    if name not in available:
        raise unknown("workload", name, available)
    return available[name]


def read(file: Path) -> Workload:
    return _sound(describe([file]))[0]


def describe(paths: Sequence[Path], cpus: Iterable[int] = ()) -> list[Workload | InputError]:
    """One that is broken is its error. Loads on so many `cpus` are asked for at once."""
    entries = described.entries(workloads=paths, cpus=cpus)["workloads"]
    return [_workload(entry, file) for entry, file in zip(entries, paths, strict=True)]


@cache
def loads_on(file: Path, levels: tuple[int | str, ...], cpus: int) -> list[int]:
    """What these levels are for a workload on so many CPUs, the least first."""
    entry = described.entries(workloads=[file], cpus=[cpus], levels=levels)["workloads"][0]
    if "error" in entry:
        raise InputError(entry["error"])
    return entry["loads_on"][str(cpus)]


def _sound(found: list[Workload | InputError]) -> list[Workload]:
    for each in found:
        if isinstance(each, InputError):
            raise each
    return [each for each in found if isinstance(each, Workload)]


def _workload(entry: described.Entry, file: Path) -> Workload | InputError:
    if error := described.mistake(entry, file):
        return error
    # An rt-app file says nothing of what it is judged by: first comes what its tasks log.
    promises = entry["logs"] * (file.suffix == RT_APP) + entry["promises"]
    return Workload(
        name=entry["name"],
        path=file,
        title=entry["title"],
        load=entry["load"],
        loads=entry["loads"],
        params=[param["name"] for param in entry["params"]],
        promises=promises,
        digest=entry["digest"],
        beside=entry["beside"],
        leaves_out=entry["leaves_out"],
        remarks=entry["remarks"],
        levels={int(cpus): loads for cpus, loads in entry["loads_on"].items()},
    )
