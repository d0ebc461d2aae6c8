# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger's short form: no row of it is further from a real kernel than it was when its limits were written."""

from pathlib import Path

import pytest

from tests.command_line import schedlab

ROOT = Path(__file__).resolve().parents[2]
LIMITS = ROOT / "results/agreement/short.csv"


@pytest.mark.usefixtures("can_boot", "loader")
def test_no_row_is_worse_than_its_limit(tmp_path: Path) -> None:
    words = ["agree", "--short", "-o", str(tmp_path), "--limits", str(LIMITS)]
    done = schedlab(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = len(LIMITS.read_text(encoding="utf-8").splitlines()) - 1
    assert f" of {rows} rows are held to their limits, 0 are worse" in done.stdout
