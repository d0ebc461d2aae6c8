# SPDX-License-Identifier: GPL-2.0-or-later
"""A study as guests run it: cut to what their time allows, on guests with the topology of the study's machines.

A real kernel runs the tasks that the simulator runs, at the same sizes of work; what its own code costs is its own.
"""

from dataclasses import dataclass, replace

from schedlab.campaign.request import TIERS
from schedlab.catalogue import machines, toml
from schedlab.studies.study_file import Experiment, Guest, Study


def cut(study: Study, tier: str | None) -> Study:
    """The experiments that guests run, with their own loads, sizes and repetitions.

    `tier`: what the user wants instead of the file's.
    """
    return replace(study, experiments=[_cut(e, e.guest, tier) for e in study.experiments if not e.guest.leave_out])


@dataclass(frozen=True)
class Cut:
    """What guests run of an experiment, in words; a guest's tier and shape, or nothing."""

    experiment: str
    what: str
    why: str


def cuts(study: Study, tier: str | None) -> list[Cut]:
    """Of the whole study, under the same tier as it is cut for."""
    return [_in_words(experiment, tier) for experiment in study.experiments]


def _in_words(experiment: Experiment, tier: str | None) -> Cut:
    guest = experiment.guest
    if guest.leave_out:
        return Cut(experiment.name, "nothing", guest.leave_out)
    chosen = guest.machines or experiment.machines
    parts = [f"tier {_tier(guest, tier)}", ", ".join(f"{name}: {shape(name)}" for name in chosen)]
    if guest.loads:
        parts.append(f"loads {', '.join(map(str, guest.loads))}")
    parts += [f"{key} = {value}" for key, value in guest.params.items()]
    parts.append(f"{guest.repetitions or experiment.repetitions} repetitions")
    return Cut(experiment.name, "; ".join(parts), guest.why)


def _cut(experiment: Experiment, guest: Guest, tier: str | None) -> Experiment:
    chosen = guest.machines or experiment.machines
    return replace(
        experiment,
        machines=chosen,
        loads=guest.loads or experiment.loads,
        repetitions=guest.repetitions or experiment.repetitions,
        params=experiment.params | guest.params,
        machine_params={
            name: {key: value for key, value in params.items() if key not in guest.params}
            for name, params in experiment.machine_params.items()
            if name in chosen
        },
        calibration=None,
        tier=_tier(guest, tier),
    )


def _tier(guest: Guest, wanted: str | None) -> str:
    return wanted or guest.tier or TIERS[0]


def shape(machine: str) -> str:
    """The guest that stands for a machine: SOCKETSxCORESxTHREADS. That its cores share caches in groups is lost."""
    path = machines.path(machine)
    cpus = machines.read(path).cpus
    found = toml.read(path)["topology"]
    cores = found["llcs_per_socket"] * found["cores_per_llc"]
    return str(cpus) if cpus == 1 else f"{found['sockets']}x{cores}x{found['threads_per_core']}"
