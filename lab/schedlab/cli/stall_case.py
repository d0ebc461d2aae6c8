# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab explain --case: a simulated case that ends as a dump does, under a policy that is named.

The swarm of `schedlab check` draws cases and shrinks what it finds, with bounds no longer than the wait in the dump.
Each finding is then run on without checkers: it counts where the watchdog ends that run too, with a task that is as
free to choose its CPU as the dump's, and beside CPUs that did the same.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import checkout, simulator
from schedlab.catalogue import schedulers
from schedlab.errors import CHECK_FAILED, INTERRUPTED, InputError, LabError
from schedlab.sched_ext import stall
from schedlab.sched_ext.stall import Stall

_RUNS = 500
# The bounds of `schedlab check`: a longer wait than these is found by them.
_IDLE_MS, _STARVATION_MS, _LEAST_MS = 100, 1000, 10
# Longer than every watchdog's timeout, which is 30 s at most and looked after in every half of it.
_LONG_MS = 100_000
_IDLE, _BUSY, _REALTIME = "idle", "busy", "real-time"
# What each checker says of the CPUs beside the task; starvation happens beside both.
_BESIDE = {
    "work conservation": {_IDLE},
    "lost task": {_IDLE},
    "slice": {_BUSY},
    "starvation": {_BUSY},
    "watchdog": {_IDLE, _BUSY},
}
_STALLED = re.compile(r"runnable task stall \((.*)\[\d+\] failed to run for [\d.]+s, (.*)\)$")
# A case of so few tasks is taken at once; else so many more are looked for, and the smallest is kept.
_FEW_TASKS, _MORE_CASES = 2, 4
_FILES = ("machine.toml", "workload.toml", "case.toml", "trace.txt")
_REALTIME_FILES = Path(__file__).with_name("behind_realtime")


@dataclass(frozen=True)
class Signature:
    """What of a stall a case must share; None: the dump does not say."""

    pinned: bool | None
    beside: str | None

    @classmethod
    def of(cls, what: Stall) -> "Signature":
        cpus = what.task.cpus if what.task else None
        beside = {
            stall.FREE_CPU: _IDLE,
            stall.PREFERRED_OTHERS: _BUSY,
            stall.EXPLAINED_BY_REALTIME: _REALTIME,
        }.get(what.verdict)
        return cls(None if cpus is None else len(cpus) == 1, beside)

    def __str__(self) -> str:
        task = {None: "a task", True: "a pinned task", False: "a task that is not pinned"}
        beside = {
            None: "",
            _IDLE: " beside an idle CPU",
            _BUSY: " behind other tasks of sched_ext",
            _REALTIME: " behind a real-time task",
        }
        return f"{task[self.pinned]} waits{beside[self.beside]} until the watchdog ends the policy"


@dataclass
class Outcome:
    """What the search came to."""

    policy: str
    signature: Signature
    tried: int = 0
    others: int = 0  # findings that end in another way
    interrupted: bool = False
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return INTERRUPTED if self.interrupted else 0 if self.found else CHECK_FAILED

    def as_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "signature": vars(self.signature),
            "runs": self.tried,
            "other_findings": self.others,
            "found": self.found or None,
        }

    def show(self) -> None:
        runs = f"{self.tried} run{'s' if self.tried != 1 else ''}"
        if not self.found:
            others = f"; {self.others} findings end in another way" if self.others else ""
            until = ", when it was interrupted" if self.interrupted else ""
            print(f"\nno case found in {runs} of {self.policy}{until}: {self.signature}{others}")
            return
        size = self.found["size"]
        how = "made for it, not searched, under" if self.signature.beside == _REALTIME else f"found in {runs} of"
        print(f"\na case that ends the same way, {how} {self.policy}: {self.signature}")
        cpus, tasks = (f"{size[what]} {what[:-1] if size[what] == 1 else what}" for what in ("cpus", "tasks"))
        print(f"  {cpus.replace('cpu', 'CPU')}, {tasks}; found by {self.found['by']}")
        print(f"  run on, it ends with: {self.found['ends']}")
        print(f"  {self.found['directory']}")
        print(f"reproduce: {self.found['reproduce']}")


@dataclass
class Search:
    signature: Signature
    given: str  # the policy as the command line has it
    policy: str  # the same wherever the simulator runs
    directory: Path
    bounds: list[str]
    tunables: list[str]
    runs: int
    seed: int
    jobs: int | None

    @classmethod
    def of(cls, what: Stall, options: argparse.Namespace) -> "Search":
        if what.dump.stalled is None:
            raise InputError(f"--case: this end is no task's stall; try: schedlab check {options.case}")
        wait_ms = int((what.waited_s or 0) * 1000)
        bounds = []
        for name, most in (("--idle-ms", _IDLE_MS), ("--starvation-ms", _STARVATION_MS)):
            bounds += [name, str(max(_LEAST_MS, min(most, wait_ms)))]
        policy = _policy(options.case)
        directory = Path(options.output or Path("results") / "explain" / schedulers.policy_name(Path(policy)))
        runs = _RUNS if options.runs is None else options.runs
        if runs < 1 or options.seed < 0:
            raise InputError("--runs: expected 1 or more; --seed: expected 0 or more")
        return cls(
            Signature.of(what), options.case, policy, directory, bounds, options.set, runs, options.seed, options.jobs
        )

    def run(self) -> Outcome:
        outcome = Outcome(self.given, self.signature)
        with tempfile.TemporaryDirectory(prefix="schedlab-explain-") as name:
            folder = Path(name)
            try:
                if self.signature.beside == _REALTIME:
                    self._behind_realtime(outcome, folder)
                else:
                    self._swarm(outcome, folder)
            except KeyboardInterrupt:
                outcome.interrupted = True
        return outcome

    def _swarm(self, outcome: Outcome, folder: Path) -> None:
        """A seed ends with its first finding; if that is another one, or a large one, the next seed goes on."""
        seed = self.seed
        cases = 0
        while outcome.tried < self.runs:
            data = self._check(seed, self.runs - outcome.tried, folder)
            finding = data["finding"]
            outcome.tried += data["runs"] if finding is None else finding["run"] + 1
            if finding is None:
                return
            beside = self.signature.beside in (None, *_BESIDE.get(finding["by"], ()))
            if beside and (found := self._run_on(finding, folder)):
                cases += 1
                if not outcome.found or finding["size"]["tasks"] < outcome.found["size"]["tasks"]:
                    self._keep(folder)
                    outcome.found = found
                if outcome.found["size"]["tasks"] <= _FEW_TASKS or cases > _MORE_CASES:
                    return
            else:
                outcome.others += 1
            seed += 1

    def _check(self, seed: int, runs: int, folder: Path) -> dict[str, Any]:
        command = [str(checkout.need_binary(simulator.RUNNER)), "check", self.policy, "--json", "-C", str(folder)]
        command += ["--seed", str(seed), "--runs", str(runs), *self.bounds]
        command += [word for pair in self.tunables for word in ("-o", pair)]
        command += ["--jobs", str(self.jobs)] if self.jobs else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == INTERRUPTED:
            raise KeyboardInterrupt
        if done.returncode not in (0, CHECK_FAILED) or not done.stdout.strip():
            said = [line for line in done.stderr.splitlines() if line.strip()]
            kind = InputError if done.returncode == InputError.status else LabError
            raise kind("\n".join(said) or f"{simulator.RUNNER} check ended with status {done.returncode}")
        return json.loads(done.stdout)

    def _run_on(self, finding: dict[str, Any], folder: Path) -> dict[str, Any] | None:
        """What to tell of the shrunk case, if it ends, with time enough, in a stall of such a task."""
        case = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
        workload = (folder / "workload.toml").read_text(encoding="utf-8")
        long = folder / "stall.toml"
        long.write_text(re.sub(r"(?m)^after_ms = \d+$", f"after_ms = {_LONG_MS}", workload), encoding="utf-8")
        words = simulator.command(
            _with_tunables(self.policy, case["tunables"]), long, folder / "machine.toml", seed=case["seed"]
        )
        words += ["--hotplug", case["hotplug"]] if case["hotplug"] else []
        record = simulator.record(words)
        told = _STALLED.search(record["reason"])
        if not told or self.signature.pinned not in (None, *_pinned(workload, told[1], finding["size"]["cpus"])):
            return None
        return {
            "by": finding["by"],
            "size": finding["size"],
            "ends": record["reason"],
            "what": finding["what"],
        } | self._where()

    def _behind_realtime(self, outcome: Outcome, folder: Path) -> None:
        """No random case has a real-time task that keeps a CPU, and there is but one small case that does."""
        for path in _REALTIME_FILES.glob("*.toml"):
            shutil.copy(path, folder)
        tunables = dict(pair.partition("=")[::2] for pair in self.tunables)
        case = folder / "case.toml"
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in tunables.items())
        case.write_text(
            case.read_text(encoding="utf-8").replace("[tunables]\n", f"[tunables]\n{lines}"), encoding="utf-8"
        )
        policy = _with_tunables(self.policy, tunables)
        record = simulator.record(simulator.command(policy, folder / "workload.toml", folder / "machine.toml", seed=1))
        outcome.tried = 1
        if not _STALLED.search(record["reason"]):
            return
        self._keep(folder)
        outcome.found = {
            "by": "watchdog",
            "size": {"cpus": 1, "tasks": 2, "actions": 0, "hotplug": 0, "duration_ms": _LONG_MS},
            "ends": record["reason"],
            "what": record["reason"],
        } | self._where()

    def _keep(self, folder: Path) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            for name in _FILES:
                if (folder / name).is_file():
                    text = (folder / name).read_text(encoding="utf-8", errors="replace")
                    (self.directory / name).write_text(text.replace(str(folder), str(self.directory)), encoding="utf-8")
        except OSError as error:
            raise InputError(f"-o {self.directory}: {error.strerror}") from error

    def _where(self) -> dict[str, str]:
        case = shlex.quote(str(self.directory / "case.toml"))
        return {
            "directory": str(self.directory),
            "reproduce": f"schedlab check {shlex.quote(self.given)} --kernel none --replay {case}",
        }


def _policy(name: str) -> str:
    if schedulers.is_path(name):
        if not Path(name).exists():
            raise InputError(f"{name}: no such policy file or folder")
        return str(Path(name).absolute())
    if schedulers.find(name).path is None:
        raise InputError("--case default: the kernel's own scheduler has no watchdog of sched_ext")
    return name


def _with_tunables(policy: str, tunables: dict[str, str]) -> str:
    values = "+".join(f"{name}={value}" for name, value in tunables.items())
    return f"{policy}:{values}" if values else policy


def _pinned(workload: str, name: str, cpus: int) -> set[bool]:
    """Whether tasks of that name are pinned: at first, by themselves, from outside or for a while; on one CPU both."""
    tasks = tomllib.loads(workload).get("task", [])
    held = any(_has_pin(task) for task in tasks if task.get("name") == name) or any(
        _is_one(action["cpus"]) for action in _confining(tasks) if action["confine"].partition("[")[0] == name
    )
    return {held, held or cpus == 1}


def _has_pin(value: Any) -> bool:
    if isinstance(value, dict):
        # What a task does to others is not its own.
        own = "confine" not in value and any(_is_one(value.get(key)) for key in ("affinity", "cpus"))
        return own or "migrate_disable" in value or any(map(_has_pin, value.values()))
    return isinstance(value, list) and any(map(_has_pin, value))


def _confining(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "confine" in value:
            yield value
        value = list(value.values())
    for each in value if isinstance(value, list) else []:
        yield from _confining(each)


def _is_one(cpus: Any) -> bool:
    return isinstance(cpus, list) and len(cpus) == 1
