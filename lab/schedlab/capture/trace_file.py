# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads ftrace text (`trace`, `trace_pipe`), what `perf script` prints, and the traces of perf and Perfetto themselves.

Strict: what cannot be read is an error.
"""

import gzip
import re
import shutil
import subprocess
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import foreign
from schedlab.capture import perfetto_file
from schedlab.capture.events import INTERRUPT_BEGINS, INTERRUPT_ENDS, READERS, Event, Member, Prefix
from schedlab.errors import InputError, PlaceError

#            make-123   ( 123) [001] d..2.  12.345678: sched_switch: ...
_FTRACE = re.compile(
    r"\s*(?P<comm>.+)-(?P<task>\d+)\s+(?:\(\s*(?P<process>\d+|-+)\)\s+)?\[(?P<cpu>\d+)\]\s+(?P<flags>[^\s\d:]\S{3,6}\s+)?"
    r"(?P<s>\d+)\.(?P<fraction>\d{6}|\d{9}): (?P<event>\w+):(?= |$) ?(?P<text>.*)"
)
#            make  123/123 [001]  12.345678: sched:sched_switch: ...
_PERF = re.compile(
    r"\s*(?P<comm>.+?)\s+(?:(?P<process>-?\d+)/)?(?P<task>-?\d+)\s+\[(?P<cpu>\d+)\]\s+"
    r"(?P<s>\d+)\.(?P<fraction>\d{6}|\d{9}):\s+(?:\d+\s+)?(?P<event>\w+:\w+):\s*(?P<text>.*)"
)
_PERF_FRAME = re.compile(r"\s+[0-9a-f]{4,}\s.*")
_ENTRIES = re.compile(r"# entries-in-buffer/entries-written: (\d+)/(\d+)\s.*")
_LOST = re.compile(r"CPU:\s*\d+ \[LOST (?:(\d+) )?EVENTS\]|.*\bPERF_RECORD_LOST(?:_SAMPLES)?\b\s+lost\s+(\d+)")
# What a file of perf begins with.
_PERF_DATA = b"PERFILE2"
# By so much of its head a file is told from others.
_HEAD_BYTES = 65_536
_PERF_FIELDS = "comm,pid,tid,cpu,time,event,trace"
_OWN = re.compile(r"# schedlab: (\w+)=(.*)")
# The recorder's count of events that the trace's head does not count as lost.
_DROPPED = "dropped"
_INTERRUPT_FLAGS = frozenset("hHsZz")


@dataclass
class Trace:
    """The events in order, what the recorder noted about itself, and how many events are missing."""

    name: str
    events: list[Event] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    lost: int = 0
    # Whether wake-ups by interrupts can be told from those by the task that was interrupted.
    tells_interrupts: bool = False


def read(path: Path, allow_lost: bool = False) -> Trace:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as data:
            head = data.read(_HEAD_BYTES)
            if perfetto_file.is_one(head):
                return _of_perfetto(perfetto_file.read(head + data.read(), str(path)), str(path), allow_lost)
        if head.startswith(_PERF_DATA):
            return _read_perf_data(path, allow_lost)
        with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
            return parse(lines, str(path), allow_lost)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _of_perfetto(found: perfetto_file.Found, name: str, allow_lost: bool) -> Trace:
    trace = Trace(name, found.events, found.notes, found.lost, found.tells_interrupts)
    if not trace.events:
        raise InputError(
            f"{name}: expected ftrace events (of Perfetto's data source linux.ftrace, such as sched/sched_switch), "
            "found none"
        )
    return _unless_lost(trace, allow_lost)


def _read_perf_data(path: Path, allow_lost: bool) -> Trace:
    """What perf recorded itself: only perf reads all of its versions."""
    perf = shutil.which("perf")
    if perf is None:
        raise PlaceError(
            f"{path}: perf is not here to read it: install it (Debian: linux-perf), or give perf script's text"
        )
    command = [perf, "script", "--ns", "--show-lost-events", "-F", _PERF_FIELDS, "-i", str(path)]
    with (
        tempfile.TemporaryFile("w+", errors="replace") as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True, errors="replace") as child,
    ):
        assert child.stdout
        try:
            trace = parse(child.stdout, str(path), allow_lost)
        except InputError:
            # perf's own error says more than that its output has no events.
            child.stdout.close()
            if child.wait() == 0:
                raise
        if child.wait() == 0:
            return trace
        complaints.seek(0)
        said = (complaints.read().strip().splitlines() or [f"perf ended with status {child.returncode}"])[-1]
    raise InputError(f"{path}: perf cannot read it: {said}")


def parse(lines: Iterable[str], name: str, allow_lost: bool = False) -> Trace:
    trace = Trace(name)
    reader = _Lines(trace)
    for number, line in enumerate(lines, 1):
        try:
            # Names of tasks are anybody's, and will be printed.
            problem = reader.take(foreign.lines(line.rstrip("\n")))
        except ValueError:
            # Python reads no number of thousands of digits.
            problem = "expected numbers as a kernel prints them"
        if problem:
            raise InputError(f"{name}:{number}: {problem}")
    if not trace.events:
        raise InputError(f"{name}: expected scheduling events as ftrace or perf script print them, found none")
    return _unless_lost(trace, allow_lost)


def _unless_lost(trace: Trace, allow_lost: bool) -> Trace:
    if trace.lost and not allow_lost:
        raise InputError(
            f"{trace.name}: {trace.lost} events are lost, so the recording is void: record again with a larger buffer, "
            "or take it as it is with --allow-lost"
        )
    return trace


class _Lines:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.form: re.Pattern[str] | None = None
        self.last_ns = 0
        self.depth: Counter[int] = Counter()  # interrupts within each other, by CPU
        self.process: dict[int, int] = {}  # by task, where lines say so

    def take(self, line: str) -> str | None:
        """Reads one line, and returns what is wrong with it."""
        if self._is_comment(line):
            return None
        lost = _LOST.fullmatch(line)
        if lost:
            self.trace.lost += int(lost[1] or lost[2] or 1)
            return None
        found = self._match(line)
        if not found:
            if self.form is _PERF and _PERF_FRAME.fullmatch(line):
                return None
            return "expected an event as ftrace or perf script prints it"
        at_ns = int(found["s"]) * 1_000_000_000 + int(found["fraction"].ljust(9, "0"))
        if at_ns < self.last_ns:
            return "this event is older than the one before it"
        self.last_ns = at_ns
        return self._event(found, at_ns)

    def _event(self, found: re.Match[str], at_ns: int) -> str | None:
        cpu, event = int(found["cpu"]), found["event"].rpartition(":")[2]
        self._member(found, at_ns)
        if event in INTERRUPT_BEGINS:
            self.depth[cpu] += 1
            self.trace.tells_interrupts = True
        elif event in INTERRUPT_ENDS:
            self.depth[cpu] = max(0, self.depth[cpu] - 1)
        read = READERS.get(event)
        if read is None:
            return None
        interrupt = self.depth[cpu] > 0 or self._flags_say(found)
        made = read(Prefix(at_ns, cpu, int(found["task"]), found["comm"].strip(), interrupt), found["text"].rstrip())
        if made is None:
            return f"cannot read this {event}"
        self.trace.events.append(made)
        return None

    def _member(self, found: re.Match[str], at_ns: int) -> None:
        task, process = int(found["task"]), found["process"] or ""
        if process.isdigit() and self.process.get(task) != int(process):
            self.process[task] = int(process)
            self.trace.events.append(Member(at_ns, task, int(process)))

    def _flags_say(self, found: re.Match[str]) -> bool:
        flags = found.groupdict().get("flags")
        if not flags:
            return False
        self.trace.tells_interrupts = True
        return flags[2] in _INTERRUPT_FLAGS

    def _match(self, line: str) -> re.Match[str] | None:
        if self.form is None:
            for form in (_FTRACE, _PERF):
                found = form.fullmatch(line)
                if found:
                    self.form = form
                    return found
            return None
        return self.form.fullmatch(line)

    def _is_comment(self, line: str) -> bool:
        if not line.strip():
            return True
        if not line.startswith("#"):
            return False
        own = _OWN.fullmatch(line)
        if own:
            self.trace.notes[own[1]] = own[2].strip()
            if own[1] == _DROPPED:
                self.trace.lost += int(own[2])
        entries = _ENTRIES.fullmatch(line)
        if entries:
            self.trace.lost += int(entries[2]) - int(entries[1])
        return True
