# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of one name are of one kind: how long they ran and blocked."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from schedlab.capture.distribution import Distribution
from schedlab.capture.tasks import Run, Sleep, Task, Wait


@dataclass
class Kind:
    """Durations in nanoseconds: a task's whole CPU time, its runs between two blocks, and its blocks.

    `blocked` are blocks of which nobody knows what ended them; `blocks` is how often each task blocked.
    """

    tasks: int = 0
    cpu: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)
    sleep: list[int] = field(default_factory=list)
    wait: list[int] = field(default_factory=list)
    blocked: list[int] = field(default_factory=list)

    def distributions(self) -> dict[str, Distribution]:
        of = {"cpu": self.cpu, "run": self.run, "sleep": self.sleep, "wait": self.wait, "blocked": self.blocked}
        return {name: Distribution.of(values) for name, values in of.items() if values}

    @property
    def mean_blocks(self) -> float:
        return sum(self.blocks) / self.tasks


def kinds(tasks: Iterable[Task]) -> dict[str, Kind]:
    """By name, the one with most CPU time first."""
    found: dict[str, Kind] = {}
    for task in tasks:
        kind = found.setdefault(task.comm, Kind())
        kind.tasks += 1
        run_ns = total_ns = 0
        for step in task.steps:
            match step:
                case Run(ns):
                    run_ns += ns
                    total_ns += ns
                case Sleep(ns) | Wait(ns):
                    (kind.sleep if isinstance(step, Sleep) else kind.wait).append(ns)
                    kind.run.append(run_ns)
                    run_ns = 0
        kind.run.append(run_ns)
        kind.cpu.append(total_ns)
        kind.blocks.append(sum(isinstance(step, Sleep | Wait) for step in task.steps))
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].cpu), item[0])))
