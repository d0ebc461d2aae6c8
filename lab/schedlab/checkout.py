# SPDX-License-Identifier: GPL-2.0-or-later
"""Where schedlab's data and programs are: in its checkout, or where it was installed."""

import os
import shutil
from functools import cache
from pathlib import Path

from schedlab.errors import PlaceError

# Below the folder that also has bin/: /usr, ~/.local, a virtual environment.
_SHARED = Path("share", "schedlab")


@cache
def tree() -> Path | None:
    """The checkout that this package lies in; None where it was installed."""
    here = Path(__file__).resolve().parents[2]
    return here if (here / "Cargo.toml").is_file() else None


@cache
def _installed() -> Path | None:
    """Where it was installed: the nearest folder above this package with its data, whoever installed it."""
    above = Path(__file__).resolve().parents
    return None if tree() else next((folder for folder in above if (folder / _SHARED).is_dir()), None)


def root() -> Path:
    """Of the data: $SCHEDLAB_ROOT, else the checkout, else where the data was installed, else the current directory."""
    named = os.environ.get("SCHEDLAB_ROOT")
    if named:
        return Path(named).resolve()
    installed = _installed()
    return tree() or (installed and installed / _SHARED) or Path.cwd()


def writable() -> Path:
    """Where files of one's own go: the checkout, or the current directory. What was installed stays as it is."""
    return Path.cwd() if _installed() else root()


def command() -> str:
    """What a person types."""
    return "schedlab" if _installed() else "./schedlab"


def remedy() -> str:
    """What brings back programs that are missing or too old: a command, where there is one."""
    return "install schedlab again" if _installed() else "make build"


def mend() -> str:
    """The same within a sentence."""
    return remedy() if _installed() else f"run '{remedy()}'"


def binary_folders(place: Path | None = None) -> list[Path]:
    base = place or root()
    installed = _installed()
    return [
        base / "build" / "bin",
        base / "target" / "release",
        base / "target" / "x86_64-unknown-linux-musl" / "release",
        base / "target" / "aarch64-unknown-linux-musl" / "release",
        *([installed / "bin"] if installed else []),
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
        if _installed():
            raise PlaceError(f"{name} is not there: {mend()}")
        raise PlaceError(f"{name} is not built: {mend()} in {root()}")
    return found
