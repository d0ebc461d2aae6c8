# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's trace of a cell in the form of the simulator's, for what is made of either: pictures, Perfetto files.

It has everything that ran on the machine. Which tasks are the cell's, when they were let go, and until when the trace
is whole is told beside it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from schedlab.capture import events as kernel
from schedlab.capture.trace_file import Trace
from schedlab.decisions import from_kernel
from schedlab.errors import InputError, LabError
from schedlab.trace.simulated import IDLE, Event

# What the recorder (capture/tracing.sh) and the lab note about a traced cell.
TASKS, FULL = "tasks", "full"
_CLONE_THREAD = 0x10000
# The runner's keeper of an application has a thread of this name as long as the application's script runs.
_WATCH = "run"


@dataclass(frozen=True)
class TracedCell:
    """Times in nanoseconds by the trace's own clock."""

    events: list[Event]
    cell: Mapping[int, str]  # the cell's tasks by their ids: the workload's name of each, or what it ran last
    begin_ns: int  # when its tasks were let go
    end_ns: int  # when it was over
    whole_until_ns: int | None  # a buffer was full then; None: the trace is whole
    processes: Mapping[int, int]  # of threads that were started meanwhile


class Void(LabError):
    """The trace lacks what is asked of it."""


def traced_cell(trace: Trace) -> TracedCell:
    """Raises Void for a trace that lost events or ends too early, InputError where the cell is not in it otherwise."""
    if trace.lost:
        raise Void(f"void, its trace lost {trace.lost} events")
    too_early = Void("void, the trace's buffer was full before the workload's tasks were let go")
    try:
        found = _found(trace)
    except InputError as error:
        if not trace.notes.get(FULL):
            raise
        raise too_early from error
    if found.whole_until_ns is not None and found.whole_until_ns < found.begin_ns:
        raise too_early
    return found


def of_cell(traced: TracedCell) -> Iterator[Event]:
    """Until the trace's or the cell's end, timed from its beginning. Of others than the cell's tasks nobody is told to
    wait: it is not the cell's schedule.
    """
    end_ns = traced.end_ns if traced.whole_until_ns is None else min(traced.end_ns, traced.whole_until_ns)
    for event in traced.events:
        if event.time_ns > end_ns:
            return
        fields = event.fields
        if event.name == "sched_switch":
            if event.pid("prev_") not in traced.cell:
                fields = {**fields, "prev_state": "S"}
        elif event.pid() not in traced.cell:
            continue
        yield replace(event, time_ns=event.time_ns - traced.begin_ns, fields=fields)


def _found(trace: Trace) -> TracedCell:
    groups = set(trace.notes.get(TASKS, "").split(",")) - {""}
    if groups:
        begin_ns = from_kernel.side(trace, groups).begin_ns
        ids = from_kernel.task_names(trace, groups)
        cell = {task: name.partition("[")[0] for task, name in ids.items()}
        last_ns = max((event.at_ns for event in from_kernel.until_killed(trace, ids)), default=begin_ns)
    else:
        cell, begin_ns, last_ns = _of_application(trace)
    return TracedCell(list(_events(trace, cell)), cell, begin_ns, last_ns, _whole_until(trace), _processes(trace))


def _of_application(trace: Trace) -> tuple[dict[int, str], int, int]:
    """All that its keeper started, from the script's start to its end."""
    parents = {event.child: event.parent for event in trace.events if isinstance(event, kernel.Fork)}
    renames = (event for event in trace.events if isinstance(event, kernel.Rename))
    watch = next((event for event in renames if event.comm == _WATCH and event.task in parents), None)
    if watch is None:
        raise InputError(f"{trace.name}: the application never starts in it")
    keeper = parents[watch.task]
    threads = {e.child for e in trace.events if isinstance(e, kernel.Clone) and e.flags & _CLONE_THREAD}
    own = {keeper} | {task for task in threads if parents.get(task) == keeper}
    ran = {event.task: event.comm for event in trace.events if isinstance(event, kernel.Rename)}
    cell: dict[int, str] = {}
    for child, parent in parents.items():
        if child not in own and (parent == keeper or parent in cell):
            # Until it renames itself a child is called as its parent is then.
            cell[child] = ran.get(child) or cell.get(parent, "")
    exits = (event.at_ns for event in trace.events if isinstance(event, kernel.Exit) and event.task == watch.task)
    return cell, watch.at_ns, next(exits, trace.events[-1].at_ns)


def _processes(trace: Trace) -> dict[int, int]:
    threads: set[int] = set()
    found: dict[int, int] = {}
    for event in trace.events:
        if isinstance(event, kernel.Clone) and event.flags & _CLONE_THREAD:
            threads.add(event.child)
        elif isinstance(event, kernel.Fork) and event.child in threads:
            found[event.child] = found.get(event.parent, event.parent)
    return found


def _whole_until(trace: Trace) -> int | None:
    """The first CPU whose buffer was full: where its last events are."""
    full = {int(cpu) for cpu in trace.notes.get(FULL, "").split()}
    seen = dict.fromkeys(full, 0)
    for event in trace.events:
        if isinstance(event, kernel.Switch | kernel.Waking | kernel.Wakeup) and event.cpu in full:
            seen[event.cpu] = event.at_ns
    return min(seen.values(), default=None)


def _events(trace: Trace, cell: Mapping[int, str]) -> Iterator[Event]:
    for event in trace.events:
        made = _event(event, cell)
        if made is not None:
            yield made


def _event(event: kernel.Event, cell: Mapping[int, str]) -> Event | None:
    match event:
        case kernel.Switch():
            fields = {
                **_task("prev_", event.prev, event.prev_comm, event.prev_prio, cell),
                "prev_state": event.prev_state,
                **_task("next_", event.next, event.next_comm, event.next_prio, cell),
            }
            return Event(event.at_ns, event.cpu, "sched_switch", fields)
        case kernel.Wakeup():
            name = "sched_wakeup_new" if event.new else "sched_wakeup"
            fields = {**_task("", event.task, event.comm, event.prio, cell), "target_cpu": str(event.target)}
            return Event(event.at_ns, event.cpu, name, fields)
        case kernel.Migrate():
            places = {"orig_cpu": str(event.origin), "dest_cpu": str(event.cpu)}
            fields = {**_task("", event.task, event.comm, event.prio, cell), **places}
            return Event(event.at_ns, event.by, "sched_migrate_task", fields)
    return None


def _task(prefix: str, task: int, comm: str, prio: int, cell: Mapping[int, str]) -> dict[str, str]:
    """Under the workload's name, which a task of it has only after its birth."""
    name = "swapper" if task == IDLE else cell.get(task) or comm
    return {f"{prefix}comm": name, f"{prefix}pid": str(task), f"{prefix}prio": str(prio)}
