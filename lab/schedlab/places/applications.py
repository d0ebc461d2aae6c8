# SPDX-License-Identifier: GPL-2.0-or-later
"""What real applications need in a guest: their programs from this machine, and their inputs, made here beforehand."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from schedlab.catalogue import toml
from schedlab.catalogue.workloads import RT_APP, Workload
from schedlab.errors import InputError, InterruptedRun, LabError, PlaceError
from schedlab.vm import tools

# Where the runner in the guest looks for inputs.
CACHE = "/lab/cache"
# The folders of runs lie in the guest's memory, and where it has no disk all other files, too. A workload may ask for
# more.
MEMORY_MIB = 3072
# A real build under software emulation.
CELL_LIMIT_S = 1800.0
# The kernel keeps so much of a task's name.
_NAME_BYTES = 15


def command(workload: Path) -> dict[str, Any] | None:
    """The workload's `[command]`, which the runner has checked or will; None where its tasks are the workload."""
    if workload.suffix == RT_APP:
        return None
    table = toml.read(workload).get("command")
    return table if isinstance(table, dict) else None


def task_names(workload: Workload) -> set[str]:
    """The names of its described tasks as a kernel keeps them."""
    if workload.path.suffix == RT_APP:
        names = list(json.loads(workload.path.read_text(encoding="utf-8"))["tasks"])
    else:
        names = [str(task["name"]) for task in toml.read(workload.path)["task"]]
    return {name[:_NAME_BYTES] for name in names}


def wants_disk(workloads: Iterable[Path]) -> bool:
    """Whether a guest is better off with its files on a disk: for applications, and for tasks that write to one."""
    described = [path for path in workloads if path.suffix != RT_APP]
    return any(command(path) is not None or _names(toml.read(path).get("task"), "write") for path in described)


def _names(part: Any, action: str) -> bool:
    """Whether an action is somewhere in a program."""
    if isinstance(part, dict):
        return action in part or any(_names(value, action) for value in part.values())
    return isinstance(part, list) and any(_names(value, action) for value in part)


def memory_mib(workloads: Iterable[Path]) -> int | None:
    """The memory a guest needs for these; None where none is an application."""
    tables = [table for table in map(command, workloads) if table is not None]
    return max((table.get("memory_mib", MEMORY_MIB) for table in tables), default=None)


def files(engine: Path, runs: Iterable[tuple[Path, int, Mapping[str, str]]]) -> dict[str, Path]:
    """The files, by guest path, that runs (workload file, load, parameters) need in a guest."""
    found: dict[str, Path] = {}
    asked: set[tuple[Any, ...]] = set()
    for path, load, params in runs:
        key = (path, load, *sorted(params.items()))
        table = command(path)
        if table is None or key in asked:
            continue
        asked.add(key)
        found |= tools.files(table.get("tools", {}), table.get("packages", []))
        for folder in prepared(engine, path, load, params):
            found[f"{CACHE}/inputs/{folder.name}"] = folder
    return found


def prepared(engine: Path, path: Path, load: int, params: Mapping[str, str]) -> list[Path]:
    options = [word for name, value in sorted(params.items()) for word in ("--param", f"{name}={value}")]
    made = subprocess.run(
        [str(engine), "prepare", str(path), "--load", str(load), *options], capture_output=True, text=True, check=False
    )
    if made.returncode == 0:
        return [Path(line) for line in made.stdout.splitlines()]
    said = made.stderr.strip().splitlines()
    reason = said[-1].removeprefix("schedlab-host: ") if said else f"{path}: its input cannot be made"
    kinds = {2: InputError, 3: PlaceError, 130: InterruptedRun}
    raise kinds.get(made.returncode, LabError)(reason)
