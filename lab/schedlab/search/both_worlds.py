# SPDX-License-Identifier: GPL-2.0-or-later
"""Many cases in the simulator, and on a real kernel: all that are asked for at once in one boot.

Their cells are a campaign's, with the same identities and records, so that what has run once does not run again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from schedlab import atomic
from schedlab.campaign import arms, matrix
from schedlab.campaign.matrix import Campaign
from schedlab.campaign.request import TIERS, Request
from schedlab.campaign.where import PLACES
from schedlab.catalogue import workloads
from schedlab.catalogue.machines import Machine
from schedlab.collect import manifest
from schedlab.collect.records import OK, Record
from schedlab.collect.store import Store
from schedlab.ledger.measures import MEASURES, WAIT
from schedlab.places import place_of
from schedlab.places.place import Say
from schedlab.search import case_file
from schedlab.search.case import Case
from schedlab.search.disagreement import Said
from schedlab.statistics.agreement import Measure, Repeated, repeated

_LOAD = 1


class Worlds(Protocol):
    """Both worlds take many cases at once. Repetitions differ in their seeds."""

    def simulated(self, cases: Sequence[Case], repetitions: int) -> Mapping[Case, Said]: ...

    def kernel(self, cases: Sequence[Case], repetitions: int) -> Mapping[Case, Said]: ...


@dataclass(frozen=True)
class World:
    """One of the two: a place, with a directory for its records."""

    place: str
    machine: Machine
    directory: Path
    jobs: int | None
    say: Say

    def run(self, cases: Sequence[Case], repetitions: int) -> dict[Case, Said]:
        if not cases:
            return {}
        texts = {case_file.name(case): case_file.text(case) for case in cases}
        folder = self.directory / "workloads"
        store = Store(self.directory)
        store.create()
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            atomic.write(folder / f"{name}.toml", text)
        found = workloads.find_all(str(folder / f"{name}.toml") for name in texts)
        request = Request(
            arms=arms.parse(",".join(dict.fromkeys(case.arm for case in cases)), self.place),
            workloads=found,
            loads=[_LOAD],
            params={workload.name: {} for workload in found},
            machines=[self.machine],
            place=self.place,
            tier=TIERS[0] if self.place == "vm" else "",
            api=None,
            repetitions=repetitions,
            seed_base=1,
        )
        labels = dict(zip(dict.fromkeys(case.arm for case in cases), (arm.label for arm in request.arms), strict=True))
        asked = {case: (labels[case.arm], case_file.name(case)) for case in cases}
        planned = matrix.only(matrix.campaign(request, place_of(request).engine()), set(asked.values()))
        with store.locked():
            ids = [cell.id for cell in planned.cells]
            there = store.prepare(ids, self.say)
            place_of(request).run(planned, store, set(ids) - there, self.jobs, lambda cell, status: None, self.say)
            records, _ = store.load(ids)
        return _said(planned, records, asked)


def _said(planned: Campaign, records: dict[str, Record], asked: Mapping[Case, tuple[str, str]]) -> dict[Case, Said]:
    described = manifest.describe(planned, "schedlab agree --search")
    numbers: dict[tuple[str, str], dict[Measure, Repeated]] = {}
    for place, value in repeated(described, records, [*MEASURES, WAIT]).items():
        numbers.setdefault((place.label, place.workload), {})[place.metric, place.statistic] = value
    found = {}
    for case, key in asked.items():
        own = [cell.id for cell in planned.measured() if (cell.label, cell.data["workload"]) == key]
        bad = next((one for one in own if one not in records or records[one].status != OK), None)
        if bad is None:
            found[case] = Said(OK, "", numbers.get(key, {}))
        elif bad in records:
            found[case] = Said(records[bad].status, records[bad].reason)
        else:
            found[case] = Said("no record")
    return found


@dataclass(frozen=True)
class SimulatorAndKernel:
    """The two that the search is about."""

    simulator: World
    real: World

    def simulated(self, cases: Sequence[Case], repetitions: int) -> Mapping[Case, Said]:
        return self.simulator.run(cases, repetitions)

    def kernel(self, cases: Sequence[Case], repetitions: int) -> Mapping[Case, Said]:
        return self.real.run(cases, repetitions)


def of(machine: Machine, place: str, directory: Path, jobs: int | None, say: Say) -> SimulatorAndKernel:
    """The simulator on that machine, and a real kernel at a place: a guest with as many CPUs, or this machine."""
    real = PLACES[place].machine(str(machine.cpus) if place == "vm" else place)
    return SimulatorAndKernel(
        World("sim", machine, directory / "sim", jobs, say),
        World(place, real, directory / (f"vm-{TIERS[0]}" if place == "vm" else place), jobs, say),
    )
