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
[experiment.vm]                        # what --on vm runs instead, where the whole would take too long
tier = "exact"                         # default; else virtual or emulated
machines = ["t5600"]                   # some of those above
loads = [1, 2, 4]
repetitions = 3
params = { work_us = 15_100 }          # over all of those above
why = "..."                            # why it is cut
# leave_out = "..."                    # instead of all these: why guests cannot run it

[[hindsight]]                          # a value that was chosen after the results of other values were known
machine = "t5600"                      # a key of its file: "hz", "topology.sockets", "costs.switch_ns"
# experiment = "counter"               # instead, or beside a machine: a parameter of the workload
# scheduler = "BFS"                    # beside an experiment: a tunable of that scheduler
key = "costs.llc_kib"
with = 2048                            # as it is there
without = 1024                         # left out: without the key, so that its default applies
why = "..."
"""

import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.campaign.request import TIERS
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
class Guest:
    """What a guest runs of an experiment; what is empty or 0 is as elsewhere."""

    tier: str | None = None
    machines: list[str] = field(default_factory=list)
    loads: list[int | str] = field(default_factory=list)
    repetitions: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    leave_out: str = ""


@dataclass(frozen=True)
class Choice:
    """A value that was chosen after results were known: `chosen`, and what it would be `otherwise` (None: not set)."""

    key: str
    chosen: Any
    otherwise: Any
    why: str
    machine: str = ""
    experiment: str = ""
    scheduler: str = ""

    @property
    def owner(self) -> str:
        return " ".join(filter(None, [self.experiment, self.scheduler, self.machine]))


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
    guest: Guest = Guest()
    tier: str = ""  # of the guests that run it
    machine_files: dict[str, Path] = field(default_factory=dict)  # instead of the machines of these names

    def machine_file(self, machine: str) -> Path:
        return self.machine_files.get(machine) or machines.path(machine)

    def loads_on(self, machine: str) -> list[int]:
        cpus = _cpus(self.machine_file(machine))
        return workloads.loads_on(workloads.path(self.workload), tuple(self.loads), cpus)

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
    hindsight: list[Choice] = field(default_factory=list)


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
        hindsight=[
            _choice(path, entry, index) for index, entry in enumerate(reader.list("hindsight", dict, default=[]))
        ],
    )
    reader.close()
    known = [e.name for e in study.experiments]
    for name in known:
        if known.count(name) > 1:
            raise InputError(f"{path}: experiment '{name}' is there twice")
    for index, choice in enumerate(study.hindsight):
        _check_choice(study, choice, f"{path}: hindsight {index + 1}: ")
    return study


def _choice(path: Path, data: dict[str, Any], index: int) -> Choice:
    reader = _Reader(path, data, f"hindsight {index + 1}: ")
    found = Choice(
        key=reader.text("key"),
        chosen=reader.take("with", None, "the value that is there"),
        otherwise=reader.take("without", _NOT_SET, "a value"),
        why=reader.text("why"),
        machine=reader.text("machine", ""),
        experiment=reader.text("experiment", ""),
        scheduler=reader.text("scheduler", ""),
    )
    reader.close()
    return replace(found, otherwise=None) if found.otherwise is _NOT_SET else found


def _check_choice(study: Study, choice: Choice, where: str) -> None:
    """That what it names is in the study."""
    if not choice.experiment:
        if choice.scheduler or not choice.machine:
            raise InputError(f"{where}expected 'machine', or 'experiment' with 'scheduler' or 'machine' beside it")
        about = study.experiments
    else:
        about = [e for e in study.experiments if e.name == choice.experiment]
        if not about:
            raise InputError(f"{where}{unknown('experiment', choice.experiment, [e.name for e in study.experiments])}")
        if choice.scheduler and choice.scheduler not in about[0].schedulers:
            raise InputError(f"{where}{unknown('scheduler', choice.scheduler, about[0].schedulers)}")
    known = [name for e in about for name in e.machines]
    if choice.machine and choice.machine not in known:
        raise InputError(f"{where}{unknown('machine', choice.machine, known)}")


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
        guest=_guest(path, reader.table("vm", str, int, list, dict, default={}), index),
    )
    reader.close()
    for machine in found.machine_params:
        if machine not in found.machines:
            raise reader.wrong("machine", f"one of {', '.join(found.machines)}", machine)
    for machine in found.guest.machines:
        if machine not in found.machines:
            raise InputError(
                f"{path}: experiment {index + 1}: vm: key 'machines': expected some of {', '.join(found.machines)}, "
                f"got {machine!r}"
            )
    _check_loads(found, f"{path}: experiment {index + 1}: key 'loads'")
    if found.guest.loads:
        _check_loads(replace(found, loads=found.guest.loads), f"{path}: experiment {index + 1}: vm: key 'loads'")
    return found


def _guest(path: Path, data: dict[str, Any], index: int) -> Guest:
    if not data:
        return Guest()
    reader = _Reader(path, data, f"experiment {index + 1}: vm: ")
    if "leave_out" in data:
        found = Guest(leave_out=reader.text("leave_out"))
    else:
        found = Guest(
            tier=reader.text("tier", TIERS[0]),
            machines=reader.list("machines", str, default=[]),
            loads=reader.list("loads", int, str, default=[]),
            repetitions=reader.number("repetitions", 0),
            params=reader.table("params", str, int, float, default={}),
            why=reader.text("why"),
        )
        if found.tier not in TIERS:
            raise reader.wrong("tier", f"one of {', '.join(TIERS)}", found.tier)
    reader.close()
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


_NOT_SET = object()


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
        if key in self.data and (type(value) is not int or value < 1):
            raise self.wrong(key, "an integer above 0", value)
        return value

    def list(self, key: str, *kinds: type, default: list[Any] | None = None) -> list[Any]:
        value = self.take(key, default, "a list")
        if key not in self.data:
            return value
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
