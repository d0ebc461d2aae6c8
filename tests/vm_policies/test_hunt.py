# SPDX-License-Identifier: GPL-2.0-or-later
"""schedlab hunt: a case that was kept, tried in an exact guest."""

import json
import tomllib
from pathlib import Path

from tests.command_line import schedlab

CASE = Path(__file__).resolve().parents[2] / "results/hunt/o1/case"


def test_a_kept_case_is_as_bad_on_the_kernel_as_it_says(can_boot: None, loader: Path) -> None:
    done = schedlab("hunt", "--replay", str(CASE), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["kernel"]
    said = tomllib.loads((CASE / "case.toml").read_text())["kernel"]
    assert said["confirmed"]
    assert told["confirmed"]
    assert told["times"] > said["times"] / 2
