# SPDX-License-Identifier: GPL-2.0-or-later
"""BFS as plain C: its picks, kicks and rules against the published ones, on the lines that the kernel runs."""

from pathlib import Path

import pytest

from tests.policies import programs


@pytest.mark.parametrize("name", programs.names("bfs"))
def test_as_published(name: str, tmp_path: Path) -> None:
    programs.run(programs.build("bfs", name, tmp_path, "-O2", "-Wno-unused-function", "-Wno-sign-compare"))
