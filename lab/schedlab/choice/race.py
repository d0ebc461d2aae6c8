# SPDX-License-Identifier: GPL-2.0-or-later
"""Block after block, until it is decided, the time is over, or nobody is left to race.

A block is one of a campaign's, with the same cells and records, so that what has run once does not run again. It holds
every candidate once, in an order that the seed shuffles for each workload. On a real kernel the first run after a boot
is thrown away; the ends and the control of a comparison are left out, as time is short and the test needs neither.
"""

import math
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

from schedlab.campaign import cells
from schedlab.campaign.matrix import Block, Campaign, PlannedCell
from schedlab.choice.gains import Key, Measure
from schedlab.collect.records import EJECTED, OK, Record
from schedlab.collect.store import Store
from schedlab.errors import LabError
from schedlab.places.place import Place, Say
from schedlab.statistics import contest, sequential
from schedlab.statistics.contest import Outcome, Standing

DECIDED = "decided"
TIME = "the time is over"
BLOCKS = "all blocks are done"
INTERRUPTED = "interrupted"
FAILED = "failed"
# So many blocks one after the other without the incumbent's numbers, and it is no use; in the beginning it is one.
_MOST_LOST = 2


class TimeIsUp(KeyboardInterrupt):
    """What runs ends as it does by Ctrl-C."""


@dataclass(frozen=True)
class Left:
    """A candidate that is out of the race, and why."""

    block: int  # from 1
    why: str


@dataclass
class State:
    """What is known after some blocks."""

    tests: int  # measures times challengers
    worth: float
    gains: dict[str, list[list[float]]]  # by challenger and measure
    blocks: int = 0  # whole ones, with the incumbent's numbers
    begun: int = 0
    left: dict[str, Left] = field(default_factory=dict)
    ended: str = ""
    why: str = ""  # it failed

    def standings(self, label: str) -> list[Standing]:
        return [contest.standing(own, self.tests, self.worth) for own in self.gains[label]]

    def outcomes(self) -> dict[str, Outcome]:
        """Of the challengers that are still in the race."""
        return {label: contest.outcome(self.standings(label)) for label in self.gains if label not in self.left}


@dataclass
class Race:
    planned: Campaign
    measures: Sequence[Measure]
    place: Place
    store: Store
    worth_pct: float
    warms_up_again: bool  # whether every block is a boot
    jobs: int | None
    say: Say
    after_block: Callable[[int], None]  # is told how many blocks have begun
    warmed_up: bool = False

    def __post_init__(self) -> None:
        self.incumbent, *self.challengers = [arm.label for arm in self.planned.arms]
        tests = len(self.measures) * len(self.challengers)
        gains: dict[str, list[list[float]]] = {label: [[] for _ in self.measures] for label in self.challengers}
        self.state = State(tests, math.log1p(self.worth_pct / 100), gains)

    def run(self, seconds: float, most_blocks: int) -> State:
        """Ends with what is known, however it ends: also by Ctrl-C."""
        state, slowest_s, begun_s = self.state, 0.0, time.monotonic()
        end = begun_s + seconds
        try:
            lost = 0
            for number, blocks in enumerate(self._blocks(), 1):
                if number > most_blocks:
                    state.ended = BLOCKS
                    break
                start = time.monotonic()
                if slowest_s and start + slowest_s > end:
                    state.ended = TIME
                    break
                with _within(end - start):
                    found, ran = self._one(blocks)
                state.begun = number
                whole = self._take(number, found)
                lost = 0 if whole else lost + 1
                self.after_block(number)
                # A block that was there already says nothing of the next one's time.
                took_s = time.monotonic() - start if ran else 0.0
                if ran and not slowest_s:
                    self._plan(number, took_s, end - time.monotonic(), most_blocks)
                slowest_s = max(slowest_s, took_s)
                if state.ended:
                    break
                if lost == (_MOST_LOST if state.blocks else 1):
                    state.ended, state.why = FAILED, self._why_lost(found)
                elif Outcome.OPEN not in state.outcomes().values():
                    state.ended = DECIDED
                if state.ended:
                    break
            else:
                state.ended = BLOCKS
        except LabError as error:
            # What has run before counts. Where nothing has, it is an error as of any command.
            if not state.begun:
                raise
            state.ended, state.why = FAILED, str(error)
        except TimeIsUp:
            state.ended = TIME
        except KeyboardInterrupt:
            state.ended = INTERRUPTED
        return state

    def _blocks(self) -> Iterator[list[Block]]:
        """Of each repetition those of all its kernels."""
        by_seed: dict[int, list[Block]] = defaultdict(list)
        for block in self.planned.blocks:
            own: dict[int, list[PlannedCell]] = defaultdict(list)
            for cell in block.cells:
                own[cell.data["seed"]].append(cell)
            for seed, planned in own.items():
                by_seed[seed].append(replace(block, cells=planned))
        yield from by_seed.values()

    def _one(self, blocks: list[Block]) -> tuple[dict[str, dict[Key, Record]], bool]:
        """The records of a block, by candidate, and whether any of them was made now."""
        chosen = [self._reduced(block) for block in blocks]
        planned = Campaign(self.planned.request, self.planned.arms, [block for block in chosen if block.cells])
        measured = [cell for cell in planned.cells if cell.role != cells.WARM_UP]
        ids = [cell.id for cell in planned.cells]
        todo = set(ids) - self.store.prepare(ids, self.say)
        ran = any(cell.id in todo for cell in measured)
        if ran:
            self.place.run(planned, self.store, todo, self.jobs, lambda cell, status: None, self.say)
            self.warmed_up = True
        records, _ = self.store.load(cell.id for cell in measured)
        found: dict[str, dict[Key, Record]] = defaultdict(dict)
        for cell in measured:
            if cell.id in records:
                found[cell.label][cell.data["workload"], cell.data["load"]] = records[cell.id]
        return found, ran

    def _reduced(self, block: Block) -> Block:
        wanted = {cells.MEASURED, cells.CONTROL}
        if self.warms_up_again or not self.warmed_up:
            wanted.add(cells.WARM_UP)
        own = [cell for cell in block.cells if cell.role in wanted and cell.label not in self.state.left]
        return replace(block, cells=own if any(cell.role != cells.WARM_UP for cell in own) else [])

    def _take(self, number: int, found: Mapping[str, Mapping[Key, Record]]) -> bool:
        """Whether the block has the incumbent's numbers."""
        own = found.get(self.incumbent, {})
        if thrown := next((record for record in own.values() if record.status == EJECTED), None):
            self.state.ended, self.state.why = FAILED, f"{self.incumbent} was thrown out by the kernel: {thrown.reason}"
            return False
        if not self._whole(own):
            return False
        self.state.blocks += 1
        for label in self.challengers:
            if label in self.state.left:
                continue
            theirs = found.get(label, {})
            bad = next((record for record in theirs.values() if record.status != OK), None)
            if bad is not None:
                what = "the kernel threw it out" if bad.status == EJECTED else f"its trial {_became(bad.status)}"
                self.state.left[label] = Left(number, f"{what}: {_reason(bad)}")
            elif self._whole(theirs):
                gains = [measure.gain(own, theirs) for measure in self.measures]
                if not any(map(math.isnan, gains)):
                    for series, gain in zip(self.state.gains[label], gains, strict=True):
                        series.append(gain)
        return True

    def _whole(self, records: Mapping[Key, Record]) -> bool:
        needed = {part.run for measure in self.measures for part in measure.parts}
        return all(key in records and records[key].status == OK for key in needed)

    def _why_lost(self, found: Mapping[str, Mapping[Key, Record]]) -> str:
        bad = next((record for record in found.get(self.incumbent, {}).values() if record.status != OK), None)
        return f"the trial of {self.incumbent} {_became(bad.status)}: {_reason(bad)}" if bad else "no record was made"

    def _plan(self, number: int, block_s: float, left_s: float, most_blocks: int) -> None:
        count = min(number + max(0, int(left_s / max(block_s, 1e-3))), most_blocks)
        least = sequential.fewest_blocks(contest.LEVEL, self.state.tests)
        self.say(f"a block takes {block_s:.1f} s: there is time for about {count}")
        if most_blocks < least:
            self.say(f"no answer has less than {least} blocks, whatever the time")
        elif count < least:
            minutes = math.ceil(2 * least * block_s / 60)
            self.say(f"no answer has less than {least} blocks; --minutes {minutes} has room for twice as many")


def _became(status: str) -> str:
    return "was void" if status == "void" else status


def _reason(record: Record) -> str:
    return (record.reason or "no reason given").partition("; again with: ")[0]


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises TimeIsUp in what takes longer."""

    def up(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, up)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
