# SPDX-License-Identifier: GPL-2.0-or-later
"""One line of any table: a metric and statistic of a workload at one load on one machine, for all schedulers."""

from dataclasses import dataclass
from typing import Any

from schedlab.metrics import metric
from schedlab.statistics import verdict
from schedlab.statistics.blocks import Blocks
from schedlab.statistics.change import Change
from schedlab.statistics.comparison import Comparison
from schedlab.statistics.drift import Drift
from schedlab.statistics.noise import Key
from schedlab.statistics.omnibus import Omnibus
from schedlab.statistics.oneway import OneWay
from schedlab.statistics.runs import Runs
from schedlab.statistics.samples import MEAN
from schedlab.statistics.value import Value


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
        """What loads have in common."""
        return self.workload, self.machine, self.metric, self.statistic

    def verdict(self, label: str) -> str:
        found = self.against.get(label)
        return found.verdict if found else verdict.UNKNOWN

    def key(self) -> dict[str, Any]:
        """What names the row in every file."""
        return {
            "workload": self.workload,
            "machine": self.machine,
            "load": self.load,
            "metric": self.metric,
            "statistic": self.statistic,
            "unit": self.unit,
        }
