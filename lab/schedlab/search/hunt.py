# SPDX-License-Identifier: GPL-2.0-or-later
"""The search: cases are drawn and run once in both worlds; the worst are run again, and then shrunk together.

A simpler case is taken where the same number still lies at least half as far apart. Of every case several simpler ones
run in the same boot, and of those that show it the boldest is taken, so that a boot is a step for all cases at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from schedlab.search import disagreement, shrink
from schedlab.search.both_worlds import Worlds
from schedlab.search.case import Case
from schedlab.search.disagreement import STATUS, Disagreement, Said, Usual, is_ok
from schedlab.statistics.agreement import Measure
from schedlab.statistics.samples import MEAN

# A guest emulates some hundred million instructions a second, and the exact tier's nanosecond is one.
MOST_CPU_S = 0.1
MOST_ELAPSED_S = 1.0
REPETITIONS = 3
_DRAWN_AT_ONCE = 24
_OFFERED_AT_ONCE = 4
# So many are run again for each that is kept, because some of them have more than one state.
_LOOKED_AT_AGAIN = 4
_STILL = 0.5

_ELAPSED: Measure = ("elapsed_s", MEAN)
_CPU: Measure = ("cpu_s", MEAN)


@dataclass(frozen=True)
class Finding:
    """A case in which the worlds disagree."""

    case: Case
    simulator: Said
    kernel: Said
    disagreement: Disagreement
    drawn: Case  # what it was before it was shrunk


@dataclass
class Hunt:
    worlds: Worlds
    usual: Usual
    keep: int  # so many cases
    say: Callable[[str], None]
    findings: list[Finding] = field(default_factory=list)  # what is kept so far, the worst first
    drawn: int = 0
    too_long: int = 0
    errors_pct: dict[Measure, list[float]] = field(default_factory=dict)  # of every case that was drawn, by number

    def draw(self, cases: Iterator[Case], most: int | None, goes_on: Callable[[], bool]) -> None:
        """Draws so many cases, or as long as it goes on, and keeps the worst."""
        while (most is None or self.drawn < most) and goes_on():
            at_once = _DRAWN_AT_ONCE if most is None else min(_DRAWN_AT_ONCE, most - self.drawn)
            batch = list(dict.fromkeys(islice(cases, at_once)))
            self.drawn += at_once
            found, short = self._look(batch, 1)
            self.too_long += len(batch) - short
            self._account(found)
            self.findings = _apart([*self.findings, *found])[: self.keep * _LOOKED_AT_AGAIN]
            most_times = self.findings[0].disagreement.times if self.findings else 0.0
            self.say(
                f"{self.drawn} cases drawn, {self.too_long} too long; the worst is {most_times:.1f} times what is usual"
            )

    def _account(self, found: Sequence[Finding]) -> None:
        """A case that has run once has no ranges: the gap is the whole error."""
        for one in found:
            for measure, own in disagreement.all_of(one.simulator, one.kernel, self.usual).items():
                if measure != STATUS:
                    self.errors_pct.setdefault(measure, []).append(own.gap_pct)

    def look_again(self) -> None:
        """With more seeds: what is left are cases that say the same in each."""
        found, _ = self._look([finding.case for finding in self.findings], REPETITIONS)
        self.findings = [one for one in _apart(found) if one.disagreement.times > 1][: self.keep]

    def shrink(self, goes_on: Callable[[], bool]) -> None:
        tried = [{finding.case} for finding in self.findings]
        enough = [finding.disagreement.times * _STILL for finding in self.findings]
        rounds = 0
        while goes_on():
            offers = [
                list(islice((one for one in shrink.simpler(finding.case) if one not in tried[at]), _OFFERED_AT_ONCE))
                for at, finding in enumerate(self.findings)
            ]
            if not any(offers):
                break
            rounds += 1
            found, _ = self._look(list(dict.fromkeys(one for own in offers for one in own)), REPETITIONS)
            for at, finding in enumerate(self.findings):
                tried[at].update(offers[at])
                self.findings[at] = self._boldest(finding, offers[at], found, enough[at])
            sizes = ", ".join(str(finding.case.tasks) for finding in self.findings)
            self.say(f"shrunk {rounds} times: {sizes} tasks")

    def _look(self, cases: Sequence[Case], repetitions: int) -> tuple[list[Finding], int]:
        """Those in which something can be compared, and how many were short enough to run."""
        simulated = self.worlds.simulated(cases, repetitions)
        short = [case for case in cases if not _too_long(simulated[case])]
        kernel = self.worlds.kernel(short, repetitions)
        found = []
        for case in short:
            worst = disagreement.worst(simulated[case], kernel[case], self.usual)
            if worst:
                found.append(Finding(case, simulated[case], kernel[case], worst, case))
        return found, len(short)

    def _boldest(self, finding: Finding, offers: Sequence[Case], found: Sequence[Finding], enough: float) -> Finding:
        by_case = {one.case: one for one in found}
        for case in offers:
            one = by_case.get(case)
            if one is None:
                continue
            same = disagreement.all_of(one.simulator, one.kernel, self.usual).get(finding.disagreement.measure)
            if same and same.times >= enough:
                return replace(one, disagreement=same, drawn=finding.drawn)
        return finding


def _too_long(said: Said) -> bool:
    """By the simulator's account; what has none ends early in one world at least."""
    if not is_ok(said):
        return False
    return said.numbers[_CPU].value > MOST_CPU_S or said.numbers[_ELAPSED].value > MOST_ELAPSED_S


def _apart(findings: Sequence[Finding]) -> list[Finding]:
    """The worst first, and of each metric under a scheduler the worst alone: others may well have the same cause."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in sorted(findings, key=lambda one: -one.disagreement.times):
        kept.setdefault((finding.case.scheduler, finding.disagreement.measure[0]), finding)
    return list(kept.values())
