# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything a campaign found, in one structure, which terminal, page, files and --json show without computing."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from schedlab import parallel
from schedlab.campaign.cells import BASELINE, FIRST, LAST
from schedlab.campaign.matrix import PlannedCell
from schedlab.catalogue.metrics import FALLBACK_HEADLINES, sort_key
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import EJECTED, FAILED, OK, VOID, Record
from schedlab.statistics import design
from schedlab.statistics.estimates import Change, changes
from schedlab.statistics.functions import FunctionTable
from schedlab.statistics.model_error import ModelError
from schedlab.statistics.negligible import NEGLIGIBLE_PCT
from schedlab.statistics.rows import Row, rows_of
from schedlab.statistics.samples import MEAN, Group, Scalars, groups
from schedlab.statistics.stability import Noise, floors_pct, noise
from schedlab.statistics.verdict import CLAIMS, MODEL, NOISE, SAME, UNCLEAR, UNKNOWN, holm

# The statistics of a distribution that are shown first: the median, and the tail that people notice.
_SHOWN = {"p50", "p99"}
# The others are in the report's details.
_MOST_HEADLINES = 3


MIXED = "mixed"
MISSING = "missing"  # a cell without a record
# Where no load carries a claim: the first of these that a load has.
_WEAKER = [UNCLEAR, MODEL, NOISE, SAME]


@dataclass(frozen=True)
class Trouble:
    """A cell without a value, and why."""

    label: str
    workload: str
    machine: str
    load: int
    seed: int
    status: str
    reason: str


@dataclass(frozen=True)
class Summary:
    manifest: Manifest
    rows: list[Row]
    counts: dict[str, int]
    troubles: list[Trouble] = field(default_factory=list)
    drifts_pct: list[float] = field(default_factory=list)  # last against first default, by block
    ends: Change | None = None  # the same over all blocks, with its interval
    tested: int = 0  # comparisons of headlines with a p: what Holm's adjustment of each is over
    tested_others: int = 0  # the same of all other metrics and statistics
    noise: Noise | None = None  # of the A/A control, over the headlines
    negligible_pct: float = NEGLIGIBLE_PCT
    functions: list[FunctionTable] = field(default_factory=list)  # of cells whose instructions were counted

    @property
    def reference(self) -> str:
        return self.manifest.labels[0]

    @property
    def design(self) -> str:
        """The planned design; a comparison whose pairs are incomplete has its own."""
        return design.of_place(self.manifest.data["place"])

    def headlines(self) -> list[Row]:
        return [row for row in self.rows if row.headline]


def summarise(
    manifest: Manifest,
    found: dict[str, Record],
    negligible_pct: float = NEGLIGIBLE_PCT,
    model: ModelError | None = None,
) -> Summary:
    """Differences up to `negligible_pct` are none. `model`: what numbers are off by that were simulated."""
    everything = list(groups(manifest, found))
    headlines = _headlines(manifest, everything)
    planned = design.of_place(manifest.data["place"])
    by_group = parallel.each(
        partial(rows_of, group, manifest.labels, planned, headlines[group.workload]) for group in everything
    )
    rows = [row for found_in_group in by_group for row in found_in_group]
    floors = floors_pct((row.measure, row.control) for row in rows)
    rows = _revised(rows, lambda row, c: {"floor_pct": floors.get(row.measure, 0.0), "negligible_pct": negligible_pct})
    if model and planned == design.SEEDS:
        rows = _revised(rows, lambda row, c: {"model_pct": model.change_pct((row.workload, row.metric, row.statistic))})
    rows, tested = _adjusted(rows, True)
    rows, tested_others = _adjusted(rows, False)
    drifts, ends = _drifts(manifest, found)
    shown = noise(row.control for row in rows if row.headline)
    return Summary(
        manifest,
        rows,
        _counts(manifest, found),
        _troubles(manifest, found),
        drifts,
        ends,
        tested,
        tested_others,
        shown,
        negligible_pct,
    )


def _adjusted(rows: list[Row], headline: bool) -> tuple[list[Row], int]:
    """Holm's adjustment over every pair of every cell: the headlines for themselves, and all the rest."""
    p = [c.p for row in rows if row.headline == headline for c in row.comparisons]
    adjusted = iter(holm(p))

    def new(row: Row, _: object) -> dict[str, float]:
        return {"p_adjusted": next(adjusted)} if row.headline == headline else {}

    return _revised(rows, new), sum(value == value for value in p)


def _revised(rows: list[Row], new: Callable) -> list[Row]:
    return [
        replace(row, comparisons=[replace(c, **fields) if (fields := new(row, c)) else c for c in row.comparisons])
        for row in rows
    ]


def _headlines(manifest: Manifest, everything: list[Group]) -> dict[str, set[tuple[str, str]]]:
    """By workload, metric and statistic: of the first metrics that its file promises, else of the first usual one."""
    chosen = {}
    for workload in manifest.data["workloads"]:
        present: dict[str, list[str]] = {}
        for group in everything:
            if group.workload == workload["name"]:
                present[group.metric] = group.statistics
        promised = [m for m in workload["promises"] if m in present]
        # Elapsed time and throughput say the same: of the two, the one that is promised first is kept.
        same = [m for m in promised if m in ("elapsed_s", "throughput_per_s")]
        promised = [m for m in promised if m not in same[1:]]
        metrics = promised[:_MOST_HEADLINES] or [m for m in FALLBACK_HEADLINES if m in present][:1]
        chosen[workload["name"]] = {
            (name, statistic)
            for name in metrics
            for statistic in present[name]
            if statistic in _SHOWN or present[name] == [MEAN]
        }
    return chosen


def _counts(manifest: Manifest, found: dict[str, Record]) -> dict[str, int]:
    own = [cell for cell in manifest.cells if cell.role != BASELINE]
    seen = Counter(found[cell.id].status if cell.id in found else MISSING for cell in own)
    return {"planned": len(own), **{s: seen[s] for s in (OK, EJECTED, FAILED, VOID, MISSING)}}


def without_value(summary: Summary, found: dict[str, Record]) -> list[Trouble]:
    """Cells that should have one. Where the kernel threw a scheduler out, that is a result."""
    lost = [trouble for trouble in summary.troubles if trouble.status in (FAILED, VOID)]
    return lost + [_trouble(cell, MISSING, "no record") for cell in summary.manifest.cells if cell.id not in found]


def _troubles(manifest: Manifest, found: dict[str, Record]) -> list[Trouble]:
    troubles = []
    for cell in manifest.cells:
        record = found.get(cell.id)
        if record and record.status != OK:
            troubles.append(_trouble(cell, record.status, record.reason))
    return troubles


def _trouble(cell: PlannedCell, status: str, reason: str) -> Trouble:
    d = cell.data
    return Trouble(cell.label, d["workload"], d["machine"], d["load"], d["seed"], status, reason)


def _drifts(manifest: Manifest, found: dict[str, Record]) -> tuple[list[float], Change | None]:
    """How much the machine changed from the beginning to the end of every block, by the default's own figure."""
    ends: dict[tuple[str, str, int], dict[str, Record]] = {}
    for cell in manifest.cells:
        if cell.role in (FIRST, LAST) and cell.id in found and found[cell.id].status == OK:
            block = (cell.data["machine"], cell.data.get("kernel", ""), cell.data["seed"])
            ends.setdefault(block, {})[cell.role] = found[cell.id]
    pairs = [(_judged(pair[FIRST]), _judged(pair[LAST])) for pair in ends.values() if len(pair) == 2]
    pairs = [(first, last) for first, last in pairs if first and last]
    if not pairs:
        return [], None
    drifts = [(last / first - 1) * 100 for first, last in pairs]
    seeds = list(range(len(pairs)))
    first, last = (Scalars(seeds, [pair[at] for pair in pairs]) for at in (0, 1))
    return drifts, changes(first, last, True)[MEAN]


def _judged(record: Record) -> float:
    """The default's own figure: the first of the usual metrics that the record has, as a mean."""
    for name in FALLBACK_HEADLINES:
        if name in record.histograms:
            return record.histograms[name].mean_ns
        if name in record.metrics:
            return record.metrics[name]
    return 0.0


@dataclass(frozen=True)
class Measure:
    """One metric of one workload on one machine, over all loads."""

    rows: list[Row]

    @property
    def first(self) -> Row:
        return self.rows[0]

    def word(self, label: str) -> str:
        """Better or worse where at least one load says so and none the opposite."""
        seen = {row.verdict(label) for row in self.rows}
        claims = seen & CLAIMS
        if len(claims) > 1:
            return MIXED
        return claims.pop() if claims else next((word for word in _WEAKER if word in seen), UNKNOWN)

    def agreeing(self, label: str) -> int:
        """How many loads have the same verdict."""
        return sum(row.verdict(label) == self.word(label) for row in self.rows)

    def smaller_than_pct(self, label: str) -> float:
        """A difference this large is ruled out at every load."""
        bounds = [row.against[label].smaller_than_pct for row in self.rows if label in row.changes]
        return max((bound for bound in bounds if math.isfinite(bound)), default=math.nan)

    def extremes(self, label: str) -> tuple[Row, Row] | None:
        """The loads with the smallest and the largest change."""
        rows = [row for row in self.rows if label in row.changes and math.isfinite(row.changes[label].pct)]
        if not rows:
            return None
        return min(rows, key=lambda r: r.changes[label].pct), max(rows, key=lambda r: r.changes[label].pct)


def measures(summary: Summary) -> list[Measure]:
    def key(row: Row) -> tuple:
        return (workloads.index(row.workload), machines.index(row.machine), sort_key(row.metric), row.statistic)

    workloads = [w["name"] for w in summary.manifest.data["workloads"]]
    machines = [m["name"] for m in summary.manifest.data["machines"]]
    return [Measure(list(part)) for _, part in groupby(sorted(summary.headlines(), key=key), key=key)]
