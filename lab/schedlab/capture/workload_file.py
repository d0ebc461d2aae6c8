# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording as a workload file, and the machine it was made on as a machine file.

Every recorded task is a task with its own program. A task that another of them woke waits for a semaphore of its own,
which the waker posts where it did so: this keeps the order when another scheduler runs the same work. A task that
anything else woke sleeps as long as it did. Tasks of other programs are woken when they were, and are there once,
however many copies of the recorded program run.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from schedlab import foreign
from schedlab.capture.tasks import (
    Affinity,
    Change,
    Image,
    Nice,
    Policy,
    Post,
    Recording,
    Run,
    Sleep,
    Start,
    Step,
    Task,
    Until,
    Wait,
)
from schedlab.catalogue import machine_file

# Costs that the simulator adds by itself (crates/machine/src/costs.rs); recorded times contain them already.
FORK_NS = 150_000
EXEC_NS = 500_000
EXIT_NS = 100_000
THREAD_NS = 10_000  # to start a thread, and to end it
TIMER_SLACK_NS = 50_000

_WIDTH = 120
# A kernel thread of one CPU: ksoftirqd/3, kworker/3:1H. Those of unbound pools are called kworker/u8:1.
_BOUND = re.compile(r"/(\d+)(?::|$)")


def text(recording: Recording, name: str, command: str) -> str:
    """The workload file called `name`; `command` is what people know the recorded program by."""
    names = {id(task): _name(task) for task in recording.tasks}
    waited = [task for task in recording.tasks if any(isinstance(step, Wait) for step in task.steps)]
    parts = [_head(recording, name, command)]
    parts += [f'[[semaphore]]\nname = "{names[id(task)]}"\ncount = "copies"\n' for task in waited]
    parts += [_task(task, names, recording) for task in recording.tasks]
    parts.append('[metrics]\npromises = ["elapsed_s", "cpu_s", "switches_voluntary", "switches_involuntary"]\n')
    return "\n".join(parts)


def _head(recording: Recording, name: str, command: str) -> str:
    # Perfetto's names of tasks may hold anything; a control character is no TOML.
    notes = {key: foreign.one_line(value) for key, value in recording.notes.items()}
    command = foreign.one_line(command)
    where = f"Linux {notes['kernel']}, " if notes.get("kernel") else ""
    cpus = f"{notes['cpus']} CPUs" if notes.get("cpus") else "an unknown number of CPUs"
    under = notes.get("ops") or "the kernel's own scheduler"
    on = f" on {notes['date']}" if notes.get("date") else ""
    others = sum(task.other for task in recording.tasks)
    tasks = f"{len(recording.tasks)} tasks" + (f", {others} of them no part of it" if others else "")
    figures = (
        f"{tasks}, {recording.elapsed_ns / 1e9:.6f} s elapsed, {recording.cpu_ns / 1e9:.6f} s of "
        f"CPU, {recording.voluntary} voluntary and {recording.involuntary} involuntary switches; interrupted "
        f"{recording.interrupted} times by what is no part of it"
    )
    lines = [f"Recorded{on}: {command} ({where}{cpus}, {under}).", f"{figures}."]
    lines += [f"{remark[0].upper()}{remark[1:]}." for remark in recording.remarks]
    comments = [part for line in lines for part in textwrap.wrap(line, _WIDTH - 2)]
    head = ["# SPDX-License-Identifier: GPL-2.0-or-later", *(f"# {line}" for line in comments)]
    head += [
        f"name = {_quoted(name)}",
        f"title = {_quoted(f'{name}: {command}')}",
        f"source = {_quoted(f'recorded under {under}, {where}{cpus}')}",
        'load = "copies"',
        "loads = [1]",
        "",
        "[params]",
        'copies = { default = 1, min = 1, max = 1_000, about = "how often the program runs at the same time" }',
        "",
        "[end]",
        f'task = "{_name(recording.root)}"',
        "",
    ]
    return "\n".join(head)


def _task(task: Task, names: dict[int, str], recording: Recording) -> str:
    lines = ["[[task]]", f'name = "{names[id(task)]}"']
    if not task.other:
        lines.append('count = "copies"')
    if not task.other and task is not recording.root:
        lines.append('start = "fork"')
        if task.thread:
            lines.append("threads = true")
    if task.other:
        bound = _BOUND.search(task.comm)
        if bound or task.comm.startswith("kworker/"):
            lines.append("kernel = true")
        if bound:
            lines.append(f"cpus = [{bound[1]}]")
    if task.nice:
        lines.append(f"nice = {task.nice}")
    if task.rt_priority:
        lines.append(f'policy = "{"rr" if task.round_robin else "fifo"}:{task.rt_priority}"')
    cpus = int(recording.notes.get("cpus") or 0)
    allowed = _allowed(recording.notes)
    if allowed and task is recording.root:
        lines.append(f"cpus = {allowed}")
    actions = [_action(step, task, names, cpus) for step in _without_own_costs(task)]
    return "\n".join([*lines, *_program(actions or ["{ exit = true }"]), ""])


def _program(actions: list[str]) -> list[str]:
    """A program with as many actions on a line as fit."""
    lines = ["program = ["]
    for action in actions:
        if lines[-1].endswith(",") and len(lines[-1]) + len(action) + 2 <= _WIDTH:
            lines[-1] += f" {action},"
        else:
            lines.append(f"    {action},")
    return [*lines, "]"]


def _without_own_costs(task: Task) -> list[Step]:
    """The task's steps without the costs that the simulator adds, and without wake-ups of tasks that were awake."""
    made: list[Step] = []
    owed_ns = (THREAD_NS if task.thread else EXIT_NS) if task.ended else 0
    # Backwards, because what a fork and an exec cost lies before them.
    for step in reversed(task.steps):
        match step:
            case Run(ns):
                paid_ns = min(ns, owed_ns)
                owed_ns -= paid_ns
                if ns > paid_ns:
                    made.append(Run(ns - paid_ns))
            case Sleep(ns):
                made.append(Sleep(max(0, ns - TIMER_SLACK_NS)))
            case Until(ns):
                made.append(Until(max(0, ns - TIMER_SLACK_NS)))
            case Post(real=False):
                continue
            case Start(child):
                owed_ns += THREAD_NS if child.thread else FORK_NS
                made.append(step)
            case Image():
                owed_ns += EXEC_NS
                made.append(step)
            case _:
                made.append(step)
    made.reverse()
    return _merged(_less(made, owed_ns))


def _less(steps: list[Step], owed_ns: int) -> Iterator[Step]:
    """What a task owes more than it ran before comes off what it runs after."""
    for step in steps:
        if isinstance(step, Run):
            paid_ns = min(step.ns, owed_ns)
            owed_ns -= paid_ns
            if step.ns > paid_ns:
                yield Run(step.ns - paid_ns)
        else:
            yield step


def _merged(steps: Iterable[Step]) -> list[Step]:
    merged: list[Step] = []
    for step in steps:
        if isinstance(step, Run) and merged and isinstance(merged[-1], Run):
            merged[-1] = Run(merged[-1].ns + step.ns)
        else:
            merged.append(step)
    return merged


def _action(step: Step, me: Task, names: dict[int, str], here: int) -> str:
    """`here` is how many CPUs the recording had: a task that was allowed all of them may use all of the replay's."""
    match step:
        case Run(ns):
            return f"{{ run_us = {ns // 1000} }}" if ns % 1000 == 0 else f"{{ run_ns = {ns} }}"
        case Sleep(ns):
            return f"{{ sleep_us = {ns // 1000} }}" if ns % 1000 == 0 else f"{{ sleep_ns = {ns} }}"
        case Until(ns):
            return f"{{ until_us = {ns // 1000} }}" if ns % 1000 == 0 else f"{{ until_ns = {ns} }}"
        case Wait():
            return f'{{ wait = "{names[id(me)]}[me]" }}'
        case Post(task):
            return f'{{ post = "{names[id(task)]}[me]" }}'
        case Start(task):
            return f'{{ fork = "{names[id(task)]}[me]" }}'
        case Image():
            return "{ exec = true }"
        case Change(task, to):
            return _change(task, to, me, names, here)
        case Policy() | Affinity() | Nice():
            return _own(step, here)


def _own(to: Policy | Affinity | Nice, here: int) -> str:
    match to:
        case Policy(policy):
            return f'{{ policy = "{policy}" }}'
        case Affinity(cpus):
            return f"{{ affinity = {_cpus(cpus, here)} }}"
        case Nice(nice):
            return f"{{ nice = {nice} }}"


def _change(task: Task, to: Policy | Affinity | Nice, me: Task, names: dict[int, str], here: int) -> str:
    """Of tasks that are there once and of those of each copy, the former change all of the latter."""
    index = "" if task.other else "[copy]" if me.other else "[me]"
    of = f'"{names[id(task)]}{index}"'
    match to:
        case Policy(policy):
            action = f'{{ policy = "{policy}", of = {of} }}'
        case Affinity(cpus):
            action = f"{{ confine = {of}, cpus = {_cpus(cpus, here)} }}"
        case Nice(nice):
            action = f"{{ nice = {nice}, of = {of} }}"
    return f'{{ for = "copy", to = "copies", do = [{action}] }}' if index == "[copy]" else action


def _cpus(cpus: tuple[int, ...], here: int) -> list[int]:
    return list(cpus) if len(cpus) < here else []


def _allowed(notes: dict[str, str]) -> list[int]:
    """The CPUs that the program was allowed, where these were not all; `0-2,5` as the kernel writes it."""
    listed = notes.get("allowed", "")
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", listed):
        return []
    cpus = []
    for part in listed.split(","):
        low, _, high = part.partition("-")
        cpus += range(int(low), int(high or low) + 1)
    return cpus if len(cpus) < int(notes.get("cpus") or 0) else []


def _name(task: Task) -> str:
    """`cc1_17`: what it ran last, and its number in the order of forks."""
    plain = re.sub(r"[^a-z0-9]+", "_", task.comm.lower()).strip("_")
    return f"{plain if plain[:1].isalpha() else f'task_{plain}'.rstrip('_')}_{task.number}"


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isprintable() else " " for c in text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_machine(folder: Path, cpus: int | str, hz: int | str = 250, exit_ns: int = EXIT_NS) -> Path:
    machine = machine_file.Description(
        name="recorded-on",
        title="as many CPUs as the recording had, in one cache domain",
        source="the recording",
        hz=int(hz),
        topology=machine_file.Topology(cores_per_llc=int(cpus)),
        costs={"exit_ns": exit_ns},
    )
    path = folder / f"{machine.name}.toml"
    path.write_text(machine_file.text(machine), encoding="utf-8")
    return path
