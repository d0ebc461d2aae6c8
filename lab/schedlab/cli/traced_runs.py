# SPDX-License-Identifier: GPL-2.0-or-later
"""The traced runs whose schedules a page shows: after the measured ones, and of cells that have none yet."""

from schedlab.campaign import shown
from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.campaign.where import PLACES, SSH
from schedlab.collect import traces
from schedlab.collect.store import Store
from schedlab.errors import LabError
from schedlab.places import pictured
from schedlab.places.place import Say

# A window of 200 ms begins soon after a cell does, and what a full buffer leaves out comes later.
_BUFFER_KIB = 1024


def take(planned: Campaign, store: Store, say: Say) -> None:
    """A place that cannot trace leaves the page without pictures, and the page says why; nothing else depends on it.

    Other machines trace nothing.
    """
    request = planned.request
    if PLACES[request.place].simulated or request.place == SSH:
        return
    machine = request.machines[0].name
    cells = [c for w in request.workloads for c in shown.shown(planned.cells, w.name, machine).values()]
    left = {cell.id: cell for cell in cells if not traces.is_there(store.directory, cell.id)}
    if not left:
        return
    many = "1 cell runs" if len(left) == 1 else f"{len(left)} cells run"
    say(f"{many} once more, traced, for the pictures of their schedules")

    def keep(cell: PlannedCell, lines: list[str]) -> None:
        traces.keep(store.directory, cell.id, lines)
        left.pop(cell.id, None)

    try:
        pictured.take(planned, list(left.values()), _BUFFER_KIB, keep, say)
    except LabError as error:
        why = " ".join(str(error).split())
        for cell in list(left.values()):
            keep(cell, [f"{traces.FAULT}{why}"])
