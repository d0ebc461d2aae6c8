# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies: one TOML file each in studies/."""

from dataclasses import dataclass
from pathlib import Path

from schedlab import checkout
from schedlab.catalogue import toml


@dataclass(frozen=True)
class Study:
    name: str
    path: Path
    title: str


def files() -> dict[str, Path]:
    base = checkout.root() / "studies"
    return {path.stem: path for path in sorted(base.glob("*.toml"))}


def read(path: Path) -> Study:
    data = toml.read(path)
    return Study(path.stem, path, toml.text(data, "title", path, ""))
