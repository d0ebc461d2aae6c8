# SPDX-License-Identifier: GPL-2.0-or-later
"""Files are written whole or not at all."""

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schedlab.errors import InputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EISDIR}


@contextmanager
def write_errors_explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise InputError(
                f"{path}: no space left to write it; free some and run the same command again "
                "(finished records are kept)"
            ) from error
        if error.errno in _CLOSED:
            raise InputError(
                f"{path}: cannot be written: {error.strerror}; make it writable or choose another folder"
            ) from error
        raise


def write(path: Path, content: str | bytes) -> None:
    """Write to a temporary name in the same directory, then rename."""
    write_parts(path, [content])


def write_parts(path: Path, parts: Iterable[str | bytes]) -> None:
    """The same of what comes in parts, which are never in memory all at once."""
    with write_errors_explained(path):
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                for part in parts:
                    out.write(part.encode() if isinstance(part, str) else part)
            # mkstemp makes files private; results are for reading.
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def write_into(path: Path, content: str | bytes) -> None:
    """The same, in a folder that need not be there yet."""
    with write_errors_explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write(path, content)


def write_json_lines(path: Path, data: dict[str, Any]) -> None:
    """One JSON object: a key a line, and of a list an entry a line. Indented whole, ten thousand cells take seconds."""
    write_parts(path, _object(data))


def _object(data: dict[str, Any]) -> Iterator[str]:
    before = "{\n"
    for key, value in data.items():
        yield f"{before}{_json(key)}: "
        yield from _list(value) if isinstance(value, list) else [_json(value)]
        before = ",\n"
    yield "\n}\n"


def _list(entries: list[Any]) -> Iterator[str]:
    before = "[\n"
    for entry in entries:
        yield f"{before}{_json(entry)}"
        before = ",\n"
    yield "\n]" if entries else "[]"


_json = json.JSONEncoder(ensure_ascii=False).encode
