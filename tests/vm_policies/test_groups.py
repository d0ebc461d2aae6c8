# SPDX-License-Identifier: GPL-2.0-or-later
"""Control groups on a real kernel: the workloads here are those of crates/kernel/tests/it/cgroups.rs, and so is what is
expected of them.
"""

import itertools
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
    names = ("limits", "quota", "shares", "shrink", "told")
    workloads = {f"/test/{name}.toml": HERE / f"{name}.toml" for name in names}
    return run_script("groups.sh", loader, {"/test/objects": folder, **workloads}, [], limit_s=900, tier="exact")


def settled(lines: list[str]) -> list[str]:
    """Without what differs from run to run, and between the model and a kernel.

    Tasks come to their groups in any order, and then to CPUs of these groups; a process of threads has one thread more
    in a kernel, so that lines are repeated.
    """

    def kind(line: str) -> str:
        begins = line.endswith(" 100 to 300")
        return "begins" if begins else "cpus" if line.startswith("cpus ") else line

    return [line for _, alike in itertools.groupby(lines, kind) for line in sorted(set(alike))]


def test_a_policy_hears_what_the_model_tells_it(said: Said) -> None:
    assert said.event("ran", run="told")["exit"] == 0, said.lines
    lines = (HERE / "told.txt").read_text().splitlines()
    expected = [line for line in lines if not line.startswith("#")]
    ours = ("mover", "choosy", "pair")
    heard = [line for line in said.event("told")["said"].split("|") if line]
    # Every other task of the guest is in it, too.
    heard = [line for line in heard if not line.startswith("task ")]
    heard = [line for line in heard if not line.startswith("cpus ") or line.split()[1].rstrip(":") in ours]
    assert settled(heard) == settled(expected)
    # Two changes of a group's CPUs, one after the other, and who came last to the group hears of each last.
    changes = heard[heard.index("limit -1 of 50000, burst 0") + 1 : heard.index("prep pair 300 to 400")]
    assert (changes[len(changes) // 2 - 1], changes[-1]) == ("cpus mover: 1", "cpus mover: 2")


def share(said: Said, run: str) -> float:
    event = said.event("ran", run=run)
    assert event["exit"] == 0, event
    metrics = event["record"]["metrics"]
    return metrics["throughput_per_s"] * metrics["elapsed_s"] / metrics["frames_shown"]


def test_groups_share_the_cpus_by_their_weights(said: Said) -> None:
    assert 2.7 < share(said, "shares") < 3.3


def test_the_kernels_own_scheduler_heeds_the_same_weights(said: Said) -> None:
    # It weighs the groups on each CPU, by an estimate of what they have on all; here that comes to 4 for 3.
    assert 2.0 < share(said, "kernel") < 4.5


@pytest.mark.parametrize("run", ["pinned", "pinned_eevdf"])
def test_eevdf_heeds_them_on_a_cpu_as_the_kernels_own_scheduler_does(said: Said, run: str) -> None:
    assert share(said, run) == pytest.approx(3, rel=0.04)


def test_groups_of_one_weight_share_alike(said: Said) -> None:
    assert 0.85 < share(said, "alike") < 1.15


def test_systemds_slices_keep_their_promises(said: Said) -> None:
    event = said.event("ran", run="slices")
    assert event["exit"] == 0, event
    record = event["record"]
    assert record["metrics"]["throughput_per_s"] > 0
    assert {"wakeup_latency_us", "turnaround_us"} <= record["histograms"].keys()


@pytest.mark.parametrize("run", ["limits", "limits_kernel", "limits_eevdf"])
def test_limits_are_kept(said: Said, run: str) -> None:
    """60 % of a CPU for all, of which at most two thirds for the one group, and the rest for the other.

    A CPU may overrun a limit by a tick, but for once.
    """
    event = said.event("ran", run=run)
    assert event["exit"] == 0, event
    metrics = event["record"]["metrics"]
    assert 0.55 < metrics["cpu_s"] / metrics["elapsed_s"] < 0.67
    rest = metrics["throughput_per_s"] * metrics["elapsed_s"]
    share = metrics["frames_shown"] / (rest + metrics["frames_shown"])
    # The periods of EEVDF's two limits begin at random times: where the inner one is full when the outer one is empty,
    # it gets less than it may.
    assert (0.3 if run == "limits" else 0.05) < share < (0.4 if run == "limits" else 0.7)


@pytest.mark.parametrize("run", ["quota", "quota_eevdf"])
def test_eevdf_keeps_a_limit_as_the_kernels_own_scheduler_does(said: Said, run: str) -> None:
    """The service has 30 ms of 100, of which its requests take what they need; the programs beside it have the rest."""
    event = said.event("ran", run=run)
    assert event["exit"] == 0, event
    metrics, wakeup = event["record"]["metrics"], event["record"]["histograms"]["wakeup_latency_us"]
    ran_s = metrics["frames_shown"] * 500e-6
    requests_s = wakeup["count"] * 300e-6
    assert (ran_s + requests_s) / metrics["elapsed_s"] == pytest.approx(0.3, abs=0.01)
    assert metrics["cpu_s"] / metrics["elapsed_s"] == pytest.approx(1, abs=0.02)


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
