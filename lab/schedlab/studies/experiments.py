# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a study: one comparison for each experiment and machine, in a folder of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedlab.campaign.request import Request, request
from schedlab.studies.measured import directory
from schedlab.studies.study_file import Experiment, Study


@dataclass(frozen=True)
class Part:
    """What is asked of a place for one experiment on one machine."""

    experiment: Experiment
    machine: str
    request: Request
    directory: Path


def parts(study: Study, base: Path, place: str, cpus: str | None, tier: str | None, n: int | None) -> Iterator[Part]:
    """`cpus`, `tier`: of the guest. On a real kernel the machine is the one that is there, whatever the study had."""
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
                    machine_names=machine if place == "sim" else cpus,
                    place=place,
                    tier=tier,
                    repetitions=n or experiment.repetitions,
                    param=[f"{key}={value}" for key, value in params.items()],
                ),
                directory(base, experiment, machine),
            )
