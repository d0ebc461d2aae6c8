# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab agree --applications: real applications beside their models, and recorded programs beside their replays."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from schedlab import atomic
from schedlab.campaign import arms
from schedlab.campaign.matrix import CONTROL_LABEL
from schedlab.campaign.request import TIERS, request
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.cli.agree_options import DIRECTORY
from schedlab.cli.agree_told import Told
from schedlab.cli.agree_worlds import World, Worlds
from schedlab.collect.records import kernel_release
from schedlab.errors import PlaceError
from schedlab.ledger import application_scope, entries, recordings
from schedlab.ledger.application_scope import Applications
from schedlab.ledger.entries import Ledger
from schedlab.ledger.recordings import Recorder
from schedlab.places import trial
from schedlab.report import application_tables as page


def compare(options: argparse.Namespace, machine: Machine) -> int:
    directory = Path(options.output or DIRECTORY)
    told = Told.into(options.page, page.MARK)
    own = Applications(
        ",".join(options.schedulers) or application_scope.SCHEDULERS,
        options.workloads,
        application_scope.REPETITIONS if options.repetitions is None else options.repetitions,
    )
    asked = own.asked(own.names)
    request(**asked, machine_names=str(machine.path))  # what is wrong with it is said before anything boots
    if reason := trial.why_not("vm"):
        raise PlaceError(reason)
    worlds = Worlds(machine, "vm", directory / page.MARK, options.jobs)
    simulated_schedulers = worlds.for_the_simulator(str(asked["schedulers"]))
    simulated = worlds.simulated(asked | {"schedulers": simulated_schedulers}, "sim")
    # Each in guests of its own, which it warms up: the first run after a boot may take much longer.
    kernels = [replace(worlds, directory=worlds.directory / name).kernel(own.asked([name])) for name in own.names]
    measured = {place: value for kernel in kernels for place, value in kernel.numbers.items()}
    models = entries.ledger(simulated.numbers, measured, CONTROL_LABEL)
    replays, replayed = _recorded(own, worlds, str(asked["schedulers"]), simulated_schedulers)
    data = {
        "format": 1,
        "machine": machine.name,
        "cpus": machine.cpus,
        "place": kernels[0].manifest.data["place"],
        "kernel": kernel_release(record for kernel in kernels for record in kernel.found.values()),
        "repetitions": own.repetitions,
        "schedulers": simulated.manifest.labels,
        "load": application_scope.LOAD,
        "applications": own.names,
        "params": asked["param"],
        "recorded": [
            {"name": what.name, "application": name, "root": what.root} for name, what in own.recorded.items()
        ],
        "again": [
            {"workload": one.place.workload, "metric": one.place.metric, "statistic": one.place.statistic}
            | {"error_pct": one.error_pct}
            for one in models.again
        ],
        "below_floor": len(models.below_floor) + len(replays.below_floor),
        "troubles": [
            *simulated.troubles("simulator"),
            *(trouble for kernel in kernels for trouble in kernel.troubles("kernel")),
            *(trouble for world in replayed for trouble in world.troubles("simulator")),
        ],
    }
    csv, described = (directory / f"{page.MARK}.{suffix}" for suffix in ("csv", "json"))
    atomic.write(csv, entries.as_csv([*models.entries, *replays.entries]))
    atomic.write(described, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    # As it is read from the file, so that the page can be made again of it to the last digit.
    text = page.text(data, entries.from_csv(csv))
    return told.tell(text, directory, [csv.name, described.name], data["troubles"])


def _recorded(own: Applications, worlds: Worlds, names: str, simulated_names: str) -> tuple[Ledger, list[World]]:
    """Of the recordings and their replays; no world where nothing is recorded."""
    recorder = Recorder(
        arms.parse(names, "vm"),
        application_scope.LOAD,
        TIERS[0],
        worlds.machine.cpus,
        worlds.directory / "recordings",
        _say,
    )
    found = {what.name: recorder.record(name, what) for name, what in own.recorded.items()}
    if not found:
        return Ledger(), []
    folder = worlds.directory / "replayed"
    files = [recordings.write_workload(found[what.name][DEFAULT], what, folder) for what in own.recorded.values()]
    machine = recordings.write_machine(next(iter(found.values()))[DEFAULT], folder)
    asked = {"schedulers": simulated_names, "workload_names": ",".join(map(str, files)), "repetitions": 1}
    replayed = worlds.simulated(asked, "replays", str(machine))
    return entries.ledger(replayed.numbers, recordings.numbers(found), CONTROL_LABEL), [replayed]


def _say(text: str) -> None:
    print(f"schedlab: {text}", file=sys.stderr, flush=True)
