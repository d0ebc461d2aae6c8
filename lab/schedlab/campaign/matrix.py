# SPDX-License-Identifier: GPL-2.0-or-later
"""All cells of a request, in the order in which they run, and the shards that carry them.

In the simulator the order means nothing. On a real kernel each repetition is a block, within which every workload and
load meets each arm once, shuffled by the seed: the same command gives the same order everywhere. Of several kernels
each boots once a repetition, in such an order, too.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from schedlab.campaign import cells, kernels
from schedlab.campaign.arms import Arm
from schedlab.campaign.request import Request
from schedlab.campaign.where import PLACES
from schedlab.catalogue import schedulers
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.workloads import Workload

T = TypeVar("T")


_AGAIN = " (again)"
CONTROL_LABEL = f"{schedulers.DEFAULT}{_AGAIN}"


def shuffled(items: Sequence[T], *seed: object) -> list[T]:
    """Sorted by a hash of seed and position, which stays the same where a library's generator may change."""
    text = "\0".join(map(str, seed))

    def key(index: int) -> bytes:
        return hashlib.sha256(f"{text}\0{index}".encode()).digest()

    return [items[index] for index in sorted(range(len(items)), key=key)]


@dataclass(frozen=True, slots=True)
class PlannedCell:
    id: str
    data: dict[str, Any]
    label: str  # the column it belongs to
    role: str


@dataclass(frozen=True)
class Block:
    """Cells that run one after the other in one process, or in one boot of a guest."""

    machine: Machine
    cells: list[PlannedCell]
    kernel: str = ""  # that the guest boots


@dataclass(frozen=True)
class Campaign:
    request: Request
    arms: list[Arm]  # with those that the place adds
    blocks: list[Block]

    @property
    def cells(self) -> list[PlannedCell]:
        return [cell for block in self.blocks for cell in block.cells]

    def measured(self) -> list[PlannedCell]:
        return [cell for cell in self.cells if cell.role == cells.MEASURED]

    def files(self) -> dict[str, dict[str, str]]:
        """Where a shard's names are found."""
        return {
            "schedulers": {a.scheduler.name: str(a.scheduler.path) for a in self.arms if a.scheduler.path},
            "workloads": {w.name: str(w.path) for w in self.request.workloads},
            "machines": {m.name: str(m.path) for m in self.request.machines if m.path},
        }

    def shard(self, planned: list[PlannedCell], files: dict[str, dict[str, str]] | None = None) -> dict[str, Any]:
        """`files`: where what they name lies, if that is not here."""
        shard = {"files": files or self.files(), "cells": [{"id": cell.id, **cell.data} for cell in planned]}
        guard = self.request.frozen_after_ms
        return shard | {"frozen_after_ms": guard} if guard else shard


def campaign(request: Request, engine: Path) -> Campaign:
    """`engine` is the runner's binary: another one makes other cells."""
    digest = cells.engine_digest(engine)
    if PLACES[request.place].simulated:
        return Campaign(request, request.arms, _simulated(request, digest))
    arms = with_control(request.arms) if request.controlled else request.arms
    return Campaign(request, arms, _real(request, arms, digest))


def only(planned: Campaign, pairs: Collection[tuple[str, str]]) -> Campaign:
    """Of a campaign on one machine and kernel the measured cells of these labels and workloads, in one block: a single
    boot.

    What a real kernel measures besides is left out, but for the first, which warms up.
    """
    wanted = [cell for cell in planned.measured() if (cell.label, cell.data["workload"]) in pairs]
    warm_up = [cell for cell in planned.cells if cell.role == cells.WARM_UP][:1]
    (machine,) = planned.request.machines
    (kernel,) = {block.kernel for block in planned.blocks}
    return Campaign(planned.request, planned.arms, [Block(machine, warm_up + wanted, kernel)])


def with_control(chosen: list[Arm]) -> list[Arm]:
    """On a real kernel the kernel's own scheduler always runs too, twice: the A/A control. Of several kernels it is
    the first one's.
    """
    arms = list(chosen)
    own = next((arm for arm in arms if arm.scheduler.name == schedulers.DEFAULT), None)
    if own is None:
        kernel = arms[0].kernel
        label = f"{schedulers.DEFAULT}@{kernel}" if arms[0].names_kernel else schedulers.DEFAULT
        own = Arm(label, schedulers.find(schedulers.DEFAULT), kernel=kernel)
        arms.append(own)
    arms.append(replace(own, label=f"{own.label}{_AGAIN}", control=True))
    return arms


def controlled(labels: Collection[str]) -> tuple[str, str] | None:
    """Of the columns of a comparison the two that are the A/A control."""
    return next(((label, label + _AGAIN) for label in labels if label + _AGAIN in labels), None)


def _simulated(request: Request, engine: str) -> list[Block]:
    """One block per machine. Repetitions are outermost, so that an interrupted run has as many of each scheduler."""
    return [
        Block(
            machine,
            [
                planned_cell(request, arm, workload, load, machine, repetition, engine)
                for repetition in range(request.repetitions)
                for workload in request.workloads
                for load in request.loads_on(workload, machine)
                for arm in request.arms
            ],
        )
        for machine in request.machines
    ]


def _real(request: Request, arms: list[Arm], engine: str) -> list[Block]:
    """A block for each repetition, machine and kernel: within it every workload and load meets each arm once, in an
    order of its own.
    """
    named = list(dict.fromkeys(arm.kernel for arm in arms))
    return [
        _block(request, [arm for arm in arms if arm.kernel == kernel], machine, kernel, repetition, engine)
        for repetition in range(request.repetitions)
        for machine in request.machines
        for kernel in shuffled(named, request.seed_base, repetition, machine.name)
    ]


def _block(request: Request, arms: list[Arm], machine: Machine, kernel: str, repetition: int, engine: str) -> Block:
    default = Arm(schedulers.DEFAULT, schedulers.find(schedulers.DEFAULT), kernel=kernel)
    first = request.workloads[0]

    def end(role: str) -> PlannedCell:
        load = request.loads_on(first, machine)[0]
        return planned_cell(request, default, first, load, machine, repetition, engine, role)

    measured = [
        planned_cell(request, arm, workload, load, machine, repetition, engine)
        for workload in request.workloads
        for load in request.loads_on(workload, machine)
        for arm in shuffled(arms, request.seed_base, repetition, machine.name, workload.name, load)
    ]
    return Block(machine, [end(cells.WARM_UP), end(cells.FIRST), *measured, end(cells.LAST)], kernel)


def planned_cell(
    request: Request,
    arm: Arm,
    workload: Workload,
    load: int,
    machine: Machine,
    block: int,
    engine: str,
    role: str = cells.MEASURED,
) -> PlannedCell:
    if arm.control:
        role = cells.CONTROL
    data = {
        "scheduler": arm.scheduler.name,
        "tunables": arm.tunables,
        "workload": workload.name,
        "load": load,
        "params": request.params[workload.name],
        "place": request.record_place,
        "machine": machine.name,
        "repetition": cells.repetition(role, block),
        "seed": request.seed_base + block,
        "digests": {
            "scheduler": schedulers.digest(arm.scheduler),
            "workload": workload.digest,
            "machine": cells.file_digest(machine.path) if machine.path else "",
            "engine": engine,
        },
    }
    if arm.kernel:
        booted = kernels.of_arm(arm)
        data["kernel"] = arm.kernel
        data["digests"]["kernel"] = booted.sha256[:16]
    if arm.built_in:
        data["built_in"] = True
    if request.exact_costs:
        data["exact_costs"] = True
    if request.modelled:
        data["modelled"] = True
    if request.api:
        data["api"] = request.api
    return PlannedCell(cells.cell_id(data), data, arm.label, role)
