# SPDX-License-Identifier: GPL-2.0-or-later
"""The schedules that a page shows: the simulator runs its cells again, a real kernel's are in traces kept beside them.

The window is found under the first scheduler: it begins where a task first waits in a queue, and is the same for all
others.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from schedlab.campaign import where
from schedlab.campaign.cells import file_digest
from schedlab.campaign.matrix import PlannedCell
from schedlab.campaign.shown import shown
from schedlab.capture import trace_file
from schedlab.catalogue import machines, schedulers, toml, workloads
from schedlab.collect import traces
from schedlab.decisions.as_simulated import Void, of_cell, traced_cell
from schedlab.errors import LabError
from schedlab.statistics.summary import Summary
from schedlab.trace import simulated
from schedlab.trace.schedule import Schedule, Wanted, schedule

# Past the start-up, and no longer than what can be told apart after some zooming.
_START_NS = 10_000_000
_LENGTH_NS = 200_000_000
_MOST_RUNS = 400
_MOST_OF_OTHERS = 2_000


@dataclass(frozen=True)
class Panel:
    label: str
    found: Schedule
    kernel: str = ""  # its release; empty: simulated
    outside: frozenset[int] = frozenset()  # tasks that ran, too, and are not the workload's


@dataclass(frozen=True)
class Shown:
    place: str  # as records name it
    cell: dict[str, Any]  # of the first panel
    panels: list[Panel] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # what is not shown, and why

    @property
    def simulated(self) -> bool:
        return where.of_record(self.place).simulated


def find(summary: Summary, workload: str, results_in: Path) -> Shown | None:
    """None where no cell of the workload was measured."""
    data = summary.manifest.data
    cells = shown(summary.manifest.cells, workload, data["machines"][0]["name"])
    if not cells:
        return None
    found = Shown(data["place"], next(iter(cells.values())).data)
    see = look(found.place, results_in)
    wanted = Wanted(_START_NS, _START_NS + _LENGTH_NS, _MOST_RUNS, somebody_waits=True)
    for label, cell in cells.items():
        try:
            panel = see(label, cell, wanted)
        except (LabError, OSError, ValueError) as error:
            if found.simulated:
                return replace(found, panels=[], faults=[str(error)])
            found.faults.append(f"{label}: {error}")
            continue
        if panel is None and not found.panels:
            return found
        if panel is None:
            continue
        if not found.panels:
            _cut_idle_end(panel)
            wanted = Wanted(panel.found.start_ns, panel.found.end_ns, _MOST_OF_OTHERS)
        found.panels.append(panel)
    return found


def look(place: str, results_in: Path) -> Callable[[str, PlannedCell, Wanted], Panel | None]:
    """What shows a cell of a column. It raises LabError, OSError or ValueError where there is no such trace."""
    return _simulated if where.of_record(place).simulated else _traced(results_in)


def _cut_idle_end(panel: Panel) -> None:
    """A window whose end is idle is cut shortly after the last run or wait of a task of the workload."""
    found = panel.found
    mine = [s for s in [*found.runs, *found.waits] if s.pid not in panel.outside]
    busy = max((s.end_ns for s in mine), default=found.end_ns)
    found.end_ns = min(found.end_ns, busy + (busy - found.start_ns) // 20)
    found.runs = [replace(s, end_ns=min(s.end_ns, found.end_ns)) for s in found.runs if s.start_ns < found.end_ns]


def _simulated(label: str, cell: PlannedCell, wanted: Wanted) -> Panel | None:
    with simulated.lines(_as_it_ran(cell.data)) as lines:
        found = schedule(simulated.events(lines, "sched_"), wanted)
    return Panel(label, found) if found else None


def _as_it_ran(data: dict[str, Any]) -> simulated.Traced:
    """The files of the checkout, if they are still what ran. Results may come from anybody: a path in them is not
    followed, as a policy there would be compiled and executed.
    """
    if schedulers.is_path(data["scheduler"]) or toml.is_path(data["workload"]) or toml.is_path(data["machine"]):
        raise LabError("its files are named by their paths, which are not followed")
    scheduler, workload, machine = (
        schedulers.find(data["scheduler"]),
        workloads.find(data["workload"]),
        machines.find(data["machine"]),
    )
    assert scheduler.path
    assert machine.path
    for kind, name, digest in (
        ("scheduler", data["scheduler"], schedulers.digest(scheduler)),
        ("workload", data["workload"], workload.digest),
        ("machine", data["machine"], file_digest(machine.path)),
    ):
        if data["digests"][kind] not in ("", digest):
            raise LabError(f"{kind} {name} is not what it was when the cells ran")
    return simulated.Traced(
        Path(scheduler.path),
        workload.path,
        machine.path,
        data["load"],
        data["seed"],
        data["tunables"],
        data["params"],
        data.get("built_in", False),
        data.get("api"),
        data.get("exact_costs", False),
    )


def _traced(results_in: Path) -> Callable[[str, PlannedCell, Wanted], Panel | None]:
    def see(label: str, cell: PlannedCell, wanted: Wanted) -> Panel | None:
        trace = trace_file.parse(traces.read(results_in, cell.id), "its trace", allow_lost=True)
        traced = traced_cell(trace)
        found = schedule(of_cell(traced), wanted)
        whole_until_ns = None if traced.whole_until_ns is None else traced.whole_until_ns - traced.begin_ns
        if whole_until_ns is not None and (
            found is None or (not wanted.somebody_waits and whole_until_ns < wanted.end_ns)
        ):
            raise Void(f"void, its trace lost what came later than {whole_until_ns / 1e6:,.3g} ms after the start")
        if found is None:
            return None
        outside = frozenset(found.names.keys() - traced.cell.keys())
        return Panel(label, found, trace.notes.get("kernel", "unknown"), outside)

    return see
