# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that another machine sent. Nothing in them is believed beyond what every record has to be.

A record is kept under the id of a cell that is waited for and hashes to it; no part of it names a file. Texts lose what
could move a terminal's cursor; the page escapes them as it does all others.
"""

import json
import math
import re
from dataclasses import replace
from typing import Any, NoReturn

from schedlab import atomic
from schedlab.collect import records
from schedlab.collect.hosts import printable
from schedlab.collect.records import CorruptRecord, Record
from schedlab.collect.store import Store

# A record has some distributions of some thousand buckets.
MOST_BYTES = 16 << 20
_MOST_REASON = 20_000
_TRACE_HASH = re.compile(r"(?:[0-9a-f]{16})?")
_METRIC = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PROVENANCE = {
    "place": str,
    "engine": str,
    "kernel": str,
    "tier": str,
    "preempt": str,
    "governor": str,
    "ops": str,
    "cpus": int,
    "hz": int,
}
_NEEDED = ("place", "engine", "kernel", "cpus", "hz")


def parse(line: str) -> Any:
    """A line of JSON; NaN and infinity are none. Raises ValueError."""
    try:
        return json.loads(line, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("too deep") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def keep(data: Any, expected_id: str, place: str, host: str, store: Store) -> Record:
    """Put it into the store, with the host that it came from. Raises CorruptRecord."""
    found, own = checked(data, expected_id, place)
    own["provenance"]["host"] = host
    atomic.write(store.path(expected_id), json.dumps(own, ensure_ascii=False) + "\n")
    return found


def checked(data: Any, expected_id: str, place: str) -> tuple[Record, dict[str, Any]]:
    """The record, and what of it is kept. Raises CorruptRecord."""
    try:
        return _checked(data, expected_id, place)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise CorruptRecord(type(error).__name__) from error


def _checked(data: Any, expected_id: str, place: str) -> tuple[Record, dict[str, Any]]:
    found = records.parse(data, expected_id)
    for name in [*found.metrics, *found.histograms]:
        if not _METRIC.fullmatch(name):
            raise CorruptRecord("key 'metrics': a name that no metric has")
    if not all(map(math.isfinite, found.metrics.values())):
        raise CorruptRecord("key 'metrics': expected numbers")
    cost = {}
    for name, value in found.cost.items():
        if not _METRIC.fullmatch(name) or isinstance(value, bool) or not isinstance(value, int | float):
            raise CorruptRecord("key 'cost': expected numbers")
        cost[name] = value
    own = {
        "format": records.FORMAT,
        "id": expected_id,
        "cell": found.cell,
        "status": found.status,
        "reason": printable(found.reason, _MOST_REASON),
        "metrics": found.metrics,
        "histograms": {name: _histogram(data["histograms"][name]) for name in found.histograms},
        "trace_hash": found.trace_hash if _TRACE_HASH.fullmatch(found.trace_hash) else "",
        "provenance": _provenance(found.provenance, place),
        "cost": cost,
    }
    # As it will be read again.
    kept = {key: own[key] for key in ("reason", "trace_hash", "provenance", "cost")}
    return replace(found, **kept), own


def _histogram(data: dict[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in ("count", "min_ns", "max_ns", "sum_ns", "buckets_ns")}


def _provenance(data: dict[str, Any], place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, kind in _PROVENANCE.items():
        value = data.get(key)
        if value is None and key not in _NEEDED:
            continue
        if type(value) is not kind:
            raise CorruptRecord(f"key 'provenance.{key}': expected {'a text' if kind is str else 'a number'}")
        found[key] = printable(value) if isinstance(value, str) else value
    if found["place"] != place:
        raise CorruptRecord(f"key 'provenance.place': expected {place}")
    return found
