# SPDX-License-Identifier: GPL-2.0-or-later
"""One line of any table, a metric and statistic of a workload at one load on one machine for all schedulers, and how
a group's samples become its rows.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from schedlab.campaign.matrix import controlled
from schedlab.catalogue.metrics import metric
from schedlab.statistics import design, multiple_comparisons, verdict
from schedlab.statistics.blocks import Blocks, additive
from schedlab.statistics.comparison import Comparison, compare, missing
from schedlab.statistics.estimates import MISSING, Change, Value, changes, changes_of_pairs, values
from schedlab.statistics.oneway import TUKEY_KRAMER, Omnibus, OneWay, oneway
from schedlab.statistics.runs import Runs, runs
from schedlab.statistics.samples import MEAN, Distributions, Group, Replicates, Sample, replicates
from schedlab.statistics.stability import Drift, Key, drift


@dataclass(frozen=True)
class Row:
    workload: str
    machine: str
    load: int
    metric: str
    statistic: str  # mean, p50 …; "mean" for a metric that is one number a repetition
    headline: bool
    reference: str  # a column's label
    values: dict[str, Value]  # by column, in the metric's unit
    runs: dict[str, Runs]  # by column: each repetition's own number
    comparisons: list[Comparison]  # every pair of columns; the one further left is the reference
    control: Change | None  # the default against itself
    distribution: bool
    blocks: Blocks | None = None  # headlines only: blocks or seeds taken out
    oneway: OneWay | None = None  # headlines only: as if the groups were independent
    drift: Drift | None = None  # headlines on a real kernel only: over the order of the blocks

    @property
    def better(self) -> str:
        return metric(self.metric).better

    @property
    def unit(self) -> str:
        return metric(self.metric).unit

    @property
    def title(self) -> str:
        """wake-up latency, p99"""
        title = metric(self.metric).title
        return title if self.statistic == MEAN else f"{title}, {self.statistic}"

    @property
    def against(self) -> dict[str, Comparison]:
        """By column: those with the reference."""
        return {c.label: c for c in self.comparisons if c.reference == self.reference}

    @property
    def changes(self) -> dict[str, Change]:
        """By column, the reference and columns without a value left out."""
        return {label: c.change for label, c in self.against.items() if c.change.n}

    @property
    def omnibus(self) -> Omnibus | None:
        """All schedulers at once, by the design that the repetitions have."""
        if self.blocks:
            return self.blocks.omnibus
        return self.oneway.omnibus if self.oneway else None

    @property
    def measure(self) -> Key:
        """The row's key without its load."""
        return self.workload, self.machine, self.metric, self.statistic

    def verdict(self, label: str) -> str:
        found = self.against.get(label)
        return found.verdict if found else verdict.UNKNOWN

    def key(self) -> dict[str, Any]:
        """The columns that identify the row in every file."""
        return {
            "workload": self.workload,
            "machine": self.machine,
            "load": self.load,
            "metric": self.metric,
            "statistic": self.statistic,
            "unit": self.unit,
        }


def rows_of(group: Group, labels: list[str], planned: str, headlines: Collection[tuple[str, str]]) -> list[Row]:
    """Only the `headlines` (metric, statistic) get the tests that take time: omnibus tests, Tukey, Dunnett, drift."""
    every = group.samples
    samples = {label: every[label] for label in labels if label in every}
    resampled = {label: replicates(sample) for label, sample in samples.items()}
    by_label = {label: values(found) for label, found in resampled.items()}
    own = {label: runs(sample) for label, sample in samples.items()}
    pairs = {pair: _changes(*pair, samples, resampled, planned) for pair in combinations(labels, 2)}
    pair = controlled(every)
    control = changes(every[pair[0]], every[pair[1]], True) if pair else None
    any_sample = next(iter(every.values()))
    made = []
    for statistic in any_sample.statistics:
        here = {label: found[statistic] for label, found in own.items() if statistic in found}
        row = Row(
            group.workload,
            group.machine,
            group.load,
            group.metric,
            statistic,
            (group.metric, statistic) in headlines,
            labels[0],
            {label: found.get(statistic, MISSING) for label, found in by_label.items()},
            here,
            [_comparison(pair, found, statistic, here, group.metric, planned) for pair, found in pairs.items()],
            control.get(statistic) if control else None,
            isinstance(any_sample, Distributions),
        )
        made.append(_in_depth(row, planned) if row.headline else row)
    return made


def _changes(
    reference: str, label: str, samples: dict[str, Sample], resampled: dict[str, Replicates], planned: str
) -> dict[str, Change] | str:
    """The changes by statistic, or why there are none."""
    for name in (reference, label):
        if name not in samples:
            return f"no value of {name}"
    one, two = samples[reference], samples[label]
    if type(one) is not type(two):
        return f"a distribution of one, a number of the other: {reference} and {label} cannot be compared"
    if planned == design.HOSTS and not set(one.seeds) & set(two.seeds):
        return f"no block has both {reference} and {label}, and hosts are not compared"
    if design.of_pair(planned, one.seeds, two.seeds) == design.INDEPENDENT:
        return changes(one, two, False)
    if one.seeds == two.seeds:
        return changes_of_pairs(resampled[reference], resampled[label])
    return changes(one, two, True)


def _comparison(
    pair: tuple[str, str],
    found: dict[str, Change] | str,
    statistic: str,
    here: dict[str, Runs],
    name: str,
    planned: str,
) -> Comparison:
    better = metric(name).better
    if isinstance(found, str):
        return missing(*pair, better, found)
    (reference, label), change = pair, found[statistic]
    kind = planned if change.paired else design.INDEPENDENT
    return compare((reference, here[reference]), (label, here[label]), change, better, kind)


def _in_depth(row: Row, planned: str) -> Row:
    whole = {label: found for label, found in row.runs.items() if len(found.values)}
    if len(whole) < 2:
        return row
    seeds = sorted(set.intersection(*[set(found.seeds) for found in whole.values()]))
    blocks = None
    if planned == design.HOSTS or 2 * len(seeds) >= min(len(found.seeds) for found in whole.values()):
        blocks = additive(np.column_stack([found.at(seeds) for found in whole.values()]), list(whole), planned)
    as_groups = oneway({label: found.values for label, found in whole.items()}, with_p_within=blocks is None)
    comparisons = _within(row, whole, blocks, as_groups)
    moved = _drift(whole) if planned == design.BLOCKS else None
    return replace(row, comparisons=comparisons, blocks=blocks, oneway=as_groups, drift=moved)


def _within(row: Row, whole: dict[str, Runs], blocks: Blocks | None, groups: OneWay) -> list[Comparison]:
    """The comparisons with p over all pairs of the cell, and over all comparisons with the reference."""
    if blocks:
        tukey, t, df, n = blocks.p_within, blocks.t, blocks.df, dict.fromkeys(whole, blocks.n)
    else:
        tukey = {(pair.reference, pair.other): pair.p_within for pair in groups.pairs}
        # Dunnett's method needs a common spread.
        equal = groups.method == TUKEY_KRAMER
        t = {(pair.reference, pair.other): pair.t for pair in groups.pairs} if equal else {}
        df, n = groups.omnibus.df_within, {label: len(found.values) for label, found in whole.items()}
    others = [label for label in whole if (row.reference, label) in t]
    against: dict[str, float] = {}
    if others:
        found = multiple_comparisons.dunnett_p(
            [t[row.reference, x] for x in others], df, [n[x] for x in others], n[row.reference]
        )
        against = dict(zip(others, found, strict=True))
    return [
        replace(
            c,
            p_within=tukey.get((c.reference, c.label), math.nan),
            p_dunnett=against.get(c.label, math.nan) if c.reference == row.reference else math.nan,
        )
        for c in row.comparisons
    ]


def _drift(whole: dict[str, Runs]) -> Drift | None:
    """Of all schedulers together: in each block the mean of their values, relative to each scheduler's own mean."""
    seeds = sorted(set.intersection(*[set(found.seeds) for found in whole.values()]))
    shares = [at / at.mean() for found in whole.values() if len(at := found.at(seeds)) and at.mean()]
    return drift(np.mean(shares, axis=0)) if shares else None
