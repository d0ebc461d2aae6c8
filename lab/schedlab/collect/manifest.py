# SPDX-License-Identifier: GPL-2.0-or-later
"""manifest.json: what was asked, of which versions, on which machine, and which cells answer it.

It is written before the first cell runs, and it is all that `schedlab report` needs beside the records. Of every guest
that ran cells, guests.json has the kernel, the image and the emulator: exact results hold for these alone.
"""

import json
import os
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab import atomic, foreign, version
from schedlab.atomic import write_errors_explained
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.campaign.where import PLACES
from schedlab.catalogue import metrics
from schedlab.collect import manifest_shape
from schedlab.collect.store import Store
from schedlab.errors import InputError

if TYPE_CHECKING:
    from schedlab.vm import Result


FORMAT = 1
NAME = "manifest.json"


GUESTS = "guests.json"
_FORMAT_FIRST = re.compile(rb'\s*\{\s*"format"\s*:\s*(\d{1,9})\b')
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class Manifest:
    data: dict[str, Any]
    cells: list[PlannedCell]

    @property
    def labels(self) -> list[str]:
        """The columns, the reference first; the control is not one."""
        return self.data["schedulers"]

    def titles(self) -> dict[str, str]:
        return {workload["name"]: workload["title"] for workload in self.data["workloads"]}


def describe(campaign: Campaign, command: str) -> Manifest:
    request = campaign.request
    data = {
        "format": FORMAT,
        "command": command,
        "schedlab": version.told(),
        "place": request.record_place,
        "schedulers": [arm.label for arm in campaign.arms if not arm.control],
        "workloads": [
            {
                "name": workload.name,
                "title": workload.title,
                "load": workload.load,
                "loads": request.loads_of(workload),
                "promises": workload.promises,
            }
            for workload in request.workloads
        ],
        "machines": [{"name": machine.name, "title": machine.title} for machine in request.machines],
        "metrics": metrics.describe(),
        "repetitions": request.repetitions,
        "seed_base": request.seed_base,
        "digests": _digests(campaign),
        "host": _this_machine(),
        "cells": [{"id": c.id, "label": c.label, "role": c.role, "cell": c.data} for c in campaign.cells],
    }
    return Manifest(data, campaign.cells)


def _this_machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }


def write(manifest: Manifest, store: Store) -> None:
    """Raises NewerFormat where the folder is that of a newer schedlab."""
    path = store.directory / NAME
    with suppress(FileNotFoundError), write_errors_explained(path), path.open("rb") as file:
        # Every format has its number first; the rest of a large one is not read to be written anew.
        if found := _FORMAT_FIRST.match(file.read(_HEAD_BYTES)):
            foreign.need_format(path, int(found[1]), FORMAT)
    atomic.write_json_lines(path, manifest.data)


def read(directory: Path) -> Manifest:
    path = directory / NAME
    try:
        data = json.loads(path.read_bytes(), object_hook=_Shared())
        foreign.need_format(path, data["format"], FORMAT)
        manifest_shape.check(data)
        for place in {data["place"], *(c["cell"]["place"] for c in data["cells"])}:
            if place.partition("-")[0] not in PLACES:
                raise ValueError(f"key 'place': expected one of {', '.join(PLACES)}, got {place!r}")
        cells = [PlannedCell(c["id"], c["cell"], c["label"], c["role"]) for c in data.pop("cells")]
        metrics.learn(data.get("metrics", []))
    except OSError as error:
        raise InputError(f"{path}: not there: {directory} holds no results of 'schedlab compare'") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = error if isinstance(error, ValueError) else repr(error)
        raise InputError(f"{path}: not a manifest: {foreign.printable(str(why))}") from error
    return Manifest(data, cells)


class _Shared(dict[object, Any]):
    """Of what the cells of a large campaign have in common there is one in memory: names, digests, parameters. Texts
    are as they can be printed.
    """

    def __call__(self, read: dict[str, Any]) -> dict[str, Any]:
        for key, value in read.items():
            if type(value) is str:
                read[key] = self.setdefault(value, foreign.lines(value))
            elif type(value) is list and value and type(value[0]) is str:
                read[key] = [foreign.lines(one) if type(one) is str else one for one in value]
        if not all(map(str.isprintable, read)):
            read = {foreign.one_line(key): value for key, value in read.items()}
        if all(type(value) is str for value in read.values()):
            return self.setdefault(tuple(read.items()), read)
        return read


def _digests(campaign: Campaign) -> dict[str, Any]:
    found: dict[str, dict[str, str]] = {"schedulers": {}, "workloads": {}, "machines": {}, "engine": {}}
    for cell in campaign.cells:
        digests = cell.data["digests"]
        found["schedulers"][cell.data["scheduler"]] = digests["scheduler"]
        found["workloads"][cell.data["workload"]] = digests["workload"]
        found["machines"][cell.data["machine"]] = digests["machine"]
        found["engine"][cell.data["place"]] = digests["engine"]
        if "kernel" in digests:
            found.setdefault("kernels", {})[cell.data["kernel"]] = digests["kernel"]
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def note_guest(store: Store, result: "Result") -> None:
    guest = {
        "tier": result.tier,
        "kernel": result.kernel_release,
        "kernel_arguments": result.kernel_arguments,
        "qemu": result.qemu_version,
        "hashes": result.hashes,
    }
    known = read_guests(store)
    if guest not in known:
        atomic.write(store.directory / GUESTS, json.dumps([*known, guest], indent=1) + "\n")


def read_guests(store: Store) -> list[dict[str, Any]]:
    """Those that are told of as note_guest() does; none where the file is missing or damaged."""
    try:
        found = foreign.parse((store.directory / GUESTS).read_bytes())
    except (OSError, ValueError):
        return []
    return [_clean(guest) for guest in found if _is_guest(guest)] if isinstance(found, list) else []


def _is_guest(data: Any) -> bool:
    texts = ("tier", "kernel", "kernel_arguments", "qemu")
    return (
        isinstance(data, dict)
        and all(isinstance(data.get(key), str) for key in texts)
        and isinstance(data.get("hashes"), dict)
        and all(isinstance(value, str) for value in data["hashes"].values())
    )


def _clean(data: dict[str, Any]) -> dict[str, Any]:
    return {foreign.one_line(key): _clean(v) if isinstance(v, dict) else foreign.one_line(v) for key, v in data.items()}
