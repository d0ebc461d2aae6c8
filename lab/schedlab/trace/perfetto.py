# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace for Perfetto: states of tasks by its generic kernel messages, a counter for each queue, an instant for each
decision with the slice and virtual deadline that came with it.

A trace is a row of packets, so that it is written as it comes, whatever its length. The first says where it was made:
in the simulator, or by which kernel.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    GenericKernelTaskStateEvent,
    Trace,
    TracePacket,
    TrackEvent,
)

from schedlab.trace.simulated import IDLE, Event

_RUNNABLE = GenericKernelTaskStateEvent.TASK_STATE_RUNNABLE
_RUNNING = GenericKernelTaskStateEvent.TASK_STATE_RUNNING
_SLEEPING = GenericKernelTaskStateEvent.TASK_STATE_INTERRUPTIBLE_SLEEP
_UNINTERRUPTIBLE = GenericKernelTaskStateEvent.TASK_STATE_UNINTERRUPTIBLE_SLEEP
_STOPPED = GenericKernelTaskStateEvent.TASK_STATE_STOPPED
_DEAD = GenericKernelTaskStateEvent.TASK_STATE_DEAD

_SEQUENCE = 1
# Uuids of tracks: counters and CPUs count up from these.
_MARKS, _COUNTERS, _DECISIONS = 1, 1_000, 1_000_000
_WAITING = "tasks waiting"
# By the first letter of the state in which a task left its CPU; the kernel has more than the simulator.
_STATES = {
    "R": _RUNNABLE,
    "S": _SLEEPING,
    "D": _UNINTERRUPTIBLE,
    "I": _UNINTERRUPTIBLE,
    "P": _UNINTERRUPTIBLE,
    "K": _UNINTERRUPTIBLE,
    "W": _UNINTERRUPTIBLE,
    "T": _STOPPED,
    "t": _STOPPED,
    "X": _DEAD,
    "x": _DEAD,
    "Z": _DEAD,
}
_DECIDED = {
    "scx_insert": "insert",
    "scx_enqueue": "enqueue",
    "rt_enqueue": "enqueue (real-time)",
    "scx_kick": "kick",
    "sched_migrate_task": "migrate",
}

_QUEUED = {"scx_insert", "scx_enqueue", "rt_enqueue"}


@dataclass(frozen=True)
class Origin:
    """Where a trace was made, as `uname` says it, and what else is known of a real one."""

    system: str = "schedlab's simulator"
    release: str = ""
    version: str = ""
    processes: Mapping[int, int] = field(default_factory=dict)  # of threads, by their ids
    marks: Mapping[int, str] = field(default_factory=dict)  # what begins or ends, by its time


SIMULATED = Origin()


def encode(events: Iterable[Event], origin: Origin = SIMULATED) -> Iterator[bytes]:
    """Packets, ready to be written one after the other."""
    for packet in _Writer(origin).packets(events):
        yield Trace(packet=[packet]).SerializeToString(deterministic=True)


class _Writer:
    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.known: set[int] = set()  # tasks
        self.tracks: dict[str, int] = {}  # counters
        self.cpus: set[int] = set()  # with a track for decisions
        self.place: dict[int, str] = {}  # by task: the queue it is in
        self.lengths: Counter[str] = Counter()
        self.waiting: set[int] = set()
        self.running: set[int] = set()
        self.first = True

    def packets(self, events: Iterable[Event]) -> Iterator[TracePacket]:
        yield from self._head()
        for event in events:
            if event.name in ("sched_wakeup", "sched_wakeup_new"):
                yield from self._wake(event)
            elif event.name == "sched_switch":
                yield from self._switch(event)
            elif event.name in _DECIDED:
                yield from self._decision(event)

    def _head(self) -> Iterator[TracePacket]:
        made = {"sysname": self.origin.system, "release": self.origin.release, "version": self.origin.version}
        yield self._packet(0, system_info={"utsname": made})
        if self.origin.marks:
            yield self._packet(0, track_descriptor={"uuid": _MARKS, "name": "the workload's tasks"})
        for time_ns, name in sorted(self.origin.marks.items()):
            mark = {"type": TrackEvent.TYPE_INSTANT, "track_uuid": _MARKS, "name": name}
            yield self._packet(time_ns, track_event=mark)

    def _wake(self, event: Event) -> Iterator[TracePacket]:
        pid = event.pid()
        yield from self._introduce(event.time_ns, pid, event.comm())
        yield self._state(event, pid, "", _RUNNABLE, int(event.fields["target_cpu"]))
        yield from self._wait(event.time_ns, pid, True)

    def _switch(self, event: Event) -> Iterator[TracePacket]:
        before, after = event.pid("prev_"), event.pid("next_")
        self.running.discard(before)
        if before != IDLE:
            state = _STATES[event.fields["prev_state"][0]]
            yield from self._introduce(event.time_ns, before, event.comm("prev_"))
            yield self._state(event, before, "prev_", state, event.cpu)
            if state == _RUNNABLE:
                yield from self._wait(event.time_ns, before, True)
        if after != IDLE:
            self.running.add(after)
            yield from self._introduce(event.time_ns, after, event.comm("next_"))
            yield from self._move(event.time_ns, after, "")
            yield from self._wait(event.time_ns, after, False)
            yield self._state(event, after, "next_", _RUNNING, event.cpu)

    def _decision(self, event: Event) -> Iterator[TracePacket]:
        if event.cpu not in self.cpus:
            self.cpus.add(event.cpu)
            track = {"uuid": _DECISIONS + event.cpu, "name": f"decisions on CPU {event.cpu}"}
            yield self._packet(event.time_ns, track_descriptor=track)
        notes: list[dict[str, Any]] = []
        for name, value in event.fields.items():
            kind = "uint_value" if value.isdigit() else "string_value"
            notes.append({"name": name, kind: int(value) if value.isdigit() else value})
        name = _DECIDED[event.name]
        title = f"{name} {event.comm()} {event.pid()}" if "pid" in event.fields else f"{name} CPU {event.fields['cpu']}"
        instant = {
            "type": TrackEvent.TYPE_INSTANT,
            "track_uuid": _DECISIONS + event.cpu,
            "name": title,
            "debug_annotations": notes,
        }
        yield self._packet(event.time_ns, track_event=instant)
        # A switch is dated from its beginning: the insertion that led to it may come later, and is over already.
        if event.name in _QUEUED and event.pid() not in self.running:
            yield from self._move(event.time_ns, event.pid(), _queue(event))

    def _introduce(self, time_ns: int, pid: int, name: str) -> Iterator[TracePacket]:
        if pid in self.known:
            return
        self.known.add(pid)
        process = self.origin.processes.get(pid, pid)
        tree = {
            "processes": [] if process in self.known and process != pid else [_process(process, name)],
            "threads": [{"tid": pid, "pid": process, "comm": name, "is_main_thread": process == pid}],
        }
        yield self._packet(time_ns, generic_kernel_process_tree=tree)

    def _state(self, event: Event, pid: int, prefix: str, state: int, cpu: int) -> TracePacket:
        about = {
            "cpu": cpu,
            "comm": event.comm(prefix),
            "tid": pid,
            "state": state,
            "prio": int(event.fields[f"{prefix}prio"]),
        }
        return self._packet(event.time_ns, generic_kernel_task_state_event=about)

    def _move(self, time_ns: int, pid: int, queue: str) -> Iterator[TracePacket]:
        """Out of the queue it was in, into another; "": into none."""
        before = self.place.pop(pid, "")
        if queue:
            self.place[pid] = queue
        for name, change in ((before, -1), (queue, 1)):
            if name and before != queue:
                yield from self._count(time_ns, name, change)

    def _wait(self, time_ns: int, pid: int, waits: bool) -> Iterator[TracePacket]:
        if waits != (pid in self.waiting):
            (self.waiting.add if waits else self.waiting.discard)(pid)
            yield from self._count(time_ns, _WAITING, 1 if waits else -1)

    def _count(self, time_ns: int, name: str, change: int) -> Iterator[TracePacket]:
        if name not in self.tracks:
            self.tracks[name] = _COUNTERS + len(self.tracks)
            counter = {"unit": CounterDescriptor.UNIT_COUNT, "unit_name": "tasks"}
            track = {"uuid": self.tracks[name], "name": name, "counter": counter}
            yield self._packet(time_ns, track_descriptor=track)
        self.lengths[name] += change
        event = {"type": TrackEvent.TYPE_COUNTER, "track_uuid": self.tracks[name], "counter_value": self.lengths[name]}
        yield self._packet(time_ns, track_event=event)

    def _packet(self, time_ns: int, **content: Any) -> TracePacket:
        first = {"sequence_flags": TracePacket.SEQ_INCREMENTAL_STATE_CLEARED} if self.first else {}
        self.first = False
        return TracePacket(timestamp=time_ns, trusted_packet_sequence_id=_SEQUENCE, **first, **content)


def _process(pid: int, name: str) -> dict[str, Any]:
    return {"pid": pid, "ppid": 1, "cmdline": name}


def _queue(event: Event) -> str:
    if event.name == "scx_enqueue":
        return "queue kept by the policy"
    if event.name == "rt_enqueue":
        return f"real-time queue of CPU {event.fields['cpu']}"
    if event.fields["dsq"] == "local":
        return f"local queue of CPU {event.fields['cpu']}"
    return f"queue {event.fields['dsq']}"
