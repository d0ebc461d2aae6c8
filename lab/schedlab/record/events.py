# SPDX-License-Identifier: GPL-2.0-only
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
    waker: int
    task: int
    interrupt: bool  # an interrupt woke it, and `waker` is only who was interrupted


@dataclass(frozen=True, slots=True)
class Wakeup:
    """The task is runnable (sched_wakeup)."""

    at_ns: int
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


Event = Switch | Waking | Wakeup | Fork | Exec | Exit | Migrate
