# SPDX-License-Identifier: GPL-2.0-or-later
"""Real applications at scales of seconds; skipped, with the reason, where their programs are not installed."""

import json
import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout

WORKLOADS = Path(__file__).parents[2] / "workloads"
FILES = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(WORKLOADS.glob("*.toml"))}
APPLICATIONS = [name for name, data in FILES.items() if "command" in data]
# Load, and parameters that make a run of seconds.
TINY: dict[str, tuple[int, dict[str, str]]] = {
    "compile-e2fsprogs": (2, {"scale_pct": "5"}),
    "compile-vlc": (2, {"scale_pct": "5"}),
    "kbuild": (2, {"scale_pct": "1"}),
    "lrzip": (2, {"scale_pct": "1"}),
    "mplayer": (2, {"scale_pct": "10", "lines": "120"}),
    "oltp": (2, {"scale_pct": "1"}),
    "transcode": (2, {"scale_pct": "1", "frames": "8"}),
}


@pytest.fixture(scope="session")
def runner() -> Path:
    """A missing program is a mistake of the build, not of the place: no skip."""
    return checkout.need_binary("schedlab-host")


@dataclass(frozen=True)
class Ran:
    status: int
    said: str
    record: dict[str, Any]


def options(name: str, load: int | None = None) -> list[str]:
    tiny, params = TINY[name]
    load = load or tiny
    return ["--load", str(load), *(word for item in params.items() for word in ("--param", "=".join(item)))]


def run(runner: Path, name: str, runs: Path, *more: str, load: int | None = None) -> Ran:
    """Run an application under whatever scheduler there is, with `runs` for its folder, at its tiny load or another."""
    command = [str(runner), "exec", str(WORKLOADS / f"{name}.toml"), "--json", *options(name, load), *more]
    environment = {**os.environ, "TMPDIR": str(runs)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)
    record = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return Ran(done.returncode, done.stderr.strip(), record)


def skip_if_not_here(runner: Path, name: str) -> None:
    asked = [str(runner), "prepare", str(WORKLOADS / f"{name}.toml"), *options(name)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode == 3 or "apt-get" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


def check_promises(name: str, record: dict[str, Any]) -> None:
    assert record["status"] == "ok", record["reason"]
    for promise in FILES[name]["metrics"]["promises"]:
        assert promise in record["metrics"] or record["histograms"][promise]["count"] > 0, promise
    metrics = record["metrics"]
    assert metrics["elapsed_s"] > 0
    assert 0 < metrics["cpu_s"] <= record["cost"]["wall_s"] * record["provenance"]["cpus"]
    # The scale of a run is in its record.
    assert record["cell"]["params"]["scale_pct"] == TINY[name][1]["scale_pct"]
