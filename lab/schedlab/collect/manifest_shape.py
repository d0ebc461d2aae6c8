# SPDX-License-Identifier: GPL-2.0-or-later
"""What has to be where in a manifest for the rest to rely on it: a folder of results may come from anybody."""

from collections.abc import Callable, Mapping
from typing import Any

from schedlab import foreign

_ID = frozenset("0123456789abcdef")
_ID_LETTERS = 20
_MOST = 2**63

Check = Callable[[Any, str], None]


def check(data: Any) -> None:
    """Raises ValueError, which names the key."""
    _WHOLE(data, "")
    names = {key: [one["name"] for one in data[f"{key}s"]] for key in ("workload", "machine")}
    for at, cell in enumerate(data["cells"]):
        for key, known in names.items():
            if cell["cell"][key] not in known:
                _fail(f"cells[{at}].cell.{key}", f"one of {key}s")


def _fail(where: str, expected: str) -> None:
    raise ValueError(f"key '{where.lstrip('.')}': expected {expected}")


def _text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        _fail(where, "a text")


def _number(value: Any, where: str) -> None:
    if type(value) is not int or not -_MOST <= value < _MOST:
        _fail(where, "an integer of 64 bits")


def _id(value: Any, where: str) -> None:
    if not isinstance(value, str) or len(value) != _ID_LETTERS or not _ID.issuperset(value):
        _fail(where, f"{_ID_LETTERS} hex digits")


def _text_or_number(value: Any, where: str) -> None:
    (_text if isinstance(value, str) else _number)(value, where)


def _yes(value: Any, where: str) -> None:
    if not isinstance(value, bool):
        _fail(where, "true or false")


def _list(of: Check) -> Check:
    def check(value: Any, where: str) -> None:
        if not isinstance(value, list):
            _fail(where, "a list")
        for at, one in enumerate(value):
            of(one, f"{where}[{at}]")

    return check


def _some(of: Check) -> Check:
    whole = _list(of)

    def check(value: Any, where: str) -> None:
        whole(value, where)
        if not value:
            _fail(where, "a list that is not empty")

    return check


def _each(of: Check) -> Check:
    """A table whose keys may be any."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            _fail(where, "a table")
        for name, one in value.items():
            of(one, f"{where}.{foreign.printable(name)}")

    return check


def _table(needed: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    may = optional or {}

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            _fail(where, "a table")
        for name, one in needed.items():
            if name not in value:
                _fail(f"{where}.{name}", "it, found none")
            one(value[name], f"{where}.{name}")
        for name, one in may.items():
            if name in value:
                one(value[name], f"{where}.{name}")

    return check


_CELL = _table(
    {
        "scheduler": _text,
        "tunables": _each(_text),
        "workload": _text,
        "load": _number,
        "params": _each(_text),
        "place": _text,
        "machine": _text,
        "repetition": _number,
        "seed": _number,
        "digests": _table(dict.fromkeys(("scheduler", "workload", "machine", "engine"), _text), {"kernel": _text}),
    },
    {"api": _text, "kernel": _text, "built_in": _yes, "modelled": _yes, "exact_costs": _yes},
)
_WHOLE = _table(
    {
        "command": _text,
        "schedlab": _text,
        "place": _text,
        "schedulers": _some(_text),
        "workloads": _some(
            _table(
                {
                    "name": _text,
                    "title": _text,
                    "load": _text,
                    "loads": _list(_text_or_number),
                    "promises": _list(_text),
                }
            )
        ),
        "machines": _some(_table({"name": _text, "title": _text})),
        "repetitions": _number,
        "seed_base": _number,
        "digests": _each(_each(_text)),
        "host": _table({"system": _text, "machine": _text, "cpu": _text, "cpus": _text_or_number, "python": _text}),
        "cells": _list(_table({"id": _id, "label": _text, "role": _text, "cell": _CELL})),
    },
    {
        "metrics": _list(_table({"name": _text, "title": _text, "unit": _text, "better": _text})),
        "chosen": _text,
    },
)
