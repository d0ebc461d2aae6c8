# SPDX-License-Identifier: GPL-2.0-or-later
"""Who runs where and who waits, in a window of time."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from schedlab.trace.simulated import IDLE, Event

_WAKING = {"sched_wakeup", "sched_wakeup_new"}


@dataclass(frozen=True)
class Stretch:
    """A time that a task spent on a CPU, or waiting for one (-1). Nanoseconds."""

    pid: int
    cpu: int
    start_ns: int
    end_ns: int


@dataclass
class Schedule:
    start_ns: int
    end_ns: int
    names: dict[int, str] = field(default_factory=dict)  # by pid, in the order of their first appearance
    runs: list[Stretch] = field(default_factory=list)
    waits: list[Stretch] = field(default_factory=list)

    @property
    def cpus(self) -> list[int]:
        return sorted({run.cpu for run in self.runs})


@dataclass(frozen=True)
class Wanted:
    """From `start_ns` on; until `end_ns`, or for so many runs, whatever comes first."""

    start_ns: int
    end_ns: int
    most_runs: int
    somebody_waits: bool = False  # begin no earlier than the first wait


class _Fold:
    """Who runs and who waits between events. A run or wait that ends is added where it overlaps the window."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.begun = not wanted.somebody_waits
        self.schedule = Schedule(wanted.start_ns, wanted.end_ns)
        self.running: dict[int, tuple[int, int]] = {}  # by CPU: pid, since
        self.waiting: dict[int, int] = {}  # by pid: since
        self.names: dict[int, str] = {}

    def take(self, event: Event) -> None:
        if event.name in _WAKING:
            pid = event.pid()
            self.names[pid] = event.comm()
            if all(pid != running for running, _ in self.running.values()):
                self.waiting.setdefault(pid, event.time_ns)
        elif event.name == "sched_switch":
            self._switch(event)

    def _switch(self, event: Event) -> None:
        before, after, now = event.pid("prev_"), event.pid("next_"), event.time_ns
        ended = self.running.pop(event.cpu, None)
        if ended and ended[0] == before:
            self._put(self.schedule.runs, Stretch(before, event.cpu, ended[1], now))
        if before != IDLE and event.fields["prev_state"].startswith("R"):
            self.waiting[before] = now
        if after != IDLE:
            self.names[after] = event.comm("next_")
            if after in self.waiting:
                self._put(self.schedule.waits, Stretch(after, -1, self.waiting.pop(after), now))
            self.running[event.cpu] = (after, now)
        if before != IDLE:
            self.names[before] = event.comm("prev_")

    def _put(self, where: list[Stretch], found: Stretch) -> None:
        start, end = max(found.start_ns, self.schedule.start_ns), min(found.end_ns, self.schedule.end_ns)
        if self.begun and start < end:
            self.schedule.names.setdefault(found.pid, self.names[found.pid])
            where.append(Stretch(found.pid, found.cpu, start, end))

    def begins(self, now_ns: int) -> bool:
        """Whether a task has waited long enough to be in a queue."""
        return any(now_ns - since > _LONG_NS for since in self.waiting.values())

    def close(self, end_ns: int) -> Schedule:
        """Runs and waits that have not ended last until the window's end."""
        self.schedule.end_ns = end_ns
        for cpu, (pid, since) in sorted(self.running.items()):
            self._put(self.schedule.runs, Stretch(pid, cpu, since, end_ns))
        for pid, since in sorted(self.waiting.items()):
            self._put(self.schedule.waits, Stretch(pid, -1, since, end_ns))
        return self.schedule


# A shorter wait is the switch itself, not a queue.
_LONG_NS = 50_000


def schedule(events: Iterable[Event], wanted: Wanted) -> Schedule | None:
    """None where the trace ends before the window begins."""
    fold = _Fold(wanted)
    opened = False
    last_ns = 0
    for event in events:
        last_ns = event.time_ns
        if not opened and last_ns >= wanted.start_ns and (fold.begun or fold.begins(last_ns)):
            opened, fold.begun = True, True
            if wanted.somebody_waits:
                earliest = max(wanted.start_ns, min(fold.waiting.values()))
                length = wanted.end_ns - wanted.start_ns
                fold.schedule.start_ns, fold.schedule.end_ns = earliest, earliest + length
        if opened and (last_ns >= fold.schedule.end_ns or len(fold.schedule.runs) >= wanted.most_runs):
            return fold.close(min(last_ns, fold.schedule.end_ns))
        fold.take(event)
    return fold.close(min(last_ns, fold.schedule.end_ns)) if opened and last_ns > fold.schedule.start_ns else None
