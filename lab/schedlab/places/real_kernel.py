# SPDX-License-Identifier: GPL-2.0-or-later
"""Running a campaign on a real kernel, block by block."""

from collections.abc import Callable, Iterator

from schedlab.campaign import roles
from schedlab.campaign.matrix import Block, Campaign, PlannedCell
from schedlab.collect import records
from schedlab.collect.store import Store

# A run that something disturbed is repeated so often before it is given up.
TRIES = 3

_ENDS = {roles.WARM_UP, roles.FIRST, roles.LAST}


def unfinished(campaign: Campaign, store: Store, todo: set[str]) -> Iterator[tuple[Block, list[PlannedCell]]]:
    """Blocks with cells to run. One that was cut off warms up and measures its ends anew."""
    for block in campaign.blocks:
        if any(cell.id in todo and cell.role not in _ENDS for cell in block.cells):
            cells = [cell for cell in block.cells if cell.id in todo or cell.role in _ENDS]
            for cell in cells:
                store.drop(cell.id)
            yield block, cells


def until_not_void(
    cells: list[PlannedCell], store: Store, run: Callable[[list[PlannedCell]], int], say: Callable[[str], None]
) -> int:
    """Run; repeat those during which the scheduler was replaced or gone."""
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
