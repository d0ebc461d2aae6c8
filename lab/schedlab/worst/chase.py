# SPDX-License-Identifier: GPL-2.0-or-later
"""The hunt: scenes are drawn, the worst are changed for the worse, and what is found is made small, within a budget.

The same seed and the same budget find the same case, however many run at a time. A smaller scene is taken where the
number is still a share of what was found.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from schedlab.search.draw import Dice
from schedlab.worst import change, smaller
from schedlab.worst.scene import Scene

# Of the budget: drawing ends at the first, changing at the second, and the rest is for making it small.
_DRAWING, _CHANGING = 0.25, 0.6
STILL = 0.8
_KEPT = 8
_AT_ONCE = 16
_OFFERED_AT_ONCE = 8


@dataclass(frozen=True)
class Find:
    """A scene and what it comes to."""

    scene: Scene
    times: float  # what it is compared with
    value: float
    base: float
    ends: str = ""  # how the policy ended, where the kernel threw it out


Judge = Callable[[Sequence[Scene]], list[Find | None]]


@dataclass
class Chase:
    judge: Judge  # None: the scene does not count
    seed: int
    budget: int  # scenes
    tell: Callable[[int], None] = lambda more: None  # so many more were judged
    judged: int = 0
    uncounted: int = 0
    found: list[Find] = field(default_factory=list)  # the worst first
    drawn: Find | None = None  # the worst before it was made small
    small: Find | None = None
    whole: bool = False  # nothing smaller was left to try
    _known: set[Scene] = field(default_factory=set)

    @property
    def best(self) -> Find | None:
        return self.small or (self.found[0] if self.found else None)

    def run(self) -> None:
        self._draw()
        self._worsen()
        self._shrink()

    def _draw(self) -> None:
        number = 0
        while left := self._left(_DRAWING):
            scenes = [change.drawn(Dice(f"{self.seed} drawn {number + at}")) for at in range(min(left, _AT_ONCE))]
            number += len(scenes)
            self._keep(scenes)

    def _worsen(self) -> None:
        """Those that are worse are changed more often."""
        dice = Dice(f"{self.seed} changed")
        while self.found and (left := self._left(_CHANGING)):
            pool = [find.scene for find in self.found]
            scenes = []
            for _ in range(min(left, _AT_ONCE)):
                at = min(dice.between(0, len(pool) - 1), dice.between(0, len(pool) - 1))
                scenes.append(change.changed(dice, pool[at], pool))
            self._keep(scenes)

    def _keep(self, scenes: Sequence[Scene]) -> None:
        new = [scene for scene in dict.fromkeys(scenes) if scene not in self._known]
        self._known.update(new)
        found = self._judged(new, len(scenes))
        # The sort is stable: of equals the one that was there first stays first.
        self.found = sorted([*self.found, *filter(None, found)], key=lambda find: -find.times)[:_KEPT]

    def _shrink(self) -> None:
        if not self.found:
            return
        self.drawn = self.small = self.found[0]
        enough = self.drawn.times * STILL
        tried = {self.drawn.scene}
        while left := self._left(1.0):
            offers = (scene for scene in smaller.scenes(self.small.scene) if scene not in tried)
            batch = list(islice(offers, min(left, _OFFERED_AT_ONCE)))
            if not batch:
                self.whole = True
                break
            tried.update(batch)
            found = self._judged(batch, len(batch))
            self.small = next((find for find in found if find and find.times >= enough), self.small)

    def _left(self, share: float) -> int:
        return max(0, int(self.budget * share) - self.judged)

    def _judged(self, scenes: Sequence[Scene], counted: int) -> list[Find | None]:
        """A scene that came up before counts too, so that the end comes."""
        found = self.judge(scenes)
        self.judged += counted
        self.uncounted += found.count(None)
        self.tell(counted)
        return found
