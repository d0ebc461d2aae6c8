# SPDX-License-Identifier: GPL-2.0-or-later
"""Twenty-one mistakes, five of the field: each is found with every seed, shrunk, and found again by its line."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.bugs import BUGS, FIELD, Bug
from tests.check.conftest import POLICIES, ROOT, check

SEEDS = (1, 2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", BUGS + FIELD, ids=lambda bug: bug.name)
def test_found_shrunk_and_found_again(bug: Bug, seed: int, tmp_path: Path) -> None:
    finding = check(bug.policy, "--seed", str(seed), "-C", tmp_path).finding
    assert finding["by"] in bug.by, finding
    size = finding["size"]
    assert size["cpus"] <= bug.cpus, size
    assert size["tasks"] <= bug.tasks, size
    assert size["actions"] <= bug.actions, size
    assert {path.name for path in tmp_path.iterdir()} == {"case.toml", "machine.toml", "workload.toml", "trace.txt"}
    program, *arguments = shlex.split(finding["reproduce"])
    assert program == "schedlab"
    command = [sys.executable, "-m", "schedlab", *arguments]
    again = subprocess.run(command, cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert again.returncode == 1, again.stderr
    assert f"found again by {finding['by']}" in again.stdout
    assert finding["what"] in again.stdout


@pytest.mark.parametrize(("bugs", "folder", "count"), [(BUGS, "bugs", 16), (FIELD, "field", 5)])
def test_each_is_here(bugs: list[Bug], folder: str, count: int) -> None:
    assert sorted(bug.policy for bug in bugs) == sorted((POLICIES / folder).glob("*.bpf.c"))
    assert len(bugs) == count


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_the_same_run_is_found_however_many_run_at_once(jobs: str, tmp_path: Path) -> None:
    policy = POLICIES / "bugs" / "slice_never_refilled.bpf.c"
    finding = check(policy, "--seed", "1", "-C", tmp_path, "--jobs", jobs).finding
    once = check(policy, "--seed", "1", "-C", tmp_path / "once", "--jobs", "2").finding
    for key in ("run", "by", "what", "size", "attempts"):
        assert finding[key] == once[key]
