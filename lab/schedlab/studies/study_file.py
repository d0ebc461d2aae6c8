# SPDX-License-Identifier: GPL-2.0-or-later
"""A study file: which of our schedulers, workloads and machines stand for the published ones.

title = "..."
source = "..."
seed = "002"                           # its rows in published/claims.csv
built_in = true                        # its schedulers were parts of their kernels (default: false)
calibrated = "..."                     # in words: the baseline, and the cells that the parameters below come from

[[experiment]]
name = "counter"
workload = "counter"                   # ours
published = "python counter"           # its name in published/claims.csv
schedulers = { BFS = "bfs:rules=311", "CFS 2.6.31" = "cfs:rules=2.6.31" }   # theirs = ours
machines = ["t5600"]
loads = [1, 2, "cpus + 1"]             # as in a workload's file
level = '(\\d+) processes'             # finds the load in a claim's words; without it a claim is about all loads
repetitions = 5
metrics = { elapsed = "elapsed_s" }    # theirs = ours, or a sum: "switches_voluntary + switches_involuntary"
params = { work_us = 151_000 }
[experiment.machine.t5600]             # parameters of one machine, over those above
work_us = 151_000
[experiment.calibration]               # schedlab study NAME --calibrate finds these parameters
parameter = "work_us"
scheduler = "CFS 2.6.31"
metric = "elapsed_s"
targets = { t5600 = { load = 1, value = 0.156739 } }
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.catalogue import machines, toml, workloads
from schedlab.errors import InputError, unknown


@dataclass(frozen=True)
class Calibration:
    """One parameter, found so that the baseline's own published value comes out."""

    parameter: str
    scheduler: str
    metric: str
    targets: dict[str, tuple[int, float]]  # machine: load, published value


@dataclass(frozen=True)
class Experiment:
    name: str
    workload: str
    published: str
    schedulers: dict[str, str]  # theirs: ours
    machines: list[str]
    loads: list[int | str]
    level: re.Pattern[str] | None
    built_in: bool
    repetitions: int
    metrics: dict[str, list[str]]  # theirs: ours, to be added up
    params: dict[str, Any]
    machine_params: dict[str, dict[str, Any]] = field(default_factory=dict)
    calibration: Calibration | None = None

    def loads_on(self, machine: str) -> list[int]:
        return workloads.loads_on(workloads.path(self.workload), tuple(self.loads), _cpus(machines.path(machine)))

    def params_on(self, machine: str) -> dict[str, Any]:
        return self.params | self.machine_params.get(machine, {})


@dataclass(frozen=True)
class Study:
    name: str
    path: Path
    title: str
    source: str
    seed: str
    calibrated: str
    experiments: list[Experiment]


def files() -> dict[str, Path]:
    base = checkout.root() / "studies"
    return {path.stem: path for path in sorted(base.glob("*.toml"))}


def title(path: Path) -> str:
    """The title alone, for a listing."""
    return toml.text(toml.read(path), "title", path, "")


def find(name: str) -> Study:
    available = files()
    if toml.is_path(name):
        return read(Path(name))
    if name not in available:
        raise unknown("study", name, [*available, "all"])
    return read(available[name])


def read(path: Path) -> Study:
    data = toml.read(path)
    reader = _Reader(path, data, "")
    built_in = reader.flag("built_in")
    study = Study(
        name=path.stem,
        path=path,
        title=reader.text("title"),
        source=reader.text("source"),
        seed=reader.text("seed"),
        calibrated=reader.text("calibrated"),
        experiments=[
            _experiment(path, entry, index, built_in) for index, entry in enumerate(reader.list("experiment", dict))
        ],
    )
    reader.close()
    known = [e.name for e in study.experiments]
    for name in known:
        if known.count(name) > 1:
            raise InputError(f"{path}: experiment '{name}' is there twice")
    return study


def _experiment(path: Path, data: dict[str, Any], index: int, built_in: bool) -> Experiment:
    reader = _Reader(path, data, f"experiment {index + 1}: ")
    level = reader.text("level", "")
    found = Experiment(
        name=reader.text("name"),
        workload=reader.text("workload"),
        published=reader.text("published"),
        schedulers=reader.table("schedulers", str),
        machines=reader.list("machines", str),
        loads=reader.list("loads", int, str),
        level=reader.pattern("level", level) if level else None,
        built_in=built_in,
        repetitions=reader.number("repetitions", 5),
        metrics={theirs: ours.split(" + ") for theirs, ours in reader.table("metrics", str).items()},
        params=reader.table("params", str, int, float, default={}),
        machine_params=reader.table("machine", dict, default={}),
        calibration=_calibration(path, reader.table("calibration", str, dict, default={}), index),
    )
    reader.close()
    for machine in found.machine_params:
        if machine not in found.machines:
            raise reader.wrong("machine", f"one of {', '.join(found.machines)}", machine)
    _check_loads(found, f"{path}: experiment {index + 1}: key 'loads'")
    return found


def _check_loads(experiment: Experiment, where: str) -> None:
    try:
        experiment.loads_on(experiment.machines[0])
    except InputError as error:
        expected = "positive integers and expressions of 'cpus' with + - * / % and parentheses"
        raise InputError(f"{where}: expected {expected}: {error}") from error


@cache
def _cpus(machine: Path) -> int:
    return machines.read(machine).cpus


def _calibration(path: Path, data: dict[str, Any], index: int) -> Calibration | None:
    if not data:
        return None
    reader = _Reader(path, data, f"experiment {index + 1}: calibration: ")
    targets = {}
    for machine, target in reader.table("targets", dict).items():
        if set(target) != {"load", "value"}:
            raise reader.wrong("targets", "{ load = N, value = V } for each machine", target)
        targets[machine] = (target["load"], float(target["value"]))
    found = Calibration(reader.text("parameter"), reader.text("scheduler"), reader.text("metric"), targets)
    reader.close()
    return found


class _Reader:
    """Takes keys out of a table; close() refuses those that nobody took."""

    def __init__(self, path: Path, data: dict[str, Any], where: str) -> None:
        self.path, self.data, self.where = path, data, where
        self.taken: set[str] = set()

    def wrong(self, key: str, expected: str, got: Any) -> InputError:
        return InputError(f"{self.path}: {self.where}key '{key}': expected {expected}, got {got!r}")

    def take(self, key: str, default: Any, expected: str) -> Any:
        self.taken.add(key)
        if key not in self.data and default is None:
            raise InputError(f"{self.path}: {self.where}key '{key}': expected {expected}, and it is not there")
        return self.data.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.take(key, default, "a string")
        if not isinstance(value, str):
            raise self.wrong(key, "a string", value)
        return value

    def flag(self, key: str) -> bool:
        value = self.take(key, False, "true or false")
        if type(value) is not bool:
            raise self.wrong(key, "true or false", value)
        return value

    def number(self, key: str, default: int) -> int:
        value = self.take(key, default, "an integer")
        if type(value) is not int or value < 1:
            raise self.wrong(key, "an integer above 0", value)
        return value

    def list(self, key: str, *kinds: type) -> list[Any]:
        value = self.take(key, None, "a list")
        if not isinstance(value, list) or not value or not all(type(item) in kinds for item in value):
            raise self.wrong(key, f"a list of {' or '.join(kind.__name__ for kind in kinds)}", value)
        return value

    def table(self, key: str, *kinds: type, default: dict[str, Any] | None = None) -> dict[str, Any]:
        value = self.take(key, default, "a table")
        if not isinstance(value, dict) or not all(type(item) in kinds for item in value.values()):
            raise self.wrong(key, f"a table of {' or '.join(kind.__name__ for kind in kinds)}", value)
        return value

    def pattern(self, key: str, text: str) -> re.Pattern[str]:
        try:
            found = re.compile(text)
        except re.error as error:
            raise self.wrong(key, f"a regular expression ({error})", text) from error
        if found.groups != 1:
            raise self.wrong(key, "a regular expression with one group, the load", text)
        return found

    def close(self) -> None:
        for key in self.data:
            if key not in self.taken:
                raise InputError(f"{self.path}: {self.where}{unknown('key', key, self.taken)}")
