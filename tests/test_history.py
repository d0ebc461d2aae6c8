# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab history with the real simulator, over the commits of a small repository with a policy that becomes worse."""

import csv
import json
from pathlib import Path

import pytest

from tests.command_line import schedlab
from tests.test_bisect import CELL, Repository, repository, rounds  # noqa: F401 - a fixture

ASKED = CELL[: CELL.index("--worse-by")]
SIM = Path(__file__).resolve().parents[1] / "target/release/schedlab-sim"

pytestmark = pytest.mark.skipif(not SIM.exists(), reason="no simulator in target/release: make build")


def test_a_change_of_level_is_named_and_drawn(repository: Repository, tmp_path: Path) -> None:  # noqa: F811
    commits = rounds(repository, ["1", "2", "3", "4000", "4001", "5"], broken=[1])
    # So short a cell ends up to 14 % sooner or later by a few instructions, which is a change of level as well.
    walk = ("history", "--policy", str(repository.policy), "--from", commits[0], *ASKED, "--smallest", "20 %")
    done = schedlab(*walk, "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    worse, better = commits[3][:12], commits[5][:12]
    said = done.stdout.splitlines()
    assert any(line.startswith("2 changes of level in 5 steps; 1 without a value:") for line in said)
    assert any(line.startswith(f"  {worse} (rounds 4000): worse, ") for line in said)
    assert any(line.startswith(f"  {better} (rounds 5): better, ") for line in said)
    rows = list(csv.DictReader((tmp_path / "out" / "history.csv").open()))
    assert [row["title"] for row in rows] == [f"rounds {value}" for value in ("1", "2", "3", "4000", "4001", "5")]
    assert [bool(row["changed_pct"]) for row in rows] == [False, False, False, True, False, True]
    assert "error" in rows[1]["why"]
    page = (tmp_path / "out" / "history.html").read_text()
    assert "simulated" in page
    assert worse in page
    # The same command finds all its records, and makes the same page.
    again = schedlab(*walk, "-o", str(tmp_path / "out"), "--json")
    told = json.loads(again.stdout)
    assert [change["at"] for change in told["changes"]] == [worse, better]
    assert [change["worse"] for change in told["changes"]] == [True, False]
    assert (tmp_path / "out" / "history.html").read_text().replace(" --json", "") == page


def test_without_a_change_it_says_so(repository: Repository, tmp_path: Path) -> None:  # noqa: F811
    commits, out = rounds(repository, ["1", "2"]), str(tmp_path / "out")
    walk = ("history", "--policy", str(repository.policy), "--from", commits[0], *ASKED, "--smallest", "20 %")
    done = schedlab(*walk, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "no change by more than 20 % in 2 steps" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "bfs"], "--policy: expected --from REV, the first end of its history"),
        (["--kernels", "6.16"], "--kernels '6.16': expected two kernels or more"),
        (["--policy", "bfs", "--from", "nowhere"], "--from nowhere: no such commit"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    done = schedlab("history", *words, "-w", "latt", "-o", str(tmp_path / "o"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
