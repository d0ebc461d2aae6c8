# SPDX-License-Identifier: GPL-2.0-or-later
"""Perfetto's traces tell the same recording as the kernel's text that they are made of here."""

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceStats, Trace, TracePacket

from schedlab.capture import events, perfetto_file, process_tree, trace_file, workload_file
from schedlab.errors import InputError

DATA = Path(__file__).resolve().parents[2] / "tests" / "record" / "data"
# Recorded in a guest: one whole build, and what ran beside it.
RECORDED = DATA / "make-lib-et.trace"
_LINE = re.compile(
    r"\s*(?P<comm>.+)-(?P<pid>\d+)\s+(?:\([ \d-]+\)\s+)?\[(?P<cpu>\d+)\]\s+(?P<flags>\S+)\s+"
    r"(?P<s>\d+)\.(?P<us>\d{6}): (?P<kind>\w+): (?P<rest>.*)"
)
_FIELD = re.compile(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\w+=|\s*$)")
_FLAGS = {"h": 0x08, "H": 0x18, "s": 0x10, "Z": 0x48, "z": 0x40}
_BITS = dict(zip("SDTtXZPI", (1 << at for at in range(8)), strict=True))
_SAME = {"group": "grp", "result": "res", "errno": "", "parent_pid": "pid", "parent_comm": "comm"}
# A probe's events have no message of their own.
_KINDS = {
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "sched_migrate_task",
    "task_newtask",
    "task_rename",
    "softirq_entry",
    "softirq_exit",
}


def state(text: str) -> int:
    return sum(_BITS[name] for name in text.rstrip("+").split("|") if name != "R") | (0x100 if "+" in text else 0)


def filled(message: Any, fields: dict[str, str]) -> None:
    for field in message.DESCRIPTOR.fields:
        text = fields.get(_SAME.get(field.name, field.name))
        if text is None:
            continue
        if field.name == "prev_state":
            value: Any = state(text)
        elif field.name == "clone_flags":
            value = int(text, 16)
        elif field.cpp_type == field.CPPTYPE_STRING:
            value = text
        else:
            value = int(re.match(r"-?\d+", text)[0])  # type: ignore[index]
        setattr(message, field.name, value)


def lines_of(text: str) -> list[tuple[int, int, int, str, str, dict[str, str]]]:
    """Time, CPU, who ran, flags, kind, fields. Before it runs a program a task is renamed, as a kernel would tell."""
    found = []
    for line in text.splitlines():
        parts = _LINE.fullmatch(line)
        if parts and parts["kind"] in _KINDS:
            at_ns = int(parts["s"]) * 1_000_000_000 + int(parts["us"]) * 1000
            where = (at_ns, int(parts["cpu"]), int(parts["pid"]), parts["flags"])
            if parts["kind"] == "sched_process_exec":
                found.append((*where, "task_rename", {"pid": parts["pid"], "newcomm": parts["comm"]}))
            found.append((*where, parts["kind"], dict(_FIELD.findall(parts["rest"]))))
    return found


def plain(text: str) -> list[TracePacket]:
    """Of each CPU bundles of 50 events, as they come."""
    of_cpu = defaultdict(list)
    for line in lines_of(text):
        of_cpu[line[1]].append(line)
    packets = []
    for cpu, lines in sorted(of_cpu.items(), reverse=True):
        for begin in range(0, len(lines), 50):
            packet = TracePacket()
            packet.ftrace_events.cpu = cpu
            for at_ns, _, pid, flags, kind, fields in lines[begin : begin + 50]:
                event = packet.ftrace_events.event.add(timestamp=at_ns, pid=pid, common_flags=_FLAGS.get(flags[2], 0))
                getattr(event, kind).SetInParent()
                filled(getattr(event, kind), fields)
            packets.append(packet)
    return packets


def compact(text: str) -> list[TracePacket]:
    """Switches and wake-ups as columns, everything else as it is; sched_wakeup is not among what the form can tell."""
    packets = []
    for packet in plain(text):
        bundle = packet.ftrace_events
        packed, rest = bundle.compact_sched, [e for e in bundle.event if e.WhichOneof("event") not in _COMPACT]
        last = dict.fromkeys(_COMPACT, 0)
        for event in bundle.event:
            kind = event.WhichOneof("event")
            if kind not in _COMPACT:
                continue
            told, prefix = getattr(event, kind), _COMPACT[kind]
            comm = told.next_comm if kind == "sched_switch" else told.comm
            if comm not in packed.intern_table:
                packed.intern_table.append(comm)
            columns = {
                "timestamp": event.timestamp - last[kind],
                "comm_index": list(packed.intern_table).index(comm),
            }
            columns |= {name: getattr(told, name) for name in _COLUMNS[kind]}
            columns |= {"common_flags": event.common_flags} if kind == "sched_waking" else {}
            for name, value in columns.items():
                short = f"next_{name}" if kind == "sched_switch" and name == "comm_index" else name
                getattr(packed, f"{prefix}_{short}").append(value)
            last[kind] = event.timestamp
        del bundle.event[:]
        bundle.event.extend(rest)
        packets.append(packet)
    return packets


_COMPACT = {"sched_switch": "switch", "sched_waking": "waking"}
_COLUMNS = {"sched_switch": ["prev_state", "next_pid", "next_prio"], "sched_waking": ["pid", "target_cpu", "prio"]}


def data(packets: list[TracePacket]) -> bytes:
    return Trace(packet=packets).SerializeToString()


def tree(packets: list[TracePacket]) -> list[TracePacket]:
    """The threads that the text's newtasks tell are told here; system_info as Perfetto writes it."""
    packet = TracePacket()
    packet.system_info.utsname.release = "7.2.13"
    packet.system_info.num_cpus = 2
    return [packet, *packets]


@pytest.fixture(scope="module")
def text() -> str:
    return RECORDED.read_text()


def recorded(path: Path, root: str) -> tuple[str, dict[str, str]]:
    trace = trace_file.read(path)
    recording = process_tree.follow(trace, root)
    recording.notes.clear()
    recording.remarks.clear()
    return workload_file.text(recording, "mine", "make"), trace.notes


@pytest.fixture(scope="module")
def expected(text: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[str], bool]], str]:
    """The workload file that the text gives with some of its lines."""

    def made(keep: Callable[[str], bool]) -> str:
        path = tmp_path_factory.mktemp("text") / "mine.trace"
        kept = [line for line in text.splitlines() if (found := _LINE.fullmatch(line)) and keep(found["kind"])]
        path.write_text("\n".join(kept) + "\n")
        return recorded(path, "make")[0]

    return made


@pytest.mark.parametrize("suffix", ["perfetto-trace", "pftrace", "bin", "pftrace.gz"])
def test_plain_bundles_tell_what_the_text_tells(text: str, expected: Callable, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine.{suffix}"
    whole = data(tree(plain(text)))
    path.write_bytes(gzip.compress(whole) if suffix.endswith("gz") else whole)
    found, notes = recorded(path, "make")
    assert found == expected(lambda kind: kind in _KINDS)
    assert notes == {"kernel": "7.2.13", "cpus": "2"}


def test_compact_bundles_do_too(text: str, expected: Callable, tmp_path: Path) -> None:
    path = tmp_path / "mine.pftrace"
    path.write_bytes(data(compact(text)))
    assert recorded(path, "make")[0] == expected(lambda kind: kind in _KINDS)


def test_compressed_packets_are_read(text: str, expected: Callable, tmp_path: Path) -> None:
    path = tmp_path / "mine.pftrace"
    path.write_bytes(data([TracePacket(compressed_packets=zlib.compress(data(plain(text))))]))
    assert recorded(path, "make")[0] == expected(lambda kind: kind in _KINDS)


def event(at_ns: int, kind: str, pid: int = 7, flags: int | None = None, cpu: int = 0, **fields: Any) -> TracePacket:
    packet = TracePacket()
    packet.ftrace_events.cpu = cpu
    made = packet.ftrace_events.event.add(timestamp=at_ns, pid=pid)
    if flags is not None:
        made.common_flags = flags
    getattr(made, kind).SetInParent()
    for name, value in fields.items():
        setattr(getattr(made, kind), name.rstrip("_"), value)
    return packet


SWITCH = {"prev_comm": "a", "prev_pid": 7, "prev_prio": 120, "prev_state": 0x100, "next_comm": "b", "next_pid": 8}


def read(packets: list[TracePacket]) -> perfetto_file.Found:
    return perfetto_file.read(data(packets), "t")


def test_events_are_those_of_the_text_and_in_order() -> None:
    threads = TracePacket()
    threads.process_tree.threads.add(tid=8, tgid=6)
    found = read(
        [
            event(50, "sched_switch", **SWITCH, next_prio=90),
            event(20, "sched_waking", cpu=1),
            event(60, "task_rename", pid=8, oldcomm="b", newcomm="cc"),
            event(70, "sched_process_exec", filename="/usr/bin/x86_64-linux-gnu-gcc-12"),
            event(10, "irq_handler_entry", cpu=1),
            event(30, "irq_handler_exit", cpu=1),
            event(40, "sched_waking", cpu=1, flags=0x10),
            threads,
        ]
    )
    assert found.events == [
        events.Waking(20, 1, 7, 0, interrupt=True),
        events.Waking(40, 1, 7, 0, interrupt=True),
        events.Switch(50, 0, 7, 120, "R+", 8, 90, "b", "a"),
        events.Member(50, 8, 6),
        events.Rename(60, 8, "cc"),
        events.Exec(70, 0, 0, "x86_64-linux-gn", "/usr/bin/x86_64-linux-gnu-gcc-12"),
    ]
    assert found.tells_interrupts


def test_a_program_has_the_name_that_the_next_switch_gives_it_where_no_event_does() -> None:
    made = [
        event(10, "sched_process_exec", filename="/proc/self/exe", pid_=7),
        event(20, "sched_switch", **SWITCH),
        event(30, "sched_process_exec", filename="/proc/self/exe", pid_=8),
    ]
    execs = [found for found in read(made).events if isinstance(found, events.Exec)]
    assert [(found.task, found.comm) for found in execs] == [(7, "a"), (8, "exe")]


@pytest.mark.parametrize(
    ("bits", "text"), [(0, "R"), (0x100, "R+"), (1, "S"), (2, "D"), (0x10, "X"), (0x20, "Z"), (0x80, "I"), (3, "S|D")]
)
def test_states_are_named_as_in_the_text(bits: int, text: str) -> None:
    (made,) = read([event(1, "sched_switch", **SWITCH | {"prev_state": bits})]).events
    assert isinstance(made, events.Switch)
    assert made.prev_state == text


def lost_in_the_ring() -> list[TracePacket]:
    packets = []
    for phase, overrun in ((FtraceStats.START_OF_TRACE, 5), (FtraceStats.END_OF_TRACE, 8)):
        packet = TracePacket()
        packet.ftrace_stats.phase = phase
        packet.ftrace_stats.cpu_stats.add(cpu=0, overrun=overrun, dropped_events=phase)
        packets.append(packet)
    return packets


def lost_before_a_bundle() -> list[TracePacket]:
    packet = event(2, "sched_switch", **SWITCH)
    packet.ftrace_events.lost_events = True
    return [packet]


def lost_in_the_buffer() -> list[TracePacket]:
    packets = []
    for overwritten in (1, 3):
        packet = TracePacket()
        packet.trace_stats.buffer_stats.add(chunks_overwritten=overwritten)
        packets.append(packet)
    return packets


@pytest.mark.parametrize(("made", "count"), [(lost_in_the_ring, 4), (lost_before_a_bundle, 1), (lost_in_the_buffer, 3)])
def test_lost_events_make_a_recording_void(made: Callable, count: int, tmp_path: Path) -> None:
    path = tmp_path / "mine.pftrace"
    path.write_bytes(data([event(1, "sched_switch", **SWITCH), *made()]))
    with pytest.raises(InputError, match=rf"mine\.pftrace: {count} events are lost"):
        trace_file.read(path)
    assert trace_file.read(path, allow_lost=True).lost == count


def old_kernel() -> bytes:
    packet = TracePacket()
    packet.system_info.utsname.release = "4.9.337-android"
    return data([packet])


def torn_columns() -> bytes:
    packet = TracePacket()
    packet.ftrace_events.compact_sched.switch_timestamp.append(5)
    return data([packet])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (data([event(1, "sched_switch", **SWITCH)] * 3)[:-4], "found one that breaks off or is damaged"),
        (data([TracePacket(timestamp=5)] * 3), "expected ftrace events"),
        (data([TracePacket(compressed_packets=b"no zlib")] * 2), "found one that breaks off or is damaged"),
        (data([TracePacket(zstd_compressed_packets=b"zstd")] * 2), "found zstd"),
        (old_kernel() * 2, "recorded on Linux 4.9.337-android: expected 4.14 or newer"),
        (torn_columns() * 2, "a bundle of compact events is damaged"),
    ],
)
def test_what_cannot_be_read_is_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.pftrace"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        trace_file.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_text_is_not_taken_for_one() -> None:
    for head in (b"", b"\n", b"\n\n\n", b"# tracer: nop\n", b"\n# tracer: nop\n#\n" * 9, b"PERFILE2\0\0"):
        assert not perfetto_file.is_one(head)
