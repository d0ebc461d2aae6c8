# SPDX-License-Identifier: GPL-2.0-or-later
"""A cell: its canonical form, its identity, the digests it carries (docs/records.md), and what it is measured for.

On a real kernel the default scheduler runs more often than once a block, and cells that differ in nothing else need
another number. The thousands of the repetition carry the role, so that a record tells it by itself.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

MEASURED = "measured"
CONTROL = "control"  # the second default of the A/A control
WARM_UP = "warm-up"  # thrown away: the first measurement after boot is too slow
FIRST = "first"  # the default at both ends of a block: how far the machine drifted
LAST = "last"
BASELINE = "baseline"  # of results that were saved: measured then, and a column of this comparison

_ENGINE = Path("share", "schedlab", "engine")  # from the folder of a runner's folder
_STRIDE = 1000
_ROLES = [MEASURED, CONTROL, WARM_UP, FIRST, LAST]
MAX_REPETITIONS = _STRIDE

_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def repetition(role: str, block: int) -> int:
    return _ROLES.index(role) * _STRIDE + block


def canonical(data: dict[str, Any]) -> bytes:
    return _encoder.encode(data).encode()


def cell_id(data: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(data)).hexdigest()[:20]


@cache
def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def engine_digest(runner: Path) -> str:
    """Of a runner. That of one with policies in it is what a note beside it (scripts/build) says of this very file: of
    all that it was built from but the policies, of which a cell has a digest apart.
    """
    try:
        note = (runner.parent.parent / _ENGINE).read_text(encoding="utf-8")
    except OSError:
        note = ""
    file, _, rest = note.partition(" ")
    own = file_digest(runner)
    return rest.strip() if file.startswith(own) else own
