# SPDX-License-Identifier: GPL-2.0-or-later
"""What a debug dump of sched_ext says: why the scheduler ended, what each CPU ran, which tasks could have run.

The kernel writes a dump when it throws a scheduler out (scx_dump_state() in kernel/sched/ext.c); releases from 6.12 on
differ in a few fields. A dump is text from anywhere: what cannot be read is left out, and nothing of it is executed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Numbers of CPUs beyond this are no CPUs but damage.
MOST_CPUS = 8192
SLICE_INF = 2**64 - 1

_BUILTIN = 1 << 63
_GLOBAL, _LOCAL, _BYPASS = _BUILTIN | 1, _BUILTIN | 2, _BUILTIN | 3
# scx_ops_state: who has the task.
_QUEUEING, _QUEUED, _DISPATCHING = 1, 2, 3

_CPU = re.compile(r"^\s*CPU (\d{1,5})\s*: nr_run=(\d{1,9})\b(.*)")
_CURRENT = re.compile(r"^\s*curr=(.*)\[(\d{1,10})\] class=(\S+)")
_TASK = re.compile(r"^\s*(\*?)([A-Za-z?]) (.*)\[(\d{1,10})\](?: \*?(root|sub\d+-\d+))? ([+-]\d{1,12})ms\s*$")
_FIELDS = re.compile(r"^\s*(?:scx_state/flags|sticky/holding_cpu|dsq_vtime|cpus)=")
_FIELD = re.compile(r"([\w/]+)=(\S+)")
_HEAD = re.compile(r"^\s*(.*)\[(\d{1,10})\] triggered exit kind (\d{1,9})(?: on CPU (\d{1,5}))?:\s*$")
_SYSRQ = re.compile(r"^\s*Debug dump triggered by (.+)$")
_REASON = re.compile(r"^\s*([^()]+?)(?: \((.*)\))?\s*$")
_OPS = re.compile(r"^\s*(\S+): (?:root|sub\d+-\d+\b.*)$")
_FRAME = re.compile(r"^\s*(\S+\+0x[0-9a-f]+/0x[0-9a-f]+)")
_TRUNCATED = re.compile(r"^\s*~~~~ TRUNCATED ~~~~", re.IGNORECASE)
_STALLED = re.compile(r"^(.*)\[(\d{1,10})\] failed to run for (\d{1,9}\.\d{1,9})s")
_NO_WATCHDOG = re.compile(r"^watchdog failed to check in for (\d{1,9}\.\d{1,9})s")


@dataclass
class Task:
    """A task that could run, or that was running (`current`)."""

    name: str
    pid: int
    cpu: int  # whose run queue it is on
    current: bool
    age_ms: int  # negative: runnable for so long
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def runnable_s(self) -> float:
        return max(0, -self.age_ms) / 1000

    @property
    def cpus(self) -> frozenset[int] | None:
        """Where it may run; None where the dump does not say."""
        return _mask(self.fields.get("cpus", ""))

    @property
    def migration_disabled(self) -> bool | None:
        return _flag(self.fields.get("no_mig"))

    @property
    def dsq(self) -> int | None:
        return _number(self.fields.get("dsq_id"))

    @property
    def endless(self) -> bool:
        return _number(self.fields.get("slice")) == SLICE_INF

    @property
    def place(self) -> str:
        """Where the task waited: in a DSQ by its kind, with the policy, on its way between the two; or it ran."""
        dsq, state = self.dsq, _number(self.fields.get("ops_state/qseq", "").partition("/")[0])
        if self.current:
            return "running"
        if dsq is not None:
            return {_GLOBAL: "global", _LOCAL: "local", _BYPASS: "bypass"}.get(dsq, "user")
        if "dsq_id" not in self.fields:
            return "unknown"
        return {_QUEUED: "policy", _QUEUEING: "queueing", _DISPATCHING: "dispatching", 0: "none"}.get(
            -1 if state is None else state, "unknown"
        )


@dataclass
class Cpu:
    number: int
    runnable: int  # tasks of sched_ext
    name: str = ""  # of what it ran
    pid: int = -1
    sched_class: str = ""  # ext, fair, rt, dl, stop, idle; empty where the dump does not name it


@dataclass
class Dump:
    """One end of a scheduler, from however much of it there was."""

    ops: str = ""
    reason: str = ""
    message: str = ""
    by: str = ""  # the task in whose context it happened
    by_pid: int = -1
    kind: int | None = None
    sysrq: bool = False
    has_states: bool = False
    truncated: bool = False
    whole: bool = False  # the end of the dump is there
    backtrace: list[str] = field(default_factory=list)
    cpus: dict[int, Cpu] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)

    @property
    def stalled(self) -> tuple[str, int, float] | None:
        """Name, PID and seconds of the task that the watchdog names."""
        found = _STALLED.match(self.message)
        return (found[1], int(found[2]), float(found[3])) if found else None

    @property
    def watchdog_s(self) -> float | None:
        """How long the watchdog itself had not run, where that is what ended the scheduler."""
        found = _NO_WATCHDOG.match(self.message)
        return float(found[1]) if found else None

    def task(self, pid: int) -> Task | None:
        return next((task for task in self.tasks if task.pid == pid), None)

    @property
    def why(self) -> str:
        return f"{self.reason} ({self.message})" if self.message else self.reason


def read(lines: Iterable[str]) -> Dump:
    """A dump whose lines have no prefix of a log any more."""
    dump, rest = Dump(), iter(lines)
    for line in rest:
        if found := _HEAD.match(line):
            dump.by, dump.by_pid, dump.kind = found[1].strip(), int(found[2]), int(found[3])
            _read_reason(dump, rest)
        elif found := _SYSRQ.match(line):
            dump.reason, dump.sysrq = found[1], True
        elif line.strip() == "CPU states":
            dump.has_states = True
            _read_states(dump, rest)
        elif (found := _OPS.match(line)) and dump.kind is None:
            dump.ops = found[1]
        elif _TRUNCATED.match(line):
            dump.truncated = True
        elif found := _FRAME.match(line):
            dump.backtrace.append(found[1])
    return dump


def reason_of(text: str) -> tuple[str, str]:
    """`runnable task stall (sh[9] failed to run for 5.1s)` in its two parts."""
    found = _REASON.match(text)
    return (found[1], found[2] or "") if found else (text.strip(), "")


def _read_reason(dump: Dump, rest: Iterator[str]) -> None:
    for line in rest:
        if line.strip():
            dump.reason, dump.message = reason_of(line)
            return


def _read_states(dump: Dump, rest: Iterator[str]) -> None:
    cpu: Cpu | None = None
    task: Task | None = None
    for line in rest:
        if _TRUNCATED.match(line):
            dump.truncated = True
        elif line.strip() == "Event counters":
            dump.whole = True
            return
        elif (found := _CPU.match(line)) and int(found[1]) < MOST_CPUS:
            cpu, task = Cpu(int(found[1]), int(found[2])), None
            dump.cpus.setdefault(cpu.number, cpu)
        elif cpu is None:
            continue
        elif task is None and not cpu.name and (found := _CURRENT.match(line)):
            cpu.name, cpu.pid, cpu.sched_class = found[1], int(found[2]), _class(found[3])
        elif found := _TASK.match(line):
            task = Task(found[3], int(found[4]), cpu.number, found[1] == "*", int(found[6]))
            dump.tasks.append(task)
            if task.current and not cpu.sched_class and task.pid == cpu.pid:
                # Without symbols the class is an address; the kernel marks what runs for its own tasks only.
                cpu.sched_class = "ext"
        elif task is not None and _FIELDS.match(line):
            for name, value in _FIELD.findall(line):
                task.fields.setdefault(name, value)


def _class(symbol: str) -> str:
    return symbol.removesuffix("_sched_class") if symbol.endswith("_sched_class") else ""


def _mask(text: str) -> frozenset[int] | None:
    """A cpumask as %*pb prints it: groups of 32 bits in hexadecimal, the highest first."""
    digits = text.replace(",", "")
    if not re.fullmatch(r"[0-9a-f]+", digits) or len(digits) > MOST_CPUS // 4:
        return None
    bits = int(digits, 16)
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def _number(text: str | None) -> int | None:
    if text is None or not re.fullmatch(r"0x[0-9a-f]{1,16}|\d{1,20}", text):
        return None
    return int(text, 0) if text.startswith("0x") else int(text)


def _flag(text: str | None) -> bool | None:
    number = _number(text)
    return None if number is None else number > 0
