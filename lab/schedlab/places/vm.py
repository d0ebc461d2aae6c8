# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual machine: a guest per block, so that a block holds everything that differs between boots."""

import json
import tempfile
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.schedulers import Scheduler
from schedlab.collect import manifest, records
from schedlab.collect.records import CorruptRecord
from schedlab.collect.store import Store
from schedlab.errors import LabError
from schedlab.places import applications, real_kernel
from schedlab.places.place import Done, Say
from schedlab.places.runner import exit_status

RUNNER = "schedlab-host"
_SCRIPT = Path(__file__).with_name("guest.sh")
# A guest that hangs is given up. Software emulation may take minutes for what a machine does in seconds.
_BOOT_LIMIT_S = 300.0
_CELL_LIMIT_S = 300.0
_MEMORY_MIB = 1024


def engine() -> Path:
    return checkout.need_binary(RUNNER)


def run(campaign: Campaign, store: Store, todo: set[str], jobs: int | None, done: Done, say: Say) -> int:
    objects = real_kernel.objects(engine(), campaign.arms, store.directory / "objects")
    status = 0
    for block, cells in real_kernel.unfinished(campaign, store, todo):

        def boot(cells: list[PlannedCell], machine: Machine = block.machine, kernel: str = block.kernel) -> int:
            return _boot(campaign, store, cells, machine, kernel, objects, done, say)

        status = max(status, real_kernel.until_not_void(cells, store, boot, say))
    return status


def _boot(
    campaign: Campaign,
    store: Store,
    cells: list[PlannedCell],
    machine: Machine,
    kernel: str,
    objects: dict[str, Path],
    done: Done,
    say: Say,
) -> int:
    """Run cells in one guest; their records come back as lines of its output."""
    from schedlab import vm

    waiting = {cell.id: cell for cell in cells}
    messages: list[str] = []

    def take(line: str) -> None:
        record = _keep(line, store, waiting)
        if record is None:
            say(line)
        else:
            done(record.id, record.status)

    with tempfile.TemporaryDirectory(prefix="schedlab-shards-") as folder:
        try:
            result = vm.run(
                ["/bin/sh", "/lab/guest.sh"],
                _files(campaign, cells, objects, Path(folder)),
                **shape(campaign, machine, kernel, len(cells)),
                on_line=take,
                on_error_line=messages.append,
            )
        except vm.GuestFailed as error:
            raise LabError(f"{error}{_at(waiting)}") from error
    manifest.note_guest(store, result)
    return exit_status(result.exit_code, messages, RUNNER, say)


def shape(campaign: Campaign, machine: Machine, kernel: str, cells: int) -> dict[str, Any]:
    """How a guest is to be that runs so many cells of the campaign."""
    from schedlab.vm import tiers
    from schedlab.vm.kernel import SERIES

    workloads = [workload.path for workload in campaign.request.workloads]
    memory_mib = None if campaign.request.modelled else applications.memory_mib(workloads)
    cell_limit_s = applications.CELL_LIMIT_S if memory_mib else _CELL_LIMIT_S
    return {
        "tier": campaign.request.tier,
        "cpus": machine.cpus,
        "topology": tiers.topology(machine.name) if "x" in machine.name else None,
        "memory_mib": memory_mib or _MEMORY_MIB,
        "environment": {"SCHEDLAB_CACHE": applications.CACHE},
        "kernel_spec": kernel or SERIES,
        "on_disk": applications.wants_disk(workloads),
        "limit_s": _BOOT_LIMIT_S + cell_limit_s * cells,
    }


def _files(campaign: Campaign, cells: list[PlannedCell], objects: dict[str, Path], folder: Path) -> dict[str, Path]:
    """What the guest needs, by its path there; shards name the paths of the guest."""
    inside, places = equipped(campaign, cells, objects)
    for number, cell in enumerate(cells):
        shard = {"files": places, "cells": [{"id": cell.id, **cell.data}]}
        path = folder / f"{number:05}.json"
        path.write_text(json.dumps(shard, ensure_ascii=False), encoding="utf-8")
    return {**inside, "/lab/guest.sh": _SCRIPT, "/lab/shards": folder}


def equipped(
    campaign: Campaign, cells: list[PlannedCell], objects: dict[str, Path]
) -> tuple[dict[str, Path], dict[str, dict[str, str]]]:
    """What cells need in a guest but their shards, by its path there; and the paths that the shards are to name."""
    request = campaign.request
    inside = {f"/lab/{RUNNER}": engine()}
    schedulers = {}
    for scheduler in (arm.scheduler for arm in campaign.arms if arm.scheduler.origin):
        place, path = within(scheduler, objects)
        schedulers[scheduler.name] = place
        inside[place] = path
    for workload in request.workloads:
        inside |= workload.within("/lab/workloads")
    places = {
        "schedulers": schedulers,
        "workloads": {w.name: f"/lab/workloads/{w.path.name}" for w in request.workloads},
        "machines": {},
    }
    paths = {workload.name: workload.path for workload in request.workloads}
    if request.modelled:
        return inside, places
    runs = ((paths[cell.data["workload"]], cell.data["load"], cell.data["params"]) for cell in cells)
    return {**applications.files(engine(), runs), **inside}, places


def within(scheduler: Scheduler, objects: dict[str, Path]) -> tuple[str, Path]:
    """Where a scheduler lies in the guest, and here."""
    if scheduler.name in objects:
        path = objects[scheduler.name]
        return f"/lab/objects/{path.name}", path
    assert scheduler.origin
    if scheduler.is_program:
        # Under its own name, which it may look at.
        return f"/lab/programs/{scheduler.origin.name}", scheduler.origin
    return f"/lab/schedulers/{scheduler.name}", scheduler.origin


def _keep(line: str, store: Store, waiting: dict[str, PlannedCell]) -> records.Record | None:
    """Keep a record that came as a line; None where the line is no record that is waited for."""
    try:
        data = json.loads(line)
        record = records.parse(data, str(data["id"]))
    except (ValueError, KeyError, TypeError, CorruptRecord):
        return None
    if waiting.pop(record.id, None) is None:
        return None
    atomic.write(store.path(record.id), line + "\n")
    return record


def _at(waiting: dict[str, PlannedCell]) -> str:
    """The cell that the guest was running when it failed: the first without a record."""
    cell = next(iter(waiting.values()), None)
    if cell is None:
        return ""
    d = cell.data
    return f"; it was at {cell.label}, {d['workload']}, load {d['load']}, seed {d['seed']}; the same command resumes"
