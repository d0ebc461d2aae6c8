# SPDX-License-Identifier: GPL-2.0-or-later
"""The example policy, by what its comments and its README say: who runs when on a machine on which nothing costs.

A slice is sched_ext's own, 20 ms. A task's virtual time advances by what it runs, times 100 over its weight, and the
clock is the latest virtual time of those that began to run.
"""

import math
from pathlib import Path

import pytest

from tests.policies.schedules import Schedule, child, free_machine, hog, simulate, simulator, task

FOR_EVER = "{ run_ms = 10_000 }"
SLEEPS = "{ sleep_s = 60 }"

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def run(folder: Path, tasks: str, duration_ms: int = 400, **machine: int) -> Schedule:
    return simulate(folder, "vtime", tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False)


def test_equals_take_turns_of_a_slice(tmp_path: Path) -> None:
    schedule = run(tmp_path, hog("a") + hog("b"))
    assert schedule.turns(200) == [(name, 20 * i, 20 * i + 20) for i, name in enumerate("ababababab")]


def test_shares_are_those_of_weights(tmp_path: Path) -> None:
    """Nice 10 has weight 110 of 1,024, which is 11 of 100: its 20 ms count as 181.8 ms.

    It is picked beside the first task that has more than that; both others have 180 at 400, and 200 at 420, and so on.
    A task is not in the queue when its own slice ends, so that two alone would take turns whatever their weights.
    """
    schedule = run(tmp_path, hog("a") + hog("b") + hog("c", nice=10), 1000)
    assert [turn.start for turn in schedule.turns_of("c")] == [40, 420, 800]


def test_a_sleeper_claims_one_slice_of_the_past(tmp_path: Path) -> None:
    """At 205 the clock is at 100 ms, a's time when it began at 200: the sleeper has 80, b 100, and a 120 from 220 on.

    With 100 at 240 it is behind b, which came before.
    """
    schedule = run(tmp_path, task("sleeper", "{ sleep_ms = 205 }", FOR_EVER) + hog("a") + hog("b"))
    turns = [(turn.name, turn.start) for turn in schedule.turns(320, after_ms=200)]
    assert turns == [("a", 200), ("sleeper", 220), ("b", 240), ("sleeper", 260), ("a", 280), ("b", 300)]


def test_a_slice_of_the_past_is_one_of_nice_0(tmp_path: Path) -> None:
    """As above, and a real-time task takes the CPU when the sleeper has run for 19.9 ms: with 99.9 it is before b."""
    real_time = task("rt", "{ sleep_us = 239_900 }", "{ run_ms = 1 }", SLEEPS, policy="fifo:1")
    schedule = run(tmp_path, real_time + task("sleeper", "{ sleep_ms = 205 }", FOR_EVER) + hog("a") + hog("b"))
    turns = [(turn.name, turn.start) for turn in schedule.turns(261, after_ms=200)]
    assert turns == [("a", 200), ("sleeper", 220), ("rt", 239.9), ("sleeper", 240.9)]


def test_a_short_sleeper_keeps_its_time(tmp_path: Path) -> None:
    """It ran for 5 ms of its first slice, and has claimed no more than these at 15: it is before b, which has 20."""
    sleeper = task("sleeper", "{ run_ms = 5 }", "{ sleep_ms = 40 }", FOR_EVER)
    schedule = run(tmp_path, sleeper + hog("a") + hog("b"))
    # The clock is at 20 when it wakes at 45, in a's second slice; then a has 40, b 20, and the sleeper 5.
    turns = [(turn.name, turn.start) for turn in schedule.turns(125)]
    assert turns == [("sleeper", 0), ("a", 5), ("b", 25), ("sleeper", 45), ("a", 65), ("b", 85), ("sleeper", 105)]


def test_a_child_begins_at_the_clock(tmp_path: Path) -> None:
    """At 221 the clock is at 100, and so is the child, behind b, which came with 100 before."""
    forks = task("forks", "{ sleep_ms = 205 }", "{ run_ms = 1 }", '{ fork = "child" }', SLEEPS)
    schedule = run(tmp_path, forks + child("child", FOR_EVER) + hog("a") + hog("b"))
    turns = [(turn.name, turn.start) for turn in schedule.turns(270, after_ms=200)]
    assert turns == [("a", 200), ("forks", 220), ("b", 221), ("child", 241)]


def test_who_wakes_returns_to_its_cpu_if_that_is_idle(tmp_path: Path) -> None:
    """All other CPUs are idle as well when it wakes."""
    first = task("first", "{ run_ms = 1 }", SLEEPS)
    again = task("again", "{ run_ms = 2 }", "{ sleep_ms = 3 }", "{ run_ms = 2 }", SLEEPS)
    schedule = run(tmp_path, first + again, 20, cores=3)
    cpus = [cpu for cpu in range(3) if any(turn.name == "again" for turn in schedule.turns(20, cpu))]
    assert len(cpus) == 1
    assert [turn.start for turn in schedule.turns_of("again")] == [0, 5]
    assert not any(turn.name == "first" for turn in schedule.turns(20, cpus[0]))


@pytest.mark.parametrize(("own", "other"), [(0, 1), (1, 0)])
def test_who_wakes_takes_another_idle_cpu(own: int, other: int, tmp_path: Path) -> None:
    """Its own is that of a task that came at 4."""
    on_own = [f"{{ affinity = [{own}] }}", "{ run_ms = 1 }", "{ affinity = [] }"]
    later = task("later", "{ sleep_ms = 3 }", FOR_EVER, cpus=[own])
    schedule = run(tmp_path, task("sleeper", *on_own, "{ sleep_ms = 5 }", FOR_EVER) + later, 100, cores=2)
    assert schedule.turns_of("later")[-1].end == 100
    assert schedule.turns_of("later")[0].start < 6
    assert schedule.turns(100, other)[-1] == ("sleeper", 6, 100)


@pytest.mark.parametrize("wakes", [True, False])
def test_an_idle_cpu_may_be_the_thread_of_a_busy_core(wakes: bool, tmp_path: Path) -> None:
    """No whole core is idle when it wakes at 6, beside who came at 4, or when its slice ends at 20, beside b."""
    on_0 = ["{ affinity = [0] }", "{ run_ms = 1 }", "{ affinity = [] }"]
    sleeper = task("a", *on_0, "{ sleep_ms = 5 }" if wakes else "{ run_ms = 1 }", FOR_EVER)
    schedule = run(tmp_path, sleeper + task("b", "{ sleep_ms = 3 }", FOR_EVER, cpus=[0]), 100, threads=2)
    assert schedule.turns(100, 1)[-1] == ("a", 6 if wakes else 20, 100)


@pytest.mark.parametrize("own", [0, 1, 2])
def test_who_was_confined_asleep_claims_no_cpu_that_it_may_not_use(own: int, tmp_path: Path) -> None:
    """It wakes at 10, when its own CPU is idle and forbidden by now. `late`, whose own is busy, finds it idle at 13."""
    others = [cpu for cpu in range(3) if cpu != own]
    moved = task("moved", "{ run_ms = 1 }", "{ sleep_ms = 9 }", FOR_EVER, cpus=[own])
    warden = task("warden", "{ sleep_ms = 5 }", f'{{ confine = "moved", cpus = {others} }}', SLEEPS)
    elsewhere = [f"{{ affinity = [{others[0]}] }}", "{ run_ms = 1 }", "{ affinity = [] }"]
    late = task("late", *elsewhere, "{ sleep_ms = 12 }", FOR_EVER)
    busy = "".join(task(f"busy_{cpu}", "{ sleep_ms = 4 }", FOR_EVER, cpus=[cpu]) for cpu in others)
    schedule = run(tmp_path, moved + busy + warden + late, 100, cores=3)
    assert schedule.turns(100, own)[-1] == ("late", 13, 100)
    assert schedule.turns_of("moved")[1].start == 24


@pytest.mark.parametrize(("own", "other"), [(0, 1), (1, 0)])
def test_whose_slice_ends_goes_on_on_an_idle_cpu(own: int, other: int, tmp_path: Path) -> None:
    """At 20 its CPU is another's, who may run only there. No CPU was looked for, so that the idle one is kicked."""
    moves = task("a", f"{{ affinity = [{own}] }}", "{ run_ms = 8 }", "{ affinity = [] }", FOR_EVER)
    comes = task("b", "{ sleep_ms = 2 }", f"{{ affinity = [{own}] }}", FOR_EVER)
    schedule = run(tmp_path, moves + comes, 100, cores=2)
    assert schedule.turns(100, own)[-2:] == [("a", 0, 20), ("b", 20, 100)]
    assert schedule.turns_of("a")[1] == ("a", 20, 100)
    assert [kick for kick in schedule.kicks if kick[0] == 20] == [(20, other)]


def test_a_wakeup_kicks_nobody(tmp_path: Path) -> None:
    """The choice of an idle CPU is the kick."""
    schedule = run(tmp_path, task("sleeper", "{ loop = [{ sleep_ms = 5 }, { run_ms = 1 }] }"), 50, cores=2)
    assert schedule.ran_ms("sleeper") == pytest.approx(8, abs=1)
    assert not [at for at, _ in schedule.kicks if at > 0 and not math.isclose(at, 0)]
