# SPDX-License-Identifier: GPL-2.0-or-later
"""The results directory: which cells have a record, and what is in the way of the others."""

import fcntl
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schedlab import foreign
from schedlab.atomic import write_errors_explained
from schedlab.collect import records
from schedlab.collect.on_disk import RecordOnDisk
from schedlab.collect.packs import Packs
from schedlab.collect.records import CorruptRecord, NewerRecord, Record
from schedlab.errors import InputError


def directory_of(name: str, question: Any) -> Path:
    """Where results go unless told: the same question, as JSON, finds the same one, so that its command resumes."""
    return Path("results") / f"{name}-{hashlib.sha256(json.dumps(question).encode()).hexdigest()[:8]}"


_FOLDERS = ("cells", "packs", "functions", "traces")
# As atomic.py, DuckDB's writer and the runners name what becomes a file when it is whole.
_HALF = re.compile(
    r"\.[0-9a-f]{20}\.\w{6}"
    r"|\.[\w-]+\.(?:json|jsonl\.gz|trace\.gz|csv|html)\.[a-z0-9_]{8}"
    r"|\.[\w-]+\.parquet\.new"
)

# Of so many the numbers are kept in memory, which saves reading them again; of all others they stay on the disk.
MOST_IN_MEMORY = 4_000


class Store:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.cells = directory / "cells"
        self._packs = Packs(directory)
        self._read: dict[str, Record] = {}  # a record never changes: what was read need not be read again
        self.lines: dict[tuple[str, str], str] = {}  # the rows of results.csv by cell and label, made while others run

    def create(self) -> None:
        with write_errors_explained(self.directory):
            try:
                self.cells.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                raise InputError(f"{self.directory}: is in the way: expected a directory for results") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time; the kernel drops the lock when the process ends, however it ends."""
        with write_errors_explained(self.directory / ".lock"), (self.directory / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(
                    f"{self.directory}: another schedlab is running there; wait for it, or name another folder with -o"
                ) from error
            self._sweep()
            yield

    def _sweep(self) -> None:
        """Half a file whose writer was killed is nobody's. Who holds the lock is alone here."""
        for folder in (self.directory, *(self.directory / name for name in _FOLDERS)):
            for path in folder.glob(".*"):
                if _HALF.fullmatch(path.name):
                    path.unlink(missing_ok=True)

    def path(self, cell_id: str) -> Path:
        """Its own file, whether it has one or not."""
        return self.cells / f"{cell_id}.json"

    def has(self, cell_id: str) -> bool:
        """Whether it has a record, which need not be a good one."""
        return self._packs.path(cell_id) is not None or self.path(cell_id).exists()

    def source(self, cell_id: str) -> Path:
        """The file that its record is in."""
        return self._packs.path(cell_id) or self.path(cell_id)

    def pack(self, found: Mapping[str, tuple[Record, str]]) -> None:
        """Results that came together, with their lines, go into one file. None of the cells has a record yet."""
        self._packs.write([(cell_id, line) for cell_id, (_, line) in found.items()])
        self._read.update({cell_id: record for cell_id, (record, _) in found.items()})

    def load(self, ids: Iterable[str]) -> tuple[dict[str, Record], dict[str, CorruptRecord]]:
        """The records that are there, and the files that are not what they should be. Raises NewerFormat."""
        good: dict[str, Record] = {}
        bad: dict[str, CorruptRecord] = {}
        ids = list(ids)
        for cell_id, record in self._packs.read(cell_id for cell_id in ids if cell_id not in self._read):
            if isinstance(record, NewerRecord):
                raise foreign.newer(self._packs.path(cell_id), record.found, records.FORMAT)
            if isinstance(record, CorruptRecord):
                bad[cell_id] = record
            else:
                self._read[cell_id] = record
        for cell_id in ids:
            if cell_id in bad:
                continue
            try:
                if cell_id not in self._read:
                    read = records.read(self.path(cell_id), cell_id)
                    self._read[cell_id] = RecordOnDisk(read, self.cells) if self.is_full else read
                good[cell_id] = self._read[cell_id]
            except FileNotFoundError:
                continue
            except NewerRecord as error:
                raise foreign.newer(self.path(cell_id), error.found, records.FORMAT) from error
            except CorruptRecord as error:
                bad[cell_id] = error
        return good, bad

    @property
    def is_full(self) -> bool:
        """Whether as many records are in memory as shall be."""
        return len(self._read) >= MOST_IN_MEMORY

    def drop(self, cell_id: str) -> None:
        """The cell is to run again. It has a file of its own: packs hold results alone."""
        self._read.pop(cell_id, None)
        self.path(cell_id).unlink(missing_ok=True)

    def prepare(self, ids: Iterable[str], warn: Callable[[str], None]) -> set[str]:
        """Ids with a result. Corrupt files are set aside, failed and void records removed: those cells run again."""
        there = {path.stem for path in self.cells.iterdir()} | self._packs.ids()
        good, bad = self.load(cell_id for cell_id in ids if cell_id in there)
        alone = {cell_id: error for cell_id, error in bad.items() if not self._packs.path(cell_id)}
        for pack, why in self._packs.set_aside(bad):
            warn(f"{pack}: corrupt records ({why}): set aside as {pack.name}.corrupt, their cells run again")
        for cell_id, error in alone.items():
            path = self.path(cell_id)
            warn(f"{path}: corrupt record ({error}): set aside as {path.name}.corrupt, the cell runs again")
            path.rename(path.with_name(path.name + ".corrupt"))
        for cell_id, record in good.items():
            if record.status not in records.FINISHED:
                self.drop(cell_id)
        return {cell_id for cell_id, record in good.items() if record.status in records.FINISHED}
