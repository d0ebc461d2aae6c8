# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace tells, whoever wrote it. Times are nanoseconds, tasks are thread ids."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    at_ns: int
    cpu: int
    prev: int
    prev_prio: int
    prev_state: str
    next: int
    next_prio: int
    next_comm: str

    @property
    def preempted(self) -> bool:
        return self.prev_state.startswith("R")

    @property
    def ended(self) -> bool:
        return self.prev_state[0] in "XxZ"


@dataclass(frozen=True, slots=True)
class Waking:
    """Somebody begins to wake a task (sched_waking): in the waker's own context, which sched_wakeup need not be."""

    at_ns: int
    cpu: int
    waker: int
    task: int
    interrupt: bool  # an interrupt woke it, and `waker` is only who was interrupted


@dataclass(frozen=True, slots=True)
class Wakeup:
    """The task is runnable (sched_wakeup)."""

    at_ns: int
    cpu: int
    waker: int
    task: int
    interrupt: bool


@dataclass(frozen=True, slots=True)
class Fork:
    at_ns: int
    parent: int
    child: int
    child_comm: str


@dataclass(frozen=True, slots=True)
class Clone:
    """A task is being made, just before it is forked: with which of the kernel's flags."""

    at_ns: int
    child: int
    flags: int


@dataclass(frozen=True, slots=True)
class Member:
    """The task is a thread of this process; seen when it first ran, and when that changed."""

    at_ns: int
    task: int
    process: int


@dataclass(frozen=True, slots=True)
class Exec:
    at_ns: int
    task: int
    old_task: int  # another thread's id, where not the leader called exec
    comm: str
    filename: str


@dataclass(frozen=True, slots=True)
class Exit:
    at_ns: int
    task: int


@dataclass(frozen=True, slots=True)
class Migrate:
    at_ns: int
    task: int
    cpu: int


@dataclass(frozen=True, slots=True)
class Affinity:
    """A task asks for CPUs, for itself or (`target` above 0) for another."""

    at_ns: int
    task: int
    target: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """A task asks for a policy, by the kernel's number."""

    at_ns: int
    task: int
    target: int
    policy: int
    rt_priority: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What the task asked for last was granted, or was not."""

    at_ns: int
    task: int
    granted: bool


@dataclass(frozen=True, slots=True)
class Packet:
    """A task gives a packet to a network device."""

    at_ns: int
    cpu: int
    task: int
    device: str


@dataclass(frozen=True, slots=True)
class Softirq:
    """A CPU begins or ends a soft interrupt."""

    at_ns: int
    cpu: int
    vector: int
    begins: bool


Event = (
    Switch
    | Waking
    | Wakeup
    | Fork
    | Clone
    | Member
    | Exec
    | Exit
    | Migrate
    | Affinity
    | Policy
    | Asked
    | Packet
    | Softirq
)
