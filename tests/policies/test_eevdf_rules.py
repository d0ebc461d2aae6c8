# SPDX-License-Identifier: GPL-2.0-or-later
"""EEVDF's binding, rule by rule: what a scenario's schedule must be by docs/rules/eevdf.md, to the microsecond.

One CPU and 1,000 ticks a second where nothing else is said, and a machine on which nothing costs anything. There the
base slice is 0.75 ms, and 0.7 ms in 7.2.
"""

from pathlib import Path

import pytest

from tests.policies.schedules import Schedule, child, free_machine, hog, simulate, simulator, task

SLICE = {"6.6": 0.75, "6.12": 0.75, "7.2": 0.7}
FOR_EVER = "{ run_ms = 10_000 }"
SLEEPS = "{ sleep_s = 60 }"

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def run(folder: Path, rules: str, tasks: str, duration_ms: int = 200, tunables: str = "", **machine: int) -> Schedule:
    scheduler = f"eevdf:rules={rules}{tunables}"
    return simulate(folder, scheduler, tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False)


@pytest.mark.parametrize(("rules", "turn"), [("6.6", 1), ("6.12", 1), ("7.2", 0.7)])
def test_equals_take_turns_of_a_slice(rules: str, turn: float, tmp_path: Path) -> None:
    """Rules 3.1, 3.4, 3.5, 3.10.1 and 3.10.4: 0.75 ms, which end at a tick, or 0.7 ms on time."""
    schedule = run(tmp_path, rules, hog("a") + hog("b"))
    expected = [(name, round(turn * i, 6), round(turn * (i + 1), 6)) for i, name in enumerate("ababab")]
    assert schedule.turns(round(6 * turn, 6)) == expected


def test_who_is_picked_again_has_no_timer(tmp_path: Path) -> None:
    """Rule 3.10.4: b, with 0.7 where a has had 3, is picked again at 1.4, and runs up to the next tick, at 10."""
    turns = run(tmp_path, "7.2", hog("a", slice_us=3000) + hog("b"), hz=100).turns(10)
    assert turns == [("b", 0, 0.7), ("a", 0.7, 3.7), ("b", 3.7, 10)]


def test_a_timer_is_left_over(tmp_path: Path) -> None:
    """Rule 3.10.4: y's, set at 23 and due at 26, ends x's turn, whose d is 26.2. z, which joins at 24, sets none."""
    tasks = task("x", "{ until_ms = 20 }", FOR_EVER, slice_us=3000)
    tasks += task("y", "{ until_us = 20_500 }", "{ run_us = 200 }", SLEEPS, slice_us=3000)
    tasks += task("z", "{ until_ms = 24 }", FOR_EVER, slice_us=3000)
    turns = run(tmp_path, "7.2", tasks, hz=100).turns(26, after_ms=20)
    assert turns == [("x", 20, 23), ("y", 23, 23.2), ("x", 23.2, 26)]


def test_no_timer_is_left_over_by_an_idle_cpu(tmp_path: Path) -> None:
    """Rule 3.10.4: that of p, set at 0 and due at 20, is gone when b joins a; so a's slice, from 1 on, ends on time."""
    tasks = "".join(task(name, "{ run_us = 200 }", SLEEPS, slice_us=20000) for name in "pq")
    tasks += task("a", "{ sleep_us = 1000 }", FOR_EVER) + task("b", "{ sleep_us = 1100 }", FOR_EVER)
    assert run(tmp_path, "7.2", tasks, hz=100).turns(1.7, after_ms=1) == [("a", 1, 1.7)]


@pytest.mark.parametrize(
    ("rules", "turns"),
    [
        ("6.6", [("a", 0, 1), ("b", 1, 2)]),
        ("6.12", [("b", 0, 1), ("a", 1, 4)]),
        ("7.2", [("b", 0, 0.7), ("a", 0.7, 2)]),
    ],
)
def test_a_requested_slice(rules: str, turns: list, tmp_path: Path) -> None:
    """Rules 3.5, 3.6 and 3.10.3: a asks for 3 ms, so that its deadline is the later one; 6.6 does not hear of it.

    6.12 protects it up to its deadline, 7.2 for the shorter slice of b, 0.7 ms, to the tick after that.
    """
    assert run(tmp_path, rules, hog("a", slice_us=3000) + hog("b")).turns(turns[-1][2]) == turns


@pytest.mark.parametrize(("rules", "begins"), [("6.6", 2.3), ("6.12", 2.3), ("7.2", 2.7)])
def test_a_child_has_half_a_slice_at_first(rules: str, begins: float, tmp_path: Path) -> None:
    """Rules 3.7 and 3.9: its deadline is 2.3 and 0.375, or 0.35; the parent's, renewed by the tick at 2, 2.75 or 2.7.

    Before 7.2 it preempts by that. In 7.2 it waits for the end of the parent's slice.
    """
    tasks = task("parent", "{ run_us = 2300 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER)
    assert run(tmp_path, rules, tasks).turns_of("child")[0].start == begins


@pytest.mark.parametrize(("rules", "begins"), [("6.6", 11), ("6.12", 11), ("7.2", 10.7)])
def test_who_wakes_with_the_later_deadline_waits(rules: str, begins: float, tmp_path: Path) -> None:
    """Rules 3.4, 3.7 and 3.9: it has a whole slice at 10.3, and the hog one from 10 on, to its end."""
    schedule = run(tmp_path, rules, task("sleeper", "{ sleep_us = 10_300 }", FOR_EVER) + hog("hog"))
    assert schedule.turns_of("sleeper")[0].start == begins


@pytest.mark.parametrize(("rules", "begins"), [("6.6", 11), ("6.12", 10.3), ("7.2", 10.3)])
def test_a_shorter_slice_preempts(rules: str, begins: float, tmp_path: Path) -> None:
    """Rule 3.9: the hog, with 5 ms, is protected up to 15; 0.2 ms cancel that. 6.6 knows no requests."""
    sleeper = task("sleeper", "{ sleep_us = 10_300 }", FOR_EVER, slice_us=200)
    schedule = run(tmp_path, rules, sleeper + hog("hog", slice_us=5000))
    assert schedule.turns_of("sleeper")[0].start == begins


@pytest.mark.parametrize("rules", ["6.12", "7.2"])
def test_batch_does_not_preempt(rules: str, tmp_path: Path) -> None:
    """Rule 3.9: the same with BATCH waits, for a tick at least."""
    sleeper = task("sleeper", "{ sleep_us = 10_300 }", FOR_EVER, slice_us=200, policy="batch")
    schedule = run(tmp_path, rules, sleeper + hog("hog", slice_us=5000))
    assert schedule.turns_of("sleeper")[0].start >= 11


@pytest.mark.parametrize("rules", SLICE)
def test_idle_gives_way(rules: str, tmp_path: Path) -> None:
    """Rule 3.9: whatever the deadlines, at the wake-up."""
    sleeper = task("sleeper", "{ sleep_us = 10_300 }", "{ run_ms = 5 }", SLEEPS)
    schedule = run(tmp_path, rules, sleeper + hog("hog", policy="idle"))
    assert schedule.turns_of("sleeper")[0].start == 10.3


def test_who_sleeps_ineligible_stays_in_the_competition(tmp_path: Path) -> None:
    """Rules 3.6 and 3.8: in 7.2, asleep at 0.6 with v = 0.6 and V = 0.3, it wakes at 0.7 with the same v, and d = 0.7.

    The hog has its slice, to 1.3, and then the sleeper the 0.1 ms that were left of its own.
    """
    sleeper = task("sleeper", "{ run_us = 600 }", "{ sleep_us = 100 }", FOR_EVER)
    turns = run(tmp_path, "7.2", sleeper + hog("hog")).turns(1.4)
    assert turns == [("sleeper", 0, 0.6), ("hog", 0.6, 1.3), ("sleeper", 1.3, 1.4)]


def test_a_sleeper_counts_for_the_protection(tmp_path: Path) -> None:
    """Rules 3.6 and 3.8: in 7.2, a sleeps at 10.6 with v = 0.6 and V = 0.2. So b is protected for a's slice, 1 ms.

    At the tick after that, at 12, it has v = 1.4 and is not eligible; c has v = 0. Without a it would run up to d = 15.
    Before, at 1, a balance has picked anew.
    """
    wakes = "{ until_ms = 10 }"
    tasks = task("a", "{ run_ms = 2 }", wakes, "{ run_us = 600 }", SLEEPS, slice_us=1000)
    tasks += task("c", wakes, FOR_EVER, slice_us=15000) + task("b", wakes, FOR_EVER, slice_us=15000)
    assert run(tmp_path, "7.2", tasks).turns(12, after_ms=10) == [("a", 10, 10.6), ("b", 10.6, 12)]


@pytest.mark.parametrize("rules", ["6.12", "7.2"])
def test_a_yield_forfeits(rules: str, tmp_path: Path) -> None:
    """Rule 3.10.2: a asks for 5 ms, so that b and c are first. When both have had a slice it is the only eligible one.

    In 7.2 a yield moves it to v = 5, so that it waits until b and c, at V = 5, have had 10 ms. 6.12 moves its deadline.
    """
    yields = task("a", "{ run_us = 100 }", "{ yield = true }", FOR_EVER, slice_us=5000)
    first, *later = run(tmp_path, rules, yields + hog("b") + hog("c")).turns_of("a")
    begins = 2 * (1 if rules == "6.12" else 0.7)
    assert first.start == begins
    if rules == "6.12":
        assert first.end > begins + 1
    else:
        assert first.end == begins + 0.1
        assert 10.1 <= later[0].start <= 10.1 + 2 * SLICE[rules] + 1


def test_who_runs_is_protected(tmp_path: Path) -> None:
    """Rules 3.5, 3.6 and 3.9: in 6.12, at 1.2 the parent, with d = 3, has had less than x; its child has d = 0.6 + 1.5.

    Their slices are equal, so that nothing cancels the protection up to 3.
    """
    parent = task("parent", "{ run_us = 200 }", '{ fork = "child" }', FOR_EVER, slice_us=3000)
    tasks = parent + task("child", FOR_EVER, start="fork", slice_us=3000) + hog("x")
    assert run(tmp_path, "6.12", tasks).turns(4) == [("x", 0, 1), ("parent", 1, 4)]


@pytest.mark.parametrize("rules", SLICE)
def test_a_new_nice_level_is_a_new_share(rules: str, tmp_path: Path) -> None:
    """Rules 3.2, 3.4 and 3.7: 335 parts of 1,359 from 10 ms on, give or take slices and ticks."""
    tasks = task("a", "{ run_ms = 5 }", "{ nice = 5 }", FOR_EVER) + hog("b")
    schedule = run(tmp_path, rules, tasks, 1000)
    assert schedule.ran_ms("a") == pytest.approx(5 + 990 * 335 / 1359, abs=5)
