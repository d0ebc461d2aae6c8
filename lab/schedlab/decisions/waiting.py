# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waits for a CPU, since when, and in which queue with which key, as far as a trace tells."""

from collections.abc import Container, Iterator
from copy import copy
from dataclasses import dataclass, field

from schedlab.decisions.moments import EXITED, IDLE, PREEMPTED, Forked, Moment, Queued, Switch, Woken

# What a task waits after; it may also have been preempted.
WOKEN, FORKED = "woken", "forked"


@dataclass(frozen=True, slots=True)
class Wait:
    """`order`: the number of the moment it began with, because times of traces may be too coarse to tell."""

    since_ns: int
    order: int
    after: str


@dataclass
class Waiting:
    """At some moment; by task. A task that is nowhere here sleeps, or was never heard of."""

    waits: dict[str, Wait] = field(default_factory=dict)
    queued: dict[str, Queued] = field(default_factory=dict)  # those whose insertion was seen
    running: dict[str, int] = field(default_factory=dict)  # the CPU
    ended: frozenset[str] = frozenset()

    def take(self, order: int, moment: Moment) -> None:
        match moment:
            case Woken() | Forked():
                after = WOKEN if isinstance(moment, Woken) else FORKED
                if moment.task not in self.running:
                    self.waits.setdefault(moment.task, Wait(moment.at_ns, order, after))
            case Switch():
                self._switch(order, moment)
            case Queued():
                self.queued[moment.task] = moment

    def _switch(self, order: int, moment: Switch) -> None:
        if moment.prev != IDLE:
            self.running.pop(moment.prev, None)
            if moment.left == PREEMPTED:
                self.waits[moment.prev] = Wait(moment.at_ns, order, PREEMPTED)
            elif moment.left == EXITED:
                self.ended |= {moment.prev}
        if moment.next != IDLE:
            self.waits.pop(moment.next, None)
            self.queued.pop(moment.next, None)
            self.running[moment.next] = moment.cpu

    def ahead(self, task: str) -> int | None:
        """By how much the task's key is above the least one in its queue; None where no key is known."""
        mine = self.queued.get(task)
        if mine is None or mine.key is None:
            return None
        others = (self.queued[other] for other in self.waits if other in self.queued)
        return max(
            _signed(mine.key - other.key) for other in others if other.queue == mine.queue and other.key is not None
        )


def _signed(difference: int) -> int:
    """Keys are 64 bits wide and may wrap around."""
    return (difference + (1 << 63)) % (1 << 64) - (1 << 63)


def before(moments: list[Moment], wanted: Container[int]) -> Iterator[tuple[int, Waiting]]:
    """Who waited just before each of the wanted moments, by their numbers."""
    now = Waiting()
    for order, moment in enumerate(moments):
        if order in wanted:
            yield order, Waiting(copy(now.waits), copy(now.queued), copy(now.running), now.ended)
        now.take(order, moment)
