# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened, in the same terms whether the simulator or a kernel tells it.

Tasks of the cell are called by their group's name and their number in it, `client[2]`; the third that task 2 forked of
a group is `[2.2]`. So they are the same in every run, which process ids are not. All others are outside tasks:
kernel threads, the runner, by names that end in their process ids.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

IDLE = "idle"
SLEPT, PREEMPTED, EXITED = "slept", "preempted", "exited"


@dataclass(frozen=True, slots=True)
class Switch:
    """A CPU changes from one task to another; `left` says how the first one left it."""

    at_ns: int
    cpu: int
    prev: str
    left: str
    next: str


@dataclass(frozen=True, slots=True)
class Woken:
    """A task is woken. `waker` ran there, and was only interrupted where an interrupt woke it."""

    at_ns: int
    task: str
    waker: str
    interrupt: bool | None = None  # None: not told


@dataclass(frozen=True, slots=True)
class Forked:
    at_ns: int
    task: str
    parent: str


@dataclass(frozen=True, slots=True)
class Queued:
    """A task is put into a queue, where a policy's virtual time or the fair class's deadline is its key."""

    at_ns: int
    task: str
    queue: str
    key: int | None  # None: a queue in order of arrival
    slice_ns: int


Moment = Switch | Woken | Forked | Queued


@dataclass(frozen=True)
class Side:
    """A run from the moment its tasks were let go; times in nanoseconds since then."""

    name: str
    moments: list[Moment]
    cell: frozenset[str]  # its tasks
    begin_ns: int = 0  # when that was, by the trace's own clock


class Births:
    """Names the tasks of the cell, who have to come in the order of their births."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def name(self, group: str, parent: str) -> str:
        """`parent`: a task of the cell, "" for whoever else starts its tasks."""
        count = self._counts[parent, group]
        self._counts[parent, group] += 1
        return f"{group}[{_number(parent)}.{count}]" if parent else f"{group}[{count}]"


def is_of_the_start(task: str) -> bool:
    return "." not in _number(task)


def _number(task: str) -> str:
    return task.rpartition("[")[2].removesuffix("]")


def side(name: str, moments: list[Moment], cell: Collection[str]) -> Side | None:
    """From where the cell begins; None where it does not."""
    begin = _start(moments, {task for task in cell if is_of_the_start(task)})
    if begin is None:
        return None
    begin_ns = moments[begin].at_ns
    kept = [replace(moment, at_ns=moment.at_ns - begin_ns) for moment in moments[begin:]]
    return Side(name, kept, frozenset(cell), begin_ns)


def _start(moments: list[Moment], first: Collection[str]) -> int | None:
    """Where somebody wakes one of the first tasks while all of them are blocked.

    A task that is woken before it was ever seen was there and blocked.
    """
    blocked = set(first) - {moment.task for moment in moments if isinstance(moment, Forked)}
    for index, moment in enumerate(moments):
        match moment:
            case Switch() if moment.prev in first and moment.left == SLEPT:
                blocked.add(moment.prev)
            case Woken() if moment.task in first:
                if len(blocked) == len(first):
                    return index
                blocked.discard(moment.task)
    return None
