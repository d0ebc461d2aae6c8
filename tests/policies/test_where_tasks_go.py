# SPDX-License-Identifier: GPL-2.0-or-later
"""Where tasks go, by rules that take several CPUs to see: who is preempted, and where a child begins."""

from pathlib import Path

import pytest

from tests.policies.schedules import Schedule, child, free_machine, hog, simulate, simulator, task

FOR_EVER = "{ run_ms = 10_000 }"
SLEEPS = "{ sleep_s = 60 }"

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def run(folder: Path, scheduler: str, tasks: str, duration_ms: int, **machine: int) -> Schedule:
    return simulate(folder, scheduler, tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False)


def test_mlfq_preempts_no_equal_on_another_cpu(tmp_path: Path) -> None:
    """Rule 6.2.6: it waits from 10.1 ms for the end of a quantum, 31 ticks after 1 ms, of the hog of its level."""
    on_0 = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    sleeper = task("sleeper", *on_0, "{ sleep_ms = 10 }", "{ run_ms = 1 }", SLEEPS)
    hogs = [task(f"hog{at}", "{ sleep_ms = 1 }", FOR_EVER, nice=(-10, 0)[at], cpus=[at]) for at in range(2)]
    schedule = run(tmp_path, "mlfq:wake_boost=0", sleeper + "".join(hogs), 60, cores=2)
    assert schedule.turns_of("sleeper", after_ms=5)[:1] == [("sleeper", 32, 33)]
    # Who is preempted goes to the head, and so would come to run again at once.
    assert [kick for kick in schedule.kicks if 10 < kick[0] < 11] == []


@pytest.mark.parametrize("scheduler", ["cfs", "eevdf"])
@pytest.mark.parametrize("least", [1, 2])
def test_a_child_begins_where_the_least_waits(scheduler: str, least: int, tmp_path: Path) -> None:
    """Rules 2.2.9 and 3.11.2: no CPU is idle; two hogs are where the parent is and on one of the others."""
    on_0 = "{ affinity = [0] }"
    parent = task("parent", on_0, "{ run_ms = 200 }", "{ affinity = [] }", '{ fork = "born" }', SLEEPS)
    tasks = parent + child("born", FOR_EVER) + hog("with", cpus=[0])
    tasks += "".join(task(f"hog{cpu}", FOR_EVER, cpus=[cpu], count=1 if cpu == least else 2) for cpu in (1, 2))
    schedule = run(tmp_path, f"{scheduler}:periodic=off+newidle=off", tasks, 600, cores=3)
    assert {cpu for cpu in range(3) if any(turn.name == "born" for turn in schedule.turns(600, cpu))} == {least}


@pytest.mark.parametrize("scheduler", ["bfs", "bfs:rules=232", "fifo", "fifo:queues=percpu", "rr", "mlfq", "vtime"])
def test_who_gives_way_to_a_real_time_task_goes_on_elsewhere(scheduler: str, tmp_path: Path) -> None:
    """Rule 6.1.2: it is at the head of a queue again, and the idle CPU takes it from there at once."""
    leaves = task("leaves", "{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }", FOR_EVER)
    real_time = task("rt", "{ sleep_us = 5500 }", "{ run_ms = 60 }", SLEEPS, cpus=[0], policy="fifo:1")
    schedule = run(tmp_path, scheduler, leaves + real_time, 50, cores=2)
    assert schedule.turns(50) == [("leaves", 0, 5.5), ("rt", 5.5, 50)]
    assert schedule.turns(50, 1)[-1] == ("leaves", 5.5, 50)


@pytest.mark.parametrize("scheduler", ["o1", "sd", "cfs", "eevdf"])
def test_who_gives_way_to_a_real_time_task_is_pulled(scheduler: str, tmp_path: Path) -> None:
    """Rules 2.2.11.6, 3.11.5 and 4.10.6: by a CPU that goes idle at 30.5, where both wait; the other may not go."""
    waits = task("waits", "{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }", FOR_EVER)
    real_time = task("rt", "{ sleep_us = 5500 }", "{ run_ms = 60 }", SLEEPS, cpus=[0], policy="fifo:1")
    stays = task("stays", "{ until_ms = 8 }", FOR_EVER, cpus=[0])
    tasks = waits + stays + real_time + task("ends", "{ until_us = 30_400 }", "{ run_us = 100 }", SLEEPS, cpus=[1])
    schedule = run(tmp_path, f"{scheduler}:periodic=off", tasks, 50, cores=2)
    assert schedule.turns(50, 1)[-1] == ("waits", 30.5, 50)
