# SPDX-License-Identifier: GPL-2.0-or-later
"""A cell in a guest: once as it is, then traced. A trace that lost events is void."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from schedlab.campaign.arms import Arm
from schedlab.catalogue.schedulers import written
from schedlab.catalogue.workloads import Workload
from schedlab.errors import InputError, LabError, PlaceError
from schedlab.places import real_kernel
from schedlab.places import vm as place

_SCRIPT = Path(__file__).with_name("traced_cell.sh")
_INSIDE = "/lab/traced_cell.sh"
_TRACING_FAILED = 125
_MEMORY_MIB = 1024
_RUN = "# schedlab: run="
_CELL = "# schedlab: cell="


@dataclass(frozen=True)
class Cell:
    """What is run, as the place `vm` understands it."""

    arm: Arm
    workload: Workload
    load: int
    seed: int
    params: Mapping[str, str]
    cpus: int

    def __str__(self) -> str:
        """All that tells it from others, in one line."""
        params = "".join(f" {name}={value}" for name, value in sorted(self.params.items()))
        return f"{self.arm.label} {self.workload.name} load={self.load} seed={self.seed}{params} cpus={self.cpus}"


@dataclass(frozen=True)
class Tracing:
    """How to trace. `keys`: insertions into queues as well, whose probes take time of their own."""

    runs: int = 1
    keys: bool = False
    tier: str = "exact"
    buffer_kib: int = 131_072
    limit_s: float = 600.0


def traces(cell: Cell, tracing: Tracing, folder: Path) -> list[list[str]]:
    """The lines of each traced run. `folder` is for what has to be built."""
    from schedlab import vm

    engine = place.engine()
    objects = real_kernel.objects(engine, [cell.arm], folder)
    files = {"/lab/schedlab-host": engine, _INSIDE: _SCRIPT, **cell.workload.within("/lab/workloads")}
    scheduler = cell.arm.scheduler.name
    if cell.arm.scheduler.origin and not real_kernel.is_held(cell.arm.scheduler):
        scheduler, path = place.within(cell.arm.scheduler, objects)
        files[scheduler] = path
    command = ["/lab/schedlab-host", "exec", f"/lab/workloads/{cell.workload.path.name}", "--json"]
    command += ["--load", str(cell.load), "--seed", str(cell.seed)]
    command += ["--scheduler", written(scheduler, cell.arm.tunables)]
    command += [word for name, value in cell.params.items() for word in ("--param", f"{name}={value}")]
    how = [str(tracing.buffer_kib), str(tracing.runs), "keys" if tracing.keys else "plain"]
    lines: list[str] = []
    said: list[str] = []
    try:
        result = vm.run(
            ["sh", _INSIDE, *how, *command],
            files,
            tier=tracing.tier,
            cpus=cell.cpus,
            memory_mib=_MEMORY_MIB + cell.cpus * tracing.buffer_kib // 1024,
            limit_s=tracing.limit_s,
            on_line=lines.append,
            on_error_line=said.append,
        )
    except vm.GuestFailed as error:
        raise LabError(str(error)) from error
    if result.exit_code:
        raise _failure(result.exit_code, lines, said)
    head = [f"{_CELL}{cell}", f"# schedlab: place={result.tier} guest, QEMU {result.qemu_version}"]
    return [head + part for part in _parts(lines, _RUN)]


def kept(path: Path) -> list[list[str]]:
    """What `traces` returned, out of a file that has these lines."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return _parts(lines, _CELL)


def _parts(lines: list[str], first: str) -> list[list[str]]:
    """Each begins with a line that begins so."""
    begins = [number for number, line in enumerate(lines) if line.startswith(first)]
    return [lines[begin:end] for begin, end in pairwise([*begins, len(lines)])]


def _failure(status: int, lines: list[str], said: list[str]) -> LabError:
    kinds = {_TRACING_FAILED: PlaceError, InputError.status: InputError, PlaceError.status: PlaceError}
    for line in lines:
        if line.startswith("{"):
            record = json.loads(line)
            return LabError(f"{record['status']}: {record['reason']}")
    last = said[-1] if said else f"the cell ended with status {status} in the guest"
    return kinds.get(status, LabError)(last.removeprefix("schedlab-host: "))
