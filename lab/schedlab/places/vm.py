# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual machine: a guest per block, so that a block holds everything that differs between boots.

Guests of the exact tier run beside each other: each keeps one CPU busy, and its time is its own instructions alone.
Those of other tiers run one after the other, because each would take the others' time, and so do those of applications,
which need gigabytes of memory.
"""

import json
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import atomic, checkout, foreign
from schedlab.campaign.matrix import Block, Campaign, PlannedCell
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.schedulers import Scheduler
from schedlab.collect import manifest, records
from schedlab.collect.records import CorruptRecord
from schedlab.collect.store import Store
from schedlab.places import applications, from_afar, real_kernel
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
    stop = threading.Event()
    boots = [
        _Boots(campaign, store, block, cells, objects, done, say, stop)
        for block, cells in real_kernel.unfinished(campaign, store, todo)
    ]
    alone = campaign.request.tier != "exact" or _applications_mib(campaign) is not None
    workers = min(len(boots), 1 if alone else jobs or len(os.sched_getaffinity(0)))
    if workers < 2:
        return max((block.run() for block in boots), default=0)
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(block.run) for block in boots]
        try:
            return max(block.result() for block in as_completed(running))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


# What threads tell each other's campaign: records, progress, guests.
_telling = threading.Lock()


@dataclass(frozen=True)
class _Boots:
    """Cells of one block, in one guest after the other until none is void or lost with a guest that QEMU broke."""

    campaign: Campaign
    store: Store
    block: Block
    cells: list[PlannedCell]
    objects: dict[str, Path]
    done: Done
    say: Say
    stop: threading.Event  # of all blocks

    def run(self) -> int:
        from schedlab import vm

        try:
            return self._run(self.cells)
        except vm.EmulatorFault as error:
            self._say(f"{error}; going on in another guest")
        ids = {cell.id for cell in self.cells}
        left = real_kernel.left_of(self.block, self.store, ids - self.store.prepare(ids, self._say))
        return self._run(left) if left else 0

    def _run(self, cells: list[PlannedCell]) -> int:
        return real_kernel.until_not_void(cells, self.store, self._boot, self._say)

    def _say(self, text: str) -> None:
        with _telling:
            self.say(text)

    def _boot(self, cells: list[PlannedCell]) -> int:
        """Their records come back as lines of the guest's output."""
        from schedlab import vm

        waiting = {cell.id: cell for cell in cells}
        messages: list[str] = []

        def take(line: str) -> None:
            with _telling:
                record = _keep(line, self.store, waiting)
                if record is None:
                    self.say(line)
                else:
                    self.done(record.id, record.status)

        with tempfile.TemporaryDirectory(prefix="schedlab-shards-") as folder:
            try:
                result = vm.run(
                    ["/bin/sh", "/lab/guest.sh"],
                    _files(self.campaign, cells, self.objects, Path(folder)),
                    **shape(self.campaign, self.block.machine, self.block.kernel, len(cells)),
                    on_line=take,
                    on_error_line=messages.append,
                    stop=self.stop,
                )
            except vm.GuestFailed as error:
                raise type(error)(f"{error}{_at(waiting)}") from error
        with _telling:
            manifest.note_guest(self.store, result)
        return exit_status(result.exit_code, messages, RUNNER, self._say)


def shape(campaign: Campaign, machine: Machine, kernel: str, cells: int) -> dict[str, Any]:
    """How a guest is to be that runs so many cells of the campaign."""
    from schedlab.vm import tiers
    from schedlab.vm.kernel import SERIES

    workloads = [workload.path for workload in campaign.request.workloads]
    memory_mib = _applications_mib(campaign)
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


def _applications_mib(campaign: Campaign) -> int | None:
    """The memory that the campaign's applications need; None where there are none."""
    if campaign.request.modelled:
        return None
    return applications.memory_mib([workload.path for workload in campaign.request.workloads])


def _files(campaign: Campaign, cells: list[PlannedCell], objects: dict[str, Path], folder: Path) -> dict[str, Path]:
    """What the guest needs, by its path there; shards name the paths of the guest."""
    inside, places = equipped(campaign, cells, objects)
    for number, cell in enumerate(cells):
        shard = campaign.shard([cell], places)
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
        data = foreign.parse(line)
        cell_id = str(data["id"])
        if cell_id not in waiting:
            return None
        record, own = from_afar.checked(data, cell_id, waiting[cell_id].data["place"])
    except (ValueError, KeyError, TypeError, CorruptRecord):
        return None
    del waiting[cell_id]
    atomic.write(store.path(cell_id), json.dumps(own, ensure_ascii=False) + "\n")
    return record


def _at(waiting: dict[str, PlannedCell]) -> str:
    """The cell that the guest was running when it failed: the first without a record."""
    cell = next(iter(waiting.values()), None)
    if cell is None:
        return ""
    d = cell.data
    return f"; it was at {cell.label}, {d['workload']}, load {d['load']}, seed {d['seed']}; the same command resumes"
