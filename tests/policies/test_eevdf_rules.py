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


def test_the_slice_follows_the_cpus_that_are_online(tmp_path: Path) -> None:
    """Rules 3.1 and 3.10.1: CPU 1 is away from 150 to 300. 1.5 ms on two CPUs and 0.75 on one end at the next tick."""
    hotplug = ("--hotplug", "150ms:-1,300ms:+1")
    tasks, machine = hog("a", cpus=[0]) + hog("b", cpus=[0]), free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, "eevdf:rules=6.6", tasks, 0.45, machine, *hotplug, strict=False)
    for ms, begins, ends in ((2, 20, 149), (1, 165, 299), (2, 315, 440)):
        assert {round(turn.end - turn.start, 6) for turn in schedule.turns(ends, after_ms=begins)} == {ms}


@pytest.mark.parametrize(("rules", "ends"), [("6.6", 52), ("7.2", 51.2)])
def test_who_comes_from_another_class_has_a_slice(rules: str, ends: float, tmp_path: Path) -> None:
    """Rules 3.1, 3.4 and 3.7: real-time up to 50.5, it is placed without a lag: 0.75 ms, to a tick, or 0.7 on time."""
    comes = task("comes", "{ sleep_us = 50_500 }", '{ policy = "other" }', FOR_EVER, policy="fifo:1")
    schedule = run(tmp_path, rules, comes + hog("hog"))
    assert schedule.turns(ends, after_ms=50.4) == [("comes", 50.5, ends)]
    assert schedule.ran_ms("hog", 50) == pytest.approx(75, abs=2 * SLICE[rules])


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


def test_the_shortest_slice_of_those_who_wait_protects(tmp_path: Path) -> None:
    """Rules 3.5 and 3.6: 0.4 ms are over at the tick at 1, when a has had 0.6, and V is less. Its d is 5."""
    turns = run(tmp_path, "7.2", hog("a", slice_us=5000) + hog("b", slice_us=400)).turns(1.4)
    assert turns == [("b", 0, 0.4), ("a", 0.4, 1), ("b", 1, 1.4)]


NO_BALANCE = "+periodic=off+newidle=off"


def woken(
    folder: Path,
    last: int,
    busy: list[int],
    after_ms: int = 50,
    tunables: str = NO_BALANCE,
    others: str = "",
    allowed: tuple[int, ...] = (),
    **machine: int,
):
    """The first turn of a task that slept for long, by CPU, where it ran last on one CPU and hogs run on some."""
    there = [f"{{ affinity = [{last}] }}", "{ run_us = 100 }", f"{{ affinity = {list(allowed)} }}"]
    sleeper = task("sleeper", *there, f"{{ until_us = {after_ms * 1000 + 500} }}", "{ run_us = 200 }", SLEEPS)
    hogs = "".join(hog(f"hog{cpu}", cpus=[cpu]) for cpu in busy)
    schedule = run(folder, "7.2", sleeper + hogs + others, after_ms + 20, tunables, **machine)
    (first,) = [
        (cpu, turn.start)
        for cpu in schedule.by_cpu
        for turn in schedule.turns(after_ms + 20, cpu, after_ms=after_ms)
        if turn.name == "sleeper"
    ]
    return first


@pytest.mark.parametrize(
    ("last", "busy", "cpu"),
    [(2, [], 2), (2, [2], 0), (2, [2, 0], 3), (2, [2, 0, 3], 1), (0, [0], 1), (0, [0, 1], 2)],
)
def test_a_woken_task_looks_for_an_idle_cpu(last: int, busy: list[int], cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.3: where it ran last, or before that (0), or the first idle CPU after that one, in turn."""
    assert woken(tmp_path, last, busy, cores=4) == (cpu, 50.5)


@pytest.mark.parametrize(
    ("last", "busy", "cpu"),
    [(0, [0, 2], 4), (0, [0, 4], 2), (4, [4, 2], 0), (3, [3, 0, 4], 2), (0, [0, 2, 4], 1), (4, [4, 5, 0], 2)],
)
def test_an_idle_core_comes_before_an_idle_thread(last: int, busy: list[int], cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.3: three cores of two threads. Without an idle core it is the other thread of the last one."""
    assert woken(tmp_path, last, busy, cores=3, threads=2) == (cpu, 50.5)


@pytest.mark.parametrize(("busy", "found"), [([0, 2, 3, 4, 5, 6], True), ([0, 1, 2, 3, 4, 5], False)])
def test_a_search_in_a_busy_cache_is_short(busy: list[int], found: bool, tmp_path: Path) -> None:
    """Rule 3.11.3: 6 of 8 CPUs are used, x = 767: of 8 CPUs 8 (1 - 1.17 x 1.17 x x), which is one, is looked at."""
    cpu, start = woken(tmp_path, 0, busy, after_ms=600, tunables="+newidle=off", cores=8)
    assert (cpu == 1 and start == 600.5) == found
    assert found or cpu not in (6, 7) or start > 600.5


@pytest.mark.parametrize(("last", "busy", "cpu"), [(3, [3, 0, 1, 4], 2), (3, [3, 0, 1, 2, 4], 5), (0, [0, 1, 4], 2)])
def test_the_other_threads_of_the_last_cpu_come_first(last: int, busy: list[int], cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.3: all of them, on two cores of four threads, neither of which is idle; then the rest of the cache."""
    assert woken(tmp_path, last, busy, cores=2, threads=4) == (cpu, 50.5)


def test_a_short_search_counts_the_cpus_that_the_task_may_use(tmp_path: Path) -> None:
    """Rule 3.11.3: one CPU is looked at. CPU 1 is idle, and not allowed; so it is CPU 7, the only one but its own."""
    busy = [0, 2, 3, 4, 5, 6]
    woke = woken(tmp_path, 0, busy, after_ms=600, tunables="+newidle=off", allowed=(0, 7), cores=8)
    assert woke == (7, 600.5)


def test_a_cpu_that_goes_idle_does_not_shorten_the_search(tmp_path: Path) -> None:
    """Rule 3.11.3: by the use of the cache it would be one CPU. Without a balance at intervals it is all of them."""
    ends = task("ends", "{ until_ms = 595 }", "{ run_ms = 1 }", SLEEPS, cpus=[7])
    woke = woken(tmp_path, 0, [0, 1, 2, 3, 4, 5], after_ms=600, tunables="+periodic=off", others=ends, cores=8)
    assert woke == (6, 600.5)


@pytest.mark.parametrize(
    ("last", "busy", "machine", "cpu"),
    [
        (3, [], {"cores": 4}, 3),
        (3, [3], {"cores": 4}, 1),
        (2, [], {"cores": 2, "llcs": 2}, 1),
        (2, [1], {"cores": 2, "llcs": 2}, 0),
    ],
)
def test_who_a_task_alone_wakes_and_sleeps_stays_in_its_cache(
    last: int, busy: list[int], machine: dict[str, int], cpu: int, tmp_path: Path
) -> None:
    """Rules 3.11.2 and 3.11.3: the target is CPU 0, the waker's. It goes to its last one if idle, or to another.

    A CPU of another cache is not taken, whether it is idle and the last one or not.
    """
    there = [f"{{ affinity = [{last}] }}", "{ run_us = 100 }", "{ affinity = [] }"]
    tasks = '[[queue]]\nname = "it"\nkind = "pipe"\n'
    tasks += task("sleeper", *there, '{ recv = "it" }', "{ run_us = 200 }", SLEEPS)
    tasks += task("waker", "{ run_us = 50_500 }", '{ send = "it", bytes = 8 }', FOR_EVER, cpus=[0])
    tasks += "".join(hog(f"hog{at}", cpus=[at]) for at in busy)
    schedule = run(tmp_path, "7.2", tasks, 200, NO_BALANCE, **machine)
    ran = {at for at in schedule.by_cpu for turn in schedule.turns(200, at, after_ms=50) if turn.name == "sleeper"}
    assert ran == {cpu}


@pytest.mark.parametrize(("busy", "allowed", "cpu"), [(False, [], 3), (True, [], 1), (False, [0, 1, 2], 1)])
def test_the_cpu_before_the_last_one_comes_before_a_search(
    busy: bool, allowed: list[int], cpu: int, tmp_path: Path
) -> None:
    """Rule 3.11.3: at 50.5 it goes from CPU 3, which is busy from 20 to 80 or on, to 0, which is from 90 on.

    At 100.5 a search would begin at CPU 1.
    """
    begins = [
        "{ affinity = [3] }",
        "{ run_us = 100 }",
        "{ affinity = [] }",
        "{ until_us = 50_500 }",
        "{ run_us = 200 }",
    ]
    then = [f"{{ affinity = {allowed} }}", "{ until_us = 100_500 }", "{ run_us = 200 }", SLEEPS]
    tasks = task("sleeper", *begins, *then) + task("zero", "{ until_ms = 90 }", FOR_EVER, cpus=[0])
    tasks += task("three", "{ until_ms = 20 }", FOR_EVER if busy else "{ run_ms = 60 }", SLEEPS, cpus=[3])
    schedule = run(tmp_path, "7.2", tasks, 130, NO_BALANCE, cores=4)
    assert ("sleeper", 50.5, 50.7) in schedule.turns(130, 0)
    assert ("sleeper", 100.5, 100.7) in schedule.turns(130, cpu)


def test_the_cpu_before_the_last_one_is_not_taken_in_another_cache(tmp_path: Path) -> None:
    """Rules 3.11.2 and 3.11.3: a task alone on CPU 1 wakes it away from CPU 3, to 0. At 100.5 it waits there."""
    begins = ["{ affinity = [3] }", "{ run_us = 100 }", "{ affinity = [] }", '{ recv = "it" }', "{ run_us = 200 }"]
    tasks = '[[queue]]\nname = "it"\nkind = "pipe"\n'
    tasks += task("sleeper", *begins, "{ until_us = 100_500 }", "{ run_us = 200 }", SLEEPS)
    tasks += task("waker", "{ run_us = 50_500 }", '{ send = "it", bytes = 8 }', FOR_EVER, cpus=[1])
    tasks += task("zero", "{ until_ms = 90 }", FOR_EVER, cpus=[0])
    schedule = run(tmp_path, "7.2", tasks, 130, NO_BALANCE, cores=2, llcs=2)
    assert [turn.start for turn in schedule.turns(130, 0, after_ms=40) if turn.name == "sleeper"] == [50.5, 101]


def test_another_cache_is_not_searched(tmp_path: Path) -> None:
    """Rule 3.11.3."""
    assert woken(tmp_path, 0, [0, 1], llcs=2, cores=2)[0] == 0


@pytest.mark.parametrize(
    ("nice", "hogs", "beside", "how", "cpu"),
    [
        (0, 2, False, "semaphore", 0),
        (0, 3, False, "semaphore", 1),
        (-1, 3, False, "semaphore", 0),
        (-1, 4, False, "semaphore", 1),
        (-1, 3, False, "pipe", 1),
        (-1, 3, True, "semaphore", 0),
        (-1, 3, True, "pipe", 1),
    ],
)
def test_who_is_woken_goes_where_load_is_less(
    nice: int, hogs: int, beside: bool, how: str, cpu: int, tmp_path: Path
) -> None:
    """Rule 3.11.2: the waker has a load of 1,024, or 1,277 at nice -1, and the others of 1,024, the woken task too.

    It goes if the waker's CPU has less with it than 108 % of the last CPU without it. A waker in a pipe is about to
    sleep: if it is alone there, its CPU is as good as idle, and beside another it does not count.
    """
    shared, wakes, waits = {
        "pipe": ('[[queue]]\nname = "it"\nkind = "pipe"\n', '{ send = "it", bytes = 8 }', '{ recv = "it" }'),
        "semaphore": ('[[semaphore]]\nname = "it"\n', '{ post = "it" }', '{ wait = "it" }'),
    }[how]
    on_0 = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    sleeper = task("sleeper", *on_0, waits, "{ run_us = 200 }", SLEEPS)
    waker = task("waker", "{ run_us = 300_500 }", wakes, FOR_EVER, cpus=[1], nice=nice)
    tasks = shared + sleeper + waker + "".join(hog(f"hog{i}", cpus=[0]) for i in range(hogs))
    tasks += hog("beside", cpus=[1]) if beside else ""
    schedule = run(tmp_path, "7.2", tasks, 700, NO_BALANCE, cores=2)
    ran = [at for at in (0, 1) for turn in schedule.turns(700, at, after_ms=300) if turn.name == "sleeper"]
    assert ran == [cpu]


@pytest.mark.parametrize(("by_waker", "by_sleeper", "cpu"), [(0, 0, 1), (3, 2, 0), (2, 2, 1), (3, 1, 1)])
def test_who_wakes_many_does_not_gather_them(by_waker: int, by_sleeper: int, cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.1: by rule 3.11.2 it goes, as load is less there, unless that is not asked.

    In a cache of 2 CPUs that takes a sleeper that woke 2 others, and a waker that wakes twice as many, it included.
    """
    others = [f"other{i}" for i in range(by_waker + by_sleeper)]
    shared = "".join(f'[[semaphore]]\nname = "{name}"\n' for name in ["it", *others])
    posts = [f'{{ post = "{name}" }}' for name in others]
    woken = "".join(task(name, f'{{ wait = "{name}" }}', SLEEPS) for name in others)
    on_0 = ["{ affinity = [0] }", "{ sleep_ms = 50 }", "{ run_us = 100 }", *posts[by_waker:], "{ affinity = [] }"]
    sleeper = task("sleeper", *on_0, '{ wait = "it" }', "{ run_us = 200 }", SLEEPS)
    waker = task("waker", "{ run_us = 300_500 }", *posts[:by_waker], '{ post = "it" }', FOR_EVER, cpus=[1])
    hogs = "".join(hog(f"hog{i}", cpus=[0]) for i in range(3))
    schedule = run(tmp_path, "7.2", shared + woken + sleeper + waker + hogs, 700, NO_BALANCE, cores=2)
    ran = [at for at in (0, 1) for turn in schedule.turns(700, at, after_ms=300) if turn.name == "sleeper"]
    assert ran == [cpu]


@pytest.mark.parametrize(("goes_on_ms", "cpu"), [(690, 0), (700, 1)])
def test_how_many_a_task_woke_is_halved_every_second(goes_on_ms: int, cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.1: of the 3 that the waker woke by 300.5 one is left when the first second is over; with it, two.

    The sleeper woke 2, so that it takes 4 to keep it where it was.
    """
    others = [f"other{i}" for i in range(5)]
    shared = "".join(f'[[semaphore]]\nname = "{name}"\n' for name in ["it", *others])
    posts = [f'{{ post = "{name}" }}' for name in others]
    tasks = shared + "".join(task(name, f'{{ wait = "{name}" }}', SLEEPS) for name in others)
    on_0 = ["{ affinity = [0] }", "{ sleep_ms = 50 }", "{ run_us = 100 }", *posts[3:], "{ affinity = [] }"]
    tasks += task("sleeper", *on_0, '{ wait = "it" }', "{ run_us = 200 }", SLEEPS)
    wakes = ["{ run_us = 300_500 }", *posts[:3], f"{{ run_ms = {goes_on_ms} }}", '{ post = "it" }', FOR_EVER]
    tasks += task("waker", *wakes, cpus=[1]) + hog("hog", cpus=[0], count=3)
    schedule = run(tmp_path, "7.2", tasks, 2000, NO_BALANCE, cores=2)
    assert [at for at in (0, 1) for turn in schedule.turns(2000, at, 300) if turn.name == "sleeper"] == [cpu]


def test_who_slept_for_long_has_no_load(tmp_path: Path) -> None:
    """Rule 3.11.2: the choice goes by its load of 1,024 of when it fell asleep, of which the first wait leaves nothing.

    So it stays beside two hogs at 300.5, as 2 x 1,024 is more than 108 % of one hog. The second time the waker's 1,024
    and next to nothing of its own are less than 108 % of two.
    """
    on_0 = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    wakes = ['{ wait = "it" }', "{ run_us = 200 }"]
    posts = ["{ run_us = 300_500 }", '{ post = "it" }', "{ run_ms = 300 }", '{ post = "it" }']
    tasks = '[[semaphore]]\nname = "it"\n' + task("sleeper", *on_0, *wakes, *wakes, SLEEPS)
    tasks += task("waker", *posts, FOR_EVER, cpus=[1]) + hog("a", cpus=[0]) + hog("b", cpus=[0])
    schedule = run(tmp_path, "7.2", tasks, 700, NO_BALANCE, cores=2)
    ran = [
        (turn.start >= 600.5, at)
        for at in (0, 1)
        for turn in schedule.turns(700, at, after_ms=300)
        if turn.name == "sleeper"
    ]
    assert ran == [(False, 0), (True, 1)]


def test_a_delayed_sleeper_wakes_where_it_is(tmp_path: Path) -> None:
    """Rules 3.8 and 3.10.4: asleep at 2.6 with v = 0.6 and V = 0.35, it has not left; the idle CPU does not get it.

    The timer of its slice expires at 2.7, and so the hog runs up to the tick that finds it at its d.
    """
    there = ["{ until_ms = 1 }", "{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }", "{ until_ms = 2 }"]
    sleeper = task("sleeper", *there, "{ run_us = 600 }", "{ sleep_us = 100 }", FOR_EVER)
    tasks = sleeper + task("hog", "{ until_us = 2100 }", FOR_EVER, cpus=[0])
    turns = run(tmp_path, "7.2", tasks, tunables=NO_BALANCE, cores=2).turns(5, after_ms=2)
    assert turns == [("sleeper", 2, 2.6), ("hog", 2.6, 4), ("sleeper", 4, 5)]


@pytest.mark.parametrize(("rules", "starts"), [("6.12", 3), ("7.2", 2.5)])
def test_a_sleeper_that_would_be_picked_is_taken_out_at_a_wakeup(rules: str, starts: float, tmp_path: Path) -> None:
    """Rules 3.8 and 3.9: at 2.5 the sleeper, v = 0.9 and d = 3, is before both others where V is 1.3. 6.12 leaves it.

    Without it V is 1.5. So the hog, v = 1.7, is not eligible, and who wakes preempts it, by its shorter slice.
    """
    sleeper = task("sleeper", "{ run_us = 900 }", SLEEPS, slice_us=3000)
    others = task("hog", "{ until_us = 100 }", FOR_EVER, slice_us=20000)
    others += task("wakes", "{ until_us = 2500 }", FOR_EVER, slice_us=5000)
    turns = run(tmp_path, rules, sleeper + others).turns(starts)
    assert turns == [("sleeper", 0, 0.9), ("hog", 0.9, starts)]


@pytest.mark.parametrize(("nice", "cpu"), [(None, 1), (0, 0), (1, 1)])
def test_a_child_begins_on_the_idlest_cpu(nice: int | None, cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.4: an idle one, or one with a load that is less by more than 17 %: 820 of nice 1 beside 1,024."""
    tasks = task(
        "parent", "{ affinity = [0] }", "{ run_us = 600_500 }", "{ affinity = [] }", '{ fork = "child" }', FOR_EVER
    )
    tasks += child("child", "{ run_us = 200 }", SLEEPS)
    tasks += hog("other", cpus=[1], nice=nice) if nice is not None else ""
    schedule = run(tmp_path, "7.2", tasks, 700, NO_BALANCE, cores=2)
    assert [at for at in (0, 1) for turn in schedule.turns(700, at) if turn.name == "child"] == [cpu]


@pytest.mark.parametrize("beside", ["threads", "cores", "llcs", "sockets"])
def test_a_child_begins_beside_its_parent_on_any_level(beside: str, tmp_path: Path) -> None:
    """Rule 3.11.4: wherever the idle CPU is."""
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER)
    schedule = run(tmp_path, "7.2", tasks, 10, NO_BALANCE, **{"cores": 1, beside: 2})
    assert schedule.turns(10, 1)[-1] == ("child", 2.5, 10)


@pytest.mark.parametrize(("x_ms", "y_ms", "cpu"), [(10, 20, 3), (20, 10, 2), (20, 20, 2)])
def test_a_child_begins_on_the_cpu_that_went_idle_last(x_ms: int, y_ms: int, cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.4: two caches; in the other one both CPUs are idle, here one is."""
    tasks = task(
        "parent", "{ affinity = [0] }", "{ run_us = 30_500 }", "{ affinity = [] }", '{ fork = "child" }', FOR_EVER
    )
    tasks += child("child", "{ run_us = 200 }", SLEEPS)
    tasks += task("x", f"{{ run_ms = {x_ms} }}", SLEEPS, cpus=[2]) + task(
        "y", f"{{ run_ms = {y_ms} }}", SLEEPS, cpus=[3]
    )
    schedule = run(tmp_path, "7.2", tasks, 40, NO_BALANCE, llcs=2, cores=2)
    assert ("child", 30.5, 30.7) in schedule.turns(40, cpu)


@pytest.mark.parametrize(("hogs", "cpu"), [(([3, 3], [3, 4]), 3), (([3, 4], [3, 3]), 2), (([0], [0]), 2)])
def test_a_child_begins_on_the_least_loaded_cpu_of_the_cache(
    hogs: tuple[list[int], ...], cpu: int, tmp_path: Path
) -> None:
    """Rule 3.11.4: the other cache has less load than the parent's. There 526 + 423 are less than 526 twice.

    They are not less by 17 %, so that the look within the cache that follows changes nothing. The first of equals.
    """
    forks = ["{ affinity = [0] }", "{ run_us = 400_500 }", "{ affinity = [] }", '{ fork = "child" }', FOR_EVER]
    tasks = task("parent", *forks) + child("child", "{ run_us = 200 }", SLEEPS)
    tasks += hog("own", cpus=[0], count=2) + hog("beside", cpus=[1], count=2)
    for at, nices in zip((2, 3), hogs, strict=True):
        tasks += "".join(hog(f"hog{at}_{i}", cpus=[at], nice=nice) for i, nice in enumerate(nices))
    schedule = run(tmp_path, "7.2", tasks, 1600, NO_BALANCE, cores=2, llcs=2)
    assert {at for at in range(4) for turn in schedule.turns(1600, at) if turn.name == "child"} == {cpu}


@pytest.mark.parametrize(
    ("tunables", "pulls"), [("", True), ("+newidle=off", False), ("+migration_cost_us=100000", False)]
)
def test_a_cpu_that_goes_idle_pulls(tunables: str, pulls: bool, tmp_path: Path) -> None:
    """Rule 3.11.5: at 30.5 the task that waits since 30.2, unless its cache is hot: it ran 30 ms ago."""
    there = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    tasks = task("waits", *there, "{ until_us = 30_200 }", FOR_EVER) + task("runs", *there, FOR_EVER)
    tasks += task("ends", "{ run_us = 30_500 }", SLEEPS, cpus=[1])
    schedule = run(tmp_path, "7.2", tasks, 31, "+periodic=off" + tunables, cores=2)
    assert schedule.turns(31, 1)[-1] == ("waits" if pulls else "idle", 30.5, 31)


@pytest.mark.parametrize(("waiting", "pulls"), [(1, 1), (2, 1), (3, 2), (5, 3)])
def test_an_idle_cpu_is_woken_to_balance(waiting: int, pulls: int, tmp_path: Path) -> None:
    """Rule 3.11.5: at 21 by the tick of the CPU where they wait since 20.2. It takes half of the tasks there, at once.

    No cache is hot, and without lags nobody stays as ineligible. The CPU went idle at 20.4.
    """
    there = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    tasks = task("runs", *there, FOR_EVER) + task("ends", "{ run_us = 20_400 }", SLEEPS, cpus=[1])
    tasks += "".join(task(f"waits{i}", *there, "{ until_us = 20_200 }", FOR_EVER) for i in range(waiting))
    schedule = run(tmp_path, "7.2", tasks, 60, "+newidle=off+migration_cost_us=0+place_lag=off", cores=2)
    turns = schedule.turns(60, 1, after_ms=20.4)
    assert [turns[0].name, turns[1].start] == ["idle", 21]
    assert len({turn.name for turn in turns if 21 <= turn.start < 25}) == pulls


def test_who_waits_for_most_of_the_time_uses_little(tmp_path: Path) -> None:
    """Rule 3.11.5: four share a CPU, so that each uses a quarter of it, and the idle CPU of another cache takes one.

    They may leave from 900 on, but for what they differ by. When that one has run for 32 ms half of its CPU is still to
    be had by the next balance, which is enough for a second one; and two and two are even.
    """
    there = ["{ affinity = [0] }", "{ run_ms = 225 }", "{ affinity = [] }"]
    tasks = "".join(task(name, *there, FOR_EVER) for name in "abcd")
    tunables = "+newidle=off+migration_cost_us=0+place_lag=off"
    schedule = run(tmp_path, "7.2", tasks, 1000, tunables, cores=1, llcs=2)
    came = [min((turn.start for turn in schedule.turns(1000, 1) if turn.name == name), default=0) for name in "abcd"]
    first, second = sorted(ms for ms in came if ms)
    assert 900 - 4 * 0.7 - 1 < first < 904
    assert second == first + 32


def test_who_is_changed_before_it_ran_where_it_was_pulled_leaves(tmp_path: Path) -> None:
    """Rules 3.2, 3.7 and 3.11.5: CPU 1 pulls two of three at 21, and a new nice level puts the one that waits back.

    So CPU 1 counts none when it is idle at 23, and takes one at the next tick.
    """
    there = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    tasks = task("runs", FOR_EVER, cpus=[0]) + task("ends", "{ run_us = 20_400 }", SLEEPS, cpus=[1])
    tasks += "".join(task(f"waits{i}", *there, "{ until_us = 20_200 }", "{ run_ms = 2 }", SLEEPS) for i in range(3))
    renices = [f'{{ nice = 1, of = "waits{i}" }}' for i in range(3)]
    tasks += task("changer", "{ until_us = 21_300 }", *renices, SLEEPS, cpus=[0], policy="fifo:1")
    schedule = run(tmp_path, "7.2", tasks, 60, "+newidle=off+migration_cost_us=0+place_lag=off", cores=2)
    turns = schedule.turns(40, 1, after_ms=21)
    assert [(turn.name[:5], turn.start, turn.end) for turn in turns[:2]] == [("waits", 21, 23), ("idle", 23, 24)]


@pytest.mark.parametrize(("idle_us", "pulls"), [(1700, False), (1890, False), (1900, True), (2200, True)])
def test_a_cpu_that_goes_idle_leaves_who_ran_just_now(idle_us: int, pulls: bool, tmp_path: Path) -> None:
    """Rule 3.11.5: p waits since 1.4, when its slice ended. Its cache is warm for 0.5 ms."""
    there = ["{ affinity = [0] }", "{ affinity = [] }"]
    tasks = task("ends", f"{{ run_us = {idle_us} }}", SLEEPS, cpus=[1])
    tasks += "".join(task(name, *there, FOR_EVER) for name in "pq")
    idle_ms = idle_us / 1000
    schedule = run(tmp_path, "7.2", tasks, 3, "+periodic=off", cores=2)
    assert schedule.turns(1.4) == [("p", 0, 1.4)]
    assert schedule.turns(3, 1)[-1] == ("p" if pulls else "idle", idle_ms, 3)


@pytest.mark.parametrize(("kernel", "cpu"), [(True, 1), (False, 0)])
def test_who_a_kernel_thread_of_the_cpu_wakes_stays(kernel: bool, cpu: int, tmp_path: Path) -> None:
    """Rule 3.11.3: the CPU is as good as idle, as such a thread hands back what it was given, and sleeps."""
    there = ["{ affinity = [1] }", "{ run_us = 100 }", "{ affinity = [] }"]
    sleeper = task("sleeper", *there, '{ wait = "it" }', "{ run_us = 200 }", SLEEPS)
    waker = task(
        "waker", "{ until_us = 20_500 }", "{ run_us = 50 }", '{ post = "it" }', SLEEPS, cpus=[1], kernel=kernel
    )
    schedule = run(tmp_path, "7.2", '[[semaphore]]\nname = "it"\n' + sleeper + waker, 40, NO_BALANCE, cores=2)
    assert ("sleeper", 20.55, 20.75) in schedule.turns(40, cpu)
