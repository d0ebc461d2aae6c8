# SPDX-License-Identifier: GPL-2.0-or-later
"""FIFO, round robin and multilevel feedback as plain C: their picks against lists that are handled by hand."""

from pathlib import Path

import pytest

from tests.policies import programs


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq"])
def test_picks_as_the_lists_say(scheduler: str, tmp_path: Path) -> None:
    programs.run(programs.build(scheduler, "pick", tmp_path, "-Wno-unused-function", include=("schedulers",)))
