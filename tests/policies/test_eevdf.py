# SPDX-License-Identifier: GPL-2.0-or-later
"""EEVDF: its arithmetic, picks and queues in C against slow references."""

from pathlib import Path

import pytest

from tests.policies import programs


@pytest.mark.parametrize("name", programs.names("eevdf"))
def test_rules(name: str, tmp_path: Path) -> None:
    # A test of the binding takes sched_ext's functions from there, those of the algorithm need none.
    programs.run(programs.build("eevdf", name, tmp_path, *programs.LENIENT, include=programs.SCHED_EXT))
