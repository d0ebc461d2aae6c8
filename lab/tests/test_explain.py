# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of `schedlab explain`.

Its sentences are in test_snapshots.py, its searches in tests/check/test_stall_case.py.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parents[1]
DUMPS = Path(__file__).with_name("snapshots") / "dumps"


def text(name: str) -> str:
    return (DUMPS / f"{name}.txt").read_text(encoding="utf-8")


def test_the_reason_comes_first(lab: Callable) -> None:
    said = lab("explain", str(DUMPS / "cut.txt")).stdout
    assert said.startswith("runnable task stall (sh[")


def test_all_facts_as_json(lab: Callable) -> None:
    data = json.loads(lab("explain", str(DUMPS / "realtime.txt"), "--json").stdout)
    assert data["verdict"] == "real-time"
    assert data["task"]["dsq"] == "0x401"
    assert data["cpus"] == [{"cpu": 1, "state": "realtime", "ran": {"name": "sh", "pid": 345, "class": "rt"}}]
    assert len(data["sentences"]) == 3


def test_one_of_several(lab: Callable, checkout: Path) -> None:
    (checkout / "both.txt").write_text(text("forgotten") + text("realtime"), encoding="utf-8")
    last, first = lab("explain", "both.txt"), lab("explain", "both.txt", "--nth", "1")
    assert ", sound_" in last.stdout
    assert "dump 2 of 2 in both.txt; --nth K chooses another" in last.stderr
    assert ", forgets_" in first.stdout
    for wrong in ("0", "3", "-1"):
        result = lab("explain", "both.txt", f"--nth={wrong}")
        assert (result.returncode, result.stderr) == (2, f"schedlab: --nth {wrong}: both.txt has 2 dumps\n")


def from_input(data: bytes, checkout: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "schedlab", "explain", "-"],
        input=data,
        env={**os.environ, "PYTHONPATH": str(LAB)},
        cwd=checkout,
        capture_output=True,
        check=False,
    )


def test_standard_input(checkout: Path) -> None:
    done = from_input(text("forgotten").encode(), checkout)
    assert done.returncode == 0
    assert b"enqueue() had taken it" in done.stdout


def test_what_is_no_text(checkout: Path) -> None:
    done = from_input(bytes(range(256)) * 100 + text("odd").encode() + b"\xff\xfe", checkout)
    assert done.returncode == 0
    done = from_input(bytes(range(256)) * 100, checkout)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "schedlab: standard input: no debug dump of sched_ext in it, and no scheduler that the kernel threw out\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.txt"], "missing.txt: No such file or directory"),
        (["."], ".: Is a directory"),
        (["workloads/latt.toml"], "workloads/latt.toml: no debug dump of sched_ext in it"),
        ([str(DUMPS / "odd.txt"), "-o", "x"], "-o DIR is for --case"),
        ([str(DUMPS / "odd.txt"), "--case", "bsf"], "unknown scheduler 'bsf'"),
        ([str(DUMPS / "odd.txt"), "--case", "default"], "--case default: "),
        ([str(DUMPS / "odd.txt"), "--case", "./mine.bpf.c"], "./mine.bpf.c: no such policy file"),
        ([str(DUMPS / "odd.txt"), "--case", "bfs", "--runs", "0"], "--runs: expected 1 or more"),
        ([str(DUMPS / "refused.txt"), "--case", "bfs"], "--case: this end is no task's stall; try: schedlab check bfs"),
    ],
)
def test_bad_input_is_one_line(lab: Callable, arguments: list[str], said: str) -> None:
    result = lab("explain", *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(f"schedlab: {said}")
    assert result.stderr.count("\n") == 1


def test_a_name_is_no_markup(lab: Callable) -> None:
    assert "[red]x[1] b[" in lab("explain", str(DUMPS / "odd.txt")).stdout
