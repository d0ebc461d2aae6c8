# SPDX-License-Identifier: GPL-2.0-or-later
"""What each task of a process tree did: ran, slept, waited for another of them, forked."""

from dataclasses import dataclass, field


@dataclass
class Run:
    ns: int


@dataclass
class Sleep:
    """Blocked until something outside the tree came: a timer, a device, another program."""

    ns: int


@dataclass
class Until:
    """Asleep until so long after the start of the recording; no sleep where that has passed."""

    ns: int


@dataclass
class Wait:
    """Blocked until a task of the tree woke it."""

    ns: int


@dataclass
class Post:
    """Here the task woke another one of the tree; `real` where that one was blocked."""

    task: "Task"
    real: bool = False


@dataclass
class Start:
    """Forks the task."""

    task: "Task"


@dataclass
class Nice:
    nice: int


@dataclass
class Policy:
    """Asks for a policy, in the words of a workload."""

    policy: str


@dataclass
class Affinity:
    """Asks for these CPUs."""

    cpus: tuple[int, ...]


@dataclass
class Image:
    """Runs another program from here on."""


@dataclass
class Change:
    """Asks for another task, wherever that one is."""

    task: "Task"
    to: Nice | Policy | Affinity


Step = Run | Sleep | Until | Wait | Post | Start | Image | Nice | Policy | Affinity | Change

_NICE_0_PRIO = 120
_HIGHEST_OTHER_PRIO = 100


@dataclass
class Task:
    """`prio` is the kernel's number of the first time it was seen: below 100 real-time, 120 is nice 0.

    `other`: no task of the tree, but one that ran meanwhile. Whoever woke it, it sleeps until then.
    `thread`: of the process of who forked it.
    """

    number: int
    tid: int
    comm: str
    prio: int | None = None
    # Whether SCHED_RR was inherited or asked for, as far as the trace shows.
    round_robin: bool = False
    steps: list[Step] = field(default_factory=list)
    ended: bool = False
    other: bool = False
    thread: bool = False

    @property
    def nice(self) -> int:
        return nice(self.prio)

    @property
    def rt_priority(self) -> int:
        """Of SCHED_FIFO or RR; 0 is an ordinary task."""
        return max(0, 99 - self.prio) if self.prio is not None and not is_ordinary(self.prio) else 0

    def run(self, ns: int) -> None:
        if ns <= 0:
            return
        last = self.steps[-1] if self.steps else None
        if isinstance(last, Run):
            last.ns += ns
        else:
            self.steps.append(Run(ns))


def is_ordinary(prio: int) -> bool:
    return prio >= _HIGHEST_OTHER_PRIO


def nice(prio: int | None) -> int:
    return prio - _NICE_0_PRIO if prio is not None and is_ordinary(prio) else 0


def prio_of(nice: int) -> int:
    return _NICE_0_PRIO + nice


@dataclass
class Recording:
    """A process tree from the start of its root until its end, with or without what else ran meanwhile.

    `voluntary` leaves out the switch that ends a task, which the task does not see. `involuntary` counts preemptions
    after which another task of the tree ran, `interrupted` those by something outside (a kernel thread, another
    program) that then gave the CPU back. `waiting_ns` is how long tasks could run and had no CPU, added up.
    """

    root: Task
    tasks: list[Task]
    elapsed_ns: int
    waiting_ns: int
    voluntary: int
    involuntary: int
    interrupted: int
    migrations: int
    notes: dict[str, str]
    remarks: list[str]

    @property
    def switches(self) -> int:
        return self.voluntary + self.involuntary

    @property
    def cpu_ns(self) -> int:
        return sum(step.ns for task in self.tasks for step in task.steps if isinstance(step, Run))

    def count(self, kind: type) -> int:
        return sum(isinstance(step, kind) for task in self.tasks for step in task.steps)
