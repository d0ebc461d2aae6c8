# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache directory: where kernels, apt's lists, initramfs images and probe answers are kept."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schedlab import atomic


def root() -> Path:
    """`$SCHEDLAB_CACHE`, else `$XDG_CACHE_HOME/schedlab`, else `~/.cache/schedlab`. Not created."""
    chosen = os.environ.get("SCHEDLAB_CACHE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "schedlab"


def directory(*parts: str) -> Path:
    """A directory below the cache, created if it is missing."""
    path = root().joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the cache's lock `name`, so that two commands do not fetch or unpack the same thing."""
    with open(directory("locks") / name, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write(path: Path, content: str | bytes) -> None:
    """Keep a file: a reader sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, content)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object kept in the cache, or None where there is none that can be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Keep a JSON object in the cache."""
    write(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, as 64 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def prune(folder: Path, keep: int) -> None:
    """Remove all but the `keep` files of a folder that were touched last."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[keep:]:
        path.unlink(missing_ok=True)
