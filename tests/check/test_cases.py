# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases that `check` found in policies here or in the model, and that are mended: none is found again."""

import shutil
from pathlib import Path

import pytest

from tests.check.conftest import HERE, check

CASES = sorted((HERE / "cases").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_was_mended_is_not_found_again(case: Path, tmp_path: Path) -> None:
    scheduler = case.name.partition("_")[0]
    copy = shutil.copytree(case, tmp_path / "case")
    checked = check(scheduler, "--replay", copy / "case.toml")
    assert checked.status == 0, checked
