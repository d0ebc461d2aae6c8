# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of the simulator: one TOML file each in machines/, or a file by its path."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab import checkout
from schedlab.catalogue import described, toml
from schedlab.errors import InputError, unknown


@dataclass(frozen=True)
class Machine:
    name: str
    path: Path | None  # None outside the simulator
    title: str
    cpus: int


def files() -> dict[str, Path]:
    base = checkout.root() / "machines"
    return {path.stem: path for path in sorted(base.glob("*.toml"))}


def find(name: str) -> Machine:
    return read(path(name))


def path(name: str) -> Path:
    if toml.is_path(name):
        given = Path(name)
        if not given.is_file():
            raise InputError(f"{given}: no such machine file")
        return given.resolve()
    available = files()
    if name not in available:
        raise unknown("machine", name, available)
    return available[name]


def read(file: Path) -> Machine:
    found = describe([file])[0]
    if isinstance(found, InputError):
        raise found
    return found


def describe(paths: Sequence[Path]) -> list[Machine | InputError]:
    """One that is broken is its error."""
    entries = described.entries(machines=paths)["machines"]
    return [_machine(entry, file) for entry, file in zip(entries, paths, strict=True)]


def _machine(entry: described.Entry, file: Path) -> Machine | InputError:
    if error := described.mistake(entry, file):
        return error
    return Machine(entry["name"], file, entry["title"], entry["cpus"])
