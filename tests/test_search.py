# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for disagreement with the real simulator in both places: one world has a wrong cost, and the search is to
find it and to leave nothing of the cases but what shows it."""

import re
from pathlib import Path

import pytest

from schedlab.catalogue import machines
from schedlab.ledger.entries import from_csv
from schedlab.search import draw
from schedlab.search.both_worlds import SimulatorAndKernel, World
from schedlab.search.case import Kind
from schedlab.search.disagreement import usual_pct
from schedlab.search.hunt import Hunt

ROOT = Path(__file__).resolve().parents[1]
RIGHT = ROOT / "machines/guest-exact-1.toml"
NAMES = ["bfs", "cfs", "vtime"]

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no simulator in target/release: make build"
)


def hunted(folder: Path, times: int, count: int) -> Hunt:
    """With a machine in the kernel's place on which copying takes so many times as long."""
    price = re.compile(r"^copy_kib_ns = (\d+)  # ", re.MULTILINE)
    text, replaced = price.subn(lambda line: f"copy_kib_ns = {int(line[1]) * times}  # ", RIGHT.read_text())
    assert replaced == 1
    other = folder / RIGHT.name
    other.write_text(text)
    worlds = SimulatorAndKernel(
        *(
            World("sim", machines.read(file), folder / name, None, print)
            for name, file in (("right", RIGHT), ("wrong", other))
        )
    )
    hunt = Hunt(worlds, usual_pct(from_csv(ROOT / "results/agreement/ledger.csv")), 2, print)
    hunt.draw(draw.cases(1, draw.tunables(NAMES)), count, lambda: True)
    hunt.look_again()
    hunt.shrink(lambda: True)
    return hunt


def test_worlds_that_are_the_same_disagree_in_nothing(tmp_path: Path) -> None:
    hunt = hunted(tmp_path, 1, 48)
    assert hunt.findings == []


def test_a_wrong_price_of_copying_is_found_in_a_few_tasks_that_copy(tmp_path: Path) -> None:
    findings = hunted(tmp_path, 100, 48).findings
    assert findings
    for finding in findings:
        (group,) = finding.case.groups
        assert group.kind in (Kind.PAIR, Kind.STREAM)
        assert group.message_bytes > 16
        assert finding.case.tasks == 2
        assert finding.case.tunables == ()
        assert finding.disagreement.gap_pct < 0
