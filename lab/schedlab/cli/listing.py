# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab list: what there is to choose from."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from schedlab.catalogue import machines, schedulers, workloads
from schedlab.errors import BAD_INPUT, InputError
from schedlab.studies import study_file


def list_things(options: argparse.Namespace) -> int:
    if options.paths and options.what != "workloads":
        raise InputError(f"list {options.what} {options.paths[0]}: only workloads are listed by their paths")
    files = _files(options.paths)
    entries, broken = _described(files) if files else _READERS[options.what]()
    for error in broken:
        print(f"schedlab: {error}", file=sys.stderr)
    for remark in (remark for entry in entries for remark in entry.get("remarks", [])):
        print(f"schedlab: {remark}", file=sys.stderr)
    if options.json:
        print(json.dumps(entries, ensure_ascii=False, indent=1))
    else:
        _show(options.what, entries)
        if files:
            print(f"{len(entries)} of {len(files)} files are accepted")
    return BAD_INPUT if broken else 0


def _schedulers() -> tuple[list[dict[str, Any]], list[InputError]]:
    known = list(schedulers.known().values())
    entries = zip(known, schedulers.titles(known), strict=True)
    return [{"name": s.name, "title": title, "path": str(s.origin) if s.origin else ""} for s, title in entries], []


def _workloads() -> tuple[list[dict[str, Any]], list[InputError]]:
    return _sorted_out(
        workloads.describe([*workloads.files().values()]),
        lambda w: {"name": w.name, "title": w.title, "load": w.load, "loads": w.loads, "path": str(w.path)},
    )


def _files(paths: list[str]) -> list[Path]:
    """Files as they are, and of folders every file that may be a workload."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(file for suffix in workloads.SUFFIXES for file in path.rglob(f"*{suffix}"))
            if not files:
                raise InputError(f"{path}: no file in this folder ends in {' or '.join(workloads.SUFFIXES)}")
            found += files
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path}: no such workload file")
    return found


def _described(files: list[Path]) -> tuple[list[dict[str, Any]], list[InputError]]:
    def entry(workload: workloads.Workload) -> dict[str, Any]:
        path = str(workload.path)
        return {"name": path, "title": workload.title, "path": path, "remarks": workload.remarks}

    return _sorted_out(workloads.describe(files), entry)


def _machines() -> tuple[list[dict[str, Any]], list[InputError]]:
    return _sorted_out(
        machines.describe([*machines.files().values()]),
        lambda m: {"name": m.name, "title": m.title, "path": str(m.path)},
    )


def _studies() -> tuple[list[dict[str, Any]], list[InputError]]:
    found: list[tuple[Path, str] | InputError] = []
    for path in study_file.files().values():
        try:
            found.append((path, study_file.title(path)))
        except InputError as error:
            found.append(error)
    return _sorted_out(found, lambda s: {"name": s[0].stem, "title": s[1], "path": str(s[0])})


def _sorted_out(found: list, describe: Any) -> tuple[list[dict[str, Any]], list[InputError]]:
    """One broken file must not hide the others."""
    broken = [each for each in found if isinstance(each, InputError)]
    return [describe(each) for each in found if not isinstance(each, InputError)], broken


_READERS = {"schedulers": _schedulers, "workloads": _workloads, "machines": _machines, "studies": _studies}


def _show(what: str, entries: list[dict[str, Any]]) -> None:
    if not entries:
        print(f"no {what} yet")
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for entry in entries:
        text = Text(entry["title"])
        if entry.get("load"):
            text.append(f" ({entry['load']} = {', '.join(map(str, entry['loads']))})", style="dim")
        table.add_row(entry["name"], text)
    Console(markup=False, highlight=False).print(table)
