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
        # Zero on both sides is no difference; zero on one side is a difference without a ratio.
        better = sum(a) < sum(b) if claim.lower_is_better else sum(a) > sum(b)
        pct = (100.0 if better else -100.0) if sum(a) != sum(b) else 0.0
        return Reproduction(claim, float(np.mean(a)), float(np.mean(b)), pct, pct, pct)
    # Over several loads: the geometric mean of the ratios.
    log_ratio = float(np.mean(np.log(np.array(a) / np.array(b))))
    ends = sorted(_pct(claim, log_ratio + sign * _half_width(a_runs, b_runs)) for sign in (-1, 1))
    return Reproduction(claim, float(np.mean(a)), float(np.mean(b)), _pct(claim, log_ratio), *ends)


def _pct(claim: Claim, log_ratio: float) -> float:
    ratio = float(np.exp(log_ratio))
    return (1 - ratio if claim.lower_is_better else ratio - 1) * 100


def _half_width(a: list[list[float]], b: list[list[float]]) -> float:
    """Of the 95 % interval of the log ratio: Student's t over the seeds, which are the same on both sides."""
    counts = {len(runs) for runs in [*a, *b]}
    if counts == {1} or len(counts) > 1 or not np.all(np.array(a + b) > 0):
        return 0.0
    (count,) = counts
    ratios = np.mean(np.log(np.array(a) / np.array(b)), axis=0)
    return float(special.stdtrit(count - 1, 0.975) * np.std(ratios, ddof=1) / np.sqrt(count))


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
