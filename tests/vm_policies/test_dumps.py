# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps of a real kernel, under policies that are broken on purpose, explained.

The dumps of lab/tests/snapshots/dumps are from here: UPDATE_DUMPS=1 in the environment writes them anew.
"""

import os
import subprocess
from pathlib import Path

import pytest

from schedlab import checkout
from schedlab.sched_ext import dumps_in_text, stall
from tests.vm_policies.conftest import HERE, Said, need_program, run_script

ROOT = HERE.parents[1]
DUMPS = ROOT / "lab" / "tests" / "snapshots" / "dumps"
CHECKED = ROOT / "tests" / "check" / "policies"
POLICIES = [*HERE.glob("dumps/*.bpf.c"), CHECKED / "sound.bpf.c", CHECKED / "bugs" / "pinned_unread.bpf.c"]
# What each comes to. Of a task that is pinned beside nothing but the watchdog's worker more is seen at times, and at
# the moment of a dump the other CPU may do something.
VERDICTS = {
    "forgotten": {stall.FREE_CPU, stall.PREFERRED_OTHERS},
    "cut": {stall.FREE_CPU, stall.PREFERRED_OTHERS, stall.NOT_KNOWN},
    "odd": {stall.FREE_CPU, stall.PREFERRED_OTHERS},
    "unread": {stall.HIDDEN_BY_WATCHDOG, stall.FREE_CPU, stall.PREFERRED_OTHERS},
    "endless": {stall.PREFERRED_OTHERS},
    "watchdog": {stall.PREFERRED_OTHERS},
    "refused": {stall.NOT_A_STALL},
    "realtime": {stall.EXPLAINED_BY_REALTIME},
}


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("objects")
    sim = checkout.need_binary("schedlab-sim")
    for policy in POLICIES:
        built = folder / f"{policy.name.removesuffix('.bpf.c')}.bpf.o"
        subprocess.run([sim, "object", policy, built], check=True, capture_output=True)
    programs = {f"/bin/{name}": need_program(name) for name in ("chrt", "nice")}
    said = run_script("dumps.sh", loader, {"/test/objects": folder, **programs}, [])
    if "UPDATE_DUMPS" in os.environ:
        for name in VERDICTS:
            (DUMPS / f"{name}.txt").write_text(printed(said, f"dump {name}"), encoding="utf-8")
        logs = [printed(said, f"log {name}") for name in ("forgotten", "unread")]
        (DUMPS / "kernel-log.txt").write_text("".join(logs), encoding="utf-8")
    return said


def printed(said: Said, mark: str) -> str:
    return "".join(f"{line.removeprefix(f'{mark}: ')}\n" for line in said.lines if line.startswith(f"{mark}: "))


@pytest.mark.parametrize("name", VERDICTS)
def test_a_dump_is_explained(said: Said, name: str):
    found = dumps_in_text.find(printed(said, f"dump {name}")).dumps
    assert len(found) == 1, said.lines
    assert stall.of(found[0]).verdict in VERDICTS[name], printed(said, f"dump {name}")
    assert found[0].whole is (name != "cut")


@pytest.mark.parametrize("name", ["forgotten", "odd"])
def test_the_dump_of_what_the_policy_forgot_says_so(said: Said, name: str):
    (found,) = dumps_in_text.find(printed(said, f"dump {name}")).dumps
    task = stall.of(found).task
    assert task is not None
    assert task.place == "policy"


@pytest.mark.parametrize("name", VERDICTS)
def test_the_kernels_log_tells_the_same_reason(said: Said, name: str):
    told = [dumps_in_text.find(printed(said, f"{where} {name}")).dumps for where in ("dump", "log")]
    assert [each.why for each in told[0]] == [each.why for each in told[1]]
    assert told[0][0].ops == told[1][0].ops
