# SPDX-License-Identifier: GPL-2.0-or-later
"""How well our runs agree with the published claims, by the fair score of published/README.md.

Cells only; `tie?` is left out and `weak` counts half; rows are averaged within their group first, so that a long table
does not outvote the rest. What we did not measure counts as not agreed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from schedlab.catalogue.metrics import metric
from schedlab.studies.experiments import Measured
from schedlab.studies.published import Claim
from schedlab.studies.study_file import Experiment, Study

# "BFS at -j2": a scheduler at a load of its own.
_AT_LOAD = re.compile(r"(?P<name>.+) at -j(?P<load>\d+)")
# Schedulers that are stated as equal may differ by so much.
EQUAL_PCT = 1.0


@dataclass(frozen=True)
class Reproduction:
    """One claim beside ours. Values are means in our unit; `pct` is A's improvement over B; None: not measured.

    From `low` to `high` is its 95 % interval over the seeds, paired; both are `pct` where one run is all there is.
    """

    claim: Claim
    a: float | None
    b: float | None
    pct: float | None
    low: float | None
    high: float | None
    unit: str = ""  # ours
    tier: str = ""  # of the guests that ran it

    @property
    def agrees(self) -> bool | None:
        if self.pct is None:
            return None
        if self.claim.sign == 0:
            return abs(self.pct) < EQUAL_PCT
        return self.pct * self.claim.sign > 0

    @property
    def ratio_error(self) -> float | None:
        """|our A/B over the published A/B, less 1|, where both printed a value."""
        claim = self.claim
        if not claim.value_a or not claim.value_b or not self.a or not self.b:
            return None
        return abs((self.a / self.b) / (claim.value_a / claim.value_b) - 1)


@dataclass(frozen=True)
class Score:
    """`agreement` in 0..1 over groups; `ratio_error` a median; `strong_and_medium`: how many are right, of how many."""

    agreement: float | None
    ratio_error: float | None
    strong_and_medium: tuple[int, int]
    judged: int
    unmeasured: int


def reproduce(study: Study, claims: Iterable[Claim], measured: Measured) -> list[Reproduction]:
    return [
        replace(_reproduce(study, claim, measured), unit=_unit(study, claim), tier=_tier(study, claim))
        for claim in claims
    ]


def score(reproductions: Iterable[Reproduction]) -> Score:
    counted = [v for v in reproductions if v.claim.points > 0]
    groups = defaultdict(list)
    for reproduction in counted:
        groups[reproduction.claim.group].append(reproduction)
    shares = [
        sum(v.claim.points for v in group if v.agrees) / sum(v.claim.points for v in group) for group in groups.values()
    ]
    heavy = [v for v in counted if v.claim.weight in ("strong", "medium")]
    errors = [v.ratio_error for v in counted if v.ratio_error is not None]
    return Score(
        agreement=float(np.mean(shares)) if shares else None,
        ratio_error=float(np.median(errors)) if errors else None,
        strong_and_medium=(sum(v.agrees is True for v in heavy), len(heavy)),
        judged=len(counted),
        unmeasured=sum(v.agrees is None for v in counted),
    )


def _reproduce(study: Study, claim: Claim, measured: Measured) -> Reproduction:
    a = _values(study, claim, claim.a, measured)
    b = _values(study, claim, claim.b, measured)
    if all(_AT_LOAD.fullmatch(side) for side in (claim.a, claim.b)):
        return _reproduction(claim, list(a.values()), list(b.values()))
    shared = sorted(a.keys() & b.keys())
    return _reproduction(claim, [a[load] for load in shared], [b[load] for load in shared])


def _reproduction(claim: Claim, a_runs: list[list[float]], b_runs: list[list[float]]) -> Reproduction:
    """Of the runs at each load."""
    if not a_runs or not b_runs:
        return Reproduction(claim, None, None, None, None, None)
    a, b = ([float(np.mean(runs)) for runs in side] for side in (a_runs, b_runs))
    if not all(b) or not all(a):
        return _without_ratio(claim, a_runs, b_runs)
    # Over several loads: the geometric mean of the ratios.
    log_ratio = float(np.mean(np.log(np.array(a) / np.array(b))))
    pct = _pct(claim, log_ratio)
    if all(np.min(runs) > 0 for runs in [*a_runs, *b_runs]):
        a_logs, b_logs = ([np.log(runs) for runs in side] for side in (a_runs, b_runs))
        half = _half_width(a_logs, b_logs)
        ends = sorted(_pct(claim, log_ratio + sign * half) for sign in (-1, 1))
    else:
        # A run without a dropped frame has no logarithm. To the first order it is how far the run lies from the mean.
        a_parts, b_parts = ([np.divide(runs, np.mean(runs)) for runs in side] for side in (a_runs, b_runs))
        half_pct = 100 * np.exp(log_ratio) * _half_width(a_parts, b_parts)
        ends = [float(pct - half_pct), float(pct + half_pct)]
    return Reproduction(claim, float(np.mean(a)), float(np.mean(b)), pct, *ends)


def _without_ratio(claim: Claim, a_runs: list[list[float]], b_runs: list[list[float]]) -> Reproduction:
    """Zero on both sides is no difference. Zero on one side is one without a ratio, unless the seeds leave it open."""
    a, b = (float(np.mean([np.mean(runs) for runs in side])) for side in (a_runs, b_runs))
    sign = float(np.sign(b - a if claim.lower_is_better else a - b))
    is_open = abs(a - b) <= _half_width(a_runs, b_runs)
    ends = (-100.0, 100.0) if sign and is_open else (100 * sign, 100 * sign)
    return Reproduction(claim, a, b, 100 * sign, *ends)


def _pct(claim: Claim, log_ratio: float) -> float:
    ratio = float(np.exp(log_ratio))
    return (1 - ratio if claim.lower_is_better else ratio - 1) * 100


def _half_width(a: list[list[float]], b: list[list[float]]) -> float:
    """Of the 95 % interval of the mean difference: Student's t over the seeds; none of single runs.

    Where there are as many runs on both sides, they are of the same seeds.
    """
    counts = {len(runs) for runs in [*a, *b]}
    if min(counts) == 1:
        return 0.0
    if len(counts) == 1:
        differences = np.mean(np.array(a) - np.array(b), axis=0)
        error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    else:
        squares = [sum(np.var(runs, ddof=1) / len(runs) for runs in side) / len(side) ** 2 for side in (a, b)]
        error = np.sqrt(sum(squares))
    return float(special.stdtrit(min(counts) - 1, 0.975) * error)


def _unit(study: Study, claim: Claim) -> str:
    about = (e for e in study.experiments if e.published == claim.workload and claim.metric in e.metrics)
    return next((metric(experiment.metrics[claim.metric][0]).unit for experiment in about), "")


def _tier(study: Study, claim: Claim) -> str:
    return next((e.tier for side in (claim.a, claim.b) for e, _, _ in cells(study, claim, side)), "")


def _values(study: Study, claim: Claim, scheduler: str, measured: Measured) -> dict[int, list[float]]:
    """Runs by load, of the loads that the claim is about."""
    found: dict[int, list[float]] = {}
    for experiment, name, load in cells(study, claim, scheduler):
        runs = measured.of(experiment, claim.machine, name, load, claim.metric)
        if runs is not None:
            found[load] = runs
    return found


def cells(study: Study, claim: Claim, scheduler: str) -> Iterator[tuple[Experiment, str, int]]:
    """The cells that one side of a claim is about: experiment, the study's name of the scheduler, load."""
    at = _AT_LOAD.fullmatch(scheduler)
    name = at["name"] if at else scheduler
    for experiment in study.experiments:
        if not _is_about(experiment, claim, name):
            continue
        loads = experiment.loads_on(claim.machine)
        if at:
            loads = [int(at["load"])]
        elif experiment.level:
            said = experiment.level.search(claim.level)
            loads = [int(said[1])] if said else loads
        for load in loads:
            yield experiment, name, load


def _is_about(experiment: Experiment, claim: Claim, scheduler: str) -> bool:
    return (
        experiment.published == claim.workload
        and claim.machine in experiment.machines
        and scheduler in experiment.schedulers
        and claim.metric in experiment.metrics
    )
