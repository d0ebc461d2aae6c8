# SPDX-License-Identifier: GPL-2.0-or-later
"""
A CPU that goes offline is inactive first, which the policy is not told: the kernel asks it for tasks as before, but
takes no task there that it counts elsewhere, and pushes off whatever comes to run. It tells the policy after an RCU
grace period, for which a task of that CPU's queue may have to run: such a task has to be found without being told.
From then on it asks no more, and waits for what waits there.
"""

from pathlib import Path

import pytest

from tests.policies.schedules import HOG, HOTPLUG, Turn, free_machine, hog, simulate, task

SCHEDULERS = ("bfs", "o1", "sd", "cfs", "eevdf", "fifo", "rr", "mlfq", "vtime")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_tasks_of_an_inactive_cpu_run_elsewhere(scheduler: str, tmp_path: Path) -> None:
    tasks = f'[[task]]\nname = "hog"\ncount = 12\n{HOG}'
    schedule = simulate(tmp_path, scheduler, tasks, 8, "desktop-4", "--hotplug", "1000ms:~1", strict=False)
    names = schedule.tasks("hog")
    assert len(names) == 12
    for name in names:
        assert max(schedule.gaps_ms(name, 900), default=7_000) < 2_700, name
        assert schedule.on_cpu[name][-1][1] > 5_300, name
    assert all(_pushed_off(turn) for turn in schedule.by_cpu[1] if turn.name != "idle" and turn.start > 1_000)


def _pushed_off(turn: Turn) -> bool:
    """As long as it takes the stopper to come."""
    return turn.end - turn.start < 0.05


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_tasks_confined_to_a_cpu_that_goes_run_elsewhere(scheduler: str, tmp_path: Path) -> None:
    tasks = hog("free", count=6) + hog("confined", count=3, cpus=[3])
    schedule = simulate(tmp_path, scheduler, tasks, 8, "desktop-4", "--hotplug", "100ms:-3", strict=False)
    for name in schedule.tasks("confined"):
        assert max(schedule.gaps_ms(name, 200), default=7_000) < 3_000, name


# Held for a while, as the kernel's own code is in its sections; it may block there and be preempted.
SECTION = "{ migrate_disable = [{ run_ms = 3 }, { sleep_us = 500 }, { run_us = 700 }] }"


@pytest.mark.parametrize("hotplug", ["", HOTPLUG])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_task_with_migration_disabled_stays_where_it_is(scheduler: str, hotplug: str, tmp_path: Path) -> None:
    """A policy that moves one is thrown out. Between their sections they move, and none is left behind by a CPU."""
    kept = task("kept", f"{{ loop = [{SECTION}, {{ run_us = 400 }}, {{ sleep_us = 200 }}] }}", count=16)
    short = task("short", "{ loop = [{ run_us = 500 }, { sleep_us = 700 }] }", count=4)
    schedule = simulate(tmp_path, scheduler, kept + short, 8, "desktop-4", "--hotplug", hotplug, strict=False)
    names = schedule.tasks("kept")
    assert len(names) == 16
    for name in names:
        assert max(schedule.gaps_ms(name)) < 4_500, name
        assert schedule.on_cpu[name][-1][1] > 4_000, name
    assert len([cpu for cpu, turns in schedule.by_cpu.items() if any(turn.name == "kept" for turn in turns)]) == 4


@pytest.mark.parametrize("scheduler", ["bfs", "cfs", "eevdf", "fifo", "rr", "mlfq"])
def test_who_waits_beside_one_that_stays_is_sent_on(scheduler: str, tmp_path: Path) -> None:
    """The CPU is told to be gone at 11, and the task that disabled its migration runs there up to 50 and more."""
    sleeps = "{ sleep_s = 60 }"
    kept = task("kept", "{ migrate_disable = [{ run_ms = 50 }] }", sleeps, cpus=[1])
    waits = task("waits", "{ sleep_ms = 2 }", "{ run_ms = 5 }", sleeps, cpus=[1], count=2)
    machine = free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, scheduler, kept + waits, 0.2, machine, "--hotplug", "10ms:-1", strict=False)
    assert schedule.turns_of("kept")[-1].end >= 50
    assert schedule.ran_ms("waits") == 10
    assert schedule.turns_of("waits")[-1].end < 30


@pytest.mark.parametrize("scheduler", [*SCHEDULERS, "cfs:rules=2.6.31", "cfs:rules=2.6.32"])
def test_a_cpu_that_comes_back_has_work_again(scheduler: str, tmp_path: Path) -> None:
    """Two tasks that only run, and two CPUs: from some balance on each has one of its own."""
    machine = free_machine(tmp_path, cores=2)
    tasks = hog("a") + hog("b")
    schedule = simulate(tmp_path, scheduler, tasks, 2, machine, "--hotplug", "100ms:-1,200ms:+1", strict=False)
    assert all(turn.name == "idle" for turn in schedule.by_cpu[1] if 110 < turn.end < 200)
    assert schedule.ran_ms("a", 1000) == pytest.approx(1000)
    assert schedule.ran_ms("b", 1000) == pytest.approx(1000)
