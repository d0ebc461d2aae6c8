# SPDX-License-Identifier: GPL-2.0-or-later
"""What `modern` changes of BFS's rules, scene by scene, to the microsecond. rr and D are as in version 424."""

from pathlib import Path

import pytest

from tests.policies.bfs_scenes import FOR_EVER, SLEEPS, run
from tests.policies.schedules import free_machine, hog, simulate, simulator, task

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


@pytest.mark.parametrize(
    ("last", "busy", "allowed", "cpu"),
    [
        (0, [0], [], 2),
        (4, [4], [], 6),
        (4, [5], [], 6),
        (4, [4, 6], [], 0),
        (4, [4, 6, 0, 2], [], 5),
        (4, [4, 5, 6, 0, 2, 3], [], 7),
        (4, [4, 5, 6, 7, 0, 2, 3], [], 1),
        (0, [0], [0, 3, 4], 3),
    ],
)
def test_modern_wakes_on_an_idle_cpu(last: int, busy: list[int], allowed: list[int], cpu: int, tmp_path: Path) -> None:
    """Rule 1.4.6 as modern changes it: a whole idle core of the cache, one elsewhere, a thread of the cache, any.

    Four cores of two threads, two to a cache.
    """
    there = [f"{{ affinity = [{last}] }}", "{ run_us = 100 }", f"{{ affinity = {allowed} }}"]
    tasks = task("sleeper", *there, "{ until_us = 50_500 }", "{ run_ms = 1 }", SLEEPS)
    tasks += "".join(hog(f"hog{at}", cpus=[at]) for at in busy)
    schedule = run(tmp_path, "modern", tasks, 60, llcs=2, cores=2, threads=2)
    assert ("sleeper", 50.5, 51.5) in schedule.turns(60, cpu)


def test_modern_passes_over_cpus_that_went_idle(tmp_path: Path) -> None:
    """Rule 1.4.6 as modern changes it: an offline CPU is marked idle until it is asked for, and however many there are.

    CPUs 1 to 9 go at 20, each kept by a task with migration disabled; only 10 is idle. The hog is not preempted.
    """
    kept = [task(f"kept{cpu}", "{ migrate_disable = [{ sleep_ms = 90 }] }", SLEEPS, cpus=[cpu]) for cpu in range(1, 10)]
    sleeper = task("sleeper", "{ run_ms = 1 }", "{ until_us = 50_000 }", "{ run_ms = 10 }", SLEEPS, nice=-5)
    tasks = sleeper + task("hog", "{ sleep_ms = 5 }", FOR_EVER, cpus=[0]) + "".join(kept)
    gone = ",".join(f"20ms:-{cpu}" for cpu in range(1, 10))
    machine = free_machine(tmp_path, cores=11)
    schedule = simulate(tmp_path, "bfs:rules=modern", tasks, 0.08, machine, "--hotplug", gone, strict=False)
    assert schedule.turns(80, after_ms=5) == [("hog", 5, 80)]
    assert ("sleeper", 50, 60) in schedule.turns(80, 10)


def test_modern_goes_elsewhere_if_a_real_time_task_takes_its_idle_cpu(tmp_path: Path) -> None:
    """Both wake at 10, the real-time task after it and on the CPU that it was placed on: it does not wait there."""
    above = task("rt", "{ sleep_ms = 10 }", "{ run_ms = 50 }", SLEEPS, policy="fifo:1", cpus=[0])
    tasks = task("sleeper", "{ sleep_ms = 10 }", "{ run_ms = 5 }", SLEEPS) + above
    schedule = run(tmp_path, "modern", tasks, 70, cores=2)
    assert schedule.turns(70, 0, after_ms=5)[:1] == [("rt", 10, 60)]
    assert schedule.turns_of("sleeper", after_ms=5) == [("sleeper", 10, 15)]


@pytest.mark.parametrize(
    ("last", "allowed", "nices", "cpu"),
    [
        (0, [], [5, 0, 10, 19, 0, 0], 2),
        (0, [], [5, 10, 0, 19, 0, 0], 1),
        (4, [], [19, 0, 0, 5, 0, 10], 5),
        (0, [0, 1, 4], [0, 5, 10, 19, 19, 19], 1),
        (1, [], [0, 0, 0, 0, 0, 0], 0),
    ],
)
def test_modern_preempts_the_latest_deadline_of_the_cache(
    last: int, allowed: list[int], nices: list[int], cpu: int, tmp_path: Path
) -> None:
    """Rule 1.4.4 as modern changes it: of the CPUs of the last one's cache, 0 to 2 or 3 to 5, that it may use.

    The lowest number among equals. All hogs have been renewed when it wakes with its first deadline.
    """
    there = [f"{{ affinity = [{last}] }}", "{ run_us = 100 }", f"{{ affinity = {allowed} }}"]
    tasks = task("sleeper", *there, "{ until_us = 20_500 }", "{ run_ms = 1 }", SLEEPS)
    tasks += "".join(hog(f"hog{at}", cpus=[at], nice=nice) for at, nice in enumerate(nices))
    schedule = run(tmp_path, "modern", tasks, llcs=2, cores=3)
    assert ("sleeper", 20.5, 21.5) in schedule.turns(40, cpu)


@pytest.mark.parametrize(("later_us", "start"), [(10, 21), (19, 21), (20, 20.525)])
@pytest.mark.parametrize("cpus", [[], [0]])
def test_modern_lets_who_was_just_switched_in_run(cpus: list[int], later_us: int, start: float, tmp_path: Path) -> None:
    """Change 7 of the README: first ends at 20.505, and so does the time at which the hog was put aside.

    For 20 us from then on second, whose deadline is before the hog's, does not preempt it, and has to wait for a tick.
    """
    first = task("first", "{ run_us = 10 }", "{ until_us = 20_500 }", "{ run_us = 5 }", SLEEPS, cpus=cpus)
    wakes = f"{{ until_us = {20_505 + later_us} }}"
    second = task("second", "{ run_us = 10 }", wakes, "{ run_ms = 1 }", SLEEPS, cpus=cpus)
    schedule = run(tmp_path, "modern", first + second + hog("hog"))
    turns = schedule.turns(start + 1, after_ms=20.5)
    assert turns == [("first", 20.5, 20.505), ("hog", 20.505, start), ("second", start, start + 1)]


@pytest.mark.parametrize(
    ("nice", "after_us", "other", "begins"),
    [(0, 20, True, 20.3), (0, 0, True, 20.3), (0, 20, False, 21.3), (0, 0, False, 21.3), (-1, 20, False, 21)],
)
def test_modern_counts_a_cpu_as_taken_at_once(
    nice: int, after_us: int, other: bool, begins: float, tmp_path: Path
) -> None:
    """Changes 2 and 7 of the README: two are woken at 20.3, and the first preempts the latest deadline, on CPU 1.

    So the second preempts another hog. Without one it waits for the first, or, with the earlier deadline, for the tick.
    """
    shared = "".join(f'[[semaphore]]\nname = "{name}"\n' for name in ("first", "second"))
    waits = [["{ run_us = 10 }", f'{{ wait = "{name}" }}', "{ run_ms = 1 }", SLEEPS] for name in ("first", "second")]
    tasks = task("first", *waits[0]) + task("second", *waits[1], nice=nice)
    posts = ["{ until_ms = 20 }", "{ run_us = 300 }", '{ post = "first" }', '{ post = "second" }']
    tasks += task("waker", *posts, FOR_EVER, cpus=[0], nice=-20) + hog("late", cpus=[1], nice=10)
    tasks += hog("later", cpus=[2], nice=5) if other else ""
    scheduler = f"modern+preempt_after_us={after_us}+first_turn_us=0"
    schedule = run(tmp_path, scheduler, shared + tasks, cores=3 if other else 2)
    assert schedule.turns(40, 1, after_ms=20.3)[0][:2] == ("first", 20.3)
    assert schedule.turns(40, 2 if other else 1, after_ms=begins)[0] == ("second", begins, begins + 1)


def wakes(name: str, at_ms: float, runs_ms: float = 3, **keys: object) -> str:
    """Renewed at the start, so that the deadline passes at 41 (nice 0), 66 (nice 5) or 251 (nice 19)."""
    until, runs = f"{{ until_us = {at_ms * 1000:.0f} }}", f"{{ run_us = {runs_ms * 1000:.0f} }}"
    return task(name, "{ run_us = 10 }", until, runs, SLEEPS, **keys)


@pytest.mark.parametrize(("turn_us", "begin"), [(500, [100, 100.5, 101, 101.5]), (0, [100, 103, 106, 109])])
def test_modern_lets_all_begin_that_wake_at_once(turn_us: int, begin: list[float], tmp_path: Path) -> None:
    """Change 8 of the README: equals that are due. The last goes on; the others go behind it, and run to their ends."""
    tasks = "".join(wakes(name, 100) for name in "abcd")
    schedule = run(tmp_path, f"modern+first_turn_us={turn_us}", tasks, 130, hz=100)
    assert [schedule.turns_of(name, after_ms=99)[0].start for name in "abcd"] == begin
    later = [("d", 101.5, 104.5), ("a", 104.5, 107), ("b", 107, 109.5), ("c", 109.5, 112)]
    assert not turn_us or schedule.turns(112, after_ms=101.5) == later


def test_modern_lets_all_begin_on_all_cpus(tmp_path: Path) -> None:
    """Change 8 of the README: of six that are due, two find idle CPUs, and the queue has the others."""
    names = "abcdef"
    schedule = run(tmp_path, "modern", "".join(wakes(name, 100) for name in names), 130, cores=2, hz=100)
    first = sorted((schedule.turns_of(name, after_ms=99)[0] for name in names), key=lambda turn: turn.start)
    spans = [(turn.start, turn.end) for turn in first]
    assert spans == [(100, 100.5), (100, 100.5), (100.5, 101), (100.5, 101), (101, 104), (101, 104)]


@pytest.mark.parametrize(
    ("scheduler", "first", "second"),
    [
        ("modern", {}, {"nice": 19}),
        ("modern", {"nice": 19}, {"nice": 19}),
        ("modern+iso_policy=batch", {"policy": "batch"}, {"policy": "batch"}),
    ],
)
def test_modern_gives_a_first_turn_to_nobody_else(
    scheduler: str, first: dict[str, object], second: dict[str, object], tmp_path: Path
) -> None:
    """Change 8 of the README: at nice 19 the deadline is still to come, and ISO tasks are above all this."""
    schedule = run(tmp_path, scheduler, wakes("a", 100, **first) + wakes("b", 100, **second), 130, hz=100)
    assert schedule.turns(106, after_ms=100) == [("a", 100, 103), ("b", 103, 106)]


def test_modern_lets_begin_who_was_handed_over(tmp_path: Path) -> None:
    """Change 8 of the README: b, due with a later deadline, is the only one that waits, and in no queue."""
    schedule = run(tmp_path, "modern", wakes("a", 100) + wakes("b", 100.1, 1, nice=5), 130, hz=100)
    turns = [("a", 100, 100.6), ("b", 100.6, 101.6), ("a", 101.6, 104)]
    assert schedule.turns(104, after_ms=100) == turns


def test_modern_ends_first_turns_on_a_cpu_that_queued_nobody(tmp_path: Path) -> None:
    """Change 8 of the README: all ran on CPU 0 before and are queued there. CPU 1 looks again since its own began."""
    program = ["{ affinity = [0] }", "{ run_us = 10 }", "{ affinity = [] }", "{ until_ms = 100 }", "{ run_ms = 3 }"]
    tasks = "".join(task(name, *program, SLEEPS) for name in "abcdef")
    schedule = run(tmp_path, "modern", tasks, 130, cores=2, hz=100)
    begin = [schedule.turns_of(name, after_ms=99)[0].start for name in "abcdef"]
    assert sorted(begin) == [100, 100, 100.5, 100.5, 101, 101]


def test_modern_goes_behind_for_once(tmp_path: Path) -> None:
    """Change 8 of the README: a has waited behind b, and goes on by its own deadline.

    That is before late's, which is due and does not preempt it, as it would do with b.
    """
    tasks = wakes("a", 100) + wakes("b", 100, 0.4, nice=5) + wakes("late", 101.8, nice=3)
    schedule = run(tmp_path, "modern", tasks, 130, hz=100)
    turns = [("a", 100, 100.5), ("b", 100.5, 100.9), ("a", 100.9, 103.4), ("late", 103.4, 106.4)]
    assert schedule.turns(106.4, after_ms=100) == turns


def test_modern_ends_a_first_turn_that_was_interrupted(tmp_path: Path) -> None:
    """Change 8 of the README: a goes on at 100.3, has run for less than half a turn at 100.5, and ends at 101."""
    tasks = wakes("a", 100, nice=-1) + wakes("b", 100) + wakes("above", 100.2, 0.1, nice=-20)
    schedule = run(tmp_path, "modern", tasks, 130, hz=100)
    turns = [("a", 100, 100.2), ("above", 100.2, 100.3), ("a", 100.3, 101), ("b", 101, 104)]
    assert schedule.turns(104, after_ms=100) == turns


@pytest.mark.parametrize(
    ("turn_us", "hz", "begins"), [(500, 100, 101), (500, 1000, 101), (2000, 1000, 101), (0, 1000, 103)]
)
def test_modern_ends_a_first_turn_at_a_tick_as_well(turn_us: int, hz: int, begins: float, tmp_path: Path) -> None:
    """Change 8 of the README: half a turn is enough then. Without first turns b waits for a's end."""
    schedule = run(tmp_path, f"modern+first_turn_us={turn_us}", wakes("a", 100) + wakes("b", 100.5), 130, hz=hz)
    assert schedule.turns_of("b", after_ms=100)[0].start == begins


@pytest.mark.parametrize(
    ("turn_us", "before_us", "wakes_us", "start"),
    [(500, 0, 20_500, 21.015), (1000, 0, 20_500, 21.515), (0, 0, 20_500, 30), (500, 20_015, 20_390, 21.015)],
)
def test_modern_looks_again_between_ticks(
    turn_us: int, before_us: int, wakes_us: int, start: float, tmp_path: Path
) -> None:
    """Change 8 of the README: second comes too early to preempt the hog, and there is a look a turn after that.

    Where before came too early as well, the look is a turn after that one. The hog has then run for less than half a
    turn, and the next look ends it.
    """
    wake_ups = [("zero", 20_000, 5), ("first", wakes_us, 5), ("second", wakes_us + 15, 1000)]
    wake_ups += [("before", before_us, 5)] if before_us else []
    tasks = "".join(
        task(name, "{ run_us = 10 }", f"{{ until_us = {at_us} }}", f"{{ run_us = {runs_us} }}", SLEEPS)
        for name, at_us, runs_us in wake_ups
    )
    schedule = run(tmp_path, f"modern+first_turn_us={turn_us}", tasks + hog("hog"), hz=100)
    assert schedule.turns_of("second", after_ms=20)[0] == ("second", start, start + 1)


def test_modern_lets_idleprio_preempt_nobody(tmp_path: Path) -> None:
    """Rule 1.4.4: its deadline is before the hog's, and so it runs from the next tick on."""
    sleeper = task("sleeper", "{ until_us = 20_500 }", "{ run_ms = 1 }", SLEEPS, policy="idle")
    schedule = run(tmp_path, "modern", sleeper + hog("hog", policy="idle"))
    assert schedule.turns_of("sleeper")[-1] == ("sleeper", 21, 22)


def test_modern_hands_over_one_at_a_time(tmp_path: Path) -> None:
    """Change 3 of the README: the first waits for the waker, which goes on, until the tick; the second for any CPU."""
    shared = "".join(f'[[queue]]\nname = "{name}"\nkind = "pipe"\n' for name in ("first", "second"))
    tasks = "".join(
        task(name, "{ run_us = 10 }", f'{{ recv = "{name}" }}', "{ run_ms = 1 }", SLEEPS)
        for name in ("first", "second")
    )
    sends = [f'{{ send = "{name}", bytes = 8 }}' for name in ("first", "second")]
    tasks += task("waker", "{ until_ms = 20 }", "{ run_us = 300 }", *sends, FOR_EVER, cpus=[0], nice=1)
    tasks += hog("hog", cpus=[1], nice=10)
    schedule = run(tmp_path, "modern+first_turn_us=0", shared + tasks, cores=2)
    assert schedule.turns(40, 0, after_ms=21)[0] == ("first", 21, 22)
    assert schedule.turns(40, 1, after_ms=21)[0] == ("second", 21, 22)


def test_modern_hands_over_beside_a_later_one_that_waits(tmp_path: Path) -> None:
    """Change 3 of the README: who is handed over at 10.3 waits for its waker to sleep at 10.5, as it is the first.

    At 10.4 the other CPU takes from the queue, where only the other one is, whose deadline is later.
    """
    first = task(
        "first", "{ affinity = [1] }", "{ run_us = 10 }", "{ affinity = [] }", '{ recv = "it" }', "{ run_ms = 1 }"
    )
    waker = ["{ sleep_ms = 10 }", "{ run_us = 300 }", '{ send = "it", bytes = 8 }', "{ run_us = 200 }", SLEEPS]
    tasks = '[[queue]]\nname = "it"\nkind = "pipe"\n' + first + task("waker", *waker, cpus=[0], nice=1)
    tasks += hog("hog", cpus=[0]) + task("ends", "{ run_us = 10_390 }", SLEEPS, cpus=[1]) + hog("later", nice=19)
    schedule = run(tmp_path, "modern", tasks, cores=2)
    assert schedule.turns(40, 1, after_ms=10.4)[0][:2] == ("later", 10.4)
    assert ("first", 10.5, 11.5) in schedule.turns(12)


def test_modern_sticks_until_a_tick(tmp_path: Path) -> None:
    """Rule 1.5.10 as modern changes it: a gives way to c at 3.5 and sticks until the tick at 4.

    The other CPU's next one, at 5, finds it before b, whose deadline is a later one.
    """
    tasks = (
        hog("a") + hog("b", nice=5) + task("c", "{ sleep_us = 2500 }", "{ run_ms = 20 }", SLEEPS, nice=-20, cpus=[0])
    )
    schedule = run(tmp_path, "modern+first_turn_us=0", tasks, cores=2)
    assert schedule.turns(24)[-1] == ("c", 3.5, 23.5)
    assert schedule.turns(40, 1) == [("b", 0, 5), ("a", 5, 40)]
