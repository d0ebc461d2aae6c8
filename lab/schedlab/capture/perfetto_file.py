# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the kernel's events out of a Perfetto trace: bundles of ftrace events, one CPU each, plain or compact.

A bundle is in order, bundles are not. The compact form of switches and wake-ups leaves out who was running, which the
switches before tell.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from schedlab.capture import events
from schedlab.capture.events import INTERRUPT_BEGINS, INTERRUPT_ENDS, Event
from schedlab.errors import InputError

# A trace is a row of packets, each with this before its length.
_PACKET = 0x0A
# What the kernel says of an event: in a hard interrupt, a soft one, one that cannot be masked.
_IN_INTERRUPT = 0x08 | 0x10 | 0x40
# Bits of a task's state since 4.14, as the kernel's text of a switch names them, and the one of a preempted task.
_STATES = "SDTtXZPI"
_PREEMPTED = 0x100
_STATES_SINCE = (4, 14)
_UNKNOWN = -1
_COMM_BYTES = 15
_ORDINARY = 120


@dataclass
class Found:
    events: list[Event] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    lost: int = 0
    tells_interrupts: bool = False


def is_one(head: bytes) -> bool:
    """Whether a file that begins so is one: the length of its first packet leads to another packet, or to the end."""
    if not head or head[0] != _PACKET:
        return False
    length, at = _length(head)
    if not length:
        return False
    if at + length >= len(head):
        return b"\0" in head or at + length == len(head)
    return head[at + length] == _PACKET


def _length(head: bytes) -> tuple[int, int]:
    """The number that stands behind the first byte, seven bits a byte, and where it ends."""
    value = shift = 0
    at = 1
    while at < len(head):
        value |= (head[at] & 0x7F) << shift
        shift += 7
        at += 1
        if head[at - 1] < 0x80:
            break
    return value, at


def read(data: bytes, name: str) -> Found:
    """Raises InputError for what is no whole trace."""
    found = Found()
    reader = _Packets(found)
    try:
        for packet in _packets(data, name):
            reader.take(packet, name)
    except (ValueError, IndexError) as error:
        raise InputError(f"{name}: a bundle of compact events is damaged: {error}") from error
    found.lost = reader.lost()
    merged = _Merged(found, reader.processes)
    merged.take(reader.raw)
    _name_programs(found.events, merged.unnamed)
    return found


def _name_programs(told: list[Event], unnamed: set[int]) -> None:
    """What a task is called after exec, where no event said it: as the next switch calls it."""
    called: dict[int, str] = {}
    for at in range(len(told) - 1, -1, -1):
        event = told[at]
        if isinstance(event, events.Switch):
            called |= {event.prev: event.prev_comm, event.next: event.next_comm}
        elif isinstance(event, events.Exec):
            comm = called.pop(event.task, "")
            if at in unnamed and comm:
                told[at] = replace(event, comm=comm)


def _packets(data: bytes, name: str) -> Iterator[Any]:
    # Only who reads such a file waits for the library.
    from google.protobuf.message import DecodeError
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    try:
        for packet in Trace.FromString(data).packet:
            if packet.HasField("compressed_packets"):
                yield from Trace.FromString(zlib.decompress(packet.compressed_packets)).packet
            elif packet.HasField("zstd_compressed_packets"):
                raise InputError(f"{name}: expected packets as they are or compressed with deflate, found zstd")
            else:
                yield packet
    except (DecodeError, zlib.error) as error:
        raise InputError(f"{name}: expected a whole Perfetto trace, found one that breaks off or is damaged") from error


@dataclass(frozen=True, slots=True)
class _Raw:
    """An event as a bundle has it. `told`: the event's own message, or a row of the compact form as a dict."""

    at_ns: int
    cpu: int
    pid: int  # who was running; _UNKNOWN in the compact form
    kind: str
    told: Any
    interrupt: bool | None  # None: not told


class _Packets:
    """Takes packets apart, and counts what was lost before they were written."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.raw: list[_Raw] = []
        self.processes: dict[int, int] = {}  # by thread
        self.flagged = 0  # bundles before which events were lost
        self.ring: dict[int, Counter[int]] = {}  # by phase: what each CPU had lost until then
        self.buffers = 0
        self.readers = _kinds()

    def take(self, packet: Any, name: str) -> None:
        if packet.HasField("ftrace_events"):
            self._bundle(packet.ftrace_events)
        elif packet.HasField("ftrace_stats"):
            stats = packet.ftrace_stats
            lost = {cpu.cpu: cpu.overrun + cpu.commit_overrun + cpu.dropped_events for cpu in stats.cpu_stats}
            self.ring[stats.phase] = Counter(lost)
        elif packet.HasField("trace_stats"):
            # Counts since the beginning: the last packet has them all.
            self.buffers = sum(
                buffer.chunks_overwritten + buffer.chunks_discarded + buffer.trace_writer_packet_loss
                for buffer in packet.trace_stats.buffer_stats
            )
        elif packet.HasField("process_tree"):
            tree = packet.process_tree
            self.processes |= {process.pid: process.pid for process in tree.processes}
            self.processes |= {thread.tid: thread.tgid for thread in tree.threads}
        elif packet.HasField("system_info"):
            self._system(packet.system_info, name)

    def lost(self) -> int:
        """At least so many: a flagged bundle, or an overwritten piece of the trace, is one, whatever was in it."""
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceStats

        end, start = (
            self.ring.get(phase, Counter()) for phase in (FtraceStats.END_OF_TRACE, FtraceStats.START_OF_TRACE)
        )
        return max(sum((end - start).values()), self.flagged) + self.buffers

    def _system(self, system: Any, name: str) -> None:
        release = system.utsname.release
        version = re.match(r"(\d+)\.(\d+)", release)
        if version and (int(version[1]), int(version[2])) < _STATES_SINCE:
            oldest = ".".join(map(str, _STATES_SINCE))
            raise InputError(f"{name}: recorded on Linux {release}: expected {oldest} or newer, whose states are known")
        notes = {"kernel": release, "cpus": system.num_cpus, "hz": system.hz}
        self.found.notes |= {key: str(value) for key, value in notes.items() if value}

    def _bundle(self, bundle: Any) -> None:
        self.flagged += bundle.lost_events or len(bundle.error) > 0
        for event in bundle.event:
            kind = event.WhichOneof("event")
            if kind in self.readers:
                told = bool(event.common_flags & _IN_INTERRUPT) if event.HasField("common_flags") else None
                self.found.tells_interrupts |= told is not None
                self.raw.append(_Raw(event.timestamp, bundle.cpu, event.pid, kind, getattr(event, kind), told))
        if bundle.HasField("compact_sched"):
            self.raw += _compact(bundle.compact_sched, bundle.cpu)
            self.found.tells_interrupts |= len(bundle.compact_sched.waking_common_flags) > 0


def _compact(packed: Any, cpu: int) -> Iterator[_Raw]:
    """Columns in place of events; a time is what passed since the one before."""
    names = packed.intern_table
    at_ns = 0
    columns = (packed.switch_prev_state, packed.switch_next_pid, packed.switch_next_prio, packed.switch_next_comm_index)
    for delta_ns, state, pid, prio, comm in zip(packed.switch_timestamp, *columns, strict=True):
        at_ns += delta_ns
        told = {"prev_state": state, "next_pid": pid, "next_prio": prio, "next_comm": names[comm]}
        yield _Raw(at_ns, cpu, _UNKNOWN, "sched_switch", told, None)
    at_ns = 0
    flags = packed.waking_common_flags or [None] * len(packed.waking_timestamp)
    columns = (packed.waking_pid, packed.waking_target_cpu, packed.waking_prio, packed.waking_comm_index)
    for delta_ns, pid, target, prio, comm, flag in zip(packed.waking_timestamp, *columns, flags, strict=True):
        at_ns += delta_ns
        told = {"pid": pid, "target_cpu": target, "prio": prio, "comm": names[comm]}
        yield _Raw(at_ns, cpu, _UNKNOWN, "sched_waking", told, None if flag is None else bool(flag & _IN_INTERRUPT))


@dataclass
class _Running:
    """Who has a CPU, as the last switch told."""

    pid: int = _UNKNOWN
    prio: int = _ORDINARY
    comm: str = ""


class _Merged:
    """All CPUs' events in order, each as the text of the kernel would tell it."""

    def __init__(self, found: Found, processes: dict[int, int]) -> None:
        self.found = found
        self.processes = processes
        self.said: set[int] = set()  # tasks whose process was told
        self.running: dict[int, _Running] = {}  # by CPU
        self.depth: Counter[int] = Counter()  # interrupts within each other, by CPU
        self.renamed: dict[int, str] = {}
        self.unnamed: set[int] = set()  # places of execs after which no event says what the task is called
        self.readers = _kinds()

    def take(self, raw: Iterable[_Raw]) -> None:
        for each in sorted(raw, key=lambda one: one.at_ns):
            if each.kind in INTERRUPT_BEGINS:
                self.depth[each.cpu] += 1
                self.found.tells_interrupts = True
            elif each.kind in INTERRUPT_ENDS:
                self.depth[each.cpu] = max(0, self.depth[each.cpu] - 1)
            if each.kind != "sched_switch" and each.pid not in (_UNKNOWN, self._on(each.cpu)):
                # Before the first compact switch of a CPU only other events say who has it.
                self.running[each.cpu] = _Running(each.pid)
            made = self.readers[each.kind](self, each)
            if made is not None:
                self.found.events.append(made)
            if isinstance(made, events.Switch):
                self._member(made)

    def _member(self, made: events.Switch) -> None:
        if made.next in self.processes and made.next not in self.said:
            self.said.add(made.next)
            self.found.events.append(events.Member(made.at_ns, made.next, self.processes[made.next]))

    def switch(self, raw: _Raw) -> Event:
        before = self.running.get(raw.cpu, _Running())
        told = raw.told
        if isinstance(told, dict):
            after = _Running(told["next_pid"], told["next_prio"], told["next_comm"])
            state = told["prev_state"]
        else:
            before = _Running(told.prev_pid, told.prev_prio, told.prev_comm)
            after = _Running(told.next_pid, told.next_prio, told.next_comm)
            state = told.prev_state
        self.running[raw.cpu] = after
        return events.Switch(
            raw.at_ns, raw.cpu, before.pid, before.prio, _state(state), after.pid, after.prio, after.comm, before.comm
        )

    def waking(self, raw: _Raw) -> Event:
        told = raw.told
        task = told["pid"] if isinstance(told, dict) else told.pid
        return events.Waking(raw.at_ns, raw.cpu, self._who(raw), task, self._interrupted(raw))

    def wakeup(self, raw: _Raw) -> Event:
        told, new = raw.told, raw.kind == "sched_wakeup_new"
        who, interrupted = self._who(raw), self._interrupted(raw)
        return events.Wakeup(raw.at_ns, raw.cpu, who, told.pid, interrupted, told.comm, told.prio, told.target_cpu, new)

    def rename(self, raw: _Raw) -> Event:
        task = raw.told.pid or raw.pid
        self.renamed[task] = raw.told.newcomm
        return events.Rename(raw.at_ns, task, raw.told.newcomm)

    def program(self, raw: _Raw) -> Event:
        """The kernel renames a task before it says that it runs another program."""
        told = raw.told
        comm = self.renamed.pop(told.pid, "")
        if not comm:
            self.unnamed.add(len(self.found.events))
            comm = PurePath(told.filename).name[:_COMM_BYTES]
        return events.Exec(raw.at_ns, told.pid, told.old_pid, comm, told.filename)

    def _who(self, raw: _Raw) -> int:
        return self._on(raw.cpu) if raw.pid == _UNKNOWN else raw.pid

    def _on(self, cpu: int) -> int:
        return self.running.get(cpu, _Running()).pid

    def _interrupted(self, raw: _Raw) -> bool:
        return bool(raw.interrupt) or self.depth[raw.cpu] > 0


def _state(bits: int) -> str:
    names = [name for at, name in enumerate(_STATES) if bits >> at & 1]
    return ("|".join(names) or "R") + ("+" if bits & _PREEMPTED else "")


def _kinds() -> dict[str, Callable[[_Merged, _Raw], Event | None]]:
    """By the name of the event's message."""

    def softirq(begins: bool) -> Callable[[_Merged, _Raw], Event]:
        return lambda _, raw: events.Softirq(raw.at_ns, raw.cpu, raw.told.vec, begins)

    def migrate(_: _Merged, raw: _Raw) -> Event:
        told = raw.told
        return events.Migrate(raw.at_ns, told.pid, told.dest_cpu, raw.cpu, told.orig_cpu, told.comm, told.prio)

    def fork(_: _Merged, raw: _Raw) -> Event:
        return events.Fork(raw.at_ns, raw.told.parent_pid, raw.told.child_pid, raw.told.child_comm)

    made: dict[str, Callable[[_Merged, _Raw], Event | None]] = {
        "sched_switch": _Merged.switch,
        "sched_waking": _Merged.waking,
        "sched_wakeup": _Merged.wakeup,
        "sched_wakeup_new": _Merged.wakeup,
        "sched_process_fork": fork,
        "task_newtask": lambda _, raw: events.Clone(raw.at_ns, raw.told.pid, raw.told.clone_flags),
        "sched_process_exec": _Merged.program,
        "sched_process_exit": lambda _, raw: events.Exit(raw.at_ns, raw.told.pid),
        "sched_migrate_task": migrate,
        "cgroup_attach_task": lambda _, raw: events.MoveToCgroup(raw.at_ns, raw.told.pid),
        "task_rename": _Merged.rename,
        "signal_generate": lambda _, raw: events.Signal(raw.at_ns, raw.told.pid, raw.told.sig),
        "softirq_entry": softirq(True),
        "softirq_exit": softirq(False),
    }
    # Only whether an interrupt runs is of interest in these.
    return {name: lambda _, __: None for name in (*INTERRUPT_BEGINS, *INTERRUPT_ENDS)} | made
