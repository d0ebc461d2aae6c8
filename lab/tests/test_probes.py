# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of machines: a machine whose costs are known is found again from what it takes for them."""

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab import checkout
from schedlab.catalogue import machines
from schedlab.catalogue.machine_file import Description, Topology, text
from schedlab.cli import machine_costs
from schedlab.cli.machine_costs import _topology
from schedlab.collect.records import Record
from schedlab.errors import LabError
from schedlab.probes.probe import CHECKS, INSTRUCTION, PROBES, UNMEASURED, WORK, Probe
from schedlab.probes.solve import simulated, solve_all, with_counted, with_runner
from schedlab.sched_ext import sysfs

RUNNER = checkout.root() / "target/release/schedlab-sim"
needs_simulator = pytest.mark.skipif(not RUNNER.exists(), reason="no simulator in target/release: make build")


def described(**costs: int) -> Description:
    return Description("known", "a known machine", "a test", 250, Topology(cores_per_llc=2), costs)


@needs_simulator
def test_known_costs_are_found_again() -> None:
    """Of what is measured without noise, from start values that are not theirs."""
    costs = {INSTRUCTION: 400, "program_step_ns": 40, "syscall_ns": 700, "switch_ns": 900, "wakeup_ns": 1_300}
    costs["child_ns"] = 90_000
    known = with_counted(described(**costs))
    wanted = [probe for probe in PROBES if probe.cost in costs]
    measured = {probe: [simulated(probe, known)] for probe in wanted}
    found, rows = solve_all(measured, described())
    for cost, value in costs.items():
        assert found.costs[cost] == pytest.approx(value, rel=0.02), cost
    assert all(row.reached == pytest.approx(1, rel=0.01) for row in rows.values())
    assert found.costs["ext_switch_ns"] == pytest.approx(known.costs["ext_switch_ns"], rel=0.02)


@needs_simulator
@pytest.mark.parametrize(
    "costs",
    [
        {"timer_slack_ns": 31_000, "idle_exit_ns": 7_000, "timer_ns": 1_500},
        {"disk_request_ns": 83_000, "disk_kib_ns": 2_100, "disk_cpu_kib_ns": 900},
    ],
    ids=["late timers", "disk"],
)
def test_costs_that_are_seen_together_are_told_apart(costs: dict[str, int]) -> None:
    """What makes a sleep late, and what a write waits for: each from a probe where the others are otherwise."""
    known = described(**costs)
    measured = {probe: [simulated(probe, known)] for probe in PROBES if probe.cost in costs}
    found, _ = solve_all(measured, described())
    assert {cost: found.costs[cost] for cost in costs} == {
        cost: pytest.approx(value, rel=0.02) for cost, value in costs.items()
    }


@needs_simulator
@pytest.mark.parametrize("cpus", [1, 2])
def test_the_kernels_own_thread_is_seen_where_no_cpu_is_free(cpus: int) -> None:
    """Where it takes so little that it moves no task to another CPU, which takes more than the thread does.

    On two CPUs the time does not rise evenly everywhere, by where ticks fall: at 18 and 25 us another cost takes as
    long.
    """
    probe = WORK.with_cpus(cpus)
    costs = {"runner_task_ns": 100_000, "kthread_ns": 20_000, "kthread_period_ns": 4_000_000}
    known = replace(described(**costs), topology=Topology(cores_per_llc=cpus))
    found, rows = solve_all({probe: [simulated(probe, known)]}, known.with_cost("kthread_ns", 1))
    assert found.costs["kthread_ns"] == pytest.approx(20_000, rel=0.02)
    assert rows[probe].reached == pytest.approx(1, rel=0.002)


def test_what_the_runner_spends_on_a_task_has_a_spread_too() -> None:
    costs = [{"runner_fork_us": us, "runner_task_us": 400.0, "runner_reap_us": 13.0} for us in (120.0, 126.0, 150.0)]
    found = with_runner(described(), costs)
    assert (found.costs["fork_ns"], found.costs["runner_task_ns"]) == (132_000, 400_000)
    assert found.spread_pct == {"fork_ns": 14}  # 18 of 132, rounded up
    assert "fork_ns = 132_000  # 120_000 to 150_000 by single runs; a task's runner_fork_us in records" in text(found)
    assert "runner_task_ns = 400_000  # a task's runner_task_us in records" in text(found)


@needs_simulator
def test_a_spread_is_told_beside_the_value() -> None:
    probe = next(probe for probe in PROBES if probe.cost == "syscall_ns")
    times = [simulated(probe, described(syscall_ns=cost)) for cost in (500, 600, 700)]
    found, rows = solve_all({probe: times}, described())
    row = rows[probe]
    assert [row.low, row.value, row.high] == [pytest.approx(cost, abs=2) for cost in (500, 600, 700)]
    assert f"syscall_ns = {row.value}  # {row.low} to {row.high} by single runs; {probe.name}" in text(found)


@needs_simulator
def test_what_takes_less_than_without_the_cost_costs_nothing() -> None:
    probe = next(probe for probe in PROBES if probe.cost == "syscall_ns")
    _, rows = solve_all({probe: [1e-6]}, described())
    assert rows[probe].value == 0
    assert rows[probe].reached > 1


@needs_simulator
def test_a_probe_that_cannot_see_its_cost_is_an_error() -> None:
    blind = Probe("disk_kib_ns", "turns", 2)
    with pytest.raises(LabError, match="does not depend on disk_kib_ns"):
        solve_all({blind: [1.0]}, described())


@needs_simulator
def test_a_probe_that_the_simulator_cannot_run_is_named_with_what_it_says(tmp_path: Path) -> None:
    """Where a thread, by whatever delays it, lives longer than its successor waits for."""
    probe = next(probe for probe in PROBES if probe.cost == "thread_ns")
    workload = tmp_path / probe.path.name
    ends = 'program = [{ post = "ended" }]'
    text = probe.path.read_text(encoding="utf-8")
    assert ends in text
    workload.write_text(text.replace(ends, 'program = [{ post = "ended" }, { sleep_ms = 2 }]'), encoding="utf-8")

    class Late(Probe):
        @property
        def path(self) -> Path:
            return workload

    late = Late(probe.cost, probe.workload, probe.load)
    says = r"threads default: with the costs found so far the simulator says: main\[\d+\] forks thread\[0\]"
    with pytest.raises(LabError, match=says):
        simulated(late, described())


@needs_simulator
@pytest.mark.parametrize("probe", [*PROBES, *CHECKS], ids=lambda probe: f"{probe.cost} {probe.name}")
def test_every_probe_runs_in_the_simulator(probe: Probe) -> None:
    assert simulated(probe, described()) > 0


@needs_simulator
def test_what_is_written_is_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    topology = Topology(sockets=2, cores_per_llc=2, threads_per_core=2, numbering="split")
    machine = Description("known", "a known machine", "a test", 1000, topology, {"ipi_ns": 700}, head=("One line.",))
    file.write_text(text(machine))
    found = machines.read(file)
    assert (found.name, found.cpus) == ("known", 8)


def test_this_machine_has_a_topology() -> None:
    found = _topology()
    assert found.sockets * found.llcs_per_socket * found.cores_per_llc * found.threads_per_core == os.cpu_count()


def _where(tier: str | None, repetitions: int = 1) -> machine_costs._Where:
    options = argparse.Namespace(on="vm" if tier else "host", repetitions=repetitions)
    return machine_costs._Where(options, tier, 1, Path("nowhere"))


def _record(status: str, reason: str, metrics: dict[str, float], params: dict[str, str]) -> Record:
    return Record("", {"params": params}, status, reason, metrics, {}, "", {}, {})


@pytest.mark.parametrize(
    ("cost", "tier", "status", "switches", "lack"),
    [
        ("disk_request_ns", "exact", "ok", 500, "a guest of the exact tier has no disk"),
        ("disk_request_ns", "emulated", "ok", 2, "no write waited for a disk"),
        ("disk_request_ns", "emulated", "ok", 500, ""),
        ("timer_slack_ns", "emulated", "failed", 0, "no real-time task could run (not permitted)"),
        ("idle_exit_ns", "emulated", "ok", 1_000, ""),
        ("switch_ns", None, "ok", 0, "this kernel has no sched_ext"),
        ("syscall_ns", None, "ok", 0, ""),
    ],
)
def test_what_a_place_lacks_is_told(
    cost: str,
    tier: str | None,
    status: str,
    switches: float,
    lack: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sysfs, "ROOT", tmp_path)
    probe = next(probe for probe in PROBES if probe.cost == cost)
    metrics = {"switches_voluntary": switches}
    record = _record(status, "not permitted; become root", metrics, dict(probe.params))
    monkeypatch.setattr(machine_costs, "_run", lambda *_: ([1.0], [record]))
    run = _where(tier).run([probe])[probe]
    assert run.lack.startswith(lack)
    assert bool(run.lack) == bool(lack)
    assert run.values == ([] if lack else [1.0])


def test_a_probe_that_fails_though_nothing_is_lacking_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = next(probe for probe in PROBES if probe.cost == "syscall_ns")
    monkeypatch.setattr(machine_costs, "_run", lambda *_: ([], [_record("failed", "a reason", {}, {})]))
    with pytest.raises(LabError, match="own-queue default: failed: a reason"):
        _where("emulated").run([probe])


def test_what_is_not_measured_is_named_with_the_reason() -> None:
    disk = next(probe for probe in PROBES if probe.cost == "disk_request_ns")
    told = machine_costs._left_out(1, {disk: machine_costs._Run(lack="no disk"), WORK: machine_costs._Run([1.0])})
    assert told == {"": [*UNMEASURED, "ipi_ns"], "no disk": ["disk_request_ns"]}
    record = Record("", {}, "ok", "", {}, {}, "", {"kernel": "7.2", "hz": 250}, {})
    machine = machine_costs._described("mine", "vm", "exact", 1, record, told)
    assert machine.head[2:] == (
        "Not measured, and so as docs/machines.md has it: "
        "warm_messages, ipi_send_ns, lock_transfer_ns, smt_speed_pct, ipi_ns.",
        "Not measured, and so as docs/machines.md has it: disk_request_ns (no disk).",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "calibrate machine: expected -o machines/NAME.toml"),
        (["-o", "mine"], "-o mine: expected a file NAME.toml"),
        (
            ["-o", "mine.toml", "--on", "vm", "--tier", "exact", "--cpus", "2"],
            "--cpus: expected 1 with --tier exact: its CPUs take turns, and the costs are the same with more of them "
            "(one_clock in a machine file)",
        ),
    ],
)
def test_calibrate_machine_refuses(lab: Callable, arguments: list[str], message: str) -> None:
    result = lab("calibrate", "machine", *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"schedlab: {message}\n")
