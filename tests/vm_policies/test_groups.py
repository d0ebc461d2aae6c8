# SPDX-License-Identifier: GPL-2.0-or-later
"""Control groups on a real kernel: the workloads here are those of crates/kernel/tests/it/cgroups.rs, and so is what is
expected of them.
"""

import subprocess
from pathlib import Path

import pytest

from schedlab import checkout
from tests.vm_policies.conftest import HERE, Said, run_script

POLICIES = HERE.parents[1] / "crates" / "kernel" / "tests" / "policies" / "both"


@pytest.fixture(scope="module")
def said(can_boot: None, loader: Path, tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder = tmp_path_factory.mktemp("objects")
    sim = checkout.need_binary("schedlab-sim")
    for name in ("shares", "tells"):
        made = [sim, "object", POLICIES / f"{name}.bpf.c", folder / f"{name}.bpf.o"]
        subprocess.run(made, check=True, capture_output=True)
    workloads = {f"/test/{name}.toml": HERE / f"{name}.toml" for name in ("shares", "shrink", "told")}
    return run_script("groups.sh", loader, {"/test/objects": folder, **workloads}, [], limit_s=900)


def test_a_policy_hears_what_the_model_tells_it(said: Said) -> None:
    assert said.event("ran", run="told")["exit"] == 0, said.lines
    lines = (HERE / "told.txt").read_text().splitlines()
    expected = [line for line in lines if not line.startswith("#")]
    ours = ("mover", "choosy", "pair")
    heard = [line for line in said.event("told")["said"].split("|") if line]
    # Every other task of the guest is in it, too.
    heard = [line for line in heard if not line.startswith("task ")]
    heard = [line for line in heard if not line.startswith("cpus ") or line.split()[1].rstrip(":") in ours]
    assert heard == expected


def share(said: Said, run: str) -> float:
    event = said.event("ran", run=run)
    assert event["exit"] == 0, event
    metrics = event["record"]["metrics"]
    return metrics["throughput_per_s"] * metrics["elapsed_s"] / metrics["frames_shown"]


@pytest.mark.parametrize("run", ["shares", "kernel"])
def test_groups_share_the_cpus_by_their_weights(said: Said, run: str) -> None:
    assert 2.6 < share(said, run) < 3.4


def test_groups_of_one_weight_share_alike(said: Said) -> None:
    assert 0.85 < share(said, "alike") < 1.15


@pytest.mark.parametrize("run", ["shrink", "shrink_bfs"])
def test_a_cpuset_that_becomes_smaller_moves_who_runs_in_it(said: Said, run: str) -> None:
    event = said.event("ran", run=run)
    assert event["exit"] == 0, event
    metrics = event["record"]["metrics"]
    assert metrics["frames_shown"] > 0
    assert metrics["throughput_per_s"] > 0
    assert metrics.get("dropped_frames", 0) == 0


def test_nothing_of_a_run_remains(said: Said) -> None:
    before = said.event("before")
    assert before["left"] == 0
    for event in said.events("ran"):
        if event["run"] != "unmounted":
            assert (event["left"], event["enabled"]) == (0, before["enabled"]), event
    killed = said.event("killed")
    assert killed["filled"] == 4
    assert (killed["left"], killed["enabled"], killed["processes"]) == (0, before["enabled"], 0)


def test_what_cannot_be_is_one_line(said: Said) -> None:
    barred = said.event("ran", run="barred")
    assert barred["exit"] == 1
    assert "control group: Operation not permitted" in barred["record"]["reason"]
    unmounted = said.event("ran", run="unmounted")
    line = "schedlab-host: the workload's control groups need cgroup v2, which is not mounted"
    assert (unmounted["exit"], unmounted["errors"].strip("|")) == (3, line)
