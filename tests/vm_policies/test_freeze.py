# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheduler under which nothing runs any more is taken away long before the kernel's watchdog does it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout
from tests.vm_policies import shards
from tests.vm_policies.conftest import HERE, Said, run_script

POLICY = HERE.parent / "programs" / "freezes.bpf.c"
# After a second under it nobody runs any more.
WELL_S = 1.0
LIMIT_S = 1.5


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("shards")
    made = folder / "freezes.bpf.o"
    subprocess.run([checkout.need_binary("schedlab-sim"), "object", POLICY, made], check=True, capture_output=True)
    cells = [
        shards.cell(name, "latt", 1, {"duration_s": "4"}, place="vm-exact") for name in ("freezes", "vtime", "default")
    ]
    path = shards.write(folder / "freezes.json", cells, schedulers={"freezes": "/test/shards/freezes.bpf.o"})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"frozen_after_ms": int(1000 * LIMIT_S)}))
    return run_script("freeze.sh", loader, {"/test/shards": folder}, [], tier="exact")


def record(said: Said, scheduler: str) -> dict[str, Any]:
    found = [json.loads(line) for line in said.lines if line.startswith('{"format"')]
    return next(one for one in found if one["cell"]["scheduler"] == scheduler)


def test_it_is_out_and_said_to_have_frozen_the_machine(said: Said) -> None:
    frozen = record(said, "freezes")
    assert frozen["status"] == "ejected"
    before, _, after = frozen["reason"].partition(" s under it, so that it was taken away")
    assert before.startswith("no ordinary task ran for ")
    assert LIMIT_S <= float(before.rpartition(" ")[2]) < LIMIT_S + 0.5
    assert after == ""
    ran = said.event("ran")
    assert (ran["exit"], ran["state"]) == (0, "disabled")


def test_the_kernels_own_is_back_within_a_second(said: Said) -> None:
    enabled, disabled = said.event("enabled"), said.event("disabled")
    assert "sysrq" in disabled["why"].lower()
    assert WELL_S + LIMIT_S - 0.2 < disabled["at_s"] - enabled["at_s"] < WELL_S + LIMIT_S + 1


def test_others_notice_nothing(said: Said) -> None:
    for scheduler in ("vtime", "default"):
        found = record(said, scheduler)
        assert (found["status"], found["reason"]) == ("ok", "")
