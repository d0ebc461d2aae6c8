# SPDX-License-Identifier: GPL-2.0-or-later
"""A step's cell, run once, where a second run would say the same: the simulator, or a guest of the exact tier."""

from dataclasses import dataclass

from schedlab.bisection.step import Step
from schedlab.campaign import arms, matrix
from schedlab.campaign.request import MAX_LOAD, TIERS, Request, assign_params
from schedlab.campaign.where import PLACES
from schedlab.catalogue import metrics, workloads
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.workloads import Workload
from schedlab.collect import manifest, records
from schedlab.collect.store import Store
from schedlab.errors import InputError, LabError, unknown
from schedlab.places import place_of
from schedlab.places.place import Say
from schedlab.statistics.agreement import Measure, repeated
from schedlab.statistics.samples import MEAN, PERCENTILES


@dataclass(frozen=True)
class Question:
    """The number that is asked of every step."""

    workload: Workload
    load: int
    params: dict[str, str]
    machine: Machine
    place: str
    seed: int
    measure: Measure
    exact_costs: bool = False  # of the simulator: without their spread

    def is_worse_upwards(self) -> bool:
        return metrics.metric(self.measure[0]).better == "lower"


def question(
    workload: str, load: int | None, params: list[str], machine: str, place: str, seed: int, metric: str
) -> Question:
    """Raises InputError for whatever no step could run."""
    if seed < 0:
        raise InputError(f"--seed {seed}: expected 0 or more")
    found = workloads.find(workload)
    where = PLACES[place].machine(machine)
    at = found.loads_on(where.cpus)[0] if load is None else load
    if not 1 <= at <= MAX_LOAD:
        raise InputError(f"--load {at}: expected 1 to {MAX_LOAD:,}")
    given = assign_params(params, [found])[found.name]
    return Question(found, at, given, where, place, seed, measure(metric))


def measure(text: str) -> Measure:
    name, _, statistic = text.partition(".")
    if name not in metrics.known():
        raise unknown("metric", name, metrics.known())
    if statistic not in ("", MEAN, *PERCENTILES):
        raise InputError(f"--metric {text}: expected {name} alone, or with .mean, .{', .'.join(PERCENTILES)}")
    if not metrics.metric(name).better:
        raise InputError(f"--metric {text}: neither more nor less of it is worse; choose another metric")
    return name, statistic or MEAN


@dataclass(frozen=True)
class Said:
    """What a step's run said."""

    value: float  # in the metric's unit
    kernel: str  # that it ran on; empty in the simulator


def ask(step: Step, asked: Question, store: Store, say: Say) -> Said:
    """Of the record that is there, or of a run. LabError: the step has no such number, and why."""
    with step.scheduler() as scheduler:
        request = Request(
            arms=arms.parse(scheduler, asked.place, kernel=step.kernel),
            workloads=[asked.workload],
            loads=[asked.load],
            params={asked.workload.name: asked.params},
            machines=[asked.machine],
            place=asked.place,
            tier=TIERS[0] if asked.place == "vm" else "",
            api=None,
            repetitions=1,
            seed_base=asked.seed,
            exact_costs=asked.exact_costs,
            controlled=False,
        )
        if len(request.arms) != 1:
            raise InputError(f"'{scheduler}': expected one scheduler, found {len(request.arms)}")
        arm, place = request.arms[0], place_of(request)
        planned = matrix.only(matrix.campaign(request, place.engine()), {(arm.label, asked.workload.name)})
        ids = [cell.id for cell in planned.cells]
        todo = set(ids) - store.prepare(ids, say)
        place.run(planned, store, todo, None, lambda cell, status: None, say)
    found, _ = store.load(ids)
    (cell,) = planned.measured()
    record = found.get(cell.id)
    if record is None:
        raise LabError("its run left no record")
    if record.status != records.OK:
        raise LabError(f"{record.status}: {record.reason or 'no reason given'}")
    told = repeated(manifest.describe(planned, ""), {cell.id: record}, [asked.measure])
    if not told:
        name, statistic = asked.measure
        raise InputError(f"--metric {name}.{statistic}: the cell has no such number; it has {_numbers(record)}")
    return Said(next(iter(told.values())).value, records.kernel_release([record]))


def _numbers(record: records.Record) -> str:
    names = record.metrics.keys() | record.histograms.keys()
    known = sorted((name for name in names if metrics.metric(name).better), key=metrics.sort_key)
    tails = ", ".join(PERCENTILES)
    return ", ".join(f"{name} (mean, {tails})" if name in record.histograms else name for name in known)
