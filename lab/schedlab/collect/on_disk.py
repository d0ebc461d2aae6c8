# SPDX-License-Identifier: GPL-2.0-or-later
"""A record whose numbers stay on the disk: what is kept in memory of each where there are many.

What many records have in common is there once. The rest is read again when it is asked for. A few thousand records stay
for a while, because everything that is computed of a group of cells is computed one after the other.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from schedlab.campaign.cells import canonical
from schedlab.collect import records
from schedlab.collect.histogram import Histogram
from schedlab.collect.records import Record

T = TypeVar("T")

_MOST_IN_MEMORY = 3_000
_shared: dict[object, Any] = {}


class RecordOnDisk(Record):
    """For whoever asks the same as the record that was read."""

    __slots__ = ("_distributions", "_folder", "_names")

    def __init__(self, read: Record, folder: Path) -> None:
        kept = {
            "id": read.id,
            "status": _once(read.status, read.status),
            "reason": _once(read.reason, read.reason),
            "provenance": _once(canonical(read.provenance), read.provenance),
            "_names": _once(read.names, read.names),
            "_distributions": _once(read.distributions, read.distributions),
            "_folder": folder,
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @property
    def names(self) -> frozenset[str]:
        return self._names

    @property
    def distributions(self) -> frozenset[str]:
        return self._distributions

    @property
    def cell(self) -> dict[str, Any]:  # type: ignore[override]
        return _read(self._folder, self.id).cell

    @property
    def metrics(self) -> dict[str, float]:  # type: ignore[override]
        return _read(self._folder, self.id).metrics

    @property
    def histograms(self) -> dict[str, Histogram]:  # type: ignore[override]
        return _read(self._folder, self.id).histograms

    @property
    def trace_hash(self) -> str:  # type: ignore[override]
        return _read(self._folder, self.id).trace_hash

    @property
    def cost(self) -> dict[str, Any]:  # type: ignore[override]
        return _read(self._folder, self.id).cost


@lru_cache(_MOST_IN_MEMORY)
def _read(folder: Path, name: str) -> Record:
    return records.read(folder / f"{name}.json", name)


def _once(key: object, value: T) -> T:
    return _shared.setdefault((type(value), key), value)
