# SPDX-License-Identifier: GPL-2.0-or-later
"""Which cells' schedules a page shows: of each workload those of the first machine, highest load and first seed."""

from collections.abc import Sequence

from schedlab.campaign.cells import MEASURED
from schedlab.campaign.matrix import PlannedCell

_MOST = 4


def shown(cells: Sequence[PlannedCell], workload: str, machine: str, most: int = _MOST) -> dict[str, PlannedCell]:
    """By column."""
    mine = [c for c in cells if c.data["workload"] == workload and c.role == MEASURED]
    mine = [c for c in mine if c.data["machine"] == machine]
    if not mine:
        return {}
    load = max(c.data["load"] for c in mine)
    seed = min(c.data["seed"] for c in mine)
    chosen = [c for c in mine if (c.data["load"], c.data["seed"]) == (load, seed)]
    return {c.label: c for c in chosen[:most]}
