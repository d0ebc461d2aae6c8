# SPDX-License-Identifier: GPL-2.0-or-later
"""packs/ of a results directory: results that came together, in one compressed file instead of a file each.

A pack's first line names its cells, the others are their records in the same order (docs/records.md). It is written
whole and holds results alone: what has failed runs again and has a file of its own.
"""

import gzip
import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from schedlab import atomic, foreign
from schedlab.collect import records
from schedlab.collect.records import CorruptRecord, Record

FORMAT = 1
# Higher ones take several times as long for a few per cent.
_LEVEL = 4
_END = ".jsonl.gz"
# Of the first line: a pack of a million cells has a shorter one.
_MOST_BYTES = 64 << 20
_UNREADABLE = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError)


class Packs:
    def __init__(self, directory: Path) -> None:
        self.folder = directory / "packs"
        self._last: tuple[Path, dict[str, bytes]] | None = None
        self._unreadable: dict[Path, str] = {}

    @cached_property
    def _where(self) -> dict[str, Path]:
        """The pack of every cell that is in one, by what their first lines say. Raises NewerFormat."""
        found: dict[str, Path] = {}
        for path in sorted(self.folder.glob(f"*{_END}")) if self.folder.is_dir() else []:
            try:
                with gzip.open(path, "rb") as pack:
                    found |= dict.fromkeys(_named(pack.readline(_MOST_BYTES)), path)
            except _Newer as error:
                raise foreign.newer(path, error.args[0], FORMAT) from error
            except _UNREADABLE as error:
                # Its cells count as having no record.
                self._unreadable[path] = f"not a pack: {error}"
        return found

    def path(self, cell_id: str) -> Path | None:
        return self._where.get(cell_id)

    def ids(self) -> set[str]:
        return set(self._where)

    def read(self, wanted: Iterable[str]) -> Iterator[tuple[str, Record | CorruptRecord]]:
        """Of those that are in a pack, each pack once."""
        by_pack: dict[Path, list[str]] = defaultdict(list)
        for cell_id in wanted:
            if path := self._where.get(cell_id):
                by_pack[path].append(cell_id)
        for path, ids in by_pack.items():
            try:
                lines = self._lines(path)
            except _UNREADABLE as error:
                yield from ((cell_id, CorruptRecord(f"not a pack: {error}")) for cell_id in ids)
                continue
            for cell_id in ids:
                try:
                    record = records.parse_text(lines[cell_id], cell_id)
                    if record.status not in records.FINISHED:
                        raise CorruptRecord(f"status {record.status} is none of a result")
                    yield cell_id, record
                except KeyError as error:
                    yield cell_id, CorruptRecord(f"not valid JSON: {error}")
                except CorruptRecord as error:
                    yield cell_id, error

    def write(self, lines: Sequence[tuple[str, str]]) -> None:
        """Records by their cells, none of which is in a pack."""
        ids = [cell_id for cell_id, _ in lines]
        path = self.folder / f"{hashlib.sha256(' '.join(ids).encode()).hexdigest()[:20]}{_END}"
        head = json.dumps({"format": FORMAT, "cells": ids})
        text = "\n".join([head, *(line for _, line in lines), ""])
        # The same records make the same file.
        atomic.write_into(path, gzip.compress(text.encode(), compresslevel=_LEVEL, mtime=0))
        self._where.update(dict.fromkeys(ids, path))

    def set_aside(self, bad: Mapping[str, CorruptRecord]) -> Iterator[tuple[Path, str]]:
        """Packs with these cells, and those that cannot be read, go under names that end in .corrupt. What is good in
        them is packed anew. Yields what each was called, and what was wrong.
        """
        whys = dict(self._unreadable)
        for cell_id, error in bad.items():
            if path := self._where.get(cell_id):
                whys.setdefault(path, str(error))
        for path, why in whys.items():
            good = []
            with suppress(*_UNREADABLE):
                good = [(cell_id, line.decode()) for cell_id, line in self._lines(path).items() if cell_id not in bad]
            for cell_id in [cell_id for cell_id, where in self._where.items() if where == path]:
                del self._where[cell_id]
            path.rename(path.with_name(path.name + ".corrupt"))
            if good:
                self.write(good)
            yield path, why
        self._unreadable.clear()

    def _lines(self, path: Path) -> dict[str, bytes]:
        # Whoever reads cells in the order in which they ran asks for the same one again.
        if self._last is None or self._last[0] != path:
            head, *lines = gzip.decompress(path.read_bytes()).splitlines()
            self._last = path, dict(zip(_named(head), lines, strict=True))
        return self._last[1]


def _named(head: bytes) -> list[str]:
    """Raises ValueError, KeyError or TypeError, and for a format to come _Newer."""
    data = foreign.parse(head)
    if foreign.is_newer(data["format"], FORMAT):
        raise _Newer(data["format"])
    if data["format"] != FORMAT:
        raise ValueError(f"key 'format': expected {FORMAT}, got {data['format']!r}")
    return [str(cell_id) for cell_id in data["cells"]]


class _Newer(Exception):
    """A pack of a format to come, which is no damage."""
