# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab hunt: a policy's worst case, made small, kept as files, and tried on a real kernel."""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from schedlab import atomic
from schedlab.bisection import one_run
from schedlab.bisection.step import Step
from schedlab.campaign import arms
from schedlab.catalogue import machines, workloads
from schedlab.catalogue.metrics import metric
from schedlab.cli.hunt_options import BUDGET, METRIC
from schedlab.collect.records import EJECTED
from schedlab.collect.store import Store, directory_of
from schedlab.errors import CHECK_FAILED, InputError, InterruptedRun, LabError
from schedlab.format.numbers import number, scale
from schedlab.places import applications, sim
from schedlab.statistics.agreement import title
from schedlab.terminal.progress import CellProgress
from schedlab.trace import simulated
from schedlab.worst import case_folder, exact_guest, waits
from schedlab.worst.aim import Aim
from schedlab.worst.case_folder import Saved
from schedlab.worst.chase import STILL, Chase, Find
from schedlab.worst.exact_guest import Tried
from schedlab.worst.judge import SimulatedJudge
from schedlab.worst.simulated_runs import LOAD, SEED, SimulatedRuns

_CASE, _PICTURE = "case", "schedule.svg"
_NOT_ASKED = "--no-guest"
# Of these the picture shows the longest wait; of others the whole run.
_OF_WAITS = ("starvation_max_us", "waiting_us", "wakeup_latency_us")


def hunt(options: argparse.Namespace) -> int:
    return _replay(options) if options.replay else _hunt(options)


def _hunt(options: argparse.Namespace) -> int:
    if options.policy is None:
        raise InputError("hunt: expected a policy, or --replay DIR")
    budget = BUDGET if options.budget is None else options.budget
    seed = 1 if options.seed is None else options.seed
    for option, given, least in (("--budget", budget, 1), ("--seed", seed, 0), ("--jobs", options.jobs, 1)):
        if given is not None and given < least:
            raise InputError(f"{option} {given}: expected {least} or more")
    asked = options.metric or METRIC
    aim = _aim(options.policy, options.against, asked)
    directory = Path(options.output) if options.output else _directory(aim, budget, seed)
    sim.engine()
    store = Store(directory)
    store.create()
    with store.locked():
        return _Hunt(aim, asked, store, budget, seed, options).run()


def _aim(policy: str, against: str | None, asked: str) -> Aim:
    given = (policy, *([against] if against else []))
    for one in given:
        if len(arms.parse(one, "sim")) != 1:
            raise InputError(f"'{one}': expected one scheduler")
    mine, *other = arms.parse(",".join(given), "sim")
    return Aim(mine, other[0] if other else None, one_run.measure(asked), given)


def _directory(aim: Aim, budget: int, seed: int) -> Path:
    """The same question finds the same one, so that the same command resumes."""
    return directory_of(f"hunt-{aim.policy.scheduler.name}", [*aim.given, *aim.measure, budget, seed])


@dataclass
class _Hunt:
    aim: Aim
    metric: str  # as it was asked for
    store: Store
    budget: int
    seed: int
    options: argparse.Namespace

    def run(self) -> int:
        interrupted = False
        scenes = max(1, self.budget // len(self.aim.arms))
        with CellProgress(
            Console(markup=False, stderr=True), f"hunting {self.aim.policy.label}", self.budget, 0
        ) as progress:

            def more(many: int) -> None:
                for _ in range(many * len(self.aim.arms)):
                    progress.advance()

            judge = SimulatedJudge(self.aim, SimulatedRuns(self.aim, self.store, self.options.jobs, _say))
            chase = Chase(judge, self.seed, scenes, more)
            try:
                chase.run()
            except KeyboardInterrupt:
                interrupted = True
        ran = f"{chase.judged * len(self.aim.arms):,} runs of seed {self.seed}"
        best = chase.best
        if best is None or best.times <= 1:
            if interrupted:
                raise InterruptedRun(f"interrupted after {ran}: nothing found yet; the same command resumes")
            return self._nothing(best, ran, chase.uncounted)
        saved = self._saved(best, chase)
        # What is kept until a guest has said something, if it comes to that.
        tried = Tried(why_not=_NOT_ASKED if self.options.no_guest and not interrupted else "interrupted")
        lines = self._keep(best, saved, tried)
        if not interrupted and not self.options.no_guest:
            # The guest takes the files that were just written.
            tried = _try(self.aim, saved, self.store)
            lines = self._keep(best, saved, tried)
        self._print(saved, lines, tried)
        if interrupted:
            raise InterruptedRun(
                f"interrupted after {ran}: the worst so far is in {saved.folder}; the same command resumes"
            )
        return 0

    def _nothing(self, best: Find | None, ran: str, uncounted: int) -> int:
        if best is None:
            raise LabError(f"nothing found in {ran}: no case counts, as for too long a run or no such number")
        if self.options.json:
            print(json.dumps({"format": 1, "metric": self.metric, "worst_times": best.times, "folder": None}))
        else:
            what = f"{self.aim.given[1]}'s" if self.aim.against else "what shares explain"
            print(f"nothing found in {ran}, {uncounted} not counted: the worst is {number(best.times)} times {what}")
        return CHECK_FAILED

    def _saved(self, best: Find, chase: Chase) -> Saved:
        drawn = chase.drawn or best
        found: dict[str, Any] = {
            "seed": self.seed,
            "budget": self.budget,
            "runs": chase.judged * len(self.aim.arms),
            "not_counted": chase.uncounted,
            "tasks_before": drawn.scene.case.tasks,
            "cpus_before": drawn.scene.shape.cpus,
            "times_before": drawn.times,
            "tasks": best.scene.case.tasks,
            "cpus": best.scene.shape.cpus,
            "smallest": chase.whole,
        }
        against = self.aim.given[1] if self.aim.against else ""
        folder = self.store.directory / _CASE
        guest = best.scene.shape.guest
        return Saved(
            folder, self.aim.given[0], against, self.metric, guest, best.value, best.base, best.times, best.ends, found
        )

    def _keep(self, best: Find, saved: Saved, tried: Tried) -> list[str]:
        lines = list(_said(self.aim, saved, tried))
        case_folder.write(saved, best.scene, lines, _kernel(tried))
        atomic.write(saved.folder / _PICTURE, _picture(self.aim, saved, tried))
        return lines

    def _print(self, saved: Saved, lines: list[str], tried: Tried) -> None:
        if self.options.json:
            print(json.dumps(_data(saved, tried), ensure_ascii=False, indent=1))
            return
        print("\n".join([*lines, f"files: {saved.folder}/", f"again: {saved.again}"]))


def _replay(options: argparse.Namespace) -> int:
    """Both runs once more, by the files alone."""
    own = {"policy": "POLICY", "against": "--against", "metric": "--metric", "budget": "--budget", "seed": "--seed"}
    own |= {"jobs": "--jobs", "output": "-o"}
    if given := [name for key, name in own.items() if getattr(options, key) is not None]:
        raise InputError(f"--replay: the case says all: expected no {', '.join(given)}")
    saved = case_folder.read(Path(options.replay))
    aim = _aim(saved.policy, saved.against or None, saved.metric)
    workload, machine = workloads.read(saved.workload), machines.read(saved.machine)
    with tempfile.TemporaryDirectory(prefix="schedlab-hunt-") as folder:
        store = Store(Path(folder))
        store.create()

        def value(policy: str) -> float:
            asked = one_run.Question(workload, LOAD, {}, machine, "sim", SEED, aim.measure, exact_costs=True)
            return one_run.ask(Step(policy, "", lambda: nullcontext(policy)), asked, store, _say).value

        now = _now(aim, saved, value)
        tried = Tried(why_not=_NOT_ASKED) if options.no_guest else _try(aim, now, store)
    there = now.times >= saved.times * STILL
    if options.json:
        print(json.dumps(_data(now, tried) | {"there": there}, ensure_ascii=False, indent=1))
        return 0 if there else CHECK_FAILED
    print("\n".join(_said(aim, now, tried)))
    print(f"{'still there' if there else 'gone'}: it was {_times(saved.times)} when it was found")
    return 0 if there else CHECK_FAILED


def _now(aim: Aim, saved: Saved, value: Callable[[str], float]) -> Saved:
    base = value(aim.given[1]) if aim.against else saved.base
    try:
        mine = value(aim.given[0])
    except InterruptedRun:
        raise
    except LabError as error:
        why = str(error)
        if not why.startswith(EJECTED):
            raise
        return replace(saved, value=math.inf, base=base, times=math.inf, ends=why.removeprefix(f"{EJECTED}: "))
    return replace(saved, value=mine, base=base, times=aim.times(mine, base), ends="")


def _try(aim: Aim, saved: Saved, store: Store) -> Tried:
    why = exact_guest.why_not(aim)
    if why:
        return Tried(why_not=" ".join(why.split()))
    _say("trying it in a guest of the exact tier")
    return exact_guest.tried(aim, saved, store, _say)


def _picture(aim: Aim, saved: Saved, tried: Tried) -> str:
    """The simulator's schedules, and a guest's where it was traced."""
    from schedlab.report import case_picture
    from schedlab.report.shown_schedules import Panel

    workload, machine = workloads.read(saved.workload), machines.read(saved.machine)
    own = applications.task_names(workload)
    whole = aim.measure[0] not in _OF_WAITS
    shown = []
    for given, arm in zip(aim.given, aim.arms, strict=True):
        assert arm.scheduler.path
        assert machine.path
        traced = simulated.Traced(
            arm.scheduler.path,
            workload.path,
            machine.path,
            LOAD,
            SEED,
            arm.tunables,
            built_in=arm.built_in,
            exact_costs=True,
        )
        with simulated.lines(traced) as lines:
            found = waits.whole(simulated.events(lines, "sched_"))
        if found:
            # The runner and threads of the kernel are in the trace, too.
            outside = frozenset(pid for pid, name in found.names.items() if name not in own)
            found.waits = [wait for wait in found.waits if wait.pid not in outside]
            shown.append(case_picture.captioned(f"{given}, simulated", Panel(given, found, outside=outside), whole))
    for one in tried.schedules:
        panel = Panel(one.policy, one.found, tried.kernel, one.outside)
        where = f"{one.policy}, Linux {tried.kernel} in a guest of the exact tier"
        shown.append(case_picture.captioned(where, panel, whole))
    return case_picture.svg(shown)


def _said(aim: Aim, saved: Saved, tried: Tried) -> Iterator[str]:
    """Lines for people."""
    than = f"{saved.against}'s" if saved.against else "what shares explain"
    if saved.ends:
        yield f"{saved.policy}: the kernel throws it out: {saved.ends}"
    else:
        value, base = _value(aim, saved.value), _base(aim, saved.base)
        yield f"{saved.policy}: {title(aim.measure)} {value}, {_times(saved.times)} {than}, {base}"
    if found := saved.found:
        now = f"{_many(found['cpus'], 'CPU')}, {_many(found['tasks'], 'task')}"
        before = f"{_many(found['cpus_before'], 'CPU')}, {_many(found['tasks_before'], 'task')}"
        runs = f"{found['runs']:,} runs of seed {found['seed']}, {found['not_counted']:,} not counted"
        yield f"{now}; before it was made small {before}, {_times(found['times_before'])}; {runs}"
        if not found["smallest"]:
            yield "smaller ones were left to try: a larger --budget tries more"
    yield _kernel_said(aim, tried)


def _kernel_said(aim: Aim, tried: Tried) -> str:
    if tried.why_not:
        return f"real kernel: not tried: {tried.why_not}"
    word = "confirmed" if tried.confirmed else "not confirmed"
    if tried.ends:
        return f"Linux {tried.kernel}, exact guest: {tried.ends}: {word}".replace("Linux ,", "the")
    value, base = _value(aim, tried.value), _base(aim, tried.base)
    return f"Linux {tried.kernel}, exact guest: {value}, {_times(tried.times)} {base}: {word}"


def _value(aim: Aim, value: float) -> str:
    factor, unit = scale(metric(aim.measure[0]).unit, [value])
    return f"{number(value * factor)} {unit}".rstrip()


def _base(aim: Aim, base: float) -> str:
    counted = f" (counted as {_value(aim, aim.floor)})" if base < aim.floor else ""
    return f"{_value(aim, base)}{counted}"


def _times(times: float) -> str:
    return "thrown out" if math.isinf(times) else f"{number(times)} times"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def _kernel(tried: Tried) -> dict[str, Any]:
    if tried.why_not:
        return {"not_tried": tried.why_not}
    told: dict[str, Any] = {"release": tried.kernel, "confirmed": tried.confirmed}
    if tried.ends:
        return told | {"ends": tried.ends}
    return told | {"value": tried.value, "base": tried.base, "times": tried.times}


def _data(saved: Saved, tried: Tried) -> dict[str, Any]:
    return {
        "format": 1,
        "policy": saved.policy,
        "against": saved.against or None,
        "metric": saved.metric,
        "value": _finite(saved.value),
        "base": saved.base,
        "times": _finite(saved.times),
        "ends": saved.ends or None,
        "found": {**saved.found},
        "kernel": _kernel(tried),
        "folder": str(saved.folder),
        "again": saved.again,
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _say(text: str) -> None:
    print(f"schedlab: {text}", file=sys.stderr, flush=True)
