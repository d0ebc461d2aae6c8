# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest over a copy of the tree, in a process group of its own, which is gone when it returns."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.mutants import tree

# What pytest ends with where it could not read the tests.
_INTERRUPTED = 2


def run(
    root: Path,
    where: list[str],
    tests: list[tuple[str, float]] | None,
    stop_at_first: bool = True,
    calls: str = "",
) -> list[dict]:
    """What the plugin said, line by line. `tests`: each with how long it may take, in s; without it, all run."""
    chosen, out = root.parent / "tests.json", root.parent / "out.jsonl"
    chosen.write_text(json.dumps(tests), "utf-8")
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.plugin", "-p", "no:cacheprovider"]
    command += ["--tb=no", *(["-x"] if stop_at_first else []), *where]
    environment = tree.environment(root) | {
        "SCHEDLAB_MUTANTS_TESTS": str(chosen),
        "SCHEDLAB_MUTANTS_OUT": str(out),
        "SCHEDLAB_MUTANTS_CALLS": calls,
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "lab")]),
    }
    with (root.parent / "pytest.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if not out.is_file():
        # A mistake in a module of the lab may keep the tests from being read at all.
        if tests is not None and process.returncode == _INTERRUPTED:
            return [{"ends": "reading the tests", "outcome": "failed"}]
        said = (root.parent / "pytest.log").read_text("utf-8").strip().splitlines()
        raise RuntimeError(f"pytest did not begin: {said[-1] if said else process.returncode}")
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def failed(said: list[dict]) -> str | None:
    """The test that failed, or that was ended as it took too long."""
    ended = {line["ends"] for line in said if "ends" in line}
    for line in said:
        if line.get("outcome") == "failed":
            return line["ends"]
    return next((line["begins"] for line in said if "begins" in line and line["begins"] not in ended), None)
