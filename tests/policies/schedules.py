# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated schedules for tests: tasks in TOML go in, who ran when comes out."""

import json
import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOG = "program = [{ loop = [{ run_ms = 1 }] }]\n"
ONE_CPU = """
name = "one"
source = "generic"
title = "one CPU"
hz = {hz}
[topology]
sockets = 1
llcs_per_socket = 1
cores_per_llc = 1
threads_per_core = 1
"""
# Affinities and nice values that change all the time, and CPUs that do.
CHURN = (
    f'[[task]]\nname = "hog"\ncount = 6\n{HOG}'
    '[[task]]\nname = "sleeper"\ncount = 20\nprogram = [{ loop = ['
    "{ sleep_us = { uniform = [50, 5000] } }, { run_us = { uniform = [10, 2000] } } ] }]\n"
    '[[task]]\nname = "mover"\ncount = 4\nprogram = [{ loop = [{ affinity = [0] }, { run_us = 700 },'
    " { affinity = [1, 2] }, { run_us = 900 }, { affinity = [] }, { yield = true }, { nice = 5 }, { run_us = 300 },"
    " { nice = 10 }, { sleep_us = 400 } ] }]\n"
    '[[task]]\nname = "pinned"\ncount = 3\ncpus = [1]\nprogram = [{ loop = [{ sleep_us = 700 }, { run_us = 900 }] }]\n'
)
HOTPLUG = "100ms:-3,150ms:-2,300ms:+3,350ms:-1,600ms:+2,700ms:+1,900ms:-3,901ms:+3,902ms:-1,903ms:+1"
_SWITCHED = re.compile(r"\[(\d+)\] \S+ (\d+\.\d+): sched_switch: .* ==> next_comm=(\S+) next_pid=(\d+)")
_IDLE = "swapper"


def simulator() -> str:
    folders = [os.environ.get("SCHEDLAB_BIN", ""), ROOT / "target/release"]
    found = [Path(folder, "schedlab-sim") for folder in folders if folder]
    return next((str(path) for path in found if path.is_file()), "")


@dataclass
class Schedule:
    """Who ran when, in ms, by task: `name-pid`. Where a name is asked for, a task's or its group's."""

    stints: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    record: dict = field(default_factory=dict)

    def tasks(self, name: str) -> list[str]:
        return sorted(task for task in self.stints if name in (task, task.rpartition("-")[0]))

    def stints_of(self, name: str) -> list[tuple[float, float]]:
        """Of all of them, in order."""
        return sorted(stint for task in self.tasks(name) for stint in self.stints[task])

    def ran_ms(self, name: str, after_ms: float = 0) -> float:
        return sum(max(0.0, end - max(start, after_ms)) for start, end in self.stints_of(name))

    def gaps_ms(self, name: str, after_ms: float = 0) -> list[float]:
        """Of the one task of that name: the times between its stints, once one has ended after that."""
        (task,) = self.tasks(name)
        return [after[0] - before[1] for before, after in pairwise(self.stints[task]) if before[1] >= after_ms]

    def order(self) -> list[tuple[str, float]]:
        """Tasks and when they began, without idle times."""
        return [(name, start) for name, stints in self.stints.items() if name != _IDLE for start, _ in stints]


def simulate(
    folder: Path,
    scheduler: str,
    tasks: str,
    duration_s: float,
    machine: str = "",
    *arguments: str,
    hz: int = 1000,
    strict: bool = True,
) -> Schedule:
    """One run, on one CPU or another machine. Strict: a CPU idle beside a waiting task and a starving one fail it."""
    workload = folder / "workload.toml"
    workload.write_text(
        f'name = "workload"\ntitle = "rules"\nsource = "generic"\nload = "unused"\nloads = [1]\n[params]\n'
        f'unused = {{ default = 1, min = 1, max = 9, about = "unused" }}\n'
        f"[end]\nafter_ms = {round(duration_s * 1000)}\n{tasks}"
        '[metrics]\npromises = ["cpu_s"]\n',
        "utf-8",
    )
    if not machine:
        machine = str(folder / "one.toml")
        Path(machine).write_text(ONE_CPU.format(hz=hz), "utf-8")
    trace = folder / "trace"
    command = [simulator(), "cell", "--scheduler", scheduler, "--workload", str(workload)]
    command += ["--machine", machine, "--trace", str(trace), "--json", *arguments]
    command += ["--strict"] if strict else []
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    reason = json.loads(run.stdout)["reason"] if run.stdout else run.stderr
    assert run.returncode == 0, f"{reason}\n{' '.join(command)}"
    schedule = Schedule(record=json.loads(run.stdout))
    assert schedule.record["status"] == "ok", schedule.record["reason"]
    began: dict[str, tuple[str, float]] = {}
    for line in trace.read_text("utf-8").splitlines():
        if not (found := _SWITCHED.search(line)):
            continue
        cpu, time_s, comm, pid = found.groups()
        now_ms = float(time_s) * 1000
        if cpu in began:
            name, start = began[cpu]
            schedule.stints[name].append((start, now_ms))
        began[cpu] = (_IDLE if comm.startswith(_IDLE) else f"{comm}-{pid}", now_ms)
    for name, start in began.values():
        schedule.stints[name].append((start, duration_s * 1000))
    return schedule
