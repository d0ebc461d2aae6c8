# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab list: what there is to choose from."""

import argparse
import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from schedlab.catalogue import machines, schedulers, workloads
from schedlab.errors import BAD_INPUT, InputError
from schedlab.studies import study_file


def list_things(options: argparse.Namespace) -> int:
    entries, broken = _READERS[options.what]()
    for error in broken:
        print(f"schedlab: {error}", file=sys.stderr)
    if options.json:
        print(json.dumps(entries, ensure_ascii=False, indent=1))
    else:
        _show(options.what, entries)
    return BAD_INPUT if broken else 0


def _schedulers() -> tuple[list[dict[str, Any]], list[InputError]]:
    known = schedulers.known().values()
    return [{"name": s.name, "title": s.title, "path": str(s.folder) if s.folder else ""} for s in known], []


def _workloads() -> tuple[list[dict[str, Any]], list[InputError]]:
    return _read_all(
        workloads.files(),
        workloads.read,
        lambda w: {"name": w.name, "title": w.title, "load": w.load, "loads": w.loads, "path": str(w.path)},
    )


def _machines() -> tuple[list[dict[str, Any]], list[InputError]]:
    return _read_all(machines.files(), machines.read, lambda m: {"name": m.name, "title": m.title, "path": str(m.path)})


def _studies() -> tuple[list[dict[str, Any]], list[InputError]]:
    return _read_all(
        study_file.files(),
        lambda p: (p, study_file.title(p)),
        lambda s: {"name": s[0].stem, "title": s[1], "path": str(s[0])},
    )


def _read_all(files: dict, read: Any, describe: Any) -> tuple[list[dict[str, Any]], list[InputError]]:
    """One broken file must not hide the others."""
    entries, broken = [], []
    for path in files.values():
        try:
            entries.append(describe(read(path)))
        except InputError as error:
            broken.append(error)
    return entries, broken


_READERS = {"schedulers": _schedulers, "workloads": _workloads, "machines": _machines, "studies": _studies}


def _show(what: str, entries: list[dict[str, Any]]) -> None:
    if not entries:
        print(f"no {what} yet")
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for entry in entries:
        text = entry["title"]
        if entry.get("load"):
            text += f" [dim]({entry['load']} = {', '.join(map(str, entry['loads']))})[/dim]"
        table.add_row(entry["name"], text)
    Console(highlight=False).print(table)
