# SPDX-License-Identifier: GPL-2.0-or-later
"""traces/ of a results directory: of some cells a traced run, apart from the measured ones, or why there is none.

A trace is the kernel's text, compressed, with notes of the lab in it: `# schedlab: KEY=VALUE`.
"""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from schedlab import atomic, foreign
from schedlab.collect import records
from schedlab.errors import InputError, LabError

_FOLDER = "traces"
FAULT, RECORD = "# schedlab: fault=", "# schedlab: record="


def keep(directory: Path, cell_id: str, lines: Sequence[str]) -> None:
    path = _path(directory, cell_id)
    text = "".join(f"{line}\n" for line in lines)
    # The same trace makes the same file.
    atomic.write_into(path, gzip.compress(text.encode("utf-8", "replace"), mtime=0))


def read(directory: Path, cell_id: str) -> list[str]:
    """The lines of a cell that ran well. Raises LabError with the reason where there are none."""
    path = _path(directory, cell_id)
    try:
        lines = gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines()
    except FileNotFoundError as error:
        raise LabError("it was not traced") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    why = fault(lines)
    if why:
        raise LabError(why)
    return lines


def is_there(directory: Path, cell_id: str) -> bool:
    try:
        read(directory, cell_id)
    except LabError:
        return False
    return True


def fault(lines: Sequence[str]) -> str:
    """Why the lines hold no trace of a cell that ran well; empty where they do."""
    for line in reversed(lines):
        if line.startswith(FAULT):
            return foreign.printable(line.removeprefix(FAULT).removeprefix("record: ").removeprefix("schedlab-host: "))
        if line.startswith(RECORD):
            try:
                record = foreign.parse(line.removeprefix(RECORD))
                ended, why = record["status"], record["reason"]
            except (ValueError, KeyError, TypeError):
                return "the record in its traced run cannot be read"
            return "" if ended == records.OK else foreign.printable(f"{ended}: {why}")
    return "its traced run left no record"


def _path(directory: Path, cell_id: str) -> Path:
    return directory / _FOLDER / f"{cell_id}.trace.gz"
