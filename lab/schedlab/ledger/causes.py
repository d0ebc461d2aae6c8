# SPDX-License-Identifier: GPL-2.0-or-later
"""Why rows differ, as far as somebody knows: a TOML file beside the results.

    [[cause]]
    label = "sd*"                        # patterns as of file names; a key that is left out takes all
    workload = "pipe"
    load = [4, 8]
    metric = ["switches_*", "elapsed_s"]
    says = "…"                           # a sentence without its full stop

The first that takes a row is its cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from schedlab.catalogue import toml
from schedlab.errors import InputError, unknown
from schedlab.statistics.agreement import Place

NAME = "causes.toml"
NOT_KNOWN = "not known"
_PATTERNS = ("label", "workload", "metric", "statistic")
_KEYS = [*_PATTERNS, "load", "says"]


@dataclass(frozen=True)
class Cause:
    says: str
    patterns: dict[str, list[str]]
    loads: list[int]

    def takes(self, place: Place) -> bool:
        fits = all(
            any(fnmatchcase(getattr(place, name), pattern) for pattern in patterns)
            for name, patterns in self.patterns.items()
        )
        return fits and (not self.loads or place.load in self.loads)


def read(path: Path) -> list[Cause]:
    """None where there is no such file."""
    if not path.exists():
        return []
    data = toml.read(path)
    for key in data:
        if key != "cause":
            raise InputError(f"{path}: {unknown('key', key, ['cause'])}")
    return [_cause(path, number, entry) for number, entry in enumerate(data.get("cause", []), 1)]


def _cause(path: Path, number: int, entry: dict) -> Cause:
    where = f"{path}: cause {number}"
    for key in entry:
        if key not in _KEYS:
            raise InputError(f"{where}: {unknown('key', key, _KEYS)}")
    says = toml.text(entry, "says", path)
    patterns = {name: _list(where, name, entry[name], str) for name in _PATTERNS if name in entry}
    return Cause(says, patterns, _list(where, "load", entry.get("load", []), int))


def _list(where: str, key: str, value: object, kind: type) -> list:
    values = value if isinstance(value, list) else [value]
    if not all(type(item) is kind for item in values):
        what = "an integer, or a list of them" if kind is int else "a pattern, or a list of them"
        raise InputError(f"{where}: key '{key}': expected {what}, got {value!r}")
    return values


def cause(place: Place, causes: Sequence[Cause]) -> str:
    return next((known.says for known in causes if known.takes(place)), NOT_KNOWN)
