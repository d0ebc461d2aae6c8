# SPDX-License-Identifier: GPL-2.0-or-later
"""What each scene comes to, and which do not count.

Not counted is what runs too long for a guest, what has no such number that a guest would tell too, and what ends badly
under the other policy.
A scene in which the kernel throws the policy out is worse than any number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.collect.records import EJECTED, OK, Record
from schedlab.search.case import Case, Kind, What
from schedlab.worst import shares
from schedlab.worst.aim import Aim
from schedlab.worst.chase import Find
from schedlab.worst.scene import Scene
from schedlab.worst.simulated_runs import SimulatedRuns, number

_MOST_CPU_S, _MOST_ELAPSED_S = 3.0, 6.0


@dataclass
class SimulatedJudge:
    aim: Aim
    runs: SimulatedRuns

    def __call__(self, scenes: Sequence[Scene]) -> list[Find | None]:
        told = self.runs.records(scenes)
        return [self._find(scene, *own) for scene, own in zip(scenes, told, strict=True)]

    def _find(self, scene: Scene, mine: Record | None, other: Record | None = None) -> Find | None:
        if not self._is_told(scene.case):
            return None
        if mine is None or (other is None and self.aim.against) or (other and not _is_short(other)):
            return None
        base = self._base(scene, other)
        if base is None:
            return None
        if mine.status == EJECTED:
            return Find(scene, math.inf, math.inf, base, mine.reason)
        value = number(mine, self.aim.measure) if _is_short(mine) else None
        return None if value is None else Find(scene, self.aim.times(value, base), value, base)

    def _is_told(self, case: Case) -> bool:
        """The simulator knows the latency of wake-ups that no program logs; a kernel does not."""
        if self.aim.measure[0] != "wakeup_latency_us":
            return True
        steps = [step.what for group in case.groups for step in (*group.steps, *group.answer)]
        return bool({What.SLEEP, What.TIMER} & {*steps}) or any(group.kind == Kind.HERD for group in case.groups)

    def _base(self, scene: Scene, other: Record | None) -> float | None:
        if other:
            return number(other, self.aim.measure)
        return shares.explained(self.aim.measure[0], scene.case, scene.shape.cpus)


def _is_short(record: Record) -> bool:
    metrics = record.metrics
    return (
        record.status == OK
        and metrics.get("cpu_s", math.inf) <= _MOST_CPU_S
        and metrics.get("elapsed_s", math.inf) <= _MOST_ELAPSED_S
    )
