# SPDX-License-Identifier: GPL-2.0-or-later
"""The two worlds of agree: the same cells as a campaign in the simulator and as one on a real kernel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from schedlab.campaign import arms
from schedlab.campaign.cells import CONTROL, MEASURED
from schedlab.campaign.request import TIERS, request
from schedlab.catalogue import schedulers
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.cli.compare import execute
from schedlab.cli.compatibility import plain
from schedlab.collect.manifest import Manifest
from schedlab.collect.records import OK, Record
from schedlab.ledger.measures import MEASURES, WAIT, fixes_its_time, telling
from schedlab.places import set_up
from schedlab.statistics.agreement import Place, Repeated, repeated

_MEMORY_MIB = 1024


@dataclass(frozen=True)
class World:
    """One campaign, in the simulator or on a kernel."""

    manifest: Manifest
    found: dict[str, Record]
    fixed_time: set[str]  # workloads that last as long as their files say

    @property
    def numbers(self) -> dict[Place, Repeated]:
        return telling(repeated(self.manifest, self.found, [*MEASURES, WAIT]), self.fixed_time)

    def troubles(self, world: str) -> Iterator[dict[str, Any]]:
        """Cells without a value, repetitions that say the same together."""
        told = set()
        for cell in self.manifest.cells:
            record = self.found.get(cell.id)
            if cell.role not in (MEASURED, CONTROL) or (record and record.status == OK):
                continue
            status, reason = (record.status, plain(record.reason)) if record else ("no record", "")
            what = (cell.label, cell.data["workload"], cell.data["load"], status)
            if what not in told:
                told.add(what)
                names = ("label", "workload", "load", "status")
                yield {"world": world, **dict(zip(names, what, strict=True)), "reason": reason}


@dataclass(frozen=True)
class Worlds:
    """Where both run, and into which directory."""

    machine: Machine
    place: str
    directory: Path
    jobs: int | None

    def simulated(self, asked: Mapping[str, Any], folder: str, machine: str | None = None) -> World:
        here = {"machine_names": machine or str(self.machine.path), "exact_costs": True}
        return self._run({**asked, **here}, folder)

    def for_the_simulator(self, schedulers_given: str) -> str:
        """The same list with a snapshot of what its program sets up for each that is a program."""
        parts = []
        for arm in arms.parse(schedulers_given, "sim"):
            path = arm.scheduler.path
            if arm.scheduler.is_program and path:
                file = self.directory / "snapshots" / f"{arm.scheduler.name}{schedulers.SNAPSHOT}"
                set_up.kept(file, path, [], schedulers.digest(arm.scheduler), self._guest())
                path = file
            parts.append(DEFAULT if arm.label == DEFAULT else schedulers.written(path, arm.tunables))
        return ",".join(parts)

    def _guest(self) -> set_up.Guest | None:
        return set_up.Guest(TIERS[0], self.machine.cpus, _MEMORY_MIB, None) if self.place == "vm" else None

    def kernel(self, asked: Mapping[str, Any]) -> World:
        if self.place == "host":
            return self._run({**asked, "place": "host", "machine_names": "host"}, "host")
        guest = {"place": "vm", "tier": TIERS[0], "machine_names": str(self.machine.cpus)}
        return self._run({**asked, **guest}, f"vm-{TIERS[0]}")

    def _run(self, asked: Mapping[str, Any], folder: str) -> World:
        what = request(**asked)
        console = Console(markup=False, stderr=True)
        with execute(what, self.directory / folder, self.jobs, console, False) as (manifest, store, _):
            found, _ = store.load(cell.id for cell in manifest.cells)
        return World(manifest, found, {w.name for w in what.workloads if fixes_its_time(w.path)})
