# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulator's trace as moments of the cell that ran."""

from collections.abc import Collection, Iterable

from schedlab.decisions import moments
from schedlab.decisions.moments import (
    EXITED,
    IDLE,
    PREEMPTED,
    SLEPT,
    Births,
    Forked,
    Moment,
    Queued,
    Side,
    Switch,
    Woken,
)
from schedlab.errors import LabError
from schedlab.trace import simulated
from schedlab.trace.simulated import Event

_LEFT = {"R": PREEMPTED, "S": SLEPT, "D": SLEPT, "X": EXITED}
_FORK = "sched_wakeup_new"


def side(events: Iterable[Event], groups: Collection[str]) -> Side:
    """`groups`: the names of the workload's tasks as traces show them."""
    told = list(events)
    reader = _Reader(told, groups)
    found = moments.side("simulator", [made for event in told if (made := reader.moment(event))], reader.cell)
    if found is None:
        raise LabError("the simulator's trace: its tasks never wait for the start together")
    return found


class _Reader:
    """Keeps who is who: a task that has ended may be forked again, under the same process id."""

    def __init__(self, told: list[Event], groups: Collection[str]) -> None:
        self.groups = groups
        self.births = Births()
        self.names: dict[int, str] = {simulated.IDLE: IDLE}
        self.running: dict[int, str] = {}  # by CPU
        self.queued: set[str] = set()
        forked = {event.pid() for event in told if event.name == _FORK}
        seen = {event.pid(): event.comm() for event in told if event.name == "sched_wakeup"}
        for pid in sorted(seen):
            if pid not in forked and seen[pid] in groups:
                self.names[pid] = self.births.name(seen[pid], "")
        self.cell = {name for pid, name in self.names.items() if pid != simulated.IDLE}

    def moment(self, event: Event) -> Moment | None:
        now, cpu = event.time_ns, event.cpu
        match event.name:
            case "sched_switch":
                self.running[cpu] = self._name(event, "next_")
                self.queued.discard(self.running[cpu])
                left = _LEFT[event.fields["prev_state"][0]]
                return Switch(now, cpu, self._name(event, "prev_"), left, self.running[cpu])
            case "sched_wakeup":
                return Woken(now, self._name(event), self.running.get(cpu, IDLE))
            case "sched_wakeup_new":
                parent = self.running.get(cpu, IDLE)
                if event.comm() in self.groups:
                    name = self.births.name(event.comm(), parent if parent in self.cell else "")
                    self.names[event.pid()] = name
                    self.cell.add(name)
                return Forked(now, self._name(event), parent)
            case "scx_insert":
                return self._queued(event)
        return None

    def _queued(self, event: Event) -> Moment | None:
        """The move of a task to the CPU that is about to run it, which may be dated after it runs, is left out."""
        task = self._name(event)
        local = event.fields["dsq"] == "local"
        if local and (task in self.queued or task in self.running.values()):
            return None
        self.queued.add(task)
        key = None if local else int(event.fields["vtime"])
        return Queued(event.time_ns, task, event.fields["dsq"], key, int(event.fields["slice_ns"]))

    def _name(self, event: Event, prefix: str = "") -> str:
        return self.names.get(event.pid(prefix), event.comm(prefix))
