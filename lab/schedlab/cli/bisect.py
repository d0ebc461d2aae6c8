# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab bisect: runs the ends, then halves what lies between them, and says what shows the answer again."""

import argparse
import json
import shlex
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from schedlab.bisection import kernel_list, one_run, policy_history
from schedlab.bisection.first_worse import narrow
from schedlab.bisection.one_run import Question
from schedlab.bisection.policy_history import History
from schedlab.bisection.step import Step
from schedlab.campaign.where import PLACES
from schedlab.catalogue.metrics import metric
from schedlab.catalogue.schedulers import DEFAULT
from schedlab.collect.store import Store, directory_of
from schedlab.errors import InputError, InterruptedRun, LabError
from schedlab.format.numbers import number, percent, scale
from schedlab.places.place import Say
from schedlab.statistics.agreement import title

_GUEST_CPUS = "1"
SOURCES = "sources"


@dataclass
class Walk:
    """What is known of every step so far."""

    steps: list[Step]
    asked: Question
    limit_pct: float
    store: Store
    tell: Say
    say: Say
    values: dict[int, float] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)

    def end(self, at: int) -> None:
        """One of the two that have to have a value. What is wrong with it is its error."""
        try:
            self._run(at)
        except InterruptedRun:
            raise
        except LabError as error:
            which = "last" if at else "first"
            raise type(error)(f"{self.steps[at].name}, the {which}, has no value: {line_of(error)}") from error

    def is_worse(self, at: int) -> bool | None:
        try:
            self._run(at)
        except InterruptedRun:
            raise
        except LabError as error:
            self.skipped[at] = line_of(error)
            self.tell(f"{self._name(at)}  skipped: {self.skipped[at]}")
            return None
        return self.beyond(at)

    def beyond(self, at: int, against: int = 0) -> bool:
        change = self.change_pct(at, against)
        return (change if self.asked.is_worse_upwards() else -change) > self.limit_pct

    def change_pct(self, at: int, against: int = 0) -> float:
        return (self.values[at] / self.values[against] - 1) * 100

    def told(self, at: int) -> str:
        """A value for people, in the unit that suits the good end's."""
        factor, unit = scale(metric(self.asked.measure[0]).unit, [self.values[0]])
        return f"{number(self.values[at] * factor)} {unit}".rstrip()

    def known_as(self, at: int) -> str:
        step = self.steps[at]
        return f"{step.name} ({step.title})" if step.title else step.name

    def _run(self, at: int) -> None:
        said = one_run.ask(self.steps[at], self.asked, self.store, self.say)
        self.values[at] = said.value
        if not self.steps[at].title:
            # A kernel's name says little of what was booted.
            self.steps[at] = replace(self.steps[at], title=said.kernel)
        if not self.values[0]:
            raise LabError(f"its {title(self.asked.measure)} is 0, of which nothing is a per cent")
        word = "worse" if self.beyond(at) else "good"
        change = percent(self.change_pct(at)) if at else ""
        line = f"{self._name(at)}  {self.told(at):>12}  {change:>9}  {word:<5}  {self.steps[at].title}"
        self.tell(line.rstrip())

    def _name(self, at: int) -> str:
        wide = max(len(step.name) for step in self.steps)
        return f"{at + 1:>{len(str(len(self.steps)))}}/{len(self.steps)}  {self.steps[at].name:<{wide}}"


def bisect(options: argparse.Namespace) -> int:
    refuse(options)
    asked = asked_of(options)
    steps, history, store = walk_of(options, asked)
    store.create()
    with store.locked(), history.files() if history else nullcontext():
        walk = Walk(steps, asked, options.worse_by, store, teller(options.json), say)
        walk.tell(_heading(walk))
        last = len(steps) - 1
        walk.end(0)
        walk.end(last)
        if not walk.beyond(last):
            change = f"{walk.told(last)}, {percent(walk.change_pct(last))} against {walk.told(0)}"
            raise LabError(f"{steps[last].name}, the last, is not worse by more than {options.worse_by:g} %: {change}")
        good, worse = narrow(len(steps), walk.is_worse)
    if options.json:
        print(json.dumps(_data(walk, good, worse, _again(options, walk, good, worse)), ensure_ascii=False, indent=1))
    else:
        print("\n".join(_answer(options, walk, history, good, worse)))
    return 0


def asked_of(options: argparse.Namespace) -> Question:
    place = options.on or ("vm" if options.kernels else "sim")
    machine = options.machine or (_GUEST_CPUS if place == "vm" else PLACES[place].default_machine)
    return one_run.question(options.workload, options.load, options.param, machine, place, options.seed, options.metric)


def walk_of(
    options: argparse.Namespace, asked: Question, name: str = "bisect"
) -> tuple[list[Step], History | None, Store]:
    """The steps, the history that they are from, and where their records are."""
    folder = Path(options.output) if options.output else directory(options, asked, name)
    history = policy_history.of(options.policy, folder.resolve() / SOURCES) if options.policy else None
    return steps_of(options, history), history, Store(folder)


def refuse(options: argparse.Namespace) -> None:
    """What the options say that does not go together."""
    if bool(options.kernels) == bool(options.policy):
        raise InputError("expected either --kernels or --policy, which say what is walked")
    if options.kernels:
        for option, given in (("--from", options.good), ("--to", options.worse), ("--kernel", options.kernel)):
            if given:
                raise InputError(f"{option} {given}: only a policy's history has it (--policy)")
        if options.on == "sim":
            raise InputError("--kernels: only a guest boots a kernel of one's choice (--on vm)")
        return
    if options.scheduler:
        raise InputError(f"--scheduler {options.scheduler}: only kernels are walked with one (--kernels)")
    if not options.good:
        raise InputError("--policy: expected --from REV, the first end of its history")
    if options.kernel and options.on != "vm":
        raise InputError(f"--kernel {options.kernel}: only a guest boots a kernel of one's choice (--on vm)")


def steps_of(options: argparse.Namespace, history: History | None) -> list[Step]:
    if history is None:
        return kernel_list.steps(options.kernels, options.scheduler or DEFAULT)
    steps = history.steps(options.good, options.worse or "HEAD")
    return [replace(step, kernel=options.kernel or "") for step in steps]


def directory(options: argparse.Namespace, asked: Question, name: str) -> Path:
    """The same question finds the same one, so that the same command resumes."""
    parts = [options.kernels, options.scheduler, options.policy, options.kernel, str(asked.workload.path), asked.load]
    parts += [sorted(asked.params.items()), str(asked.machine.path or asked.machine.name), asked.place, asked.seed]
    return directory_of(f"{name}-{asked.workload.name}-{asked.place}", parts)


def _heading(walk: Walk) -> str:
    return f"{question_said(walk.asked)}; worse: by more than {walk.limit_pct:g} % than {walk.known_as(0)}"


def question_said(asked: Question) -> str:
    where = "the simulator" if asked.place == "sim" else "the exact guest"
    params = "".join(f", {key}={value}" for key, value in asked.params.items())
    return (
        f"{title(asked.measure)} of {asked.workload.name}, load {asked.load}{params}, {asked.machine.title}, {where}, "
        f"seed {asked.seed}"
    )


def _answer(options: argparse.Namespace, walk: Walk, history: History | None, good: int, worse: int) -> list[str]:
    between = list(range(good + 1, worse))
    lines = [
        f"{walk.known_as(worse)} is worse: {walk.told(worse)}, {percent(walk.change_pct(worse))} against the first; "
        f"{walk.steps[good].name}, before it, is good: {walk.told(good)}"
    ]
    if between:
        many = f"{len(between)} steps" if len(between) > 1 else "1 step"
        lines = [f"it is one of these {len(between) + 1}, of which {many} could not be tried:"]
        lines += [f"  {walk.known_as(at)}: {walk.skipped[at]}" for at in between]
        lines += [f"  {walk.known_as(worse)}: {walk.told(worse)}, {percent(walk.change_pct(worse))} against the first"]
    else:
        lines[0] = f"first worse: {lines[0]}"
    merged = history.merged(walk.steps[worse].name) if history and not between else None
    if merged:
        lines.append(f"it is a merge; its own commits are walked with --from {merged[0]} --to {merged[1]}")
    return [*lines, f"again: {_again(options, walk, good, worse)}", f"records: {walk.store.directory}/"]


def _again(options: argparse.Namespace, walk: Walk, good: int, worse: int) -> str:
    """A command that runs the good and the worse one again, from which the first is left out where they are enough."""
    names = [walk.steps[at].name for at in range(good, worse + 1)]
    enough = walk.beyond(worse, good)
    words = ["schedlab", "bisect"]
    if options.kernels:
        words += ["--kernels", ",".join(names if enough or good == 0 else [walk.steps[0].name, *names])]
        words += ["--scheduler", options.scheduler] if options.scheduler else []
    else:
        words += ["--policy", options.policy, "--from", names[0] if enough else walk.steps[0].name, "--to", names[-1]]
    words += ["-w", options.workload, "--load", str(walk.asked.load)]
    words += [word for param in options.param for word in ("-p", param)]
    words += ["--seed", str(options.seed), "--metric", options.metric, "--worse-by", f"{options.worse_by:g} %"]
    for option, given in (("--on", options.on), ("-m", options.machine), ("--kernel", options.kernel)):
        words += [option, given] if given else []
    return shlex.join([*words, "-o", str(walk.store.directory / "again")])


def _data(walk: Walk, good: int, worse: int, again: str) -> dict[str, Any]:
    steps = []
    for at, step in enumerate(walk.steps):
        one: dict[str, Any] = {"name": step.name, "title": step.title}
        if at in walk.values:
            one |= {"value": walk.values[at], "change_pct": walk.change_pct(at), "worse": walk.beyond(at)}
        if at in walk.skipped:
            one["skipped"] = walk.skipped[at]
        steps.append(one)
    name, statistic = walk.asked.measure
    return {
        "format": 1,
        "metric": name,
        "statistic": statistic,
        "unit": metric(name).unit,
        "worse_by_pct": walk.limit_pct,
        "steps": steps,
        "last_good": walk.steps[good].name,
        "first_worse": [walk.steps[at].name for at in range(good + 1, worse + 1)],
        "again": again,
    }


def line_of(error: LabError) -> str:
    return " ".join(str(error).split())


def teller(quiet: bool) -> Say:
    return (lambda text: None) if quiet else (lambda text: print(text, flush=True))


def say(text: str) -> None:
    print(f"schedlab: {text}", file=sys.stderr)
