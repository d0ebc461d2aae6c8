#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each change of bfs's rules `modern` buys: each is taken out alone, by the edits in changes.toml.

A value is the ratio of bfs without the change to bfs, turned so that more than 1 says that the change helps, with the
95 % interval over the repetitions where there are several. Results are kept: the same command again resumes.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

import rival_cells
from rival_cells import Cell
from rival_table import Ratio, ratio
from rivals import better, value

from schedlab import checkout
from schedlab.campaign.cells import MEASURED
from schedlab.catalogue import machines, toml
from schedlab.collect import records
from schedlab.errors import InputError, LabError, unknown
from schedlab.report.markdown import table

_CHANGE_KEYS = {"what", "edit", "tunables"}
_EDIT_KEYS = {"file", "find", "put", "times"}
FILE = Path(__file__).with_name("changes.toml")
OUT = checkout.root() / "build/bench/changes"
POLICY = "bfs"
REPETITIONS = {"sim": 10, "vm": 3}


@dataclass(frozen=True)
class Edit:
    file: str  # of the policy's folder
    find: str
    put: str
    times: int = 1  # that `find` stands in the file


@dataclass(frozen=True)
class Change:
    what: str
    edits: list[Edit] = field(default_factory=list)
    tunables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    on: str  # sim or vm
    machine: str  # its name, or a guest's number of CPUs
    cpus: int


def read(path: Path = FILE) -> tuple[list[Change], list[tuple[Cell, list[str], list[int]]]]:
    """The changes, and the cells with the machines of the simulator and the guests' numbers of CPUs."""
    data = toml.read(path)
    changes = [_change(f"{path}: change {number}", each) for number, each in enumerate(data["change"], 1)]
    cells = []
    for number, each in enumerate(data["cell"], 1):
        where = f"{path}: cell {number}"
        rest = dict(each)
        if absent := [key for key in ("machines", "cpus") if key not in rest]:
            raise InputError(f"{where}: key '{absent[0]}': expected a list")
        there = rest.pop("machines"), rest.pop("cpus")
        cells.append((rival_cells.cell(where, rest), *there))
    return changes, cells


def _change(where: str, entry: dict[str, Any]) -> Change:
    for key in entry:
        if key not in _CHANGE_KEYS:
            raise InputError(f"{where}: {unknown('key', key, sorted(_CHANGE_KEYS))}")
    for edit in entry.get("edit", []):
        for key in edit:
            if key not in _EDIT_KEYS:
                raise InputError(f"{where}: edit: {unknown('key', key, sorted(_EDIT_KEYS))}")
    return Change(entry["what"], [Edit(**edit) for edit in entry.get("edit", [])], entry.get("tunables", {}))


def without(change: Change, number: int, source: Path, folder: Path) -> str:
    """Write bfs without the change below the folder, beside what policies share; the arm of a comparison."""
    name = f"{POLICY}_without_{number}"
    target = folder / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source / POLICY, target)
    shutil.copytree(source / "lib", folder / "lib", dirs_exist_ok=True)
    for edit in change.edits:
        file = target / edit.file
        text = file.read_text()
        if (found := text.count(edit.find)) != edit.times:
            raise InputError(f"{FILE}: '{change.what}': {edit.file} has {found} of {edit.times}: {edit.find.strip()!r}")
        file.write_text(text.replace(edit.find, edit.put))
    (target / f"scx_{POLICY}.bpf.c").rename(target / f"scx_{name}.bpf.c")
    return ":".join([str(target), *(f"{key}={put}" for key, put in change.tunables.items())])


def measured(cell: Cell, place: Place, arms: Sequence[str], repetitions: int, folder: Path) -> dict[str, list[float]]:
    """Values by label, in the order of repetitions; a label that was thrown out once has none."""
    words = [str(checkout.root() / "schedlab"), "compare", ",".join(arms), "-w", cell.workload, "-n", str(repetitions)]
    words += ["--load", str(cell.load_on(place.cpus)), "-m", place.machine, "--on", place.on, "-o", str(folder)]
    words += ["--tier", "exact"] if place.on == "vm" else []
    for key, put in cell.params:
        words += ["-p", f"{key}={put}"]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
    except OSError as error:
        raise LabError((done.stderr.strip() or str(error)).splitlines()[-1].removeprefix("schedlab: ")) from error
    got: dict[str, list[float]] = {}
    bad = set()
    for each in manifest["cells"]:
        if each["role"] != MEASURED:
            continue
        record = records.read(folder / "cells" / f"{each['id']}.json", each["id"])
        if record.status == records.OK:
            got.setdefault(each["label"], []).append(value(cell, record))
        else:
            bad.add(each["label"])
    return {label: values for label, values in got.items() if label not in bad}


def column(values: dict[str, list[float]], labels: Sequence[str], turn: int) -> Iterator[Ratio | None]:
    """For each label what it is to bfs."""
    own = values.get(POLICY, [])
    for label in labels:
        theirs = values.get(label, [])
        if not own or len(own) != len(theirs):
            yield None
            continue
        yield ratio([turn * math.log(there / here) for there, here in zip(theirs, own, strict=True)])


def text(found: Ratio | None) -> str:
    if found is None:
        return "–"
    digits = 2 if found.value < 10 else 0
    middle, low, high = (f"{each:,.{digits}f}" for each in (found.value, found.low, found.high))
    return middle if low == high else f"{middle} ({low}–{high})"


def label_of(arm: str) -> str:
    path, *tunables = arm.split(":")
    return ":".join([Path(path).name, *tunables])


def places(on: str, machine_names: Sequence[str], cpus: Sequence[int]) -> list[Place]:
    if on == "vm":
        return [Place(on, str(number), number) for number in cpus]
    return [Place(on, name, machines.find(name).cpus) for name in machine_names]


def main() -> int:
    parser = argparse.ArgumentParser(description="What each change of bfs's rules modern buys, taken out alone.")
    parser.add_argument("--on", choices=("sim", "vm"), default="sim", help="default: sim; vm is the exact tier")
    parser.add_argument("-n", "--repetitions", type=int, help="default: 10 in the simulator, 3 in guests")
    parser.add_argument("-o", "--output", metavar="DIR", default=str(OUT), help="default: build/bench/changes")
    options = parser.parse_args()
    out = Path(options.output)
    repetitions = options.repetitions or REPETITIONS[options.on]
    try:
        changes, chosen = read()
        source = checkout.root() / "schedulers"
        arms = [without(change, number, source, out / "policies") for number, change in enumerate(changes, 1)]
        labels = [label_of(arm) for arm in arms]
        made: list[list[Any]] = []
        for number, (cell, machine_names, cpus) in enumerate(chosen):
            turn = 1 if better(cell) == "lower" else -1
            for place in places(options.on, machine_names, cpus):
                folder = out / options.on / f"{number}-{place.machine}"
                values = measured(cell, place, [POLICY, *arms], repetitions, folder)
                where = f"{place.machine} CPUs" if place.on == "vm" else place.machine
                made.append([cell.what, where, *map(text, column(values, labels, turn))])
                if sys.stderr.isatty():
                    print(f"\r{cell.what}, {where} ", end="", file=sys.stderr, flush=True)
    except LabError as error:
        print(f"bench/changes.py: {error}", file=sys.stderr)
        return error.status
    print(*(f"{number}. {change.what}" for number, change in enumerate(changes, 1)), sep="\n", end="\n\n")
    print(table(["cell", "on", *(f"without {number}" for number, _ in enumerate(changes, 1))], made))
    return 0


if __name__ == "__main__":
    os.chdir(checkout.root())
    sys.exit(main())
