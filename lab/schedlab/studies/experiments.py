# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's comparisons, one for each experiment and machine in a folder of its own: what is asked of a place, and the
means that its records gave, by the study's own names.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from schedlab.campaign import arms, cells, where
from schedlab.campaign.request import Request, request
from schedlab.collect import manifest
from schedlab.collect.store import Store
from schedlab.export import results
from schedlab.studies import in_guests
from schedlab.studies.study_file import Experiment, Study

# experiment, machine, scheduler (theirs), load, metric (ours)
Key = tuple[str, str, str, int, str]


@dataclass(frozen=True)
class Measured:
    """Means over the repetitions; those of one key in order of their seeds."""

    values: dict[Key, list[float]]

    def of(self, experiment: Experiment, machine: str, scheduler: str, load: int, metric: str) -> list[float] | None:
        """By seeds; sums of several of our metrics where the study's metric is one. None where nothing was measured."""
        parts = [self.values.get((experiment.name, machine, scheduler, load, m)) for m in experiment.metrics[metric]]
        if any(not part for part in parts):
            return None
        return [sum(together) for together in zip(*(part for part in parts if part), strict=True)]

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
        if row["role"] == cells.MEASURED and row["status"] in ("ok", "ejected") and "value" in row:
            key = (experiment.name, machine, theirs[row["label"]], row["load"], row["metric"])
            yield key, row["value"]


def schedulers(experiment: Experiment, place: str) -> dict[str, arms.Arm]:
    """The study's names and what stands for them."""
    return {
        name: arms.parse(ours, place, built_in(experiment, place))[0] for name, ours in experiment.schedulers.items()
    }


def built_in(experiment: Experiment, place: str) -> bool:
    """A real kernel of today loads every policy, whatever the study's was built of."""
    return experiment.built_in and where.named(place).simulated


def _machine(experiment: Experiment, machine: str, place: str, cpus: str | None) -> str | None:
    """What stands for a study's machine there, as -m names it; None for the place's own."""
    if where.named(place).simulated:
        return str(experiment.machine_files.get(machine, machine))
    return cpus or (in_guests.shape(machine) if place == "vm" else None)


@dataclass(frozen=True)
class Part:
    """What is asked of a place for one experiment on one machine."""

    experiment: Experiment
    machine: str
    request: Request
    directory: Path


def parts(study: Study, base: Path, place: str, cpus: str | None, api: str | None, n: int | None) -> Iterator[Part]:
    """`cpus` are the guest's, `api` the simulator's.

    The host is the machine at hand, whatever machine the study used.
    """
    for experiment in study.experiments:
        for machine in experiment.machines:
            params = experiment.params_on(machine)
            yield Part(
                experiment,
                machine,
                request(
                    ",".join(experiment.schedulers.values()),
                    workload_names=experiment.workload,
                    load=",".join(map(str, experiment.loads_on(machine))),
                    machine_names=_machine(experiment, machine, place, cpus),
                    place=place,
                    tier=experiment.tier or None,
                    repetitions=n or experiment.repetitions,
                    param=[f"{key}={value}" for key, value in params.items()],
                    built_in=built_in(experiment, place),
                    modelled=place == "vm",
                    controlled=place != "vm",
                    api=api,
                ),
                directory(base, experiment, machine),
            )
