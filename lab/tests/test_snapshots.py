# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line prints, whole: standard output, standard error and status.

A deliberate change is taken over with UPDATE_SNAPSHOTS=1 in the environment, and shows in the diff of snapshots/.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab import version

SNAPSHOTS = Path(__file__).with_name("snapshots")


def check(name: str, result: object, checkout: Path) -> None:
    text = f"{result.stdout}---- standard error\n{result.stderr}---- status {result.returncode}\n"  # type: ignore[attr-defined]
    text = text.replace(str(checkout), "CHECKOUT")
    # The commit is another with every change.
    text = text.replace(f"schedlab {version.told()}\n", "schedlab VERSION\n")
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    path = SNAPSHOTS / f"{name}.txt"
    if "UPDATE_SNAPSHOTS" in os.environ:
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no snapshot yet: run with UPDATE_SNAPSHOTS=1 and look at {path}"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("version", ["--version"]),
        ("help", ["--help"]),
        ("help-choose", ["choose", "--help"]),
        ("help-compare", ["compare", "--help"]),
        ("help-bisect", ["bisect", "--help"]),
        ("bisect-nothing", ["bisect", "-w", "latt"]),
        ("help-history", ["history", "--help"]),
        ("history-nothing", ["history", "-w", "latt"]),
        ("help-hunt", ["hunt", "--help"]),
        ("help-report", ["report", "--help"]),
        ("help-record", ["record", "--help"]),
        ("help-snapshot", ["snapshot", "--help"]),
        ("snapshot-nothing", ["snapshot"]),
        ("snapshot-bad-name", ["snapshot", "-o", "mine.json", "--", "true"]),
        ("snapshot-no-program", ["snapshot", "--", "no-such-program"]),
        ("help-calibrate", ["calibrate", "--help"]),
        ("help-check", ["check", "--help"]),
        ("help-compatibility", ["compatibility", "--help"]),
        ("help-explain", ["explain", "--help"]),
        ("help-study", ["study", "--help"]),
        ("help-decisions", ["decisions", "--help"]),
        ("help-agree", ["agree", "--help"]),
        ("help-trace", ["trace", "--help"]),
        ("help-list", ["list", "--help"]),
        ("help-load", ["load", "--help"]),
        ("help-status", ["status", "--help"]),
        ("record-nothing", ["record"]),
        ("record-no-trace", ["record", "--from", "missing.txt", "-o", "mine.toml"]),
        ("record-bad-name", ["record", "-o", "My Work.toml", "--", "true"]),
        ("calibrate-unknown", ["calibrate", "lat"]),
        ("list-schedulers", ["list", "schedulers"]),
        ("list-schedulers-json", ["list", "schedulers", "--json"]),
        ("list-workloads", ["list", "workloads"]),
        ("list-workloads-json", ["list", "workloads", "--json"]),
        ("list-machines", ["list", "machines"]),
        ("list-studies", ["list", "studies"]),
        ("compare", ["compare", "bfs,cfs", "-w", "latt,pipe", "-n", "6", "-o", "out"]),
        ("compare-few", ["compare", "bfs,cfs", "-w", "pipe", "-n", "2", "-o", "out"]),
        ("compare-one", ["compare", "bfs", "-w", "pipe", "-n", "5", "-o", "out"]),
    ],
)
def test_output(lab: Callable, checkout: Path, name: str, arguments: list[str]) -> None:
    check(name, lab(*arguments), checkout)


@pytest.mark.parametrize("name", sorted(path.stem for path in (SNAPSHOTS / "dumps").glob("*.txt")))
def test_a_dump_in_three_sentences(lab: Callable, checkout: Path, name: str) -> None:
    (checkout / "dump.txt").write_bytes((SNAPSHOTS / "dumps" / f"{name}.txt").read_bytes())
    check(f"explain-{name}", lab("explain", "dump.txt"), checkout)


def test_a_narrow_terminal_stacks_the_schedulers(lab: Callable, checkout: Path) -> None:
    result = lab("compare", "bfs,cfs,bfs:rules=424", "-w", "pipe", "-n", "5", "-o", "out", COLUMNS="60")
    check("compare-narrow", result, checkout)
    assert max(map(len, result.stdout.splitlines())) <= 60


def test_a_wide_terminal_has_one_line_a_load(lab: Callable, checkout: Path) -> None:
    result = lab("compare", "bfs,cfs", "-w", "latt", "-n", "5", "-o", "out", COLUMNS="140")
    check("compare-wide", result, checkout)


def test_help_does_not_wait_for_the_large_libraries(checkout: Path) -> None:
    program = (
        "import sys; from schedlab.cli import main\n"
        "try: main(['compare', '--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'rich', 'duckdb', 'vl_convert') if m in sys.modules])"
    )
    lab_folder = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(lab_folder)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
