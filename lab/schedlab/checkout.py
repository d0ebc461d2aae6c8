# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the checkout's data and built programs are."""

import os
import shutil
from pathlib import Path

from schedlab.errors import PlaceError


def root() -> Path:
    """The checkout: $SCHEDLAB_ROOT, else the tree this package lies in, else the current directory."""
    named = os.environ.get("SCHEDLAB_ROOT")
    if named:
        return Path(named).resolve()
    here = Path(__file__).resolve().parents[2]
    return here if (here / "workloads").is_dir() else Path.cwd()


def binary_folders(place: Path | None = None) -> list[Path]:
    base = place or root()
    return [
        base / "build" / "bin",
        base / "target" / "release",
        base / "target" / "x86_64-unknown-linux-musl" / "release",
        base / "target" / "aarch64-unknown-linux-musl" / "release",
    ]


def find_binary(name: str, resolve: bool = True) -> Path | None:
    """$SCHEDLAB_BIN (a folder) goes first, so that a build elsewhere can be tried without copying it.

    A scheduler's program is a link to the loader, which goes by the name it is called by: `resolve` must be off for it.
    """
    override = os.environ.get("SCHEDLAB_BIN")
    folders = ([Path(override)] if override else []) + binary_folders()
    for folder in folders:
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve() if resolve else candidate.absolute()
    found = shutil.which(name)
    if found is None:
        return None
    return Path(found).resolve() if resolve else Path(found).absolute()


def need_binary(name: str, resolve: bool = True) -> Path:
    found = find_binary(name, resolve)
    if found is None:
        raise PlaceError(f"{name} is not built: run 'make build' in {root()}")
    return found
