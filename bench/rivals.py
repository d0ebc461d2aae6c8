#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bfs against the kernel's own scheduler and whatever of bench/rivals.toml's programs is installed, on a real kernel.

Each cell meets the default twice, before and after all others, behind a warm-up; a guest for each repetition, number of
CPUs and tier. Finished cells are kept: the same command again resumes.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

import rival_cells
import rival_table
from rival_cells import Cell, Listed

from schedlab import checkout
from schedlab.campaign import cells
from schedlab.campaign.matrix import Block, Campaign, PlannedCell, planned_cell, with_control
from schedlab.campaign.request import Request, request
from schedlab.catalogue.metrics import metric
from schedlab.collect import records
from schedlab.collect.records import Record
from schedlab.collect.store import Store
from schedlab.errors import LabError
from schedlab.places import vm

OUT = checkout.root() / "build/bench/rivals"
# The emulated tier is not the same from run to run: so often each of its cells runs.
EMULATED_REPETITIONS = 5


def installed(names: Sequence[str], folder: str | None) -> dict[str, Path]:
    """Where each program is that there is."""
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PATH", "")]))
    found = {name: shutil.which(name, path=path) for name in names}
    return {name: Path(where) for name, where in found.items() if where}


def asked_for(chosen: Sequence[Cell], programs: Sequence[Path], cpus: int, tier: str, kernel: str | None) -> Request:
    files = dict.fromkeys(str(checkout.root() / cell.workload) for cell in chosen)
    return request(
        ",".join(["default", "bfs", *map(str, programs)]),
        workload_names=",".join(files),
        load="1",  # each cell has its own
        machine_names=str(cpus),
        place="vm",
        tier=tier,
        kernel=kernel,
        modelled=True,
    )


def planned(asked: Request, chosen: Sequence[Cell], repetitions: int) -> tuple[Campaign, dict]:
    """The campaign, and its cells by what is measured, label and repetition."""
    arms = with_control(asked.arms)
    order = [
        next(arm for arm in arms if not arm.scheduler.path),
        *(arm for arm in arms if arm.scheduler.path),
        arms[-1],
    ]
    engine = cells.engine_digest(vm.engine())
    (machine,) = asked.machines
    by_path = {workload.path.resolve(): workload for workload in asked.workloads}
    found: dict[tuple[Cell, str, int], PlannedCell] = {}
    blocks = []
    for repetition in range(repetitions):
        there: dict[str, PlannedCell] = {}
        for cell in chosen:
            workload = by_path[(checkout.root() / cell.workload).resolve()]
            of_cell = replace(asked, params={**asked.params, workload.name: dict(cell.params)})
            load = cell.load_on(machine.cpus)

            plan = partial(
                planned_cell,
                of_cell,
                workload=workload,
                load=load,
                machine=machine,
                block=repetition,
                engine=engine,
            )
            warm_up = plan(order[0], role=cells.WARM_UP)
            there.setdefault(warm_up.id, warm_up)
            for arm in order:
                one = found[cell, arm.label, repetition] = plan(arm)
                there.setdefault(one.id, one)
        blocks.append(Block(machine, list(there.values()), asked.arms[0].kernel))
    return Campaign(asked, arms, blocks), found


def value(cell: Cell, record: Record) -> float:
    if cell.percentile is None:
        return record.metrics[cell.metric]
    name, percent = cell.percentile
    return record.histograms[name].percentile_ns(percent) / 1e3


def better(cell: Cell) -> str:
    return metric(cell.percentile[0] if cell.percentile else cell.metric).better or "lower"


def table_rows(
    chosen: Sequence[Cell], found: dict, store: Store, labels: Sequence[str], repetitions: int
) -> Iterator[rival_table.Row]:
    """Rows of the cells whose default runs are there."""
    have, _ = store.load({one.id for one in found.values()})

    def values(cell: Cell, label: str) -> list[float] | str:
        got = [have.get(found[cell, label, repetition].id) for repetition in range(repetitions)]
        if None in got:
            return "–"
        # One who was thrown out once has no mean.
        bad = next((record.status for record in got if record and record.status != records.OK), None)
        return bad or [value(cell, record) for record in got if record]

    for cell in chosen:
        before, after = values(cell, "default"), values(cell, labels[-1])
        if isinstance(before, str) or isinstance(after, str):
            continue
        rest = {label: values(cell, label) for label in labels if not label.startswith("default")}
        measured = {label: got for label, got in rest.items() if not isinstance(got, str)}
        absent = {label: got for label, got in rest.items() if isinstance(got, str)}
        yield rival_table.row(cell.what, before, after, measured, absent, better(cell))


def carry_out(campaign: Campaign, store: Store, where: str) -> None:
    store.create()
    with store.locked():
        ids = [cell.id for cell in campaign.cells]
        todo = set(ids) - store.prepare(ids, lambda text: print(text, file=sys.stderr))
        left = set(todo)

        def done(cell_id: str, status: str) -> None:
            left.discard(cell_id)
            if sys.stderr.isatty():
                print(f"\r{where}: {len(left)} runs left ", end="", file=sys.stderr, flush=True)

        vm.run(campaign, store, todo, None, done, lambda text: print(text, file=sys.stderr))


def run(listed: Listed, programs: Sequence[Path], cpus: int, tier: str, options: argparse.Namespace) -> list[str]:
    chosen = listed.on(cpus, tier)
    if not chosen:
        return []
    repetitions = options.repetitions or (1 if tier == "exact" else EMULATED_REPETITIONS)
    asked = asked_for(chosen, programs, cpus, tier, options.kernel)
    campaign, found = planned(asked, chosen, repetitions)
    store = Store(Path(options.output) / f"{tier}-{cpus}")
    if not options.no_run:
        carry_out(campaign, store, f"{tier}, {cpus} CPUs")
    labels = [arm.label for arm in campaign.arms]
    rows = list(table_rows(chosen, found, store, labels, repetitions))
    rivals = [label for label in labels if not label.startswith("default") and label != "bfs"]
    title = f"{cpus} CPU{'s' if cpus > 1 else ''}, {tier} tier"
    return [*rival_table.lines(title, rows, rivals, repetitions > 1), ""]


def main() -> int:
    parser = argparse.ArgumentParser(description="bfs against the kernel's own scheduler and others, on a real kernel.")
    parser.add_argument("--cpus", type=int, action="append", help="of the guest (default: 1, then 2)")
    parser.add_argument("--tier", choices=("exact", "emulated"), action="append", help="default: both")
    parser.add_argument("-n", "--repetitions", type=int, help="default: 1 exact, 5 emulated")
    parser.add_argument("--programs", metavar="DIR", help="where the rivals are, before the search path")
    parser.add_argument("--kernel", metavar="K", help="as for schedlab compare")
    parser.add_argument("--no-run", action="store_true", help="the table of what is there")
    parser.add_argument("-o", "--output", metavar="DIR", default=str(OUT), help="default: build/bench/rivals")
    options = parser.parse_args()
    try:
        listed = rival_cells.read()
        programs = installed(listed.rivals, options.programs)
        absent = [name for name in listed.rivals if name not in programs]
        if absent:
            print(f"not installed, and left out: {', '.join(absent)}\n", flush=True)
        for cpus in options.cpus or (1, 2):
            for tier in options.tier or ("exact", "emulated"):
                print("\n".join(run(listed, list(programs.values()), cpus, tier, options)), flush=True)
    except LabError as error:
        print(f"bench/rivals.py: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
