# SPDX-License-Identifier: GPL-2.0-or-later
"""What the places with a real kernel have in common: they run block by block, and need the policies' objects.

The runner of real kernels holds the policies of the tree, and starts programs that load their own; others are built for
the campaign. Whether it holds those of the tree as they are there is asked before anything boots.
"""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from schedlab import checkout
from schedlab.campaign import cells
from schedlab.campaign.arms import Arm
from schedlab.campaign.matrix import Block, Campaign, PlannedCell
from schedlab.catalogue import schedulers
from schedlab.catalogue.schedulers import Scheduler
from schedlab.collect import records
from schedlab.collect.store import Store
from schedlab.errors import InputError, PlaceError

# So often a disturbed cell is run before it is given up.
TRIES = 3

_ENDS = {cells.WARM_UP, cells.FIRST, cells.LAST}


_COMPILER = "schedlab-sim"


def unfinished(campaign: Campaign, store: Store, todo: set[str]) -> Iterator[tuple[Block, list[PlannedCell]]]:
    """Blocks with cells left to run, and these."""
    for block in campaign.blocks:
        if cells_left := left_of(block, store, todo):
            yield block, cells_left


def left_of(block: Block, store: Store, todo: set[str]) -> list[PlannedCell]:
    """A block that was cut off warms up and measures its first and last cell again."""
    if not any(cell.id in todo and cell.role not in _ENDS for cell in block.cells):
        return []
    left = [cell for cell in block.cells if cell.id in todo or cell.role in _ENDS]
    for cell in left:
        store.drop(cell.id)
    return left


def until_not_void(
    cells: list[PlannedCell], store: Store, run: Callable[[list[PlannedCell]], int], say: Callable[[str], None]
) -> int:
    """Run the cells, and repeat those that are void: the scheduler was replaced or gone while they ran."""
    status = 0
    for attempt in range(TRIES):
        status = run(cells)
        found, _ = store.load(cell.id for cell in cells)
        cells = [cell for cell in cells if cell.id in found and found[cell.id].status == records.VOID]
        if not cells:
            break
        if attempt < TRIES - 1:
            say(f"{len(cells)} cells were void ({found[cells[0].id].reason}): running them again")
            for cell in cells:
                store.drop(cell.id)
    return status


def objects(engine: Path, arms: Sequence[Arm], folder: Path) -> dict[str, Path]:
    """The objects of those policies that are not of the tree, by name, built or copied into the folder.

    Raises InputError for what a real kernel does not run, such as a snapshot of a program.
    """
    _require_current(engine, arms)
    built = {}
    for arm in arms:
        scheduler = arm.scheduler
        loads_itself = scheduler.path is None or scheduler.is_program
        if loads_itself or is_held(scheduler) or scheduler.name in built:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        # With a user's values it stays what it is.
        made = folder / f"{scheduler.name}{schedulers.SNAPSHOT if scheduler.is_snapshot else '.bpf.o'}"
        command = [str(checkout.need_binary(_COMPILER)), "object", str(scheduler.path), str(made)]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if result.returncode:
            said = result.stderr.strip().splitlines()
            raise InputError(next((line for line in said if "error:" in line), said[-1] if said else "cannot be built"))
        built[scheduler.name] = made
    return built


def is_held(scheduler: Scheduler) -> bool:
    """Whether the runner holds it: it is of the tree."""
    origin = scheduler.origin
    return origin is not None and origin.resolve().parent == (checkout.root() / "schedulers").resolve()


def _require_current(engine: Path, arms: Sequence[Arm]) -> None:
    listed = subprocess.run([str(engine), "list", "--json"], capture_output=True, text=True, check=False)
    try:
        holds = {entry["name"]: entry["digest"] for entry in json.loads(listed.stdout)}
    except (ValueError, KeyError, TypeError) as error:
        raise PlaceError(f"{engine}: does not say which schedulers it holds: {checkout.mend()}") from error
    for arm in arms:
        name, folder = arm.scheduler.name, arm.scheduler.origin
        if not is_held(arm.scheduler):
            continue
        if name not in holds:
            raise PlaceError(f"{folder}: {name} is not built into {engine.name}: {checkout.mend()}")
        if holds[name] != schedulers.digest(arm.scheduler):
            raise PlaceError(f"{folder}: has changed since {engine.name} was built: {checkout.mend()}")
