# SPDX-License-Identifier: GPL-2.0-or-later
"""Which task of the cell had a CPU next, and how its turn ended: the decisions that are compared.

A turn goes on where nothing but outside tasks and idling came between two parts of it and the task did not sleep.
"""

from dataclasses import dataclass, field

from schedlab.decisions.moments import PREEMPTED, Side, Switch

RUNS = "runs"  # at the end of the trace, still


@dataclass
class Turn:
    """`picked` and `over` are numbers of moments: the switches to the task and from it."""

    task: str
    picked: int
    left: str = RUNS
    over: int | None = None
    # Who had the CPU next, of the cell or not.
    followed_by: str = ""
    # Outside tasks that ran in the midst of it.
    interrupted_by: list[str] = field(default_factory=list)


def turns(side: Side) -> dict[int, list[Turn]]:
    """By CPU, in their order."""
    found: dict[int, list[Turn]] = {}
    between: dict[int, list[str]] = {}  # outside tasks since the last turn
    for number, moment in enumerate(side.moments):
        if not isinstance(moment, Switch):
            continue
        row, outside = found.setdefault(moment.cpu, []), between.setdefault(moment.cpu, [])
        if row and row[-1].left == RUNS and row[-1].task == moment.prev:
            row[-1].left, row[-1].over, row[-1].followed_by = moment.left, number, moment.next
        if moment.next not in side.cell:
            outside.append(moment.next)
            continue
        if row and row[-1].task == moment.next and row[-1].left == PREEMPTED:
            row[-1].interrupted_by += outside
            row[-1].left, row[-1].over, row[-1].followed_by = RUNS, None, ""
        else:
            row.append(Turn(moment.next, number))
        outside.clear()
    return found
