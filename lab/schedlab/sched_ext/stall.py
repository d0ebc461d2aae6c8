# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waited, what the CPUs that it may use did meanwhile, and what that comes to, as far as a dump shows it.

A dump shows one moment. It leaves out CPUs that were idle and had no task of sched_ext to run, so a CPU that a whole
dump does not list was idle or offline.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from schedlab.sched_ext.dump import Cpu, Dump, Task

# The kernel's thread, of a real-time class, that takes a scheduler away; it hides what ran before it.
_HELPER = "sched_ext_helper"
HIGHER = ("rt", "dl", "stop")

# What a CPU did.
IDLE = "idle"
ABSENT = "absent"  # idle without a task of sched_ext to run, or offline
REALTIME = "realtime"
FAIR = "fair"
EXT = "ext"
WATCHDOG = "watchdog"  # the worker that found the stall, at that moment
UNKNOWN = "unknown"

# What it comes to.
EXPLAINED_BY_REALTIME = "real-time"
EXPLAINED_IN_PART = "real-time in part"
FREE_CPU = "free cpu"
PREFERRED_OTHERS = "preferred others"
HIDDEN_BY_WATCHDOG = "hidden by the watchdog"  # it was all that ran there at that moment
NOT_A_STALL = "error"
LOCKED_UP = "lockup"
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Doing:
    """What a CPU did when the dump was taken."""

    number: int
    state: str
    cpu: Cpu | None = None

    @property
    def free(self) -> bool:
        return self.state in (IDLE, ABSENT)

    @property
    def higher(self) -> bool:
        return self.state in (REALTIME, FAIR)


@dataclass(frozen=True)
class Stall:
    """What a dump says of the task that waited; for other ends, of the one that waited longest."""

    dump: Dump
    task: Task | None
    doing: tuple[Doing, ...]  # of the CPUs that the task may use, in their order; of all listed where it is no task's
    verdict: str

    @property
    def name(self) -> str:
        """NAME[PID] of the task that waited, also where the dump does not list it."""
        if self.task:
            return f"{self.task.name}[{self.task.pid}]"
        told = self.dump.stalled
        return f"{told[0]}[{told[1]}]" if told else ""

    @property
    def waited_s(self) -> float | None:
        told = self.dump.stalled
        if told:
            return told[2]
        return self.task.runnable_s if self.task else None

    def numbers(self, *states: str) -> list[int]:
        return [each.number for each in self.doing if each.state in states]

    @property
    def waiting_beside(self) -> list[Task]:
        """The other tasks that waited on the run queues of these CPUs, the longest first."""
        here = {each.number for each in self.doing}
        others = [task for task in self.dump.tasks if task is not self.task and not task.current and task.cpu in here]
        return sorted(others, key=lambda task: task.age_ms)


def of(dump: Dump) -> Stall:
    told = dump.stalled
    task = dump.task(told[1]) if told else _longest(dump.tasks)
    if told or (dump.sysrq and task):
        cpus = task.cpus if task else None
        doing = tuple(_doing(dump, number) for number in sorted(cpus or ()))
    else:
        doing = tuple(_doing(dump, number) for number in sorted(dump.cpus))
    return Stall(dump, task, doing, _verdict(dump, task, doing))


def _longest(tasks: Iterable[Task]) -> Task | None:
    waiting = [task for task in tasks if not task.current]
    return min(waiting, key=lambda task: task.age_ms, default=None)


def _doing(dump: Dump, number: int) -> Doing:
    cpu = dump.cpus.get(number)
    if cpu is None:
        return Doing(number, ABSENT if dump.whole and not dump.truncated else UNKNOWN)
    if cpu.name == _HELPER:
        return Doing(number, UNKNOWN, cpu)
    if cpu.sched_class in HIGHER:
        return Doing(number, REALTIME, cpu)
    if cpu.sched_class == "ext" and dump.stalled and cpu.pid == dump.by_pid:
        return Doing(number, WATCHDOG, cpu)
    known = {"idle": IDLE, "fair": FAIR, "ext": EXT}
    return Doing(number, known.get(cpu.sched_class, UNKNOWN), cpu)


def _verdict(dump: Dump, task: Task | None, doing: tuple[Doing, ...]) -> str:
    lowered = dump.message.lower()
    if "rcu cpu stall" in lowered or "lockup" in lowered:
        return LOCKED_UP
    if dump.reason and not (dump.stalled or dump.watchdog_s is not None or dump.sysrq):
        return NOT_A_STALL
    if not doing or (dump.stalled and task is None):
        return NOT_KNOWN
    if all(each.higher for each in doing):
        # Fair is a higher class too; it is left beside a scheduler that takes only some tasks.
        return EXPLAINED_BY_REALTIME
    if any(each.free for each in doing) and dump.watchdog_s is None:
        return FREE_CPU
    if any(each.state == UNKNOWN for each in doing):
        return NOT_KNOWN
    if any(each.higher for each in doing):
        return EXPLAINED_IN_PART
    return HIDDEN_BY_WATCHDOG if all(each.state == WATCHDOG for each in doing) else PREFERRED_OTHERS
