# SPDX-License-Identifier: GPL-2.0-or-later
"""CFS: its arithmetic in C against slow references, its fingerprints in the simulator."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.policies import programs
from tests.policies.schedules import HOG, ONE_CPU, simulate

ROOT = Path(__file__).resolve().parents[2]
ERAS = ("2.6.31", "2.6.32", "3.6")


@pytest.mark.parametrize("name", programs.names("cfs"))
def test_rules(name: str, tmp_path: Path) -> None:
    programs.run(programs.build("cfs", name, tmp_path, *programs.LENIENT, include=programs.SCHED_EXT))


def cell(rules: str, workload: str, load: int, machine: str, *more: str, scheduler: str = "cfs") -> dict:
    """The record of one simulated cell."""
    simulator = next(
        (path for path in (ROOT / "target" / kind / "schedlab-sim" for kind in ("release", "debug")) if path.exists()),
        None,
    )
    assert simulator, "target/release/schedlab-sim is not there: make build"
    command = [
        *(simulator, "cell", "--json", "--scheduler", ROOT / f"schedulers/{scheduler}:rules={rules}"),
        *("--workload", workload, "--load", str(load), "--machine", machine, *more),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}"
    record = json.loads(done.stdout)
    assert record["status"] == "ok", record["reason"]
    return record


def elapsed_s(*arguments) -> float:
    return cell(*arguments)["metrics"]["elapsed_s"]


WORK_S = 0.151  # one counter on the machine of 2009


@pytest.mark.parametrize("processes", [3, 5, 7, 9, 13])
def test_counter_tells_the_versions_apart(processes: int) -> None:
    """An odd number of equal tasks on two CPUs: 2.6.31 leaves one CPU idle beside waiting tasks, later ones do not."""
    even = processes * WORK_S / 2
    split_once = (processes + 1) / 2 * WORK_S
    # Looks that cost nothing by the child: those fill the idle CPU, and add to every era.
    looks = ("--param", "look_child_us=0")
    old, new, newest = (elapsed_s(rules, "counter", processes, "t5600", *looks) for rules in ERAS)
    assert even <= new <= even * 1.07
    assert even <= newest <= even * 1.07
    assert max(new, newest) * 1.03 < old < split_once * 1.04


def test_counter_in_2_6_31_splits_three_tasks_once() -> None:
    assert elapsed_s("2.6.31", "counter", 3, "t5600") == pytest.approx(2 * WORK_S, rel=0.04)


@pytest.mark.parametrize("rules", ERAS)
def test_counter_is_even_at_even_numbers(rules: str) -> None:
    assert elapsed_s(rules, "counter", 4, "t5600") == pytest.approx(2 * WORK_S, rel=0.05)


def test_counter_with_newidle_switched_on() -> None:
    """The flag that 2.6.31 lacked is what makes the difference."""
    without = elapsed_s("2.6.31", "counter", 3, "t5600")
    assert elapsed_s("2.6.31+newidle=on", "counter", 3, "t5600") < 0.85 * without


@pytest.mark.parametrize("rules", ERAS)
def test_pipes_stay_flat_up_to_a_pair_for_two_cpus(rules: str) -> None:
    one = elapsed_s(rules, "pipe", 1, "mingo-testbox")
    eight = elapsed_s(rules, "pipe", 8, "mingo-testbox")
    assert eight <= 1.5 * one


def mean_us(record: dict, name: str) -> float:
    histogram = record["histograms"][name]
    return histogram["sum_ns"] / histogram["count"] / 1000


@pytest.mark.parametrize("load", [8, 15])
def test_latt_wakes_later_than_under_bfs(load: int) -> None:
    cfs = cell("2.6.31", "latt", load, "desktop")
    bfs = cell("311", "latt", load, "desktop", scheduler="bfs")
    assert mean_us(cfs, "wakeup_latency_us") > mean_us(bfs, "wakeup_latency_us")
    # With few clients the turnaround is a tie (within 0.1 % at 8).
    if load == 15:
        assert mean_us(cfs, "turnaround_us") < mean_us(bfs, "turnaround_us")


@pytest.mark.parametrize("rules", ERAS)
@pytest.mark.parametrize("nice", [0, 5])
def test_two_hogs_share_by_weight(rules: str, nice: int, tmp_path: Path) -> None:
    """Shares follow 1024 : 335 (nice 5) on one CPU; what is measured is the better one's time to its end."""
    workload = tmp_path / "hogs.toml"
    workload.write_text(HOGS.format(nice=nice))
    elapsed = elapsed_s(rules, str(workload), 1, "athlonxp")
    weight = {0: 1024, 5: 335}[nice]
    assert elapsed == pytest.approx(2.0 * (1024 + weight) / 1024, rel=0.04)


HOGS = """
name = "hogs"
title = "two hogs on one CPU"
source = "this test"
load = "hogs"
loads = [1]

[params]
hogs = {{ default = 1, min = 1, max = 1, about = "unused" }}

[end]
task = "better"

[[task]]
name = "better"
program = [{{ run_us = 2000000 }}]

[[task]]
name = "worse"
nice = {nice}
program = [{{ run_us = 8000000 }}]

[metrics]
promises = ["elapsed_s"]
"""


@pytest.mark.parametrize("rules", ERAS)
def test_tasks_survive_cpus_that_come_and_go(rules: str) -> None:
    record = cell(rules, "hackbench", 3, "desktop-4", "--hotplug", "1ms:-3,2ms:-2,4ms:+3,5ms:-1,6ms:+2,7ms:+1")
    assert record["metrics"]["starvation_max_us"] < 1_000_000


@pytest.mark.parametrize("rules", ERAS)
def test_a_weak_task_does_not_carry_the_clock_away(rules: str, tmp_path: Path) -> None:
    """One tick of nice 19 is 680 ms of vruntime: who wakes while another is switched in does not owe that."""
    tasks = (
        f'[[task]]\nname = "strong"\nnice = -5\n{HOG}[[task]]\nname = "weak"\nnice = 19\n{HOG}'
        '[[task]]\nname = "writer"\nprogram = [{ loop = [{ write = 4096, sync = true }, { run_us = 100 }] }]\n'
    )
    schedule = simulate(tmp_path, f"cfs:rules={rules}", tasks, 2, hz=100)
    assert max(schedule.gaps_ms("writer")) < 200


@pytest.mark.parametrize("rules", ERAS)
def test_who_leaves_a_cpu_offline_keeps_his_distance_to_the_clock(rules: str, tmp_path: Path) -> None:
    """Behind him a task of nice 19, far ahead: the clock of the queue that he left must not be its vruntime."""
    machine = tmp_path / "two.toml"
    machine.write_text(ONE_CPU.format(hz=100).replace("cores_per_llc = 1", "cores_per_llc = 2"), "utf-8")
    tasks = f'[[task]]\nname = "strong"\ncount = 3\nnice = -5\n{HOG}[[task]]\nname = "weak"\nnice = 19\n{HOG}'
    gone = ["--hotplug", "1000ms:-1"]
    schedule = simulate(tmp_path, f"cfs:rules={rules}", tasks, 3, str(machine), *gone, hz=100)
    for name in schedule.tasks("strong"):
        starts = [start for start, _ in schedule.on_cpu[name] if start > 1000]
        assert max(after - before for before, after in zip([1000.0, *starts], [*starts, 3000.0], strict=True)) < 300
