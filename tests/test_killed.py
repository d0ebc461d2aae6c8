# SPDX-License-Identifier: GPL-2.0-or-later
"""`kill -9` of a campaign: the simulator that it drove ends by itself, finished records stay, and the same command runs
the rest.
"""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cluster.processes import ended, runners
from tests.cluster.workload import ROOT, Campaign, kept
from tests.waiting import wait

pytestmark = pytest.mark.skipif(
    not (ROOT / "target/release/schedlab-sim").exists(), reason="no schedlab-sim in target/release: make build"
)
_CELLS = 200


def test_a_killed_campaign_leaves_no_process_and_no_half_record(tmp_path: Path) -> None:
    campaign, out = Campaign(tmp_path, _CELLS), tmp_path / "out"
    head = campaign.start("sim", out, {})
    assert wait(lambda: len(list((out / "cells").glob("*.json"))) > 5 or head.poll() is not None, 120)
    assert head.poll() is None, head.communicate()[1]
    engines = runners(head.pid)
    assert len(engines) == 1
    os.kill(head.pid, signal.SIGKILL)
    head.communicate()
    assert wait(lambda: ended(engines[0]), 20)
    before = {path: path.read_bytes() for path in (out / "cells").glob("*.json")}
    assert 5 < len(before) < _CELLS
    assert {json.loads(text)["id"] for text in before.values()} == {path.stem for path in before}

    done = campaign.run("sim", out)
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} of {_CELLS} cells have a record already" in done.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert len(kept(out)) == _CELLS
    assert [path for path in (out / "cells").iterdir() if path.suffix != ".json"] == []
