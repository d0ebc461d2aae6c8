# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of users' own machines: of each machine those of its last run, beside those of the others.

host.csv has the ledger's columns behind the machine's name, host.json what else its part of the page is made of.
"""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schedlab import atomic
from schedlab.errors import InputError
from schedlab.ledger import entries
from schedlab.ledger.entries import Entry

ROWS, REST = "host.csv", "host.json"
_MACHINE = "machine"
_FORMAT = 1


def keep(directory: Path, data: dict[str, Any], rows: Sequence[Entry]) -> None:
    """In the place of what there was of the same machine. Rows of others stay as they are, to the last digit."""
    described = [own for own, _ in read(directory)]
    names = list(dict.fromkeys([*(own[_MACHINE] for own in described), data[_MACHINE]]))
    header, *values = csv.reader(io.StringIO(entries.as_csv(rows)))
    lines = {name: [line for line in _lines(directory) if line[0] == name] for name in names}
    lines[data[_MACHINE]] = [[data[_MACHINE], *line] for line in values]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [[_MACHINE, *header], *(line for name in names for line in lines[name])]
    )
    of_name = {own[_MACHINE]: own for own in [*described, data]}
    rest = {"format": _FORMAT, "machines": [of_name[name] for name in names]}
    atomic.write_into(directory / ROWS, text.getvalue())
    atomic.write_into(directory / REST, json.dumps(rest, ensure_ascii=False, indent=1) + "\n")


def _lines(directory: Path) -> list[list[str]]:
    """Without the header."""
    file = directory / ROWS
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))[1:]


def read(directory: Path) -> list[tuple[dict[str, Any], list[Entry]]]:
    """What keep() wrote, by machine; nothing where there is nothing."""
    described, rows = directory / REST, directory / ROWS
    if not described.exists():
        return []
    try:
        machines = json.loads(described.read_text(encoding="utf-8"))["machines"]
        names = [own[_MACHINE] for own in machines]
        with rows.open(encoding="utf-8", newline="") as file:
            of = [line[_MACHINE] for line in csv.DictReader(file)]
    except OSError as error:
        raise InputError(f"{rows}: cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{described}, {rows}: expected what 'schedlab agree --on host' writes: {error!r}") from error
    found = entries.from_csv(rows)
    return [
        (own, [entry for machine, entry in zip(of, found, strict=True) if machine == name])
        for own, name in zip(machines, names, strict=True)
    ]
