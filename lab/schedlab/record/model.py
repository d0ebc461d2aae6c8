# SPDX-License-Identifier: GPL-2.0-only
"""What a workload's model does in the simulator, by kind of task, to be laid beside its profile."""

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.errors import LabError
from schedlab.record import trace
from schedlab.record.events import Switch
from schedlab.record.kinds import Kind, kinds
from schedlab.record.tasks import Sleep, Task
from schedlab.record.trace import Trace

_MACHINE = """\
name = "measured-on"
title = "as many CPUs as the profile's machine had, in one cache domain"
source = "the profile"
hz = 250

[topology]
sockets = 1
llcs_per_socket = 1
cores_per_llc = {cpus}
threads_per_core = 1
"""


@dataclass(frozen=True)
class Side:
    """A kind of task, measured or modelled: its mean CPU time, and how often it blocks for a second of it."""

    cpu_us: float
    blocks_per_s: float


def simulated(workload: Path, made: Mapping[str, Any]) -> dict[str, Kind]:
    """The model at the load and with the parameters of the profile that `made` describes, under its scheduler."""
    runner = checkout.need_binary("schedlab-sim")
    with tempfile.TemporaryDirectory(prefix="schedlab-model-") as folder:
        machine, out = Path(folder, "measured-on.toml"), Path(folder, "trace")
        machine.write_text(_MACHINE.format(cpus=made["cpus"]), encoding="utf-8")
        command = [runner, "cell", "--scheduler", "eevdf", "--workload", workload, "--load", made["load"]]
        command += ["--machine", machine, "--trace", out]
        for pair in filter(None, made.get("params", "").split(", ")):
            command += ["--param", pair]
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=False, cwd=checkout.root()
        )
        if done.returncode:
            raise LabError((done.stderr.strip().splitlines() or [f"{runner.name} failed"])[-1])
        return kinds(_tasks(trace.read(out)))


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


def of_model(kind: Kind) -> Side:
    return _side(kind.tasks, sum(kind.cpu), len(kind.sleep) + len(kind.wait))


def of_profile(task: Mapping[str, Any]) -> Side:
    """A table `[task.NAME]` of a profile."""
    cpu_ns = task["cpu"]["mean_us"] * 1e3 * task["cpu"]["count"]
    return _side(task["tasks"], cpu_ns, sum(task[kind]["count"] for kind in ("sleep", "wait") if kind in task))


def _side(tasks: int, cpu_ns: float, blocks: int) -> Side:
    return Side(cpu_ns / tasks / 1e3, blocks / (cpu_ns / 1e9) if cpu_ns else 0.0)
