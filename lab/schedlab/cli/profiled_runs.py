# SPDX-License-Identifier: GPL-2.0-or-later
"""The cells whose instructions are counted by kernel function: after the measured ones, where they have no counts."""

from schedlab.campaign.matrix import Campaign, PlannedCell
from schedlab.campaign.request import Request
from schedlab.collect import function_counts
from schedlab.collect.function_counts import FunctionCounts
from schedlab.collect.store import Store
from schedlab.errors import InputError
from schedlab.places import profiled
from schedlab.places.place import Say
from schedlab.statistics.functions import counted_cells


def check(asked: Request) -> None:
    if asked.record_place != "vm-exact":
        raise InputError("--profile: only a guest of the exact tier counts instructions (--on vm --tier exact)")


def take(planned: Campaign, store: Store, say: Say) -> None:
    """Of each column the cells of the first seed, but not the control's."""
    wanted = [cell for cell in counted_cells(planned.cells) if not function_counts.is_there(store.directory, cell.id)]
    if not wanted:
        return
    many = "1 cell runs" if len(wanted) == 1 else f"{len(wanted)} cells run"
    say(f"{many} once more, each in a guest that counts its instructions by kernel function")

    def keep(cell: PlannedCell, found: FunctionCounts | str) -> None:
        function_counts.keep(store.directory, cell.id, found)
        if isinstance(found, str):
            say(f"no counts of {cell.label}, {cell.data['workload']}, load {cell.data['load']}: {found}")

    profiled.take(planned, wanted, profiled.MOST, keep)
