# SPDX-License-Identifier: GPL-2.0-or-later
"""Many scenes in one run of the simulator, as cells of a campaign: what has run once does not run again.

Costs are those of the machine file, without their spread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from schedlab import atomic
from schedlab.campaign import cells, matrix
from schedlab.campaign.matrix import Block, Campaign
from schedlab.campaign.request import Request
from schedlab.catalogue import machines, workloads
from schedlab.catalogue.machines import Machine
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.places import place_of
from schedlab.places.place import Say
from schedlab.search import case_file
from schedlab.statistics.agreement import Measure
from schedlab.statistics.samples import of_all, sample
from schedlab.worst.aim import Aim
from schedlab.worst.scene import Scene, Shape, machine_text

LOAD, SEED = 1, 1


@dataclass
class SimulatedRuns:
    aim: Aim
    store: Store
    jobs: int | None
    say: Say
    _machines: dict[Shape, Machine] = field(default_factory=dict)

    def records(self, scenes: Sequence[Scene]) -> list[list[Record | None]]:
        """Of every scene one for each policy; None where a run left none."""
        if not scenes:
            return []
        folder = self.store.directory / "workloads"
        folder.mkdir(exist_ok=True)
        names = [case_file.name(scene.case) for scene in scenes]
        paths = {name: folder / f"{name}.toml" for name in names}
        for name, scene in zip(names, scenes, strict=True):
            if not paths[name].exists():
                atomic.write(paths[name], case_file.text(scene.case, source="schedlab hunt"))
        found = dict(zip(paths, workloads.find_all(map(str, paths.values())), strict=True))
        boards = [self._machine(scene.shape) for scene in scenes]
        request = Request(
            arms=self.aim.arms,
            workloads=list(found.values()),
            loads=[LOAD],
            params={name: {} for name in found},
            machines=list(dict.fromkeys(boards)),
            place="sim",
            tier="",
            api=None,
            repetitions=1,
            seed_base=SEED,
            exact_costs=True,
        )
        place = place_of(request)
        engine = cells.engine_digest(place.engine())
        planned = [
            [matrix.planned_cell(request, arm, found[name], LOAD, board, 0, engine) for arm in self.aim.arms]
            for name, board in zip(names, boards, strict=True)
        ]
        blocks = [Block(board, own) for board, own in zip(boards, planned, strict=True)]
        campaign = Campaign(request, request.arms, blocks)
        ids = [cell.id for cell in campaign.cells]
        there = self.store.prepare(ids, self.say)
        place.run(campaign, self.store, set(ids) - there, self.jobs, lambda cell, status: None, self.say)
        records, _ = self.store.load(ids)
        return [[records.get(cell.id) for cell in own] for own in planned]

    def _machine(self, shape: Shape) -> Machine:
        if shape not in self._machines:
            folder = self.store.directory / "machines"
            folder.mkdir(exist_ok=True)
            name = f"hunt-{shape.guest}"
            file = folder / f"{name}.toml"
            atomic.write(file, machine_text(shape, name))
            self._machines[shape] = machines.read(file)
        return self._machines[shape]


def number(record: Record, measure: Measure) -> float | None:
    """In the metric's unit; None where the cell has no such number."""
    name, statistic = measure
    found = sample(name, [(SEED, record)])
    return of_all(found).get(statistic) if found else None
