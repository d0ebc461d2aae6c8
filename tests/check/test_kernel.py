# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel takes a sound policy and keeps it under stress, and refuses one that loops without end."""

import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.places import trial
from tests.check.conftest import POLICIES, ROOT, check


@pytest.fixture(scope="module", autouse=True)
def can_boot() -> None:
    reason = trial.why_not("vm")
    if reason:
        pytest.skip(f"no guest can be booted: {reason}")


def test_a_sound_policy_survives() -> None:
    checked = check(POLICIES / "sound.bpf.c", "--kernel", "vm", "--stress-s", "5", "--runs", "5", "-o", "slice_us=2000")
    assert checked.status == 0, checked
    assert checked.data["kernel"]["loaded"]
    assert checked.data["kernel"]["kept"]
    assert "sound_" in checked.data["kernel"]["summary"]


def test_values_of_a_file_are_set_in_both_worlds(tmp_path: Path) -> None:
    # It ends where they are not.
    objects = ROOT / "tests" / "objects"
    valued = [objects / "scx_valued.bpf.c", "--kernel", "vm", "--stress-s", "2", "--runs", "3", "-C", tmp_path]
    checked = check(*valued, "--rodata", objects / "values.toml")
    assert checked.status == 0, checked
    assert checked.data["kernel"]["kept"]
    checked = check(*valued)
    assert checked.status == 1, checked
    assert not checked.data["kernel"]["kept"]
    assert "values were not set" in checked.data["finding"]["what"]


def test_a_refusal_is_shown_and_told() -> None:
    policy = POLICIES / "bugs" / "unbounded_loop.bpf.c"
    words = [sys.executable, "-m", "schedlab", "check", str(policy), "--kernel", "vm", "--runs", "1"]
    done = subprocess.run(words, cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    line = policy.read_text(encoding="utf-8").splitlines().index("	while (scx_bpf_dsq_nr_queued(SHARED)) {") + 1
    # The whole log, then the summary.
    log, _, summary = done.stdout.partition("\nLinux ")
    assert "scx_bpf_dsq_nr_queued" in log
    assert "infinite loop detected" in log
    said = summary.splitlines()
    assert "refused: cannot load unbounded_loop: the kernel's verifier refused unbounded_loop_dispatch" in said[0]
    assert f"at unbounded_loop.bpf.c:{line}" in said[1] or f"at unbounded_loop.bpf.c:{line + 1}" in said[1]
    assert "that is: a loop has no bound" in said[2]
