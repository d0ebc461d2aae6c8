# SPDX-License-Identifier: GPL-2.0-or-later
"""What our runs of a study gave: the mean of a metric, by the study's own names."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from schedlab.campaign import arms, roles
from schedlab.collect import manifest
from schedlab.collect.store import Store
from schedlab.export import results
from schedlab.studies.study_file import Experiment, Study

# experiment, machine, scheduler (theirs), load, metric (ours)
Key = tuple[str, str, str, int, str]


@dataclass(frozen=True)
class Measured:
    """Means over the repetitions; those of one key in order of their seeds."""

    values: dict[Key, list[float]]

    def mean(self, experiment: Experiment, machine: str, scheduler: str, load: int, metric: str) -> float | None:
        """A sum where the study's metric is one of several of ours; None where nothing was measured."""
        parts = [self.values.get((experiment.name, machine, scheduler, load, m)) for m in experiment.metrics[metric]]
        if any(not part for part in parts):
            return None
        return float(sum(np.mean(part) for part in parts if part))

    def counter(self, experiment: Experiment, machine: str, scheduler: str, load: int, name: str) -> float | None:
        """One of our own metrics."""
        values = self.values.get((experiment.name, machine, scheduler, load, name))
        return float(np.mean(values)) if values else None


def directory(base: Path, experiment: Experiment, machine: str) -> Path:
    return base / experiment.name / machine


def collect(study: Study, base: Path, place: str) -> Measured:
    values: dict[Key, list[float]] = defaultdict(list)
    for experiment in study.experiments:
        for machine in experiment.machines:
            for key, value in _rows(experiment, machine, directory(base, experiment, machine), place):
                values[key].append(value)
    return Measured(dict(values))


def _rows(experiment: Experiment, machine: str, folder: Path, place: str) -> Iterator[tuple[Key, float]]:
    if not (folder / manifest.NAME).is_file():
        return
    planned = manifest.read(folder)
    found, _ = Store(folder).load(cell.id for cell in planned.cells)
    theirs = {arm.label: name for name, arm in schedulers(experiment, place).items()}
    for row in results.rows(planned, found):
        if row["role"] == roles.MEASURED and row["status"] in ("ok", "ejected") and "value" in row:
            key = (experiment.name, machine, theirs[row["label"]], row["load"], row["metric"])
            yield key, row["value"]


def schedulers(experiment: Experiment, place: str) -> dict[str, arms.Arm]:
    """The study's names and what stands for them."""
    return {name: arms.parse(ours, place)[0] for name, ours in experiment.schedulers.items()}
