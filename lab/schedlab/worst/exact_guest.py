# SPDX-License-Identifier: GPL-2.0-or-later
"""A find in a guest of the exact tier: whether the policy is as bad on a real kernel.

What records tell is told by a run as any other; the length of waits by a traced one, whose schedule is shown too.
"""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from schedlab.bisection import one_run
from schedlab.bisection.step import Step
from schedlab.campaign import matrix, request
from schedlab.campaign.request import TIERS
from schedlab.campaign.where import PLACES
from schedlab.capture import trace_file
from schedlab.catalogue import workloads
from schedlab.collect import records, traces
from schedlab.collect.store import Store
from schedlab.decisions.as_simulated import Void, of_cell, traced_cell
from schedlab.errors import InterruptedRun, LabError
from schedlab.places import pictured, place_of, trial
from schedlab.places.place import Say
from schedlab.trace.schedule import Schedule
from schedlab.worst import waits
from schedlab.worst.aim import Aim
from schedlab.worst.case_folder import Saved
from schedlab.worst.simulated_runs import LOAD, SEED

# The guest has to show so much of what the simulator did.
CONFIRMS = 0.5
_BUFFER_KIB = 16_384
# Known to the simulator alone, and no trace tells it.
_SIMULATED_ALONE = ("max_lag_us", "idle_while_waiting_pct", "disk_wait_s")


@dataclass(frozen=True)
class Traced:
    """A schedule of the kernel's."""

    policy: str
    found: Schedule
    outside: frozenset[int]  # tasks that are not the workload's


@dataclass(frozen=True)
class Tried:
    kernel: str = ""
    value: float = math.nan
    base: float = math.nan
    times: float = math.nan
    ends: str = ""  # how the kernel threw the policy out
    confirmed: bool = False
    why_not: str = ""  # why it was not tried
    schedules: list[Traced] = field(default_factory=list)


def why_not(aim: Aim) -> str:
    """Why nothing can be tried; empty where it can."""
    name = aim.measure[0]
    if name in _SIMULATED_ALONE:
        return f"{name} is known to the simulator alone"
    return trial.why_not("vm")


def tried(aim: Aim, saved: Saved, store: Store, say: Say) -> Tried:
    run = _Guest(aim, saved, store, say)
    try:
        value = run.value(aim.given[0])
        base = run.value(aim.given[1]) if aim.against else saved.base
    except InterruptedRun:
        raise
    except LabError as error:
        why = " ".join(str(error).split())
        # A kernel that throws the policy out confirms that the simulator's did.
        thrown = why.startswith(records.EJECTED)
        return Tried(run.kernel, ends=why, confirmed=thrown and math.isinf(saved.times), why_not="" if thrown else why)
    times = aim.times(value, base)
    confirmed = times > 1 and times >= saved.times * CONFIRMS
    return Tried(run.kernel, value, base, times, confirmed=confirmed, schedules=run.schedules)


@dataclass
class _Guest:
    aim: Aim
    saved: Saved
    store: Store
    say: Say
    kernel: str = ""
    schedules: list[Traced] = field(default_factory=list)

    def value(self, policy: str) -> float:
        """LabError: there is none, and why."""
        if self.aim.measure[0] in waits.TRACED:
            return self._traced(policy)
        asked = one_run.Question(
            workloads.read(self.saved.workload),
            LOAD,
            {},
            PLACES["vm"].machine(self.saved.guest),
            "vm",
            SEED,
            self.aim.measure,
        )
        said = one_run.ask(Step(policy, "", lambda: nullcontext(policy)), asked, self.store, self.say)
        self.kernel = said.kernel
        return said.value

    def _traced(self, policy: str) -> float:
        asked = request.request(
            policy,
            workload_names=str(self.saved.workload),
            machine_names=self.saved.guest,
            place="vm",
            tier=TIERS[0],
            repetitions=1,
            seed_base=SEED,
            controlled=False,
        )
        planned = matrix.campaign(asked, place_of(asked).engine())
        cell = planned.measured()[0]
        if not traces.is_there(self.store.directory, cell.id):
            pictured.take(
                planned,
                [cell],
                _BUFFER_KIB,
                lambda cell, lines: traces.keep(self.store.directory, cell.id, lines),
                self.say,
            )
        found = self._schedule(policy, traces.read(self.store.directory, cell.id))
        value = waits.number(found, self.aim.measure)
        if value is None:
            raise LabError("nobody waited in the guest")
        return value

    def _schedule(self, policy: str, lines: Sequence[str]) -> Schedule:
        trace = trace_file.parse(lines, "the guest's trace", allow_lost=True)
        traced = traced_cell(trace)
        self.kernel = trace.notes.get("kernel", self.kernel)
        if traced.whole_until_ns is not None:
            raise Void("void, the trace's buffer was full")
        found = waits.whole(of_cell(traced))
        if found is None:
            raise LabError("nothing ran in the guest's trace")
        self.schedules.append(Traced(policy, found, frozenset(found.names.keys() - traced.cell.keys())))
        return found
