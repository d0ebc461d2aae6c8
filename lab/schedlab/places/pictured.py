# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of a real kernel traced, for pictures of their schedules: runs apart, because tracing takes time of its own."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from schedlab import atomic
from schedlab.campaign import cells
from schedlab.campaign.matrix import Block, Campaign, PlannedCell
from schedlab.capture import tracing
from schedlab.catalogue.workloads import Workload
from schedlab.collect.traces import FAULT
from schedlab.errors import LabError, PlaceError
from schedlab.places import applications, host, real_kernel, vm
from schedlab.places.place import Say

_SCRIPT = Path(__file__).with_name("pictured.sh")
_INSIDE = "/lab/pictured.sh"
_TRACING_INSIDE = "/lab/tracing.sh"
_CELL = "# schedlab: cell="
# A cell whose events go into a trace takes longer, and the trace has to be printed.
_LONGER = 2

Keep = Callable[[PlannedCell, list[str]], None]


def take(campaign: Campaign, wanted: Sequence[PlannedCell], buffer_kib: int, keep: Keep, say: Say) -> None:
    """Runs the cells traced and hands each trace over, with notes about it, or with a note why there is none.

    Raises what the place raises where it cannot run cells at all.
    """
    ids = {cell.id for cell in wanted}
    engine = vm.engine() if campaign.request.place == "vm" else host.engine()
    with tempfile.TemporaryDirectory(prefix="schedlab-pictured-") as folder:
        objects = real_kernel.objects(engine, campaign.arms, Path(folder, "objects"))
        for block in _blocks(campaign, ids):
            mine = [cell for cell in block.cells if cell.id in ids]
            left = dict(enumerate(mine))
            for number, lines in _parts(_run(campaign, block, mine, objects, buffer_kib, Path(folder), say)):
                keep(left.pop(number), [*notes(campaign, mine[number]), *lines])
            for cell in left.values():
                keep(cell, [*notes(campaign, cell), f"{FAULT}nothing came of its traced run"])


def _blocks(campaign: Campaign, ids: set[str]) -> Iterator[Block]:
    """Those cells, a block for all that run in one boot."""
    ordered = sorted(campaign.blocks, key=lambda block: (block.machine.name, block.kernel))
    for _, same in groupby(ordered, key=lambda block: (block.machine.name, block.kernel)):
        blocks = list(same)
        found = {cell.id: cell for block in blocks for cell in block.cells if cell.id in ids}
        if found:
            warm_up = [cell for cell in blocks[0].cells if cell.role == cells.WARM_UP][:1]
            yield Block(blocks[0].machine, [*warm_up, *found.values()], blocks[0].kernel)


def notes(campaign: Campaign, cell: PlannedCell) -> list[str]:
    """What a trace does not say itself: which tasks are the cell's."""
    workload = next(w for w in campaign.request.workloads if w.name == cell.data["workload"])
    names = _names(workload, campaign.request.modelled)
    return [f"# schedlab: id={cell.id}", f"# schedlab: tasks={','.join(sorted(names))}"]


def _names(workload: Workload, modelled: bool) -> set[str]:
    if applications.command(workload.path) is not None and not modelled:
        return set()
    return applications.task_names(workload)


def _run(
    campaign: Campaign,
    block: Block,
    mine: Sequence[PlannedCell],
    objects: dict[str, Path],
    buffer_kib: int,
    folder: Path,
    say: Say,
) -> list[str]:
    if campaign.request.place == "vm":
        # This machine has been up for longer than a cell takes.
        warm_up = [cell for cell in block.cells if cell.role == cells.WARM_UP]
        return _in_guest(campaign, block, warm_up, mine, objects, buffer_kib)
    return _on_host(campaign, mine, objects, buffer_kib, folder, say)


def _shards(folder: Path, warm_up: Sequence[PlannedCell], mine: Sequence[PlannedCell], files: dict) -> None:
    folder.mkdir()
    for name, cell in [*(("warm-up", cell) for cell in warm_up), *((f"{n:05}", cell) for n, cell in enumerate(mine))]:
        atomic.write_json_lines(folder / f"{name}.json", {"files": files, "cells": [{"id": cell.id, **cell.data}]})


def _in_guest(
    campaign: Campaign,
    block: Block,
    warm_up: Sequence[PlannedCell],
    mine: Sequence[PlannedCell],
    objects: dict[str, Path],
    buffer_kib: int,
) -> list[str]:
    from schedlab.vm import GuestFailed, run

    lines: list[str] = []
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="schedlab-shards-") as temporary:
        inside, places = vm.equipped(campaign, [*warm_up, *mine], objects)
        shards = Path(temporary, "shards")
        _shards(shards, warm_up, mine, places)
        inside |= {"/lab/shards": shards, _INSIDE: _SCRIPT, _TRACING_INSIDE: tracing.SCRIPT}
        shape = vm.shape(campaign, block.machine, block.kernel, len(warm_up) + _LONGER * len(mine))
        shape["memory_mib"] += block.machine.cpus * buffer_kib // 1024
        arguments = f"{buffer_kib} /lab/{vm.RUNNER} {_TRACING_INSIDE} /lab/shards /tmp/records"
        try:
            # The kernel has work left over from booting.
            result = run(
                ["sh", "-c", f"sleep 5; mkdir -p /tmp/records; exec sh {_INSIDE} {arguments}"],
                inside,
                **shape,
                on_line=lines.append,
                on_error_line=said.append,
            )
        except GuestFailed as error:
            lines.append(f"{FAULT}{error}")
            return lines
    if not any(line.startswith(_CELL) for line in lines):
        raise LabError(said[-1] if said else f"the guest's traced runs ended with status {result.exit_code}")
    place = f"# schedlab: place={result.tier} guest, QEMU {result.qemu_version}"
    return [with_place for line in lines for with_place in ([line, place] if line.startswith(_CELL) else [line])]


def _on_host(
    campaign: Campaign,
    mine: Sequence[PlannedCell],
    objects: dict[str, Path],
    buffer_kib: int,
    folder: Path,
    say: Say,
) -> list[str]:
    if not tracing.can_trace():
        raise PlaceError(tracing.NO_TRACEFS)
    files = campaign.files()
    files["schedulers"].update({name: str(path.resolve()) for name, path in objects.items()})
    _shards(folder / "shards", [], mine, files)
    (folder / "records").mkdir()
    command = ["sh", str(_SCRIPT), str(buffer_kib), str(host.engine()), str(tracing.SCRIPT)]
    lines: list[str] = []
    with host.ready(campaign, say):
        status = tracing.run([*command, str(folder / "shards"), str(folder / "records")], lines.append)
    if status:
        raise LabError(f"the traced runs ended with status {status}")
    return lines


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The number of each cell, and its lines."""
    begins = [at for at, line in enumerate(lines) if line.startswith(_CELL)]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        yield int(lines[begin].removeprefix(_CELL)), list(lines[begin + 1 : end])
