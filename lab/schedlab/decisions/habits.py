# SPDX-License-Identifier: GPL-2.0-or-later
"""How a side decides in general: one difference may shift all that follows, but not what is done in the same case."""

from dataclasses import dataclass

from schedlab.decisions.moments import PREEMPTED, Side, Switch, Woken
from schedlab.decisions.waiting import Waiting


@dataclass
class Habits:
    """Counts. `wakeups`: of a task of the cell where another has a CPU, and `preempting` those that cost it the CPU.

    `choices`: picks of one of several waiting tasks of the cell, and of these how often who was woken or preempted
    first or last was picked.
    """

    wakeups: int = 0
    preempting: int = 0
    choices: int = 0
    of_first: int = 0
    of_last: int = 0


def habits(side: Side) -> Habits:
    found = Habits()
    now = Waiting()
    woken: set[str] = set()  # while who runs now does, by tasks that still wait
    for order, moment in enumerate(side.moments):
        match moment:
            case Woken() if moment.task in side.cell and moment.task not in now.running:
                if any(task in side.cell for task in now.running):
                    found.wakeups += 1
                    woken.add(moment.task)
            case Switch():
                if moment.prev in side.cell and moment.left == PREEMPTED and moment.next in woken:
                    found.preempting += 1
                if moment.next in side.cell:
                    woken.clear()
                    _choose(found, moment, side, now)
        now.take(order, moment)
    return found


def _choose(found: Habits, moment: Switch, side: Side, now: Waiting) -> None:
    orders = sorted(wait.order for task, wait in now.waits.items() if task in side.cell)
    if len(orders) < 2 or moment.next not in now.waits:
        return
    mine = now.waits[moment.next].order
    found.choices += 1
    found.of_first += mine == orders[0]
    found.of_last += mine == orders[-1]
