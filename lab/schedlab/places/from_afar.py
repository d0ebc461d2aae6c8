# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that another machine sent. Nothing in them is believed beyond what every record has to be.

A record is kept under the id of a cell that is waited for and hashes to it; no part of it names a file. Texts lose what
could move a terminal's cursor; the page escapes them as it does all others.
"""

import json
import re
from dataclasses import replace
from typing import Any

from schedlab import atomic
from schedlab.collect import records
from schedlab.collect.records import CorruptRecord, Record
from schedlab.collect.store import Store
from schedlab.foreign import printable

# A record has some distributions of some thousand buckets.
MOST_BYTES = 16 << 20
_MOST_REASON = 20_000
_TRACE_HASH = re.compile(r"(?:[0-9a-f]{16})?")


def keep(data: Any, expected_id: str, place: str, host: str, store: Store) -> Record:
    """Put it into the store, with the host that it came from. Raises CorruptRecord."""
    found, own = checked(data, expected_id, place)
    own["provenance"]["host"] = host
    atomic.write(store.path(expected_id), json.dumps(own, ensure_ascii=False) + "\n")
    return found


def checked(data: Any, expected_id: str, place: str) -> tuple[Record, dict[str, Any]]:
    """The record, and what of it is kept. Raises CorruptRecord."""
    found = records.parse(data, expected_id)
    if found.provenance["place"] != place:
        raise CorruptRecord(f"key 'provenance.place': expected {place}")
    own = {
        "format": records.FORMAT,
        "id": expected_id,
        "cell": found.cell,
        "status": found.status,
        "reason": printable(found.reason, _MOST_REASON),
        "metrics": found.metrics,
        "histograms": {name: _histogram(data["histograms"][name]) for name in found.histograms},
        "trace_hash": found.trace_hash if _TRACE_HASH.fullmatch(found.trace_hash) else "",
        # Which host it was is not for the host to say.
        "provenance": {key: value for key, value in found.provenance.items() if key != "host"},
        "cost": found.cost,
    }
    # As it will be read again.
    kept = {key: own[key] for key in ("reason", "trace_hash", "provenance", "cost")}
    return replace(found, **kept), own


def _histogram(data: dict[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in ("count", "min_ns", "max_ns", "sum_ns", "buckets_ns")}
