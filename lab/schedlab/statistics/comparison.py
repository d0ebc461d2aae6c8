# SPDX-License-Identifier: GPL-2.0-or-later
"""One scheduler against another: everything that is said about the pair, in the order in which it should be read."""

import math
from dataclasses import dataclass

from schedlab.statistics import design
from schedlab.statistics.blocks import paired_t
from schedlab.statistics.effect import NO_EFFECT, Effect, hedges
from schedlab.statistics.estimates import Change, no_change
from schedlab.statistics.model_error import widened
from schedlab.statistics.negligible import NEGLIGIBLE_PCT
from schedlab.statistics.oneway import TUKEY_KRAMER, oneway
from schedlab.statistics.runs import Runs
from schedlab.statistics.verdict import FEWEST, bound_pct, verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """`label` against `reference`: one metric and statistic at one load on one machine.

    NaN where there is no such number; `note` says why.
    """

    reference: str
    label: str
    better: str  # lower, higher or neither: ""
    design: str  # design.SEEDS, BLOCKS, HOSTS or INDEPENDENT
    change: Change  # percent of the reference, 95 % interval, n
    effect: Effect  # Hedges g, in standard deviations of the runs
    detectable_pct: float  # the smallest change that these runs would have shown in four campaigns of five
    runs_for_1_pct: float  # runs a scheduler that would show one percent; infinite: more than design.MOST_RUNS
    method: str  # of the test
    t: float
    df: float
    p: float  # of this comparison alone
    p_within: float = math.nan  # over all pairs of this cell: Tukey's, Tukey–Kramer's or Games–Howell's; headlines only
    p_dunnett: float = math.nan  # over all comparisons of this cell with the reference; headlines only
    p_adjusted: float = math.nan  # over all cells of the report: Holm's, within the headlines or within the rest
    floor_pct: float = 0.0  # noise floor: how far the default differed from itself
    negligible_pct: float = NEGLIGIBLE_PCT
    model_pct: float = 0.0  # what the simulator may be off by; NaN: not known
    note: str = ""

    @property
    def verdict(self) -> str:
        limits = self.floor_pct, self.negligible_pct, self.model_pct
        return verdict(self.change, self.better, self.p_adjusted, *limits)

    @property
    def whole(self) -> Change:
        """With an interval over the seeds and the model's error."""
        return widened(self.change, self.model_pct)

    @property
    def smaller_than_pct(self) -> float:
        """A difference larger than this is ruled out, at 95 %."""
        return bound_pct(self.whole) if math.isfinite(self.change.interval.low) else math.nan

    @property
    def more_runs(self) -> float:
        """To see a change of one percent: runs to add to each scheduler's. Zero: there are enough."""
        return max(0.0, self.runs_for_1_pct - self.change.n)


def missing(reference: str, label: str, better: str, why: str) -> Comparison:
    nan = math.nan
    change = no_change(False)
    return Comparison(
        reference, label, better, design.INDEPENDENT, change, NO_EFFECT, nan, nan, "none", nan, nan, nan, note=why
    )


def compare(
    reference: tuple[str, Runs], other: tuple[str, Runs], change: Change, better: str, planned: str
) -> Comparison:
    """`planned`: how the pair was laid out; `change`: of the values shown."""
    (name, before), (label, after) = reference, other
    if planned == design.INDEPENDENT:
        method, t, df, p = _independent(before, after)
        effect = hedges(before.values, after.values, False)
    else:
        shared = set(before.seeds) & set(after.seeds)
        seeds = [seed for seed in before.seeds if seed in shared]
        one, two = before.at(seeds), after.at(seeds)
        found = paired_t(one, two)
        method, t, df, p = design.PAIRED_TEST[planned], found.t, float(found.df), found.p
        effect = hedges(one, two, True)
    se = change.se_pct
    return Comparison(
        name,
        label,
        better,
        planned,
        change,
        effect,
        design.detectable_pct(se, change.n, change.paired),
        design.runs_for(design.TARGET_PCT, se, change.n, change.paired),
        method,
        t,
        df,
        p,
        note=_note(name, label, before, after, change, p),
    )


def _independent(before: Runs, after: Runs) -> tuple[str, float, float, float]:
    found = oneway({"before": before.values, "after": after.values})
    if not found.pairs:
        return "none", math.nan, math.nan, math.nan
    (pair,) = found.pairs
    return "t" if found.method == TUKEY_KRAMER else "Welch's t", pair.t, pair.df, pair.p


def _note(name: str, label: str, before: Runs, after: Runs, change: Change, p: float) -> str:
    for who, runs in ((name, before), (label, after)):
        if not len(runs.values):
            return f"no value of {who}"
    if change.n == 1:
        return "one repetition: no interval and no test"
    if not math.isfinite(change.pct):
        return f"{name} is 0: no percentage"
    lost = before.missing + after.missing
    if lost:
        return f"{lost} repetition{'s' if lost > 1 else ''} without a value: left out of the test"
    if math.isnan(p):
        return "the same in every repetition: no spread to test against"
    if change.n < FEWEST:
        return f"too few repetitions for a claim: {FEWEST} are needed"
    return ""
