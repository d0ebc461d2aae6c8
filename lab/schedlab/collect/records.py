# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading cell records (docs/records.md), trusting nothing: a half-written or foreign file is named and refused."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import foreign
from schedlab.campaign.cells import cell_id
from schedlab.collect.histogram import Histogram

FORMAT = 1
OK = "ok"
EJECTED = "ejected"
FAILED = "failed"
VOID = "void"
STATUSES = {OK, EJECTED, FAILED, VOID}
# Results. A cell that failed or was void is run again.
FINISHED = {OK, EJECTED}
# Names of metrics and costs are words of ours wherever they are shown.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_ORIGIN = {
    "place": str,
    "engine": str,
    "kernel": str,
    "cpus": int,
    "hz": int,
    "tier": str,
    "preempt": str,
    "governor": str,
    "ops": str,
    "host": str,
    "energy": str,
    "energy_step_uj": int,
    "energy_idle_mw": int,
    "energy_idle_range_mw": int,
}
_NEEDED = ("place", "engine", "kernel", "cpus", "hz")


class CorruptRecord(Exception):
    """The file is there but is not the record it should be; the text says why."""


class NewerRecord(CorruptRecord):
    """It may be a good one to a newer schedlab: nobody sets it aside."""

    def __init__(self, found: int) -> None:
        super().__init__(f"key 'format': expected {FORMAT}, got {found}")
        self.found = found


@dataclass(frozen=True, slots=True)
class Record:
    id: str
    cell: dict[str, Any]
    status: str
    reason: str
    metrics: dict[str, float]
    histograms: dict[str, Histogram]
    trace_hash: str
    provenance: dict[str, Any]
    cost: dict[str, Any]

    @property
    def names(self) -> frozenset[str]:
        """Of what it measured."""
        return frozenset(self.metrics.keys() | self.histograms.keys())

    @property
    def distributions(self) -> frozenset[str]:
        """Those of them that are histograms."""
        return frozenset(self.histograms.keys())


def read(path: Path, expected_id: str) -> Record:
    """Raises CorruptRecord, and FileNotFoundError where there is none."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CorruptRecord(f"it cannot be read: {error.strerror}") from error
    return parse_text(text, expected_id)


def parse_text(text: str | bytes, expected_id: str) -> Record:
    try:
        data = foreign.parse(text)
    except ValueError as error:
        raise CorruptRecord(f"not valid JSON: {error}") from error
    return parse(data, expected_id)


def parse(data: Any, expected_id: str) -> Record:
    try:
        return _parse(data, expected_id)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise CorruptRecord(foreign.printable(f"{type(error).__name__}: {error}")) from error


def _parse(data: Any, expected_id: str) -> Record:
    if not isinstance(data, dict):
        raise CorruptRecord("not a JSON object")
    if foreign.is_newer(data.get("format"), FORMAT):
        raise NewerRecord(data["format"])
    if data.get("format") != FORMAT:
        raise CorruptRecord(f"key 'format': expected {FORMAT}, got {data.get('format')!r}")
    if data.get("id") != expected_id:
        raise CorruptRecord(f"key 'id': expected {expected_id}, got {data.get('id')!r}")
    cell = _table(data, "cell")
    if cell_id(cell) != expected_id:
        raise CorruptRecord("key 'cell': its hash is not the record's id")
    if data.get("status") not in STATUSES:
        raise CorruptRecord(f"key 'status': unknown status {data.get('status')!r}")
    metrics = _table(data, "metrics")
    cost = _table(data, "cost")
    for key, numbers in (("metrics", metrics), ("cost", cost)):
        for name, value in numbers.items():
            _check_name(key, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise CorruptRecord(f"key '{key}.{name}': expected a number, got {value!r}")
    histograms = {}
    for name, value in _table(data, "histograms").items():
        _check_name("histograms", name)
        try:
            histograms[name] = Histogram.parse(value)
        except ValueError as error:
            raise CorruptRecord(f"key 'histograms': {error}") from error
    return Record(
        id=expected_id,
        cell=cell,
        status=data["status"],
        reason=foreign.lines(str(data.get("reason", ""))),
        metrics=metrics,
        histograms=histograms,
        trace_hash=foreign.printable(str(data.get("trace_hash", ""))),
        provenance=_origin(_table(data, "provenance")),
        cost=cost,
    )


def _check_name(key: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise CorruptRecord(f"key '{key}': a name that none has")


def _origin(data: dict[str, Any]) -> dict[str, Any]:
    """What is known of where it ran, in texts that can be printed."""
    found: dict[str, Any] = {}
    for key, kind in _ORIGIN.items():
        value = data.get(key)
        if value is None and key not in _NEEDED:
            continue
        if type(value) is not kind:
            raise CorruptRecord(f"key 'provenance.{key}': expected {'a text' if kind is str else 'a number'}")
        found[key] = foreign.printable(value) if isinstance(value, str) else value
    return found


def kernel_release(records: Iterable[Record]) -> str:
    """`uname -r` where they ran; empty where there is none of them."""
    return next((record.provenance["kernel"] for record in records), "")


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise CorruptRecord(f"key '{key}': expected an object")
    return value
