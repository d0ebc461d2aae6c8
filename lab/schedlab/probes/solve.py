# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost with which a probe's time in the simulator, elapsed or of the CPU, is what it was on the machine."""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab import simulator
from schedlab.catalogue.machine_file import MOST_SPREAD_PCT, Description, text
from schedlab.errors import LabError
from schedlab.probes.probe import COUNTED, ELAPSED, INSTRUCTION, PERIOD, RUNNER_COSTS, WORK, Probe

_PASSES = 6
_SETTLED = 0.002
_STEPS = 8
_FIRST = 100
_MOST = 1_000_000_000


@dataclass(frozen=True)
class Found:
    """A cost, and the least and greatest that single repetitions give."""

    value: int
    low: int
    high: int
    reached: float  # the simulator's time over the machine's

    @property
    def spread_pct(self) -> int:
        """How far single repetitions lie from the value, rounded up, as far as a machine file takes it."""
        if not self.value:
            return 0
        return min(math.ceil(max(self.high - self.value, self.value - self.low) / self.value * 100), MOST_SPREAD_PCT)

    @property
    def told(self) -> str:
        """The spread, before what a machine file says of where a cost is from."""
        return "" if self.low == self.high else f"{self.low:_} to {self.high:_} by single runs; "


def solve_all(
    measured: Mapping[Probe, Sequence[float]], machine: Description
) -> tuple[Description, dict[Probe, Found]]:
    """Every probe's cost, and the machine with them; values of the probes in seconds."""
    found: dict[Probe, Found] = {}
    for _ in range(_PASSES):
        before = machine.costs
        for probe, values in measured.items():
            found[probe] = _solve(probe, values, machine)
            machine = machine.with_cost(probe.cost, found[probe].value)
            if probe.cost == INSTRUCTION:
                machine = with_counted(machine)
        if all(abs(value - before.get(cost, 0)) <= _SETTLED * value for cost, value in machine.costs.items()):
            break
    for probe, one in found.items():
        machine = _with(machine, probe.cost, one, probe.told)
    return machine, found


def with_runner(machine: Description, costs: Sequence[Mapping[str, float]]) -> Description:
    """The machine with what records of real runs have as `cost` of their tasks' start and end."""
    for cost, key in RUNNER_COSTS.items():
        single_ns = [round(of[key] * 1_000) for of in costs]
        # As measured: nothing is simulated for it.
        found = Found(round(sum(single_ns) / len(single_ns)), min(single_ns), max(single_ns), 1.0)
        machine = _with(machine, cost, found, f"a task's {key} in records")
    return machine


def _with(machine: Description, cost: str, found: Found, source: str) -> Description:
    """The machine with the cost, its spread and where it is from."""
    machine = machine.with_cost(cost, found.value, f"{found.told}{source}")
    spread = {cost: found.spread_pct} if found.spread_pct else {}
    return replace(machine, spread_pct=machine.spread_pct | spread)


def with_period(machine: Description, works: Sequence[Mapping[str, float]]) -> Description:
    """The machine with the kernel's regular work, by the metrics of real runs of a task that is alone."""
    preemptions = sum(of["switches_involuntary"] for of in works)
    period_ns = round(sum(of[ELAPSED] for of in works) * 1e9 / preemptions) if preemptions else 0
    return machine.with_cost(PERIOD, period_ns, f"{WORK.name}: elapsed time over involuntary switches")


def with_counted(machine: Description) -> Description:
    for cost, instructions in COUNTED.items():
        value = round(instructions * machine.costs[INSTRUCTION] / 1_000)
        machine = machine.with_cost(cost, value, f"{instructions} instructions")
    return machine


def _solve(probe: Probe, measured: Sequence[float], machine: Description) -> Found:
    mean = sum(measured) / len(measured)
    # Where all runs took as long, there is one to solve.
    costs = {target: _cost(probe, target, machine) for target in {mean, min(measured), max(measured)}}
    value, reached = costs[mean]
    ends = sorted((costs[min(measured)][0], costs[max(measured)][0]))
    return Found(value, *ends, reached)


def _cost(probe: Probe, target: float, machine: Description) -> tuple[int, float]:
    """Time changes with a cost in proportion, but for ticks that fall elsewhere: a few steps of the secant do."""
    low, high = 0, _FIRST
    at_low = simulated(probe, machine.with_cost(probe.cost, low))
    # What another CPU does meanwhile hides a small cost.
    while (at_high := simulated(probe, machine.with_cost(probe.cost, high))) == at_low:
        high *= _FIRST
        if high > _MOST:
            raise LabError(f"{probe.name}: the simulator's time does not depend on {probe.cost}")
    if (at_high > at_low) == (at_low >= target):
        return 0, at_low / target
    tried = {low: at_low, high: at_high}
    while len(tried) < _STEPS and tried[high] != tried[low]:
        step = (target - tried[high]) * (high - low) / (tried[high] - tried[low])
        low, high = high, min(max(round(high + step), 0), _MOST)
        if high in tried:
            break
        tried[high] = simulated(probe, machine.with_cost(probe.cost, high))
    best = min(tried, key=lambda value: abs(tried[value] - target))
    return best, tried[best] / target


def simulated(probe: Probe, machine: Description) -> float:
    """What the probe has in the simulator, in seconds, with seed 1."""
    with tempfile.TemporaryDirectory(prefix="schedlab-probe-") as folder:
        file = Path(folder, f"{machine.name}.toml")
        file.write_text(text(machine), encoding="utf-8")
        words = simulator.command(probe.scheduler, probe.path, file, load=probe.load, params=probe.params)
        try:
            return probe.of(simulator.record(words)["metrics"])
        except LabError as error:
            raise LabError(f"{probe.name}: with the costs found so far the simulator says: {error}") from error
