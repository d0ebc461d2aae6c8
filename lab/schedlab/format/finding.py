# SPDX-License-Identifier: GPL-2.0-or-later
"""What a comparison came to, in one sentence: who is better at what, by how much, and what is not known.

It counts verdicts and adds nothing to them: a measure is one metric of one workload on one machine over all loads. Of
what is claimed the sentence names the change whose interval, with the model's error, keeps farthest from none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedlab.format.numbers import interval, number, percent
from schedlab.format.sentences import enumerated, machine_name, repetitions
from schedlab.statistics import verdict
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.rows import Row
from schedlab.statistics.summary import MIXED, Measure, Summary, measures

# More would not be one sentence: the best and the worst of them speak for all.
_MOST_NAMED = 2


@dataclass(frozen=True)
class Standing:
    """Of one scheduler against the reference."""

    label: str
    words: list[str]  # of every measure
    better: Row | None  # where it is most surely better, if anywhere
    worse: Row | None

    def count(self, word: str) -> int:
        return self.words.count(word)

    @property
    def balance(self) -> int:
        return self.count(verdict.BETTER) - self.count(verdict.WORSE)

    @property
    def claims(self) -> int:
        return sum(self.count(word) for word in (verdict.BETTER, verdict.WORSE, MIXED))


def standings(summary: Summary) -> list[Standing]:
    """In the order of the columns."""
    every = measures(summary)
    return [
        Standing(
            label,
            [measure.word(label) for measure in every],
            _surest(every, label, verdict.BETTER),
            _surest(every, label, verdict.WORSE),
        )
        for label in summary.manifest.labels[1:]
    ]


def _surest(every: Sequence[Measure], label: str, word: str) -> Row | None:
    """Among the measures that are so as a whole."""
    agreed = [measure for measure in every if measure.word(label) == word]
    rows = [row for measure in agreed for row in measure.rows if row.verdict(label) == word]
    return max(rows, key=lambda row: _certainty(row.against[label]), default=None)


def _certainty(found: Comparison) -> tuple[bool, float]:
    """Before others come those of which is known what the simulator may be off by."""
    return not math.isnan(found.model_pct), certain_log(found)


def certain_log(found: Comparison) -> float:
    """The size of the change that is certain, as a logarithm of a ratio: zero where its interval reaches no change."""
    ends = found.whole.interval
    low, high = (math.log1p(max(end, -99.999) / 100) for end in (ends.low, ends.high))
    return 0.0 if not low * high > 0 else min(abs(low), abs(high))


def explained(summary: Summary) -> tuple[Row, str] | None:
    """The row, and the scheduler, whose difference from the reference is the largest that is certain."""
    pairs = [(row, one.label) for one in standings(summary) for row in (one.better, one.worse) if row]
    return max(pairs, key=lambda pair: _certainty(pair[0].against[pair[1]]), default=None)


def sentence(summary: Summary) -> str:
    """Ends with a full stop."""
    found, reference = standings(summary), summary.reference
    if not found:
        return f"{reference} was measured alone: there is nothing to compare it with."
    if not found[0].words:
        return f"No measure has a value of {reference} and of another scheduler, so nothing is compared."
    tail = _lost(summary)
    if all(word == verdict.SAME for one in found for word in one.words):
        names = enumerated([reference, *(one.label for one in found)])
        return f"{names} are the same within {number(_widest(summary), 1)} % in {_all(len(found[0].words))}{tail}."
    claiming = [one for one in found if one.claims]
    if all(word == verdict.UNKNOWN for one in found for word in one.words):
        runs = repetitions([row for measure in measures(summary) for row in measure.rows])
        names = enumerated([reference, *(one.label for one in found)])
        return f"Too few runs to say anything of {names}: {runs} of each, and a claim needs {verdict.FEWEST}{tail}."
    if not claiming:
        return f"Between {enumerated([reference, *(one.label for one in found)])} no difference is claimed: " + (
            "; ".join(_without(summary, one, len(found) > 1) for one in found[:_MOST_NAMED]) + f"{tail}."
        )
    named = _named(found)
    alone = len(named) == 1
    clauses = [_clause(summary, one, first=one is named[0], whole=alone) for one in named]
    if len(found) > len(named):
        clauses.append(f"the other {len(found) - len(named)} lie between these two")
    return f"{'; '.join(clauses)}{tail}."


def _named(found: Sequence[Standing]) -> list[Standing]:
    if len(found) <= _MOST_NAMED:
        return list(found)
    ordered = sorted(found, key=lambda one: -one.balance)
    return [ordered[0], ordered[-1]]


def _clause(summary: Summary, one: Standing, first: bool, whole: bool) -> str:
    """Not `whole`: where there are others, too, the size of what is rarer is left to the picture."""
    than, of = (f" than {summary.reference}", f" of {_measures(len(one.words))}") if first else ("", "")
    said = []
    for word, row in sorted(
        ((verdict.BETTER, one.better), (verdict.WORSE, one.worse)), key=lambda pair: -one.count(pair[0])
    ):
        if count := one.count(word):
            assert row
            most = "most: " if count > 1 else ""
            much = f" ({most}{_where(summary, row)}, {_change(row, one.label)})" if whole or not said else ""
            said.append(f"{word}{than} in {count}{of}{much}")
            than = of = ""
    if count := one.count(MIXED):
        said.append(f"better or worse{than} by the load in {count}{of}")
    if not one.claims:
        return f"{one.label} is not clearly different{than.replace('than', 'from')} in any{of}"
    if rest := len(one.words) - one.claims:
        said.append(f"not clearly either in {rest}")
    elif not said[1:] and not one.count(MIXED):
        said.append(f"{verdict.WORSE if one.count(verdict.BETTER) else verdict.BETTER} in none")
    return f"{one.label} is {enumerated(said)}"


def _without(summary: Summary, one: Standing, named: bool) -> str:
    """Of a scheduler of which nothing is claimed."""
    kinds: list[tuple[Callable[[str], bool], str]] = [
        (lambda word: word == verdict.UNKNOWN, f"too seldom run (a claim needs {verdict.FEWEST}) in {{}}"),
        (lambda word: word == verdict.UNCLEAR, "unclear in {}"),
        (lambda word: word == verdict.MODEL, "within what the simulator may be off by in {}"),
        (lambda word: word == verdict.NOISE, "within what the default differs from itself in {}"),
        (lambda word: word == verdict.SAME, f"the same within {number(_widest(summary), 1)} % in {{}}"),
        (lambda word: word in (verdict.MORE, verdict.LESS), "more or less, which is neither good nor bad, in {}"),
    ]
    counts = [(sum(map(test, one.words)), text) for test, text in kinds]
    parts = [text.format(count) for count, text in counts if count]
    who = f"{one.label} is " if named else ""
    return f"{who}{', '.join(parts)} of {_measures(len(one.words))}"


def _widest(summary: Summary) -> float:
    """How large a difference could still be of what is the same."""
    found = [
        measure.smaller_than_pct(label)
        for measure in measures(summary)
        for label in summary.manifest.labels[1:]
        if measure.word(label) == verdict.SAME
    ]
    return max((bound for bound in found if math.isfinite(bound)), default=summary.negligible_pct)


def _where(summary: Summary, row: Row) -> str:
    data = summary.manifest.data
    of = f" of {row.workload}" if len(data["workloads"]) > 1 else ""
    load = (
        f" at load {row.load}"
        if len({other.load for other in summary.rows if other.measure == row.measure}) > 1
        else ""
    )
    machine = f" on {machine_name(row.machine)}" if len(data["machines"]) > 1 else ""
    return f"{row.title}{',' * (',' in row.title and bool(of or load))}{of}{load}{machine}"


def _change(row: Row, label: str) -> str:
    found = row.against[label]
    return percent(found.change.pct) + interval(found.whole.interval.low, found.whole.interval.high)


def _lost(summary: Summary) -> str:
    """What has no value is not passed over: who was ejected, and what failed."""
    ejected: dict[str, int] = {}
    for trouble in summary.troubles:
        if trouble.status == "ejected":
            ejected[trouble.label] = ejected.get(trouble.label, 0) + 1
    parts = [f"{label} was ejected in {count} cell{'s' * (count > 1)}" for label, count in ejected.items()]
    lost = sum(summary.counts[kind] for kind in ("failed", "void", "missing"))
    if lost:
        parts.append(f"{lost} of {summary.counts['planned']:,} cells have no value")
    return f"; {', '.join(parts)}" if parts else ""


def _measures(count: int) -> str:
    return f"{count} measure{'s' * (count > 1)}"


def _all(count: int) -> str:
    return f"all {count} measures" if count > 1 else "the one measure"
