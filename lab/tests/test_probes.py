# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of machines: a machine whose costs are known is found again from what it takes for them."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab import checkout
from schedlab.catalogue import machines
from schedlab.catalogue.machine_file import Description, Topology, text
from schedlab.cli.machine_costs import _topology
from schedlab.errors import LabError
from schedlab.probes.probe import CHECKS, INSTRUCTION, PROBES, WORK, Probe
from schedlab.probes.solve import simulated, solve_all, with_ext

RUNNER = checkout.root() / "target/release/schedlab-sim"
needs_simulator = pytest.mark.skipif(not RUNNER.exists(), reason="no simulator in target/release: make build")


def described(**costs: int) -> Description:
    return Description("known", "a known machine", "a test", 250, Topology(cores_per_llc=2), costs)


@needs_simulator
def test_known_costs_are_found_again() -> None:
    """Of what is measured without noise, from start values that are not theirs."""
    costs = {INSTRUCTION: 400, "program_step_ns": 40, "syscall_ns": 700, "switch_ns": 900, "wakeup_ns": 1_300}
    costs["child_ns"] = 90_000
    known = with_ext(described(**costs))
    wanted = [probe for probe in PROBES if probe.cost in costs]
    measured = {probe: [simulated(probe, known)] for probe in wanted}
    found, rows = solve_all(measured, described())
    for cost, value in costs.items():
        assert found.costs[cost] == pytest.approx(value, rel=0.02), cost
    assert all(row.reached == pytest.approx(1, rel=0.01) for row in rows.values())
    assert found.costs["ext_switch_ns"] == pytest.approx(known.costs["ext_switch_ns"], rel=0.02)


@needs_simulator
@pytest.mark.parametrize("cpus", [1, 2])
def test_the_kernels_own_thread_is_seen_where_no_cpu_is_free(cpus: int) -> None:
    """Where it takes so little that it moves no task to another CPU, which takes more than the thread does."""
    probe = WORK.with_cpus(cpus)
    costs = {"runner_task_ns": 100_000, "kthread_ns": 30_000, "kthread_period_ns": 4_000_000}
    known = replace(described(**costs), topology=Topology(cores_per_llc=cpus))
    found, _ = solve_all({probe: [simulated(probe, known)]}, known.with_cost("kthread_ns", 1))
    assert found.costs["kthread_ns"] == pytest.approx(30_000, rel=0.02)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "calibrate machine: expected -o machines/NAME.toml"),
        (["-o", "mine"], "-o mine: expected a file NAME.toml"),
        (
            ["-o", "mine.toml", "--on", "vm", "--tier", "exact", "--cpus", "2"],
            "--cpus: expected 1 with --tier exact, whose CPUs take turns on one clock, which no machine file can tell",
        ),
    ],
)
def test_calibrate_machine_refuses(lab: Callable, arguments: list[str], message: str) -> None:
    result = lab("calibrate", "machine", *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"schedlab: {message}\n")
