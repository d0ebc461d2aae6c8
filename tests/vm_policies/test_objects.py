# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that were not made with scx.h, or whose values or flags are not the usual ones, on a real kernel."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from schedlab import checkout
from tests.vm_policies import shards
from tests.vm_policies.conftest import Said, run_script

OBJECTS = Path(__file__).parents[1] / "objects"
PARAMS = {"trips": "100"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each as a real kernel gets it: "valued" as its author left it, "set" with a user's values."""
    folder = tmp_path_factory.mktemp("objects")
    sim = checkout.need_binary("schedlab-sim")
    found = {name: folder / f"{name}.bpf.o" for name in ("bare", "valued")}
    for name, path in found.items():
        subprocess.run([sim, "object", OBJECTS / f"scx_{name}.bpf.c", path], check=True)
    made = [sim, "set-up", found["valued"], "--rodata", OBJECTS / "values.toml"]
    taken = folder / "set.bpf.json"
    taken.write_bytes(subprocess.run(made, check=True, capture_output=True).stdout)
    found["set"] = folder / "placed.bpf.json"
    subprocess.run([sim, "object", taken, found["set"]], check=True)
    flags = folder / "flags.toml"
    flags.write_text("valued_ops.flags = 0x10000\n", encoding="utf-8")
    made = [sim, "set-up", found["valued"], "--rodata", flags]
    found["flagged"] = folder / "flagged.bpf.json"
    found["flagged"].write_bytes(subprocess.run(made, check=True, capture_output=True).stdout)
    return found


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Said:
    inside = {name: f"/test/objects/{built[name].name}" for name in ("bare", "set", "flagged")}
    cells = [shards.cell(name, "pipe", 1, PARAMS) for name in inside]
    shard = shards.write(tmp_path_factory.mktemp("shards") / "all.json", cells, schedulers=inside)
    files = {"/test/shards/all.json": shard} | {path: built[name] for name, path in inside.items()}
    return run_script("records.sh", loader, files, [])


def record(said: Said, scheduler: str) -> dict[str, Any]:
    records = [json.loads(line) for line in said.lines if line.startswith('{"format"')]
    return next(record for record in records if record["cell"]["scheduler"] == scheduler)


def test_the_kernels_own_scheduler_is_back(said: Said):
    ended = {"event": "end", "exit": 1, "state": "disabled", "files": 3}
    assert said.event("end") == ended, "\n".join(said.lines)


def test_an_object_is_told_the_constants_of_the_kernel(said: Said):
    # Without them every insertion would name a queue that does not exist, which ejects a policy.
    found = record(said, "bare")
    assert found["status"] == "ok", found["reason"]
    assert found["provenance"]["ops"].startswith("bare_")


def test_a_users_values_are_in_the_object_before_it_is_loaded(said: Said):
    # It ends where they are not, as the next test shows.
    found = record(said, "set")
    assert found["status"] == "ok", found["reason"]


def test_both_worlds_take_flags_out_of_a_file_and_name_those_that_a_kernel_does_not_know(
    said: Said, built: dict[str, Path]
):
    expected = "flags of struct sched_ext_ops: 0x10000, which"
    found = record(said, "flagged")
    assert found["status"] == "failed"
    assert found["reason"].startswith(f"cannot load flagged: {expected} this kernel has not; again with: ")
    words = ["cell", "--workload", "pipe", "--machine", "netbook", "--scheduler", built["flagged"]]
    sim = [checkout.need_binary("schedlab-sim"), *words]
    done = subprocess.run(sim, capture_output=True, text=True, check=False)
    assert done.stderr == f"schedlab-sim: flagged: {expected} the model of 7.2 has not\n"
    assert subprocess.run([*sim, "--api", "7.0"], capture_output=True, check=False).returncode == 0


def test_the_simulator_begins_with_the_same_values(built: dict[str, Path]):
    words = ["cell", "--workload", "pipe", "--machine", "netbook", "--param", "trips=100", "--json", "--scheduler"]
    for name, expected in [("valued", "ejected"), ("set", "ok")]:
        done = subprocess.run(
            [checkout.need_binary("schedlab-sim"), *words, built[name]], capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout)["status"] == expected, done.stdout
