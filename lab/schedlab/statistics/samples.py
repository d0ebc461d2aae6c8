# SPDX-License-Identifier: GPL-2.0-or-later
"""The groups of a campaign, workload × machine × load × metric, and each scheduler's repetitions in one: its sample.

A statistic of a sample is evaluated on weights, which say how often each repetition counts. Its replicates, the
statistics on every resample, are computed once and used for its values and for all its changes: two samples with the
same seeds are drawn together, row for row, which is what keeps them paired.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from schedlab.campaign.cells import BASELINE, CONTROL, MEASURED
from schedlab.catalogue.metrics import sort_key
from schedlab.collect.histogram import Histogram, ns_per_unit
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import OK, Record
from schedlab.statistics.bootstrap import Weights, resamples

MEAN = "mean"
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
_ROWS_AT_ONCE = 512


class Sample(Protocol):
    seeds: list[int]
    resample_count: int

    @property
    def statistics(self) -> list[str]: ...

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]: ...

    def each(self) -> dict[str, np.ndarray]:
        """The statistics of each repetition alone."""
        ...

    def without_each(self) -> dict[str, np.ndarray]:
        """The statistics without each repetition in turn: the jackknife."""
        ...

    def only(self, seeds: Sequence[int]) -> "Sample": ...


class Scalars:
    """One number a repetition."""

    resample_count = 9_999

    def __init__(self, seeds: list[int], values: Sequence[float]) -> None:
        self.seeds = seeds
        self.values = np.asarray(values, dtype=float)

    @property
    def statistics(self) -> list[str]:
        return [MEAN]

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]:
        # Every resample draws equally many repetitions.
        return {MEAN: weights @ self.values / weights[0].sum()}

    def each(self) -> dict[str, np.ndarray]:
        return {MEAN: self.values}

    def without_each(self) -> dict[str, np.ndarray]:
        return self.evaluate(1 - np.eye(len(self.seeds)))

    def only(self, seeds: Sequence[int]) -> "Scalars":
        at = [self.seeds.index(seed) for seed in seeds]
        return Scalars(list(seeds), self.values[at])


class Distributions:
    """One histogram a repetition; a statistic is always one of the merged histogram."""

    resample_count = 1_999

    def __init__(self, seeds: list[int], histograms: Sequence[Histogram], ns_per_unit: float) -> None:
        self.seeds = seeds
        self.histograms = list(histograms)
        self.ns_per_unit = ns_per_unit
        values = [np.asarray(h.values_ns) for h in self.histograms]
        self._values, at = np.unique(np.concatenate(values), return_inverse=True)
        self._counts = np.zeros((len(self.histograms), len(self._values)))
        row = np.repeat(np.arange(len(values)), [len(own) for own in values])
        self._counts[row, at] = np.concatenate([np.asarray(h.counts) for h in self.histograms])
        self._sums = np.array([h.sum_ns for h in self.histograms], dtype=float)
        self._totals = self._counts.sum(axis=1)
        # No resample's counts add up to more, so float32 is exact, in half the memory and half the time.
        if self._totals.max(initial=0) * len(self.histograms) < 2**24:
            self._counts = self._counts.astype(np.float32)
        filled = [h for h in self.histograms if h.count]
        # Buckets start below their smallest sample; nothing was smaller than the minimum.
        self._low = min((h.min_ns for h in filled), default=0)

    @property
    def statistics(self) -> list[str]:
        return [MEAN, *PERCENTILES]

    def evaluate(self, weights: Weights) -> dict[str, np.ndarray]:
        narrow = weights.astype(self._counts.dtype, copy=False)
        return self._merged(weights @ self._totals, weights @ self._sums, lambda rows: narrow[rows] @ self._counts)

    def each(self) -> dict[str, np.ndarray]:
        return self._merged(self._totals, self._sums, lambda rows: self._counts[rows])

    def without_each(self) -> dict[str, np.ndarray]:
        whole = self._counts.sum(axis=0)
        totals, sums = self._totals.sum() - self._totals, self._sums.sum() - self._sums
        return self._merged(totals, sums, lambda rows: whole - self._counts[rows])

    def _merged(
        self, totals: np.ndarray, sums: np.ndarray, counts: Callable[[slice], np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Of as many merged histograms as there are totals; `counts` gives the buckets of some of them."""
        found = {name: np.full(len(totals), np.nan) for name in self.statistics}
        with np.errstate(invalid="ignore", divide="ignore"):
            found[MEAN] = sums / totals / self.ns_per_unit
        for at in range(0, len(totals) if len(self._values) else 0, _ROWS_AT_ONCE):
            rows = slice(at, at + _ROWS_AT_ONCE)
            seen, own = np.cumsum(counts(rows), axis=1), totals[rows]
            for name, percent in PERCENTILES.items():
                rank = np.maximum(1, np.ceil(percent / 100 * own - 1e-9))
                values = np.maximum(self._values[(seen >= rank[:, None]).argmax(axis=1)], self._low)
                found[name][rows] = np.where(own > 0, values, np.nan) / self.ns_per_unit
        return found

    def only(self, seeds: Sequence[int]) -> "Distributions":
        at = [self.seeds.index(seed) for seed in seeds]
        return Distributions(list(seeds), [self.histograms[index] for index in at], self.ns_per_unit)


@dataclass(frozen=True)
class Group:
    workload: str
    machine: str
    load: int
    metric: str
    records: dict[str, list[tuple[int, Record]]]  # by column, the control among them, with their seeds

    @property
    def samples(self) -> dict[str, Sample]:
        """By column. They are made anew on each use, and not kept: those of all groups together are large."""
        return {label: found for label, pairs in self.records.items() if (found := sample(self.metric, pairs))}

    @property
    def statistics(self) -> list[str]:
        spread = any(self.metric in record.distributions for pairs in self.records.values() for _, record in pairs)
        return [MEAN, *PERCENTILES] if spread else [MEAN]


def groups(manifest: Manifest, found: dict[str, Record]) -> Iterator[Group]:
    """In the manifest's order of workloads and machines, loads rising."""
    places: dict[tuple[str, str, int], dict[str, list[tuple[int, Record]]]] = defaultdict(lambda: defaultdict(list))
    for cell in manifest.cells:
        record = found.get(cell.id)
        if record is None or record.status != OK or cell.role not in (MEASURED, CONTROL, BASELINE):
            continue
        key = (cell.data["workload"], cell.data["machine"], cell.data["load"])
        places[key][cell.label].append((cell.data["seed"], record))
    order = [w["name"] for w in manifest.data["workloads"]], [m["name"] for m in manifest.data["machines"]]
    for key in sorted(places, key=lambda k: (order[0].index(k[0]), order[1].index(k[1]), k[2])):
        columns = {label: sorted(pairs, key=lambda pair: pair[0]) for label, pairs in places[key].items()}
        names = frozenset().union(*(record.names for pairs in columns.values() for _, record in pairs))
        for name in sorted(names, key=sort_key):
            yield Group(*key, name, columns)


def sample(name: str, pairs: list[tuple[int, Record]]) -> Sample | None:
    """A metric that is a distribution in one record is one in all of them."""
    spread = [(seed, r.histograms[name]) for seed, r in pairs if name in r.distributions]
    if spread:
        return Distributions([seed for seed, _ in spread], [h for _, h in spread], ns_per_unit(name))
    plain = [(seed, r.metrics[name]) for seed, r in pairs if name in r.names - r.distributions]
    return Scalars([seed for seed, _ in plain], [v for _, v in plain]) if plain else None


@dataclass(frozen=True)
class Replicates:
    """By statistic. `drawn` and `left_out` are empty for a single repetition."""

    seeds: list[int]
    full: dict[str, float]
    drawn: dict[str, np.ndarray]  # bootstrap
    left_out: dict[str, np.ndarray]  # jackknife, in the order of the seeds


def of_all(sample: Sample) -> dict[str, float]:
    """The statistics of all repetitions together."""
    return {name: float(found[0]) for name, found in sample.evaluate(np.ones((1, len(sample.seeds)))).items()}


def replicates(sample: Sample, stream: int = 0) -> Replicates:
    n, full = len(sample.seeds), of_all(sample)
    if n < 2:
        return Replicates(sample.seeds, full, {}, {})
    drawn = sample.evaluate(resamples(n, sample.resample_count, stream))
    return Replicates(sample.seeds, full, drawn, sample.without_each())
