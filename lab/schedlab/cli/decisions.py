# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab decisions: a cell in the simulator and in a real kernel, and the first decision that differs."""

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from schedlab import atomic
from schedlab.campaign import arms, request
from schedlab.campaign.arms import Arm
from schedlab.campaign.request import MAX_LOAD
from schedlab.capture import trace_file
from schedlab.capture.trace_file import Trace
from schedlab.catalogue import machines, workloads
from schedlab.catalogue.machines import Machine
from schedlab.catalogue.workloads import Workload
from schedlab.decisions import difference, from_kernel, from_simulator, kinds, traced_cell
from schedlab.decisions.difference import Comparison
from schedlab.decisions.moments import Side, Switch
from schedlab.decisions.traced_cell import Cell, Tracing
from schedlab.errors import CHECK_FAILED, InputError, LabError
from schedlab.places import applications
from schedlab.terminal import two_sides
from schedlab.trace import simulated


def decisions(options: argparse.Namespace) -> int:
    if options.around < 0:
        raise InputError(f"--around {options.around}: expected 0 or more")
    machine = machines.find(options.machine)
    workload = workloads.find(options.workload)
    groups = _groups(workload)
    cell = _cell(options, workload, machine)
    traces = _traces(options, cell)
    left = from_kernel.side(traces[0], groups)
    if options.control:
        right = from_kernel.side(traces[1], groups, "the kernel again")
    else:
        right = _simulated(options.scheduler, cell, machine, groups, options.api)
    comparison = difference.compare(left, right)
    if not 1 <= options.nth <= max(1, len(comparison.differences)):
        raise InputError(f"--nth {options.nth}: expected 1 to {max(1, len(comparison.differences))}")
    found = kinds.counted(comparison)
    if options.json:
        print(json.dumps(_plain(comparison, found, cell, traces[0]), indent=2))
    else:
        console = Console(markup=False, highlight=False, soft_wrap=False)
        console.print(f"{cell}\nLinux {traces[0].notes['kernel']}, {traces[0].notes['place']}; {_cost(traces[0])}\n")
        two_sides.show(comparison, found, options.nth, options.around, console)
    return CHECK_FAILED if comparison.differences else 0


def _cell(options: argparse.Namespace, workload: Workload, machine: Machine) -> Cell:
    load = workload.loads_on(machine.cpus)[0] if options.load is None else options.load
    if not 1 <= load <= MAX_LOAD:
        raise InputError(f"--load {load}: expected 1 to {MAX_LOAD:,}")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: expected 0 or more")
    params = request.assign_params(options.param or [], [workload])[workload.name]
    return Cell(_arm(options.scheduler, "vm"), workload, load, options.seed, params, machine.cpus)


def _arm(text: str, place: str) -> Arm:
    found = arms.parse(text, place)
    if len(found) != 1:
        raise InputError(f"'{text}': expected one scheduler")
    return found[0]


def _groups(workload: Workload) -> set[str]:
    """The names of its tasks in traces."""
    if applications.command(workload.path) is not None:
        raise InputError(
            f"{workload.name}: expected tasks that are described; the simulator has a model in their place"
        )
    return applications.task_names(workload)


def _traces(options: argparse.Namespace, cell: Cell) -> list[Trace]:
    """Of as many runs of the kernel as are compared. One that lost events is void."""
    runs = 2 if options.control else 1
    if options.source:
        name, lines = options.source, traced_cell.kept(Path(options.source))
    else:
        name, lines = "the kernel's trace", _run(options, cell, runs)
    if len(lines) < runs:
        raise InputError(f"{name}: expected {runs} that --trace kept, found {len(lines)}")
    traces = [trace_file.parse(each, name, allow_lost=True) for each in lines[:runs]]
    for trace in traces:
        if trace.notes["cell"] != str(cell):
            raise InputError(f"{name}: expected a trace of '{cell}', found one of '{trace.notes['cell']}'")
        if trace.lost:
            raise LabError(f"{name}: void, {trace.lost} events are lost: expected none, try a larger --buffer-kib")
    return traces


def _run(options: argparse.Namespace, cell: Cell, runs: int) -> list[list[str]]:
    tracing = Tracing(runs, options.keys, options.tier, options.buffer_kib, options.limit)
    with tempfile.TemporaryDirectory(prefix="schedlab-decisions-") as folder:
        lines = traced_cell.traces(cell, tracing, Path(folder))
    if options.trace:
        atomic.write(Path(options.trace), "".join(f"{line}\n" for run in lines for line in run))
    return lines


def _simulated(scheduler: str, cell: Cell, machine: Machine, groups: set[str], api: str | None) -> Side:
    arm = _arm(scheduler, "sim")
    assert arm.scheduler.path
    assert machine.path
    what = simulated.Traced(
        scheduler=arm.scheduler.path,
        workload=cell.workload.path,
        machine=machine.path,
        load=cell.load,
        seed=cell.seed,
        tunables=arm.tunables,
        params=cell.params,
        built_in=arm.built_in,
        exact_costs=True,
        api=api,
    )
    with simulated.lines(what) as lines:
        return from_simulator.side(simulated.events(lines), groups)


def _elapsed_s(trace: Trace, note: str) -> float:
    return json.loads(trace.notes[note])["metrics"]["elapsed_s"]


def _cost(trace: Trace) -> str:
    """What tracing does to the run: it takes time, so that the traced run is not quite the other."""
    traced_s, untraced_s = (_elapsed_s(trace, note) for note in ("record", "untraced"))
    return f"{traced_s:.4f} s traced, {untraced_s:.4f} s untraced"


def _plain(comparison: Comparison, found: Counter[str], cell: Cell, trace: Trace) -> dict[str, Any]:
    first = comparison.differences[0] if comparison.differences else None
    sides = {}
    for number, (side, rows) in enumerate(zip((comparison.left, comparison.right), comparison.turns, strict=True)):
        every = [turn for row in rows.values() for turn in row]
        at = None
        if first:
            turn = (first.left, first.right)[number]
            switch = side.moments[first.switches()[number]]
            assert isinstance(switch, Switch)
            at = {
                "ns": switch.at_ns,
                "prev": switch.prev,
                "prev_left": switch.left,
                "next": switch.next,
                "turn": turn.task,
            }
        sides[side.name] = {
            "decisions": len(every),
            "ends": dict(sorted(Counter(turn.left for turn in every).items())),
            "alone": comparison.alone[number],
            "first": at,
        }
    return {
        "format": 1,
        "cell": str(cell),
        "kernel": trace.notes["kernel"],
        "traced_s": _elapsed_s(trace, "record"),
        "untraced_s": _elapsed_s(trace, "untraced"),
        "agree_before": comparison.agreed(),
        "agree": comparison.same,
        "differences": dict(found.most_common()),
        "cpu": first.cpu if first else None,
        "sides": sides,
    }
