# SPDX-License-Identifier: GPL-2.0-or-later
"""EEVDF: its arithmetic, picks and queues in C against slow references."""

from pathlib import Path

import pytest

from tests.policies import programs

LENIENT = ("-Wno-sign-compare", "-Wno-unused-function", "-Wno-unused-parameter")


@pytest.mark.parametrize("name", programs.names("eevdf"))
def test_rules(name: str, tmp_path: Path) -> None:
    # A test of the binding takes the scx.h beside it, those of the algorithm none.
    programs.run(programs.build("eevdf", name, tmp_path, *LENIENT, include=("tests/policies/eevdf",)))
