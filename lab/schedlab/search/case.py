# SPDX-License-Identifier: GPL-2.0-or-later
"""One case: a scheduler with tunables and a few groups of tasks, small enough to change piece by piece.

Whatever is changed, every task ends: each side of a group makes as many rounds as the other waits for.
"""

from dataclasses import dataclass
from enum import StrEnum

from schedlab.catalogue import schedulers


class Kind(StrEnum):
    """What the tasks of a group have to do with each other. `count` stands in the comments for the group's."""

    ALONE = "alone"  # count tasks, each by itself
    PAIR = "pair"  # count tasks that ask, each with one that answers
    STREAM = "stream"  # count tasks that send, and one that receives from all
    HERD = "herd"  # one task that posts, count tasks that wait for it
    LOCK = "lock"  # count tasks and a lock
    FAMILY = "family"  # one task that forks count children and reaps them


class What(StrEnum):
    RUN = "run"
    SLEEP = "sleep"
    TIMER = "timer"
    YIELD = "yield"
    NICE = "nice"


@dataclass(frozen=True)
class Step:
    """Of a time, the least and the most in microseconds; of a nice value, that value twice."""

    what: What
    least: int = 0
    most: int = 0


Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Group:
    kind: Kind
    count: int
    times: int  # rounds
    steps: Steps  # of each round: of a task alone, or of those that ask, send, post, fork, or have left the lock
    answer: Steps = ()  # of those that answer, receive, are woken or forked, or hold the lock
    nice: int = 0
    policy: str = "other"
    threads: bool = False
    queue: str = "pipe"
    message_bytes: int = 16

    @property
    def tasks(self) -> int:
        match self.kind:
            case Kind.PAIR:
                return 2 * self.count
            case Kind.STREAM | Kind.HERD | Kind.FAMILY:
                return 1 + self.count
            case _:
                return self.count


@dataclass(frozen=True)
class Case:
    scheduler: str  # a name or path
    tunables: tuple[tuple[str, str], ...]  # by name
    groups: tuple[Group, ...]

    @property
    def arm(self) -> str:
        """The scheduler with its tunables, as a command line takes it."""
        return schedulers.written(self.scheduler, dict(self.tunables))

    @property
    def tasks(self) -> int:
        return sum(group.tasks for group in self.groups)
