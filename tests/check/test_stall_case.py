# SPDX-License-Identifier: GPL-2.0-or-later
"""`schedlab explain --case`: from dumps of guests to cases of the simulator that end in the same way."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.check.conftest import POLICIES, ROOT, check

DUMPS = ROOT / "lab" / "tests" / "snapshots" / "dumps"
BROKEN = ROOT / "tests" / "vm_policies" / "dumps"
SOUND = POLICIES / "sound.bpf.c"


def explain(dump: str, policy: Path, directory: Path, *options: str) -> tuple[int, dict[str, Any]]:
    words = [sys.executable, "-m", "schedlab", "explain", DUMPS / f"{dump}.txt", "--json"]
    words += ["--case", policy, "-o", directory, *options]
    done = subprocess.run([str(word) for word in words], cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["case"]


@pytest.mark.parametrize(
    ("dump", "policy", "place"),
    [
        ("forgotten", BROKEN / "forgets.bpf.c", "held by the policy"),
        ("odd", BROKEN / "forgets.bpf.c", "held by the policy"),
        ("unread", POLICIES / "bugs" / "pinned_unread.bpf.c", "in DSQ 0x1 of 1"),
        ("endless", BROKEN / "endless.bpf.c", "in the local queue of CPU 0"),
        ("realtime", SOUND, "in DSQ 0x0 of 1"),
    ],
)
def test_a_case_that_ends_as_the_dump_does(dump: str, policy: Path, place: str, tmp_path: Path) -> None:
    status, case = explain(dump, policy, tmp_path / "case")
    assert status == 0, case
    found = case["found"]
    assert found["ends"].startswith("runnable task stall (")
    assert found["ends"].endswith(f", {place})")
    assert found["size"]["tasks"] <= 2
    again = check(policy, "--replay", tmp_path / "case" / "case.toml")
    assert again.status == 1, again.stderr
    assert str(tmp_path / "case" / "case.toml") in found["reproduce"]
    for file in (tmp_path / "case").glob("*.toml"):
        tomllib.loads(file.read_text(encoding="utf-8"))
        assert "schedlab-explain-" not in file.read_text(encoding="utf-8")


def test_nothing_found_is_said_with_what_was_tried(tmp_path: Path) -> None:
    status, case = explain("forgotten", SOUND, tmp_path / "case", "--runs", "30")
    assert (status, case["found"], case["runs"], case["other_findings"]) == (1, None, 30, 0)
    assert not (tmp_path / "case").exists()


def test_a_finding_that_ends_otherwise_is_none(tmp_path: Path) -> None:
    """The policy lets tasks wait behind others; the dump has one that waits beside an idle CPU."""
    status, case = explain("forgotten", BROKEN / "endless.bpf.c", tmp_path / "case", "--runs", "20")
    assert (status, case["found"]) == (1, None)
    assert case["runs"] == 20
    assert case["other_findings"] > 0


def test_the_dump_decides_whether_the_task_is_pinned(tmp_path: Path) -> None:
    """The policy mislays pinned tasks only; the dump's task may use two CPUs."""
    policy = POLICIES / "bugs" / "pinned_unread.bpf.c"
    status, case = explain("forgotten", policy, tmp_path / "case", "--runs", "20")
    assert (status, case["found"]) == (1, None), case


def test_a_policy_that_does_not_compile(tmp_path: Path) -> None:
    policy = tmp_path / "mine.bpf.c"
    policy.write_text("#include <scx.h>\nnonsense\n", encoding="utf-8")
    words = [sys.executable, "-m", "schedlab", "explain", str(DUMPS / "odd.txt"), "--case", str(policy)]
    done = subprocess.run(words, cwd=ROOT / "lab", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{policy}:2:" in done.stderr
