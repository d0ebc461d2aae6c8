# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace of a real kernel as moments of the cell that ran."""

from collections.abc import Collection, Container, Iterator

from schedlab.capture import events
from schedlab.capture.trace_file import Trace
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
from schedlab.errors import InputError

_SWAPPER = 0
_SIGKILL = 9
_LOCAL_DSQS = 0xC000_0000_0000_0000  # SCX_DSQ_LOCAL_ON: a CPU's number is in the rest
_LOCAL_DSQ = 0x8000_0000_0000_0002


def side(trace: Trace, groups: Collection[str], name: str = "kernel") -> Side:
    """`groups`: the names of the workload's tasks as the kernel keeps them. Raises InputError for another's trace."""
    ids = task_names(trace, groups)
    if not ids:
        raise InputError(f"{trace.name}: no task of the workload is in it: expected {', '.join(sorted(groups))}")
    reader = _Reader(trace, ids)
    told = [made for event in until_killed(trace, ids) if (made := reader.moment(event)) is not None]
    found = moments.side(name, told, ids.values())
    if found is None:
        raise InputError(f"{trace.name}: the tasks of the workload never wait for the start together")
    return found


def task_names(trace: Trace, groups: Collection[str]) -> dict[int, str]:
    """Names by thread id. A task of the cell gives itself its group's name after its birth."""
    parents = {event.child: event.parent for event in trace.events if isinstance(event, events.Fork)}
    called: dict[int, str] = {}
    for event in trace.events:
        if isinstance(event, events.Rename) and event.comm in groups and event.task in parents:
            called.setdefault(event.task, event.comm)
    births = Births()
    names: dict[int, str] = {}
    for child, parent in parents.items():
        if child in called:
            names[child] = births.name(called[child], names.get(parent, ""))
    return names


def until_killed(trace: Trace, ids: Container[int]) -> Iterator[events.Event]:
    """Who is left at the workload's end is killed."""
    for event in trace.events:
        if isinstance(event, events.Signal) and event.number == _SIGKILL and event.task in ids:
            return
        yield event


class _Reader:
    def __init__(self, trace: Trace, ids: dict[int, str]) -> None:
        self.ids = ids
        # Several outside tasks may have the same name, and one may have another first.
        switches = (event for event in trace.events if isinstance(event, events.Switch))
        self.names = {event.next: f"{event.next_comm}-{event.next}" for event in switches} | {_SWAPPER: IDLE} | ids

    def moment(self, event: events.Event) -> Moment | None:
        match event:
            case events.Switch():
                left = PREEMPTED if event.preempted else EXITED if event.ended else SLEPT
                return Switch(event.at_ns, event.cpu, self._name(event.prev), left, self._name(event.next))
            case events.Waking():
                waker = self._name(event.waker)
                return Woken(event.at_ns, self._name(event.task), waker, event.interrupt)
            case events.Fork() if event.child in self.ids:
                return Forked(event.at_ns, self._name(event.child), self._name(event.parent))
            case events.Enqueued():
                queue, key = _queue(event)
                return Queued(event.at_ns, self._name(event.task), queue, key, event.slice_ns)
        return None

    def _name(self, pid: int) -> str:
        return self.names.get(pid, f"task-{pid}")


def _queue(event: events.Enqueued) -> tuple[str, int | None]:
    if event.dsq is None:
        return "fair", event.key
    if event.dsq == _LOCAL_DSQ or event.dsq & _LOCAL_DSQS == _LOCAL_DSQS:
        return "local", None
    return f"{event.dsq:#x}", event.key
