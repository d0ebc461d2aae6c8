# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of the simulator: one TOML file each in machines/, or a file by its path."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.catalogue import toml
from schedlab.errors import InputError, unknown

_TOPOLOGY = ("sockets", "llcs_per_socket", "cores_per_llc", "threads_per_core")


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
    if toml.is_path(name):
        path = Path(name)
        if not path.is_file():
            raise InputError(f"{path}: no such machine file")
        return read(path.resolve())
    available = files()
    if name not in available:
        raise unknown("machine", name, available)
    return read(available[name])


def read(path: Path) -> Machine:
    data = toml.read(path)
    name = toml.text(data, "name", path, path.stem)
    if name != path.stem:
        raise InputError(f"{path}: key 'name': expected '{path.stem}', as the file is called, got '{name}'")
    return Machine(name, path, toml.text(data, "title", path, ""), _cpus(data))


def _cpus(data: dict[str, Any]) -> int:
    """Logical CPUs. Of a topology that is none the runner says what is wrong, with the line."""
    topology = data.get("topology")
    counts = [topology.get(key) for key in _TOPOLOGY] if isinstance(topology, dict) else []
    return math.prod(counts) if counts and all(type(count) is int and count > 0 for count in counts) else 1
