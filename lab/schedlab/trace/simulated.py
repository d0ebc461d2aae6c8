# SPDX-License-Identifier: GPL-2.0-or-later
"""One cell in the simulator with its trace: run, and read line by line.

The trace is the text of ftrace, as the simulator writes it (crates/kernel/src/observe/trace.rs).
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from schedlab import simulator
from schedlab.catalogue.schedulers import written
from schedlab.errors import LabError

_LINE = re.compile(
    r"\s*(?P<comm>.*)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\] \S+ (?P<s>\d+)\.(?P<ns>\d{9}): (?P<name>\w+): (?P<rest>.*)"
)
# Names of tasks may hold spaces; no key does.
_FIELD = re.compile(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\w+=|\s*$)")
IDLE = 0


@dataclass(frozen=True)
class Traced:
    """What to run; files as paths."""

    scheduler: Path
    workload: Path
    machine: Path
    load: int
    seed: int
    tunables: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    built_in: bool = False
    api: str | None = None  # of the cell
    exact_costs: bool = False

    def command(self, trace: str) -> list[str]:
        words = simulator.command(
            written(self.scheduler, self.tunables),
            self.workload,
            self.machine,
            load=self.load,
            seed=self.seed,
            params=self.params,
            built_in=self.built_in,
            exact_costs=self.exact_costs,
            api=self.api,
        )
        return [*words, "--trace", trace]


@contextmanager
def lines(what: Traced) -> Iterator[Iterator[str]]:
    """The trace's lines as they come. The simulator is stopped when the reader leaves early."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        child = subprocess.Popen(
            what.command(f"/dev/fd/{writing}"), pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=said
        )
        os.close(writing)
        whole = False

        def read() -> Iterator[str]:
            nonlocal whole
            with os.fdopen(reading, encoding="utf-8", errors="replace") as source:
                yield from source
            whole = True

        try:
            yield read()
        except BaseException:
            child.kill()
            child.wait()
            raise
        if not whole:
            child.kill()
        if child.wait() and whole:
            said.seek(0)
            last = said.read().strip().splitlines()[-1:] or [f"ended with status {child.returncode}"]
            raise LabError(f"{what.workload.stem} under {what.scheduler.stem}: {last[0]}")


@dataclass(frozen=True)
class Event:
    time_ns: int
    cpu: int
    name: str
    fields: dict[str, str]

    def pid(self, prefix: str = "") -> int:
        return int(self.fields[f"{prefix}pid"])

    def comm(self, prefix: str = "") -> str:
        return self.fields[f"{prefix}comm"]


def events(lines: Iterable[str], only: str = "") -> Iterator[Event]:
    """Events whose names begin with `only`; other lines are skipped before they are parsed."""
    wanted = f": {only}"
    for number, line in enumerate(lines, 1):
        if wanted not in line or line.startswith("#") or not line.strip():
            continue
        found = _LINE.match(line)
        if not found:
            raise ValueError(f"line {number} of the trace is not one of ftrace's: {line.rstrip()!r}")
        fields = dict(_FIELD.findall(found["rest"]))
        yield Event(int(found["s"]) * 1_000_000_000 + int(found["ns"]), int(found["cpu"]), found["name"], fields)
