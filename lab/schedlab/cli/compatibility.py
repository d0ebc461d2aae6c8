# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab compatibility: other people's schedulers in the simulator, and the same cells on a real kernel."""

import argparse
import csv
import io
import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from schedlab import atomic
from schedlab.campaign import arms
from schedlab.campaign.arms import Arm
from schedlab.campaign.matrix import CONTROL_LABEL
from schedlab.campaign.request import request
from schedlab.catalogue import schedulers
from schedlab.catalogue.metrics import metric
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.cli.compare import execute
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import EJECTED, FAILED, OK, VOID, Record, kernel_release
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.export.plain import finite
from schedlab.places import set_up, trial
from schedlab.report import compatibility_tables as page
from schedlab.report import markdown
from schedlab.statistics.agreement import Agreement, Place, agreements, values

_TIER, _CPUS, _MEMORY_MIB = "exact", "1", 1024
# From the best to the worst: a workload's status is the worst of its loads.
_STATUSES = [OK, EJECTED, VOID, FAILED]
# What the model's linker says of a scheduler, a line each: the place in its source, what is wrong.
_REFUSAL = re.compile(r"schedlab-sim: \w+: (?:\S+:\d+: )?(?:the kernel has no )?(.+)")
# Of what a program says: scx_bpfland 1.1.4 x86_64-unknown-linux-gnu.
_VERSION = re.compile(r"\d+(?:\.\d+)+")

_FOLDERS = re.compile(r"/(?:[\w.-]+/)+")

Found = dict[str, dict[str, str]]  # by workload: status, and the reason where it is not ok


@dataclass
class Tried:
    """A scheduler, and what became of it."""

    label: str
    file: str
    digest: str
    version: str = ""
    missing: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # from what its program sets up
    simulator: Found = field(default_factory=dict)
    kernel: Found = field(default_factory=dict)


def compatibility(options: argparse.Namespace) -> int:
    given = arms.parse(",".join([*options.files, DEFAULT]), "sim")
    target = Path(options.page) if options.page else None
    if target:
        markdown.put_into(target, page.MARK)
    directory = Path(options.output)
    console = Console(markup=False, stderr=True)
    tried = [Tried(arm.label, _file(arm), schedulers.digest(arm.scheduler)) for arm in given]
    why_not = "asked for the simulator alone" if options.kernel == "none" else trial.why_not("vm")
    if why_not and options.kernel == "vm":
        raise PlaceError(why_not)
    simulated: dict[Place, float] = {}
    for arm, text, one in zip(given, [*options.files, DEFAULT], tried, strict=True):
        if arm.scheduler.is_program and not why_not:
            text = _snapshot(arm, one, directory)
        simulated |= _simulate(text, one, directory, options, console)
    release = ""
    measured: dict[Place, float] = {}
    if not why_not:
        measured, release = _measure(options.files, tried, directory, options, console)
    elif options.kernel == "auto":
        print(f"schedlab: no kernel beside the simulator: {why_not}", file=sys.stderr)
    rows = [*agreements(simulated, measured), *_again(measured)]
    data = {
        "format": 1,
        "machine": options.machine,
        "kernel": {"release": release, "cpus": int(_CPUS), "tier": _TIER} if release else None,
        "workloads": options.workloads.split(","),
        "repetitions": options.repetitions,
        "schedulers": [asdict(one) for one in tried],
        "agreement": [_row(row) for row in rows],
    }
    _write(directory, data)
    made = page.text(data)
    if target:
        atomic.write(target, markdown.put_into(target, page.MARK, made))
    print(made, end="")
    print(f"\ndata: {directory}/ (compatibility.json, agreement.csv)")
    return 0


def _snapshot(arm: Arm, one: Tried, directory: Path) -> str:
    """What its own program sets up is part of a scheduler. The object as it lies there, where the program fails."""
    program = arm.scheduler.path
    assert program
    file = directory / "snapshots" / f"{arm.scheduler.name}{schedulers.SNAPSHOT}"
    options = shlex.split(arm.tunables.get(schedulers.OPTIONS, ""))
    try:
        taken = set_up.kept(file, program, options, one.digest, set_up.Guest(_TIER, int(_CPUS), _MEMORY_MIB, None))
    except LabError as error:
        one.absent = [f"all of it: {plain(str(error).splitlines()[0])}"]
        return str(program)
    version = _VERSION.search(taken["program"]["version"])
    one.version = version[0] if version else ""
    one.absent = taken["absent"]
    return str(file)


def _file(arm: Arm) -> str:
    """As it is called, wherever it lies."""
    origin = arm.scheduler.path if arm.label != DEFAULT else None
    return schedulers.written(origin.name, arm.tunables) if origin else arm.label


def _simulate(
    text: str, one: Tried, directory: Path, options: argparse.Namespace, console: Console
) -> dict[Place, float]:
    """By itself, because what the model refuses keeps the cells beside it from running."""
    try:
        asked = request(
            text,
            workload_names=options.workloads,
            machine_names=options.machine,
            repetitions=options.repetitions,
        )
        with execute(asked, directory / "sim", options.jobs, console, False) as (manifest, store, _):
            found, _ = store.load(cell.id for cell in manifest.cells)
            one.simulator = _statuses(manifest, found, one.label)
            return values(manifest, found)
    except InputError as error:
        matches = [_REFUSAL.fullmatch(line) for line in str(error).splitlines()]
        if not all(matches):
            raise
        one.missing = list(dict.fromkeys(match[1] for match in matches if match))
        return {}


def _measure(
    files: list[str], tried: list[Tried], directory: Path, options: argparse.Namespace, console: Console
) -> tuple[dict[Place, float], str]:
    """The numbers, and the kernel's release."""
    asked = request(
        ",".join([*files, DEFAULT]),
        workload_names=options.workloads,
        machine_names=_CPUS,
        place="vm",
        tier=_TIER,
        repetitions=options.repetitions,
    )
    with execute(asked, directory / f"vm-{_TIER}", options.jobs, console, False) as (manifest, store, _):
        found, _ = store.load(cell.id for cell in manifest.cells)
    for one in tried:
        one.kernel = _statuses(manifest, found, one.label)
    return values(manifest, found), kernel_release(found.values())


def _statuses(manifest: Manifest, found: Mapping[str, Record], label: str) -> Found:
    """The worst of each workload's cells."""
    worst: Found = {}
    for cell in manifest.cells:
        record = found.get(cell.id)
        if record is None or cell.label != label:
            continue
        known = worst.setdefault(cell.data["workload"], {"status": OK, "reason": ""})
        if _STATUSES.index(record.status) > _STATUSES.index(known["status"]):
            known |= {"status": record.status, "reason": plain(record.reason)}
    return worst


def plain(reason: str) -> str:
    """Without this machine's paths, and without the command that runs the cell again, which names them."""
    return _FOLDERS.sub("", reason.partition("; again with: ")[0].partition("; reproduce: ")[0])


def _again(measured: Mapping[Place, float]) -> Iterable[Agreement]:
    """The kernel's own scheduler over its second run: what differs where nothing does."""
    for place, value in measured.items():
        if place.label == CONTROL_LABEL:
            yield Agreement(place, measured.get(place._replace(label=DEFAULT), value), value)


def _row(row: Agreement) -> dict[str, Any]:
    return row.place._asdict() | {
        "unit": metric(row.place.metric).unit,
        "simulated": row.simulated,
        "kernel": row.kernel,
        "ratio": finite(row.ratio),
    }


def _write(directory: Path, data: dict[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    atomic.write(directory / "compatibility.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    if data["agreement"]:
        lines = io.StringIO()
        writer = csv.DictWriter(lines, list(data["agreement"][0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(data["agreement"])
        atomic.write(directory / "agreement.csv", lines.getvalue())
