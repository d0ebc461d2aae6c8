# SPDX-License-Identifier: GPL-2.0-or-later
"""One cell in the simulator, named by its parts: schedlab-sim cell. Campaigns have shards instead."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from schedlab import checkout
from schedlab.errors import LabError

RUNNER = "schedlab-sim"


def command(
    scheduler: str,
    workload: object,
    machine: object,
    *,
    load: object = None,
    seed: int | None = None,
    params: Mapping[str, object] | None = None,
    built_in: bool = False,
    exact_costs: bool = False,
    api: str | None = None,
) -> list[str]:
    """Names or paths; the scheduler with its tunables. What is None is the runner's own choice."""
    words = [str(checkout.need_binary(RUNNER)), "cell", "--scheduler", scheduler]
    words += ["--workload", str(workload), "--machine", str(machine)]
    for option, value in (("--load", load), ("--seed", seed), ("--api", api)):
        words += [option, str(value)] if value is not None else []
    words += ["--built-in"] * built_in + ["--exact-costs"] * exact_costs
    for name, value in (params or {}).items():
        words += ["--param", f"{name}={value}"]
    return words


def run(words: Sequence[str]) -> str:
    """What it prints. LabError: its last line, where it fails. Names are looked for in the checkout."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=checkout.root())
    if done.returncode:
        said = done.stderr.strip().splitlines() or [
            _reason(done.stdout) or f"{RUNNER} ended with status {done.returncode}"
        ]
        raise LabError(said[-1])
    return done.stdout


def _reason(printed: str) -> str:
    """Of a record that says why it has failed."""
    try:
        return json.loads(printed)["reason"]
    except (ValueError, KeyError, TypeError):
        return ""


def record(words: Sequence[str]) -> dict[str, Any]:
    """The cell's record (docs/records.md)."""
    return json.loads(run([*words, "--json"]))
