# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to other machines in an archive: a runner, and the schedulers, workloads and machines of its cells."""

import gzip
import io
import os
import posixpath
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schedlab import atomic
from schedlab.campaign.cells import file_digest
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.catalogue import schedulers
from schedlab.catalogue.schedulers import Scheduler
from schedlab.errors import InputError
from schedlab.places.hand_on_worker import RUNNER


@dataclass(frozen=True)
class Carried:
    """Paths in `places` are from the folder in which the runner starts."""

    files: bytes
    places: dict[str, dict[str, str]]


def archive(files: Mapping[str, Path]) -> bytes:
    """Files by where they are to lie, as a compressed tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", dereference=True) as tar:
        for name, path in sorted(files.items()):
            tar.add(path, name, filter=_of_root)
    # The same files make the same archive.
    return gzip.compress(made.getvalue(), compresslevel=1, mtime=0)


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Users of this machine are none of the host's."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def workloads(campaign: Campaign) -> tuple[dict[str, Path], dict[str, str]]:
    """Their files by where they are to lie, and where each workload's own lies."""
    files: dict[str, Path] = {}
    places = {}
    for workload in campaign.request.workloads:
        files |= workload.within("workloads")
        places[workload.name] = posixpath.join("workloads", workload.path.name)
    return files, places


def simulator(campaign: Campaign, engine: Path, folder: Path) -> Carried:
    """The simulator with all that it would build there, made in `folder`, where it is found again.

    Raises InputError for what is wrong with any cell.
    """
    files, own = workloads(campaign)
    places: dict[str, dict[str, str]] = {"schedulers": {}, "workloads": own, "machines": {}}
    for machine in campaign.request.machines:
        assert machine.path
        places["machines"][machine.name] = where = posixpath.join("machines", machine.path.name)
        files[where] = machine.path
    for scheduler in {arm.scheduler.name: arm.scheduler for arm in campaign.arms}.values():
        built = _object(engine, scheduler, folder / "objects")
        places["schedulers"][scheduler.name] = where = posixpath.join("schedulers", built.name)
        files[where] = built
    for name, path in _translated(campaign, engine, places, files, folder).items():
        files[posixpath.join("cache", name)] = path
    return Carried(archive(files | {RUNNER: engine}), places)


def _object(engine: Path, scheduler: Scheduler, folder: Path) -> Path:
    """What the simulator runs without a compiler. A snapshot is complete as it is."""
    assert scheduler.path
    if scheduler.is_snapshot:
        return scheduler.path
    made = folder / f"{file_digest(engine)}-{schedulers.digest(scheduler)}" / f"{scheduler.name}.bpf.o"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        fresh = made.with_suffix(".new")
        _run([str(engine), "object", str(scheduler.path), str(fresh)])
        fresh.replace(made)
    return made


def _translated(
    campaign: Campaign, engine: Path, places: dict[str, dict[str, str]], files: Mapping[str, Path], folder: Path
) -> dict[str, Path]:
    """What the simulator keeps of these objects as its own code, by where it looks for it."""
    cache = folder / "cache"
    here = {kind: {name: str(files[path]) for name, path in named.items()} for kind, named in places.items()}
    shard = folder / "build.json"
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_json_lines(shard, {"files": here, "cells": [{"id": c.id, **c.data} for c in _different(campaign)]})
    _run([str(engine), "run", str(shard), "--build-only"], SCHEDLAB_CACHE=str(cache))
    shard.unlink()
    return {str(path.relative_to(cache)): path for path in cache.rglob("*.so")}


def _different(campaign: Campaign) -> list[PlannedCell]:
    """A cell of each kind: what differs in their draws alone is built once."""
    kinds = {}
    for cell in campaign.cells:
        data = cell.data
        kind = (data["scheduler"], sorted(data["tunables"].items()), data["workload"], data["load"], data["machine"])
        kinds.setdefault(str((*kind, data.get("built_in"))), cell)
    return list(kinds.values())


def _run(command: list[str], **environment: str) -> None:
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise InputError(
            next((line for line in said if "error:" in line), said[-1] if said else f"{command[0]} failed")
        )
