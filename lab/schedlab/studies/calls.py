# SPDX-License-Identifier: GPL-2.0-or-later
"""What our runs say of the published claims where they say anything, and how often that is right.

A difference is called where its whole 95 % interval over the seeds lies beyond what is negligible. A claim whose
difference here is smaller, or too uncertain, is no call: its sign would be that of a tossed coin.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from schedlab.statistics.negligible import NEGLIGIBLE_PCT
from schedlab.studies.score import Reproduction

AGREES, CONTRADICTED, NO_CALL, UNMEASURED = "agrees", "contradicted", "no call", "not measured"


def outcome(reproduction: Reproduction) -> str:
    """Schedulers that were stated to be equal are called equal where the interval lies within what is negligible."""
    if reproduction.low is None or reproduction.high is None:
        return UNMEASURED
    if reproduction.low > NEGLIGIBLE_PCT or reproduction.high < -NEGLIGIBLE_PCT:
        return AGREES if reproduction.low * reproduction.claim.sign > 0 else CONTRADICTED
    within = reproduction.low > -NEGLIGIBLE_PCT and reproduction.high < NEGLIGIBLE_PCT
    return AGREES if within and reproduction.claim.sign == 0 else NO_CALL


@dataclass(frozen=True)
class Calls:
    """Of claims that count, each as one: how many there are, were called, and are right."""

    claims: int
    called: int
    right: int

    @property
    def share_called(self) -> float | None:
        return self.called / self.claims if self.claims else None

    @property
    def share_right(self) -> float | None:
        return self.right / self.called if self.called else None


def calls(reproductions: Iterable[Reproduction]) -> Calls:
    outcomes = [outcome(one) for one in reproductions if one.claim.points > 0]
    right = outcomes.count(AGREES)
    return Calls(len(outcomes), right + outcomes.count(CONTRADICTED), right)


def of_bfs_and_cfs(reproductions: Iterable[Reproduction]) -> list[Reproduction]:
    """The claims of one of them against the other, and not those of FIFO and RR."""
    return [one for one in reproductions if {one.claim.family_a, one.claim.family_b} == {"BFS", "CFS"}]


def guessed(reproductions: Iterable[Reproduction]) -> Calls:
    """What is right of BFS against CFS if one always says that BFS wins."""
    claims = [one.claim for one in of_bfs_and_cfs(reproductions) if one.claim.points > 0]
    right = sum((claim.sign if claim.family_a == "BFS" else -claim.sign) > 0 for claim in claims)
    return Calls(len(claims), len(claims), right)
