# SPDX-License-Identifier: GPL-2.0-or-later
"""hosts.json: what the hosts of a fleet were like, and before and after each block that ran there (docs/fleet.md).

A host's first block says what it is like. Every later one has to find it so: what differs is named, and voids.
"""

from collections.abc import Iterable
from typing import Any

from schedlab import atomic, foreign
from schedlab.collect.store import Store
from schedlab.errors import InputError

NAME = "hosts.json"
FORMAT = 1

# What must not change, as it is told. The rest changes by itself.
_FIXED = {
    "kernel": "kernel",
    "preempt": "preemption model",
    "hz": "tick in Hz",
    "cpu_model": "CPU model",
    "microcode": "microcode",
    "cpus": "number of online CPUs",
    "online": "online CPUs",
    "smt": "hardware threads",
    "governors": "governor",
    "turbo": "turbo",
    "clocksource": "clock source",
    "virtualised": "virtualised",
}
_TEXTS = [key for key in _FIXED if key not in ("hz", "cpus")] + ["boot", "sched_ext"]
_NUMBERS = ["hz", "cpus", "load_1_min", "busy_pct", "throttled"]
# Of a block, beside what it has in common with all others of its host.
PASSING = ("boot", "load_1_min", "busy_pct", "temperature_c", "throttled")
_MOST_LETTERS = 300
_MOST_MITIGATIONS = 200

Environment = dict[str, Any]


def environment(data: Any) -> Environment:
    """As a host told it, of which nothing is believed: known keys alone, short, and of the right kind.

    Raises ValueError.
    """
    if not isinstance(data, dict):
        raise ValueError("an environment is no table")
    found: Environment = {}
    for key in _TEXTS:
        found[key] = _text(key, data.get(key))
    for key in _NUMBERS:
        found[key] = _number(key, data.get(key))
    warmest = data.get("temperature_c")
    found["temperature_c"] = None if warmest is None else _number("temperature_c", warmest)
    mitigations = data.get("mitigations")
    if not isinstance(mitigations, dict) or len(mitigations) > _MOST_MITIGATIONS:
        raise ValueError("mitigations: expected a table")
    found["mitigations"] = {_text("mitigations", k): _text(k, mitigations[k]) for k in sorted(mitigations)}
    return found


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key[:_MOST_LETTERS]}: expected a text")
    return foreign.printable(value)


def _number(key: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise ValueError(f"{key}: expected a number")
    return value


def changes(reference: Environment, now: Environment) -> list[str]:
    """What differs of that which must not, in words."""
    found = [
        f"{title}: {_shown(reference[key])}, now {_shown(now[key])}"
        for key, title in _FIXED.items()
        if reference[key] != now[key]
    ]
    before, after = reference["mitigations"], now["mitigations"]
    for weakness in sorted(before.keys() | after.keys()):
        if before.get(weakness) != after.get(weakness):
            words = f"{_shown(before.get(weakness, ''))}, now {_shown(after.get(weakness, ''))}"
            found.append(f"mitigation of {weakness}: {words}")
    return found


def _shown(value: object) -> str:
    return "none" if value == "" else str(value)


def disturbance(before: Environment, after: Environment | None, busy_pct: float) -> str:
    """Why a block between the two is void, besides changes; `after` None: before it has run."""
    for when, found in (("before", before), ("after", after)):
        if found and found["busy_pct"] > busy_pct:
            return f"others took {found['busy_pct']:.0f} % of its CPUs' time {when} the block (limit: {busy_pct:g} %)"
    if after and after["throttled"] != before["throttled"]:
        return "it was slowed down because it was hot"
    if after and after["boot"] != before["boot"]:
        return "it was booted meanwhile"
    return ""


class Hosts:
    """hosts.json of a results directory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.data = read(store) or {"format": FORMAT, "hosts": {}, "blocks": []}

    def reference(self, host: str) -> Environment | None:
        entry = self.data["hosts"].get(host)
        return entry["environment"] if entry else None

    def note(self, host: str, address: str, reference: Environment, block: dict[str, Any]) -> None:
        """A block that ran, and what the host is like if it is its first."""
        self.data["hosts"].setdefault(host, {"address": address, "environment": reference})
        self.data["blocks"].append({"host": host, **block})
        atomic.write_json_lines(self._store.directory / NAME, self.data)


def read(store: Store) -> dict[str, Any] | None:
    """None where no fleet ran."""
    path = store.directory / NAME
    try:
        data = foreign.parse(path.read_bytes())
        foreign.need_format(path, data["format"], FORMAT)
        for name, host in data["hosts"].items():
            told = environment(host["environment"])
            data["hosts"][name] = {"address": _text("address", host["address"]), "environment": told}
        _check_blocks(data["blocks"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error!r}") from error
    return data


def _check_blocks(blocks: Iterable[dict[str, Any]]) -> None:
    for block in blocks:
        for key in ("host", "machine", "void"):
            if not isinstance(block[key], str):
                raise ValueError(f"blocks: {key}: expected a text")
        for key in ("repetition", "cells"):
            _number(key, block[key])
