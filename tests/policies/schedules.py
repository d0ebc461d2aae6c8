# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated schedules for tests: tasks in TOML go in, who ran when comes out."""

import json
import math
import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

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
# Where times follow from the rules alone: nothing costs anything.
FREE = """
name = "free"
source = "generic"
title = "a machine on which nothing costs anything"
hz = {hz}
[topology]
sockets = {sockets}
llcs_per_socket = {llcs}
cores_per_llc = {cores}
threads_per_core = {threads}
[costs]
switch_ns = 0
wakeup_ns = 0
ext_switch_ns = 0
ext_wakeup_ns = 0
kick_ns = 0
ipi_send_ns = 0
ipi_ns = [0, 0, 0, 0, 0]
idle_exit_ns = 0
tick_ns = 0
timer_slack_ns = 0
syscall_ns = 0
socket_ns = 0
copy_kib_ns = 0
fork_ns = 0
exec_ns = 0
exit_ns = 0
thread_ns = 0
policy_instruction_ps = 0
lock_hold_ns = 0
lock_hold_log_ns = 0
lock_transfer_ns = [0, 0, 0, 0, 0]
smt_speed_pct = 100
refill_kib_ns = [0, 0, 0, 0, 0]
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
_KICKED = re.compile(r"(\d+\.\d+): scx_kick: cpu=(\d+)")
_IDLE = "swapper"


def task(name: str, *actions: str, **keys: object) -> str:
    """A group of tasks, with the keys that a workload's file has for it."""
    said = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f'[[task]]\nname = "{name}"\n{said}program = [{", ".join(actions)}]\n'


def hog(name: str, **keys: object) -> str:
    return task(name, "{ loop = [{ run_ms = 1 }] }", **keys)


def child(name: str, *actions: str) -> str:
    """A task that another one forks."""
    return task(name, *actions, start="fork")


def simulator() -> str:
    folders = [os.environ.get("SCHEDLAB_BIN", ""), ROOT / "target/release"]
    found = [Path(folder, "schedlab-sim") for folder in folders if folder]
    return next((str(path) for path in found if path.is_file()), "")


class Turn(NamedTuple):
    """Between two switches of a CPU, in ms. Idle turns have the name "idle"."""

    name: str
    start: float
    end: float


def _group(name: str) -> str:
    return "idle" if name == _IDLE else name.rpartition("-")[0]


@dataclass
class Schedule:
    """Who ran when, in ms, by task: `name-pid`. Where a name is asked for, a task's or its group's."""

    on_cpu: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    by_cpu: dict[int, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    kicks: list[tuple[float, int]] = field(default_factory=list)  # when, and of which CPU
    record: dict = field(default_factory=dict)

    def turns(self, until_ms: float, cpu: int = 0, after_ms: float = 0) -> list[Turn]:
        """Of a CPU, those that began and ended between, with the names of groups. Turns of no length are left out."""
        return [turn for turn in self.by_cpu[cpu] if after_ms <= turn.start < turn.end <= until_ms]

    def turns_of(self, name: str, after_ms: float = 0) -> list[Turn]:
        """Of a group, on all CPUs."""
        turns = [turn for cpu in self.by_cpu for turn in self.turns(math.inf, cpu, after_ms) if turn.name == name]
        return sorted(turns, key=lambda turn: turn.start)

    def tasks(self, name: str) -> list[str]:
        return sorted(task for task in self.on_cpu if name in (task, task.rpartition("-")[0]))

    def on_cpu_of(self, name: str) -> list[tuple[float, float]]:
        """Of all of them, in order."""
        return sorted(span for task in self.tasks(name) for span in self.on_cpu[task])

    def ran_ms(self, name: str, after_ms: float = 0) -> float:
        return sum(max(0.0, end - max(start, after_ms)) for start, end in self.on_cpu_of(name))

    def gaps_ms(self, name: str, after_ms: float = 0) -> list[float]:
        """Of the one task of that name: the times between its turns, once one has ended after that."""
        (task,) = self.tasks(name)
        return [after[0] - before[1] for before, after in pairwise(self.on_cpu[task]) if before[1] >= after_ms]

    def order(self) -> list[tuple[str, float]]:
        """Tasks and when they began, without idle times."""
        return [(name, start) for name, spans in self.on_cpu.items() if name != _IDLE for start, _ in spans]


def free_machine(
    folder: Path, cores: int = 1, sockets: int = 1, llcs: int = 1, threads: int = 1, hz: int = 1000
) -> Path:
    """A machine on which nothing costs anything: cores of each cache, caches of each socket, threads of each core."""
    path = folder / "free.toml"
    path.write_text(FREE.format(hz=hz, sockets=sockets, llcs=llcs, cores=cores, threads=threads), "utf-8")
    return path


def simulate(
    folder: Path,
    scheduler: str,
    tasks: str,
    duration_s: float,
    machine: str | Path = "",
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
    command += ["--machine", str(machine), "--trace", str(trace), "--json", *arguments]
    command += ["--strict"] if strict else []
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    reason = json.loads(run.stdout)["reason"] if run.stdout else run.stderr
    assert run.returncode == 0, f"{reason}\n{' '.join(command)}"
    schedule = Schedule(record=json.loads(run.stdout))
    assert schedule.record["status"] == "ok", schedule.record["reason"]
    began: dict[str, tuple[str, float]] = {}
    for line in trace.read_text("utf-8").splitlines():
        if found := _KICKED.search(line):
            schedule.kicks.append((round(float(found[1]) * 1000, 6), int(found[2])))
        if not (found := _SWITCHED.search(line)):
            continue
        cpu, time_s, comm, pid = found.groups()
        now_ms = float(time_s) * 1000
        if cpu in began:
            name, start = began[cpu]
            schedule.on_cpu[name].append((start, now_ms))
            schedule.by_cpu[int(cpu)].append(Turn(_group(name), round(start, 6), round(now_ms, 6)))
        began[cpu] = (_IDLE if comm.startswith(_IDLE) else f"{comm}-{pid}", now_ms)
    for cpu, (name, start) in began.items():
        schedule.on_cpu[name].append((start, duration_s * 1000))
        schedule.by_cpu[int(cpu)].append(Turn(_group(name), round(start, 6), duration_s * 1000))
    return schedule
