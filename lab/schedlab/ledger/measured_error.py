# SPDX-License-Identifier: GPL-2.0-or-later
"""The model's error as the ledger shows it, from the cells that were looked at; the kept ones test it."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations

from schedlab import checkout
from schedlab.ledger.entries import LOOKED_AT, Entry, from_csv
from schedlab.statistics.model_error import Key, ModelError

FILE = "results/agreement/ledger.csv"


def measured() -> ModelError:
    """Of this checkout's ledger; nothing is known where there is none."""
    file = checkout.root() / FILE
    return model_error(from_csv(file)) if file.exists() else ModelError()


def model_error(entries: Iterable[Entry]) -> ModelError:
    there = list(entries)
    return ModelError(of_values(there, _is_looked_at), of_changes(there, _are_looked_at))


def of_values(entries: Iterable[Entry], counts: Callable[[Entry], bool]) -> dict[Key, list[float]]:
    """By workload and measure, without sign; a value that is not above zero has no error as a ratio."""
    found = defaultdict(list)
    for entry in filter(_has_ratio, entries):
        if counts(entry):
            found[_key(entry)].append(abs(_log_error(entry)))
    return dict(found)


def of_changes(entries: Iterable[Entry], count: Callable[[Entry, Entry], bool]) -> dict[Key, list[float]]:
    """Of every pair of schedulers in one cell."""
    cells = defaultdict(list)
    for entry in filter(_has_ratio, entries):
        cells[_key(entry), entry.place.load].append(entry)
    found = defaultdict(list)
    for (key, _), own in cells.items():
        found[key] += [abs(_log_error(a) - _log_error(b)) for a, b in combinations(own, 2) if count(a, b)]
    return dict(found)


def _is_looked_at(entry: Entry) -> bool:
    return entry.side == LOOKED_AT


def _are_looked_at(one: Entry, other: Entry) -> bool:
    return _is_looked_at(one) and _is_looked_at(other)


def _has_ratio(entry: Entry) -> bool:
    return min(entry.simulator.mean, entry.kernel.mean) > 0


def _log_error(entry: Entry) -> float:
    return math.log(entry.simulator.mean / entry.kernel.mean)


def _key(entry: Entry) -> Key:
    return entry.place.workload, entry.place.metric, entry.place.statistic
