# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading cell records (docs/records.md), trusting nothing: a half-written or foreign file is named and refused."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


class CorruptRecord(Exception):
    """The file is there but is not the record it should be; the text says why."""


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
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CorruptRecord(f"not valid JSON: {error}") from error
    return parse(data, expected_id)


def parse(data: Any, expected_id: str) -> Record:
    if not isinstance(data, dict):
        raise CorruptRecord("not a JSON object")
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
    for name, value in metrics.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise CorruptRecord(f"key 'metrics.{name}': expected a number, got {value!r}")
    try:
        histograms = {name: Histogram.parse(value) for name, value in _table(data, "histograms").items()}
    except ValueError as error:
        raise CorruptRecord(f"key 'histograms': {error}") from error
    return Record(
        id=expected_id,
        cell=cell,
        status=data["status"],
        reason=str(data.get("reason", "")),
        metrics=metrics,
        histograms=histograms,
        trace_hash=str(data.get("trace_hash", "")),
        provenance=_table(data, "provenance"),
        cost=_table(data, "cost"),
    )


def kernel_release(records: Iterable[Record]) -> str:
    """`uname -r` where they ran; empty where there is none of them."""
    return next((record.provenance["kernel"] for record in records), "")


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise CorruptRecord(f"key '{key}': expected an object")
    return value
