# SPDX-License-Identifier: GPL-2.0-or-later
"""What schedlab-sim says of workloads, machines, schedulers, metrics, checkers: the lab asks, so that no rule stands
twice.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from schedlab import checkout, foreign
from schedlab.errors import InputError, PlaceError

_PROGRAM = "schedlab-sim"
_WORDS = ("title", "about", "source", "meaning")

Entry = dict[str, Any]


def entries(
    *,
    workloads: Iterable[object] = (),
    machines: Iterable[object] = (),
    schedulers: Iterable[object] = (),
    cpus: Iterable[int] = (),
    levels: Iterable[object] = (),
    metrics: bool = False,
    checkers: bool = False,
    build: bool = False,
) -> dict[str, list[Entry]]:
    """In the order asked for; what cannot be read has `error`. Each argument but `cpus` is in words of `cell`.

    Workloads come with their loads on so many `cpus`; `levels` stand for those of their files. Schedulers come with
    their tunables if they are to be built. Metrics and checkers come all.
    """
    program = checkout.need_binary(_PROGRAM)
    asked = {"workload": workloads, "machine": machines, "scheduler": schedulers, "cpus": cpus, "level": levels}
    words = [f"--{option}={value}" for option, values in asked.items() for value in values]
    words += ["--metrics"] * metrics + ["--checkers"] * checkers + ["--build"] * build
    done = subprocess.run([program, "describe", *words], capture_output=True, text=True, errors="replace", check=False)
    try:
        return json.loads(done.stdout, object_hook=_shown)
    except ValueError as error:
        said = (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
        raise PlaceError(f"{program} describe: {said}: {checkout.mend()}") from error


def _shown(entry: Entry) -> Entry:
    """What a file says in words is printed, and the file may be anybody's."""
    return entry | {key: foreign.one_line(entry[key]) for key in _WORDS if isinstance(entry.get(key), str)}


def mistake(entry: Entry, path: Path) -> InputError | None:
    """What is wrong with a file: it cannot be read, or is called otherwise than it says."""
    if "error" in entry:
        return InputError(entry["error"])
    if path.suffix == ".toml" and entry["name"] != path.stem:
        wanted, found = path.stem, entry["name"]
        return InputError(f"{path}: key 'name': expected '{wanted}', as the file is called, got '{found}'")
    return None
