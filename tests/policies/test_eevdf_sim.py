# SPDX-License-Identifier: GPL-2.0-or-later
"""EEVDF whole, in the simulator: what follows from its rules must be seen in the schedule."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.policies.schedules import HOG, ROOT, simulate, simulator

VERSIONS = ["6.6", "6.12", "7.2"]
WEIGHTS = {-5: 3121, 0: 1024, 5: 335, 10: 110}
# Of one CPU, in ms: 6.6 and 6.12 end a slice at the next tick, 7.2 on time.
SLICE_MS = {"6.6": 1.0, "6.12": 1.0, "7.2": 0.7}

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


@pytest.mark.parametrize("version", VERSIONS)
def test_equals_take_turns_of_one_slice(version: str, tmp_path: Path) -> None:
    schedule = simulate(tmp_path, f"eevdf:rules={version}", f'[[task]]\nname = "hog"\ncount = 4\n{HOG}', 2)
    assert len(schedule.tasks("hog")) == 4
    for name in schedule.tasks("hog"):
        # The first have half a slice; then, each 0.7 or 0.75 ms; 6.x sees the end at a tick.
        lengths = [end - start for start, end in schedule.on_cpu[name][3:-1]]
        assert sum(lengths) / len(lengths) == pytest.approx(SLICE_MS[version], abs=0.06)
        assert schedule.ran_ms(name) == pytest.approx(500, abs=4)


def test_a_second_slice_in_a_row_ends_at_a_tick(tmp_path: Path) -> None:
    """7.2 sets the slice's timer when another task is switched in, not when it picks the running one again."""
    tasks = f'[[task]]\nname = "favoured"\nnice = -5\n{HOG}[[task]]\nname = "hog"\n{HOG}'
    schedule = simulate(tmp_path, "eevdf:rules=7.2", tasks, 1, hz=250)
    (favoured,) = schedule.tasks("favoured")
    long = [end for start, end in schedule.on_cpu[favoured][1:-1] if end - start > SLICE_MS["7.2"] + 0.1]
    assert len(long) > 50
    # What a tick and a switch cost comes on top.
    assert max(end % 4 for end in long) < 0.05


@pytest.mark.parametrize("version", VERSIONS)
def test_shares_follow_weights_and_nobody_is_far_from_his(version: str, tmp_path: Path) -> None:
    tasks = "".join(
        f'[[task]]\nname = "nice{nice}"\nnice = {nice}\n{HOG}'.replace("nice-", "niceminus", 1) for nice in WEIGHTS
    )
    schedule = simulate(tmp_path, f"eevdf:rules={version}", tasks, 4)
    total = sum(WEIGHTS.values())
    for nice, weight in WEIGHTS.items():
        ran = schedule.ran_ms(f"nice{nice}".replace("-", "minus"))
        assert ran == pytest.approx(4000 * weight / total, abs=8)
    # The simulator's own measure: the largest distance of any of them from its share at any time.
    assert schedule.record["metrics"]["max_lag_us"] <= 6_000


@pytest.mark.parametrize("version", ["6.12", "7.2"])
def test_a_shorter_slice_gives_the_same_share_in_shorter_turns(version: str, tmp_path: Path) -> None:
    """Rule 3.12.5. 6.12 sees the end of a slice at a tick, so its short slice is longer than what it runs at once."""
    others = f'[[task]]\nname = "hog"\ncount = 3\n{HOG}'
    worst = {}
    for slice_us in (0, 200):
        tasks = f'[[task]]\nname = "brief"\nslice_us = {slice_us}\n{HOG}{others}'
        schedule = simulate(tmp_path, f"eevdf:rules={version}+base_slice_us=4000", tasks, 4)
        assert schedule.ran_ms("brief") == pytest.approx(1000, abs=12)
        worst[slice_us] = max(schedule.gaps_ms("brief", after_ms=100))
    assert worst[0] >= 11
    assert worst[200] <= 8


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sleeper_gains_no_time_by_sleeping(version: str, tmp_path: Path) -> None:
    """Lag is kept over a sleep (rule 3.8): who asks for 60 % of a CPU beside a hog gets half."""
    tasks = (
        '[[task]]\nname = "sleeper"\nprogram = [{ loop = [{ run_us = 3000 }, { sleep_us = 1 }] }]\n'
        f'[[task]]\nname = "hog"\n{HOG}'
    )
    schedule = simulate(tmp_path, f"eevdf:rules={version}", tasks, 4)
    assert schedule.ran_ms("sleeper") == pytest.approx(2000, rel=0.03)


@pytest.mark.parametrize("version", VERSIONS)
def test_idle_priority_waits_until_the_floor(version: str, tmp_path: Path) -> None:
    tasks = f'[[task]]\nname = "normal"\nnice = -20\ncount = 4\n{HOG}[[task]]\nname = "late"\npolicy = "idle"\n{HOG}'
    schedule = simulate(tmp_path, f"eevdf:rules={version}", tasks, 40)
    (late,) = schedule.tasks("late")
    begins = [0.0, *(start for start, _ in schedule.on_cpu[late])]
    assert max(later - sooner for sooner, later in pairwise(begins)) <= 10_000
    assert schedule.ran_ms("late") <= 40


CHURN = (
    f'[[task]]\nname = "hog"\ncount = 5\n{HOG}'
    '[[task]]\nname = "sleeper"\ncount = 20\nprogram = [{ loop = ['
    "{ sleep_us = { uniform = [50, 5000] } }, { run_us = { uniform = [10, 2000] } } ] }]\n"
    '[[task]]\nname = "wanderer"\ncount = 4\nprogram = [{ loop = ['
    "{ affinity = [0] }, { run_us = 700 }, { affinity = [1, 2] }, { run_us = 300 }, { nice = 5 }, { yield = true }, "
    "{ affinity = [] }, { sleep_us = 900 }, { nice = 0 } ] }]\n"
    '[[task]]\nname = "pinned"\ncount = 3\ncpus = [1]\nprogram = [{ loop = [{ sleep_us = 700 }, { run_us = 900 } ] }]\n'
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("machine", ["desktop-4", "desktop-8-smt", "server-2x8-smt"])
def test_no_cpu_idles_beside_a_waiting_task(version: str, machine: str, tmp_path: Path) -> None:
    simulate(tmp_path, f"eevdf:rules={version}", CHURN, 2, machine)


@pytest.mark.parametrize("seed", [3, 18])
def test_who_is_pushed_does_not_wait_for_a_slice(seed: int, tmp_path: Path) -> None:
    """Another task may come first to the CPU that asked for it; with these draws one does."""
    simulate(tmp_path, "eevdf", CHURN, 2, "server-2x8-smt", "--seed", str(seed))


@pytest.mark.parametrize("version", VERSIONS)
def test_tasks_survive_cpus_that_come_and_go(version: str, tmp_path: Path) -> None:
    hotplug = ",".join(f"{50 * i + 10}ms:-{i % 3 + 1},{50 * i + 40}ms:+{i % 3 + 1}" for i in range(20))
    simulate(tmp_path, f"eevdf:rules={version}", CHURN, 1.5, "desktop-4", "--hotplug", hotplug)


def test_three_equals_share_two_cpus(tmp_path: Path) -> None:
    schedule = simulate(tmp_path, "eevdf", f'[[task]]\nname = "hog"\ncount = 3\n{HOG}', 5, "t5600")
    for name in schedule.tasks("hog"):
        assert schedule.ran_ms(name) == pytest.approx(5000 * 2 / 3, rel=0.1)


def test_default_is_eevdf_as_it_is_now_and_built_in() -> None:
    def trace_hash(*scheduler: str) -> str:
        command = [simulator(), "cell", "--json", "--workload", "hackbench", "--machine", "desktop-4", "--scheduler"]
        run = subprocess.run([*command, *scheduler], capture_output=True, text=True, cwd=ROOT)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)["trace_hash"]

    default = trace_hash("default")
    assert default == trace_hash("eevdf", "--built-in") == trace_hash("eevdf:rules=7.2", "--built-in")
    assert default != trace_hash("eevdf")


def test_compare_takes_default_in_the_simulator(tmp_path: Path) -> None:
    command = [
        "./schedlab",
        "compare",
        "default,vtime",
        "-w",
        "pipe",
        "--load",
        "2",
        "-n",
        "2",
        "-o",
        str(tmp_path / "out"),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    cells = [json.loads(path.read_text()) for path in (tmp_path / "out/cells").glob("*.json")]
    assert {record["cell"]["scheduler"] for record in cells} == {"eevdf", "vtime"}
    assert "default" in run.stdout
