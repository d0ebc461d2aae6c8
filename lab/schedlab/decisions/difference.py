# SPDX-License-Identifier: GPL-2.0-or-later
"""Two sides' turns beside each other: where they differ, and which of these places comes first.

After a difference the two meet again where their next picks agree. What comes in turns agrees at many places, of which
that one is taken where few turns are left out and neither side gains much time: a turn for the time that one takes.
"""

from dataclasses import dataclass
from itertools import product

from schedlab.decisions.moments import Side
from schedlab.decisions.turns import RUNS, Turn, turns

# So many picks have to agree for the two to have met again; they are sought within so many.
_MET = 3
_WITHIN = 24


@dataclass(frozen=True)
class Difference:
    """On a CPU: who had it next, or where that is the same, how the task left it. `numbers`: of the CPU's turns."""

    cpu: int
    numbers: tuple[int, int]
    left: Turn
    right: Turn

    @property
    def of_picks(self) -> bool:
        return self.left.task != self.right.task

    def switches(self) -> tuple[int, int]:
        """The switches that differ, by the numbers of each side's moments."""
        if self.of_picks:
            return self.left.picked, self.right.picked
        assert self.left.over is not None
        assert self.right.over is not None
        return self.left.over, self.right.over


@dataclass(frozen=True)
class Comparison:
    """`differences`: in the order in which the left comes to them. `same`: decisions that agree, before or after one.

    `alone`: turns that the other side has not.
    """

    left: Side
    right: Side
    turns: tuple[dict[int, list[Turn]], dict[int, list[Turn]]]  # by CPU
    differences: list[Difference]
    same: int
    alone: tuple[int, int]

    def agreed(self) -> int:
        """Picks before the first difference."""
        if not self.differences:
            return self.same
        at, _ = self.differences[0].switches()
        return sum(turn.picked < at for row in self.turns[0].values() for turn in row)


def compare(left: Side, right: Side) -> Comparison:
    rows = turns(left), turns(right)
    differences: list[Difference] = []
    same, alone = 0, [0, 0]
    for cpu in sorted(rows[0].keys() | rows[1].keys()):
        walk = _Walk(cpu, (left, right), rows[0].get(cpu, []), rows[1].get(cpu, []))
        walk.to_the_end()
        differences += walk.differences
        same += walk.same
        alone = [alone[0] + walk.alone[0], alone[1] + walk.alone[1]]
    differences.sort(key=lambda difference: difference.switches())
    return Comparison(left, right, rows, differences, same, (alone[0], alone[1]))


class _Walk:
    """Along both rows of turns of a CPU, until one of them ends."""

    def __init__(self, cpu: int, sides: tuple[Side, Side], left: list[Turn], right: list[Turn]) -> None:
        self.cpu, self.left, self.right = cpu, left, right
        self.times_ns = [
            [side.moments[turn.picked].at_ns for turn in row] for side, row in zip(sides, (left, right), strict=True)
        ]
        self.differences: list[Difference] = []
        self.same, self.alone = 0, [0, 0]

    def to_the_end(self) -> None:
        i = j = 0
        told = False  # what follows comes of a difference that is counted already
        while i < len(self.left) and j < len(self.right):
            left, right = self.left[i], self.right[j]
            if left.task == right.task:
                self.same += 1
                told = left.left != right.left and RUNS not in (left.left, right.left)
                if told:
                    self.differences.append(Difference(self.cpu, (i, j), left, right))
                i, j = i + 1, j + 1
                continue
            if not told:
                self.differences.append(Difference(self.cpu, (i, j), left, right))
            i, j, told = *self._where_they_meet(i, j), False
        self.alone = [len(self.left) - self.same, len(self.right) - self.same]

    def _where_they_meet(self, i: int, j: int) -> tuple[int, int]:
        """After these two, or at the end."""
        begin = i, j
        while i < len(self.left) and j < len(self.right):
            near = product(range(i, i + _WITHIN), range(j, j + _WITHIN))
            found = [at for at in near if self._meet(*at)]
            if found:
                return min(found, key=lambda at: self._lost_ns(begin, at))
            i, j = i + _WITHIN, j + _WITHIN
        return len(self.left), len(self.right)

    def _lost_ns(self, begin: tuple[int, int], end: tuple[int, int]) -> int:
        """The turns left out, and by how much one side takes longer than the other from here to there, as time."""
        left, right = (times[at] - times[since] for times, since, at in zip(self.times_ns, begin, end, strict=True))
        pace_ns = sum(times[-1] for times in self.times_ns) // (len(self.left) + len(self.right))
        return abs(left - right) + pace_ns * (sum(end) - sum(begin))

    def _meet(self, i: int, j: int) -> bool:
        """At the end of a row fewer have to agree."""
        left, right = self.left[i : i + _MET], self.right[j : j + _MET]
        pairs = list(zip(left, right, strict=False))
        return bool(pairs) and all(ours.task == theirs.task for ours, theirs in pairs)
