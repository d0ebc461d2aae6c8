# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload's model does in the simulator, by kind of task, to be laid beside its profile."""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import simulator
from schedlab.capture import accounting, trace_file, workload_file
from schedlab.capture.events import Switch
from schedlab.capture.profile import Kind, kinds
from schedlab.capture.tasks import Sleep, Task
from schedlab.capture.trace_file import Trace
from schedlab.capture.workload_file import EXIT_NS
from schedlab.catalogue import toml
from schedlab.catalogue.schedulers import DEFAULT

# A model agrees with its real tasks if each kind with so much of the CPU time is this near to what was measured.
LARGE_PCT = 2
CPU_PCT = 16
# Likewise each kind with so many of all blocks, in how often it blocks.
MANY_PCT = 5
BLOCKS_PCT = 40


@dataclass(frozen=True)
class Side:
    """Tasks of a kind, measured or modelled: their CPU time in all, and how often they block for a second of it."""

    cpu_ms: float
    blocks_per_s: float

    @property
    def blocks(self) -> float:
        return self.cpu_ms / 1e3 * self.blocks_per_s


# The kinds' names, what was measured, what the model does.
Row = tuple[str, Side | None, Side | None]


def simulated(workload: Path, made: Mapping[str, Any], params: Mapping[str, str]) -> dict[str, Kind]:
    """The model's kinds of task at the profile's load, with the profile's parameters and `params` over them."""
    with tempfile.TemporaryDirectory(prefix="schedlab-model-") as folder:
        # The kernel's accounts leave out how a task is taken apart at its end, so the model must not charge it either.
        exit_ns = 0 if made["method"] == accounting.METHOD else EXIT_NS
        at, out = workload_file.write_machine(Path(folder), made["cpus"], exit_ns=exit_ns), Path(folder, "trace")
        params = _params(made) | dict(params)
        words = simulator.command(DEFAULT, workload, at, load=made["load"], params=params)
        simulator.run([*words, "--trace", str(out)])
        return kinds(_tasks(trace_file.read(out)))


def _params(made: Mapping[str, Any]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in filter(None, made.get("params", "").split(", ")))


def _tasks(read: Trace) -> list[Task]:
    """Every task that ran, whoever started it: the simulator has no others."""
    tasks: dict[int, Task] = {}
    running_since: dict[int, int] = {}
    blocked_at: dict[int, int] = {}
    for event in read.events:
        if not isinstance(event, Switch):
            continue
        if event.prev in tasks and event.prev in running_since:
            tasks[event.prev].run(event.at_ns - running_since.pop(event.prev))
            if not event.preempted and not event.ended:
                blocked_at[event.prev] = event.at_ns
        if event.next:
            task = tasks.setdefault(event.next, Task(len(tasks), event.next, event.next_comm))
            if event.next in blocked_at:
                task.steps.append(Sleep(event.at_ns - blocked_at.pop(event.next)))
            running_since[event.next] = event.at_ns
    return list(tasks.values())


def sides(workload: Path, profile: Mapping[str, Any], params: Mapping[str, str]) -> list[Row]:
    """What was measured and what the model does, by kinds of task that belong together; most CPU time first.

    A task stands for the kinds that it `models`, or for the one of its own name. Kinds and tasks without a counterpart
    stand alone. Of a model at another scale, what was measured is as much less.
    """
    stands_for = {task["name"]: tuple(task.get("models", [task["name"]])) for task in toml.read(workload)["task"]}
    modelled: dict[tuple[str, ...], list[Kind]] = {}
    for name, kind in simulated(workload, profile["made"], params).items():
        modelled.setdefault(stands_for[name], []).append(kind)
    measured = {kinds: [profile["task"][kind] for kind in kinds if kind in profile["task"]] for kinds in modelled}
    known = {kind for kinds in measured for kind in kinds}
    measured |= {(kind,): [task] for kind, task in profile["task"].items() if kind not in known}
    whole_pct = _scale_pct(_params(profile["made"]), 100)
    part = _scale_pct(params, whole_pct) / whole_pct
    rows = [
        (", ".join(kinds), _measured(tasks, part), _modelled(modelled.get(kinds, [])))
        for kinds, tasks in measured.items()
    ]
    return sorted(rows, key=lambda row: -max(side.cpu_ms for side in row[1:] if side))


def out_of_bounds(rows: list[Row], left_out: Collection[str]) -> list[str]:
    """The kinds whose CPU time the model misses, and by how much. Kinds that the workload leaves out do not count."""
    whole_ms = sum(real.cpu_ms for _, real, _ in rows if real)
    found = []
    for name, real, ours in rows:
        if name in left_out or max(side.cpu_ms for side in (real, ours) if side) < LARGE_PCT / 100 * whole_ms:
            continue
        if not real or not ours:
            found.append(f"{name} ({'not in the model' if real else 'not measured'})")
        elif abs(ours.cpu_ms - real.cpu_ms) > CPU_PCT / 100 * real.cpu_ms:
            found.append(f"{name} ({100 * (ours.cpu_ms / real.cpu_ms - 1):+.0f} %)")
    return found


def blocks_out_of_bounds(rows: list[Row], left_out: Collection[str]) -> list[str]:
    """The kinds that block more or less often than measured, and by how much."""
    whole = sum(real.blocks for _, real, _ in rows if real)
    found = []
    for name, real, ours in rows:
        if name in left_out or not real or real.blocks < MANY_PCT / 100 * whole:
            continue
        off_pct = 100 * ((ours.blocks if ours else 0) / real.blocks - 1)
        if abs(off_pct) > BLOCKS_PCT:
            found.append(f"{name} ({off_pct:+.0f} %)")
    return found


def _scale_pct(params: Mapping[str, str], otherwise: int) -> int:
    return int(params.get("scale_pct", otherwise))


def _modelled(kinds: list[Kind]) -> Side | None:
    if not kinds:
        return None
    return _side(sum(sum(kind.cpu) for kind in kinds), sum(sum(kind.blocks) for kind in kinds))


def _measured(tasks: list[Mapping[str, Any]], part: float) -> Side | None:
    """Tables `[task.NAME]` of a profile, or a part of their work."""
    if not tasks:
        return None
    cpu_ns = sum(task["cpu"]["mean_us"] * 1e3 * task["cpu"]["count"] for task in tasks)
    return _side(part * cpu_ns, part * sum(task["blocks"] * task["tasks"] for task in tasks))


def _side(cpu_ns: float, blocks: float) -> Side:
    return Side(cpu_ns / 1e6, blocks / (cpu_ns / 1e9) if cpu_ns else 0.0)
