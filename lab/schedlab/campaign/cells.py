# SPDX-License-Identifier: GPL-2.0-or-later
"""A cell: its canonical form, its identity, the digests it carries (docs/records.md), and what it is measured for.

On a real kernel the default scheduler runs more often than once a block, and cells that differ in nothing else need
another number. The thousands of the repetition carry the role, so that a record tells it by itself.
"""

import hashlib
import json
import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

MEASURED = "measured"
CONTROL = "control"  # the second default of the A/A control
WARM_UP = "warm-up"  # thrown away: the first measurement after boot is too slow
FIRST = "first"  # the default at both ends of a block: how far the machine drifted
LAST = "last"

_STRIDE = 1000
_ROLES = [MEASURED, CONTROL, WARM_UP, FIRST, LAST]
MAX_REPETITIONS = _STRIDE


def repetition(role: str, block: int) -> int:
    return _ROLES.index(role) * _STRIDE + block


_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(data: dict[str, Any]) -> bytes:
    return _encoder.encode(data).encode()


def cell_id(data: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(data)).hexdigest()[:20]


@cache
def file_digest(*paths: Path) -> str:
    """Of several files that of all of them, with NULs between."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@cache
def sources_digest(folder: Path) -> str:
    """Every .h and .bpf.c of a scheduler's folder and what these include from others, by name: name, NUL, bytes."""
    waiting = [path.name for path in folder.iterdir() if path.name.endswith((".h", ".bpf.c"))]
    files: dict[str, bytes] = {}
    while waiting:
        name = waiting.pop()
        if name in files or not (folder / name).is_file():
            continue
        files[name] = (folder / name).read_bytes()
        beside = posixpath.dirname(name)
        included = (match.decode(errors="replace") for match in _INCLUDE.findall(files[name]))
        waiting += [posixpath.normpath(f"./{beside}/{other}") for other in included]
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(name.encode() + b"\0" + files[name])
    return whole.hexdigest()[:16]
