# SPDX-License-Identifier: GPL-2.0-or-later
"""RSDL's and SD's binding, rule by rule: what a scenario's schedule must be by docs/rules/sd.md.

One CPU and 1,000 ticks a second, and a machine on which nothing costs anything. The quota is 6 ms in RSDL, for nice 0
and above, and 10 ms in SD, 5 above nice 0. Nice 0 has the 20 slots from the 21st on in RSDL, and every second one of
all 40 in SD.
"""

import math
from pathlib import Path

import pytest

from tests.policies.schedules import Schedule, child, free_machine, hog, simulate, simulator, task

FOR_EVER = "{ run_ms = 10_000 }"
SLEEPS = "{ sleep_s = 60 }"
QUOTA = {"rsdl": 6, "sd": 10}

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def run(folder: Path, rules: str, tasks: str, duration_ms: int = 1000, **machine: int) -> Schedule:
    scheduler = f"sd:rules={rules}"
    return simulate(folder, scheduler, tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False)


@pytest.mark.parametrize("rules", QUOTA)
def test_equals_take_turns_of_a_quota(rules: str, tmp_path: Path) -> None:
    """Rules 5.1, 5.2 and 5.3.1: each goes one level down, behind the other, who is there already or comes next."""
    ms = QUOTA[rules]
    expected = [(name, ms * i, ms * (i + 1)) for i, name in enumerate("ababab")]
    assert run(tmp_path, rules, hog("a") + hog("b")).turns(6 * ms) == expected


@pytest.mark.parametrize("rules", QUOTA)
def test_a_yield_goes_to_the_end_of_the_expired(rules: str, tmp_path: Path) -> None:
    """Rules 5.3.3 and 5.4: the other has all of its 20 slots before the arrays are swapped."""
    yields = task("yields", "{ run_us = 2500 }", "{ yield = true }", FOR_EVER)
    schedule = run(tmp_path, rules, yields + hog("a"))
    swapped = math.ceil(2.5 + 20 * QUOTA[rules])
    assert schedule.turns(swapped) == [("yields", 0, 2.5), ("a", 2.5, swapped)]
    assert schedule.turns_of("yields", after_ms=3)[0].start == swapped


@pytest.mark.parametrize("rules", QUOTA)
def test_nice_19_has_the_last_slot_only(rules: str, tmp_path: Path) -> None:
    """Rules 5.1, 5.2, 5.3.3 and 5.5: it comes when nice 0 has used 19 of its 20 slots, once in a rotation.

    Nice 0 joins it in the last slot at the tail. In SD its quota is half.
    """
    ms, low_ms = QUOTA[rules], {"rsdl": 6, "sd": 5}[rules]
    schedule = run(tmp_path, rules, hog("a") + hog("low", nice=19))
    first = 19 * ms
    second = first + low_ms + ms + 19 * ms
    expected = [("a", 0, first), ("low", first, first + low_ms), ("a", first + low_ms, second)]
    assert schedule.turns(second + low_ms) == [*expected, ("low", second, second + low_ms)]


@pytest.mark.parametrize("rules", QUOTA)
def test_a_child_has_half_of_what_is_left(rules: str, tmp_path: Path) -> None:
    """Rules 5.3.1 and 5.4: a quota less 2.5 ms, halved. What both take more, to a tick, is missing in the next slot."""
    ms = QUOTA[rules]
    half = (ms - 2.5) / 2
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER)
    schedule = run(tmp_path, rules, tasks)
    parent = math.ceil(2.5 + half)
    both = parent + math.ceil(half)
    over = parent - 2.5 - half
    again = math.ceil(both + ms - over)
    expected = [("parent", 0, parent), ("child", parent, both), ("parent", both, again)]
    assert schedule.turns(again) == expected


@pytest.mark.parametrize("rules", QUOTA)
def test_who_slept_through_a_rotation_begins_anew(rules: str, tmp_path: Path) -> None:
    """Rules 5.2 and 5.4: it preempts at once, and goes on until it has used as many slots as the hog."""
    ms = QUOTA[rules]
    sleeper = task("sleeper", "{ run_ms = 1 }", "{ sleep_us = 300_500 }", FOR_EVER)
    schedule = run(tmp_path, rules, sleeper + hog("hog"))
    slots = (301.5 - 1) // ms % 20
    ends = math.ceil(301.5 + slots * ms)
    assert schedule.turns(ends) == [("sleeper", 0, 1), ("hog", 1, 301.5), ("sleeper", 301.5, ends)]


@pytest.mark.parametrize("rules", QUOTA)
def test_who_slept_shortly_goes_on_where_it_was(rules: str, tmp_path: Path) -> None:
    """Rules 5.2 and 5.4: woken in the same rotation, a level above the hog's, it has the rest of its quota there."""
    ms = QUOTA[rules]
    sleeper = task("sleeper", "{ run_us = 500 }", f"{{ sleep_us = {ms}700 }}", FOR_EVER)
    schedule = run(tmp_path, rules, sleeper + hog("hog"))
    woken = 0.5 + ms + 0.7
    ends = math.ceil(woken + ms - 0.5)
    # The hog was charged for one quota by the tick before.
    assert schedule.turns(ends) == [("sleeper", 0, 0.5), ("hog", 0.5, woken), ("sleeper", woken, ends)]


def test_the_last_microsecond_of_a_quota_is_a_place(tmp_path: Path) -> None:
    """Rules 5.2 and 5.4: in SD the sleeper has 0.001 of its 10 ms left, and the hog is a slot down since 20."""
    sleeper = task("sleeper", "{ run_us = 9999 }", "{ sleep_us = 10_700 }", FOR_EVER)
    turns = run(tmp_path, "sd", sleeper + hog("hog")).turns(21)
    assert turns == [("sleeper", 0, 9.999), ("hog", 9.999, 20.699), ("sleeper", 20.699, 21)]


@pytest.mark.parametrize("rules", QUOTA)
def test_who_wakes_is_last_in_its_slot(rules: str, tmp_path: Path) -> None:
    """Rules 5.2 and 5.4: in the same slot as both others, it waits for both."""
    sleeper = task("sleeper", "{ run_us = 500 }", "{ sleep_us = 200 }", FOR_EVER)
    schedule = run(tmp_path, rules, sleeper + hog("a") + hog("b"))
    assert [turn.name for turn in schedule.turns(40)[:4]] == ["sleeper", "a", "b", "sleeper"]


@pytest.mark.parametrize("rules", QUOTA)
def test_who_is_preempted_keeps_its_place(rules: str, tmp_path: Path) -> None:
    """Rules 5.2 and 5.5: before the other in the last slot, until its quota of 6 or, in SD, 5 ms is used up."""
    better = task("better", "{ sleep_ms = 2 }", "{ run_ms = 1 }", SLEEPS)
    schedule = run(tmp_path, rules, better + hog("a", nice=19) + hog("b", nice=19))
    ms = {"rsdl": 6, "sd": 5}[rules]
    expected = [("a", 0, 2), ("better", 2, 3), ("a", 3, ms + 1), ("b", ms + 1, 2 * ms + 1)]
    assert schedule.turns(2 * ms + 1) == expected


@pytest.mark.parametrize("rules", QUOTA)
def test_a_worse_nice_level_reschedules(rules: str, tmp_path: Path) -> None:
    """Rules 5.2 and 5.5: nice 5 has no right to the slot, and goes to the next that it may use.

    That is the sixth for RSDL, which the other reaches after five quotas, and in SD the very next.
    """
    changes = task("changes", "{ run_us = 2500 }", "{ nice = 5 }", FOR_EVER)
    schedule = run(tmp_path, rules, changes + hog("other"))
    back = math.ceil(2.5 + {"rsdl": 5, "sd": 1}[rules] * QUOTA[rules])
    assert schedule.turns(back) == [("changes", 0, 2.5), ("other", 2.5, back)]
    assert schedule.turns_of("changes", after_ms=3)[0].start == back


def test_batch_has_its_slots_at_the_end(tmp_path: Path) -> None:
    """Rule 5.5, SD: 20 slots as well, but the last ones, where the other has every second one of all.

    The other uses ten of its slots before that, and then each has one in turn until BATCH has two in a row.
    """
    schedule = run(tmp_path, "sd", hog("batch", policy="batch") + hog("other"))
    expected = [("other", 0, 100), ("batch", 100, 110), ("other", 110, 120), ("batch", 120, 140)]
    assert schedule.turns(140) == expected


@pytest.mark.parametrize("rules", QUOTA)
def test_who_comes_from_another_class_begins_anew(rules: str, tmp_path: Path) -> None:
    """Rules 5.2 and 5.4: real-time up to 50.5, it has as many quotas as the hog has used: five of 10 ms, eight of 6."""
    comes = task("comes", "{ sleep_us = 50_500 }", '{ policy = "other" }', FOR_EVER, policy="fifo:1")
    schedule = run(tmp_path, rules, comes + hog("hog"), 200)
    ends = math.ceil(50.5 + 50 // QUOTA[rules] * QUOTA[rules])
    assert schedule.turns(ends, after_ms=50) == [("comes", 50.5, ends)]


@pytest.mark.parametrize(
    ("cores", "offline", "factor"), [(1, "", 1), (2, "", 2), (4, "", 3), (4, "2,3", 2), (3, "", 2)]
)
@pytest.mark.parametrize("rules", QUOTA)
def test_the_interval_goes_by_the_cpus_online(
    rules: str, cores: int, offline: str, factor: int, tmp_path: Path
) -> None:
    """Rule 5.1: SD's is 10 ms on one CPU, and as much more each time their number doubles; RSDL's is 6 ms."""
    machine, gone = free_machine(tmp_path, cores=cores), ["--offline", offline] if offline else []
    tasks = hog("a", cpus=[0]) + hog("b", cpus=[0])
    schedule = simulate(tmp_path, f"sd:rules={rules}", tasks, 0.2, machine, *gone, strict=False)
    ms = 6 if rules == "rsdl" else 10 * factor
    assert schedule.turns(4 * ms) == [(name, ms * i, ms * (i + 1)) for i, name in enumerate("abab")]


@pytest.mark.parametrize("later", [False, True])
def test_sched_idle_is_nice_19(later: bool, tmp_path: Path) -> None:
    """Rules 5.1, 5.2 and 5.5: in SD half a quota in the last slot, after 19 of the other's 20, and no more."""
    changes = task("idle", '{ policy = "idle" }', FOR_EVER)
    schedule = run(tmp_path, "sd", (changes if later else hog("idle", policy="idle")) + hog("a"), 400)
    assert schedule.turns_of("idle", after_ms=1)[0] == ("idle", 190, 195)


@pytest.mark.parametrize(("how", "start"), [("semaphore", {}), ("pipe", {"rsdl": 55, "sd": 61})])
@pytest.mark.parametrize("rules", QUOTA)
def test_a_sync_wakeup_on_the_same_cpu_preempts_nobody(
    rules: str, how: str, start: dict[str, int], tmp_path: Path
) -> None:
    """Rules 4.6 and 5.4: in its first slot it is before the waker, whose quota of 6 or 20 ms ends at 55 or 61."""
    shared, wakes, waits = {
        "pipe": ('[[queue]]\nname = "it"\nkind = "pipe"\n', '{ send = "it", bytes = 8 }', '{ recv = "it" }'),
        "semaphore": ('[[semaphore]]\nname = "it"\n', '{ post = "it" }', '{ wait = "it" }'),
    }[how]
    there = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    tasks = task("sleeper", *there, waits, "{ run_ms = 1 }", SLEEPS) + hog("other", cpus=[1])
    tasks += task("waker", "{ until_ms = 1 }", "{ run_us = 50_500 }", wakes, FOR_EVER, cpus=[0])
    schedule = run(tmp_path, rules, shared + tasks, 100, cores=2)
    assert schedule.turns_of("sleeper", after_ms=1)[0].start == start.get(rules, 51.5)


def test_a_level_that_is_used_up_pushes_who_is_left_down(tmp_path: Path) -> None:
    """Rules 5.3.2 and 5.3.3, RSDL: moves comes to the hog's level with 4 ms left, which are no part of its quota there.

    So when the hog has used the level's 6 ms, moves is put behind it in the next, and so on to the last: it begins with
    a fresh quota in the rotation that the hog begins at 120.
    """
    moves = task("moves", "{ affinity = [1] }", "{ run_ms = 2 }", "{ affinity = [0] }", FOR_EVER)
    tasks, machine = hog("hog", cpus=[0]) + moves, free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, "sd:rules=rsdl+periodic=off", tasks, 0.2, machine, strict=False)
    assert schedule.turns(138) == [("hog", 0, 126), ("moves", 126, 132), ("hog", 132, 138)]
