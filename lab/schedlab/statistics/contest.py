# SPDX-License-Identifier: GPL-2.0-or-later
"""One incumbent, several challengers, several measures: what is known of each after every block, and when to stop.

A difference is log(value of one / value of the other) within a block, turned so that above zero the challenger is
better. Three kinds of mistake are bounded, each over all looks (sequential.py):

- That any measure of any challenger is called better or worse which is not: at most LEVEL over all of them together,
  as each needs as many times the evidence as there are tests (Bonferroni).
- That a challenger is called not worth it although one of its measures is better by `worth` or more: at most LEVEL, as
  this needs every bound to lie below (an intersection-union test: Berger 1982).
- That a challenger wins although one of its measures is worse by `worth` or more: at most LEVEL, in the same way.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from schedlab.statistics import sequential

LEVEL = 0.05
# A median has no meaning of one block, and a machine that is odd in one is not known to be so.
FEWEST = 2


class Outcome(Enum):
    OPEN = "open"
    WINS = "wins"
    TRADES = "trades"  # better in one measure, worse in another
    LOSES = "loses"  # better in none by what is worth a switch, and as far as is known worse in one
    SAME = "same"  # better in none by what is worth a switch


@dataclass(frozen=True)
class Standing:
    """One measure of one challenger. All numbers are logarithms of ratios, above zero where it is better."""

    blocks: int
    centre: float
    low: float  # of an interval that holds at all looks, of all measures together
    high: float
    worth: float
    least: float  # it is not worse than this, by itself at 95 %
    most: float  # and not better than that

    @property
    def better(self) -> bool:
        """Proven, and by enough as far as it is known."""
        return self.low > 0 and self.centre >= self.worth

    @property
    def worse(self) -> bool:
        return self.high < 0 and self.centre <= -self.worth

    @property
    def not_better(self) -> bool:
        return self.most < self.worth

    @property
    def not_worse(self) -> bool:
        return self.least > -self.worth

    @property
    def same(self) -> bool:
        return self.not_better and self.not_worse


def standing(differences: Sequence[float], tests: int, worth: float) -> Standing:
    """`tests`: measures times challengers, as many as there were in the beginning."""
    found = np.asarray(differences, dtype=float)
    if len(found) < FEWEST:
        inf = math.inf
        return Standing(len(found), sequential.centre(found), -inf, inf, worth, -inf, inf)
    low, high = sequential.interval(found, sequential.enough(LEVEL, tests))
    alone = sequential.enough(LEVEL)
    least, most = sequential.at_least(found, alone), sequential.at_most(found, alone)
    return Standing(len(found), sequential.centre(found), low, high, worth, least, most)


def outcome(standings: Sequence[Standing]) -> Outcome:
    """Of one challenger, over all its measures."""
    gains = any(one.better for one in standings)
    losses = any(one.worse for one in standings)
    if gains and losses:
        return Outcome.TRADES
    if gains and all(one.better or one.not_worse for one in standings):
        return Outcome.WINS
    if all(one.not_better or one.worse for one in standings):
        return Outcome.LOSES if any(one.centre <= -one.worth for one in standings) else Outcome.SAME
    return Outcome.OPEN
