# SPDX-License-Identifier: GPL-2.0-or-later
"""What a race came to: one sentence, and a line for each challenger."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.choice import race
from schedlab.choice.gains import Measure
from schedlab.choice.race import State
from schedlab.export.plain import finite
from schedlab.format.numbers import number
from schedlab.statistics.contest import Outcome, Standing


@dataclass(frozen=True)
class Answer:
    outcome: str  # winner, stay, same, trade, open
    sentence: str
    lines: list[str]  # of each challenger
    winner: str  # the label of what to switch to; empty: none
    data: dict[str, Any]

    @property
    def decided(self) -> bool:
        return self.outcome != "open"


def answer(incumbent: str, measures: Sequence[Measure], state: State, worth_pct: float) -> Answer:
    standings = {label: state.standings(label) for label in state.gains}
    outcomes = state.outcomes()
    winners = sorted(
        (label for label, found in outcomes.items() if found is Outcome.WINS),
        key=lambda label: -_mean(standings[label]),
    )
    told = {label: _told(measures, standings[label]) for label in standings}
    lines = [_line(label, told[label], outcomes.get(label), state) for label in standings]
    lines += [f"{label} is out of the race since block {left.block}: {left.why}" for label, left in state.left.items()]
    outcome, sentence = _sentence(incumbent, winners, outcomes, told, state, worth_pct)
    data = {
        "incumbent": incumbent,
        "outcome": outcome,
        "sentence": sentence,
        "winner": winners[0] if winners else None,
        "blocks": state.blocks,
        "ended": state.ended,
        "worth_pct": worth_pct,
        "challengers": {
            label: {
                "outcome": outcomes[label].value if label in outcomes else "out",
                "measures": [_plain(measure, one) for measure, one in zip(measures, standings[label], strict=True)],
            }
            for label in standings
        },
        "out": {label: {"block": left.block, "why": left.why} for label, left in state.left.items()},
    }
    return Answer(outcome, sentence, lines, winners[0] if winners else "", data)


def _sentence(
    incumbent: str,
    winners: list[str],
    outcomes: dict[str, Outcome],
    told: dict[str, str],
    state: State,
    worth_pct: float,
) -> tuple[str, str]:
    blocks = f"{state.blocks} block{'s' * (state.blocks != 1)}"
    if winners:
        best, *others = winners
        more = f"; {', '.join(others)} won as well, and which of them is better was not tested" if others else ""
        still = [label for label, found in outcomes.items() if found is Outcome.OPEN]
        more += f"; not decided: {', '.join(still)}" if still else ""
        return "winner", f"{best}: {told[best]}{more}"
    if Outcome.OPEN in outcomes.values():
        open_ones = [label for label, found in outcomes.items() if found is Outcome.OPEN]
        known = "; ".join(f"{label}: {told[label]}" for label in open_ones) if state.blocks > 1 else ""
        why = f" ({state.ended})" if state.ended in (race.TIME, race.BLOCKS) else ""
        return "open", f"not decided after {blocks}{why}" + (f": {known}" if known else "")
    trades = [label for label, found in outcomes.items() if found is Outcome.TRADES]
    if trades:
        return "trade", "no winner, but a trade: " + "; ".join(f"{label}: {told[label]}" for label in trades)
    losers = [label for label, found in outcomes.items() if found is Outcome.LOSES]
    if not outcomes:
        return "stay", f"{incumbent} stays: nobody else is left"
    if losers:
        return "stay", f"{incumbent} stays: " + "; ".join(f"{label}: {told[label]}" for label in losers)
    return (
        "same",
        f"no difference worth switching for (< {number(worth_pct, 0 if worth_pct == int(worth_pct) else 1)} %)",
    )


def _line(label: str, told: str, outcome: Outcome | None, state: State) -> str:
    words = {
        Outcome.WINS: "wins",
        Outcome.LOSES: "is worse",
        Outcome.TRADES: "is better at one and worse at another",
        Outcome.SAME: "is not worth a switch",
        Outcome.OPEN: "is not decided",
        None: "is out of the race",
    }
    blocks = len(state.gains[label][0])
    return f"{label} {words[outcome]} ({blocks} block{'s' * (blocks != 1)}): {told}"


def _told(measures: Sequence[Measure], standings: Sequence[Standing]) -> str:
    return ", ".join(_of_one(measure, one) for measure, one in zip(measures, standings, strict=True))


def _of_one(measure: Measure, one: Standing) -> str:
    """12 % [8, 16] shorter wake-up latency; same throughput; throughput between 3 % less and 4 % more."""
    if one.better or one.worse:
        ends = [one.low, one.high] if one.better else [one.high, one.low]
        low, high = (_pct(measure, end) for end in ends)
        fine = high - low < 1
        written = [_short(pct, fine) for pct in (_pct(measure, one.centre), low, high)]
        return f"{written[0]} % [{written[1]}, {written[2]}] {_word(measure, one.better)} {measure.title}"
    if one.same:
        return f"same {measure.title}"
    if math.isnan(one.centre):
        return f"{measure.title} not known"
    if one.not_better:
        bound = _size(measure, one.worth)
        return f"{measure.title} {_size(measure, one.centre)} so far, and not {bound}"
    if math.isinf(one.low) or math.isinf(one.high):
        return f"{measure.title} so far {_size(measure, one.centre)}, which proves nothing"
    return f"{measure.title} between {_size(measure, one.low)} and {_size(measure, one.high)}"


def _size(measure: Measure, gain: float) -> str:
    return f"{_short(_pct(measure, gain))} % {_word(measure, gain > 0)}"


def _word(measure: Measure, better: bool) -> str:
    return {(True, True): "more", (True, False): "less", (False, True): "shorter", (False, False): "longer"}[
        measure.higher, better
    ]


def _pct(measure: Measure, gain: float) -> float:
    """The size of the change in per cent of the incumbent's value."""
    if math.isinf(gain):
        return math.inf
    return abs(math.expm1(gain if measure.higher else -gain)) * 100


def _short(pct: float, fine: bool = False) -> str:
    if math.isinf(pct):
        return "…"
    return number(pct, 0 if pct >= 9.95 and not fine else 1)


def _mean(standings: Sequence[Standing]) -> float:
    return sum(one.centre for one in standings) / len(standings)


def _plain(measure: Measure, one: Standing) -> dict[str, Any]:
    """Changes in per cent of the incumbent's value, with their sign."""

    def change(gain: float) -> float | None:
        return finite(math.expm1(gain if measure.higher else -gain) * 100) if math.isfinite(gain) else None

    ends = sorted((one.low, one.high), reverse=not measure.higher)
    return {
        "measure": measure.title,
        "better": "higher" if measure.higher else "lower",
        "blocks": one.blocks,
        "change_pct": change(one.centre),
        "low_pct": change(ends[0]),
        "high_pct": change(ends[1]),
        "same": one.same,
    }
