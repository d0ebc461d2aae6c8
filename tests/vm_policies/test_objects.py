# SPDX-License-Identifier: GPL-2.0-or-later
"""An object that was not made with scx.h is loaded into a real kernel: it is told the constants of that kernel."""

import json
import subprocess
from pathlib import Path

import pytest

from schedlab import checkout
from tests.vm_policies import shards
from tests.vm_policies.conftest import Said, run_script

SOURCE = Path(__file__).parents[1] / "objects" / "scx_bare.bpf.c"
CELL = shards.cell("bare", "pipe", 1, {"trips": "100"})


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("objects")
    built = folder / "bare.bpf.o"
    subprocess.run([checkout.need_binary("schedlab-sim"), "object", SOURCE, built], check=True)
    shard = shards.write(folder / "all.json", [CELL])
    data = json.loads(shard.read_text("utf-8"))
    data["files"]["schedulers"] = {"bare": "/test/bare.bpf.o"}
    shard.write_text(json.dumps(data), encoding="utf-8")
    return run_script("records.sh", loader, {"/test/shards/all.json": shard, "/test/bare.bpf.o": built}, [])


def test_it_schedules_and_the_kernels_own_scheduler_is_back(said: Said):
    assert said.event("end") == {"event": "end", "exit": 0, "state": "disabled", "files": 1}, "\n".join(said.lines)
    record = next(json.loads(line) for line in said.lines if line.startswith('{"format"'))
    # Without the constants every insertion would name a queue that does not exist, which ejects a policy.
    assert record["status"] == "ok", record["reason"]
    assert record["provenance"]["ops"].startswith("bare_")
