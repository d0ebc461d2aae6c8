# SPDX-License-Identifier: GPL-2.0-or-later
"""BFS's binding, rule by rule: what a scenario's schedule must be by docs/rules/bfs.md, to the microsecond.

One CPU and 1,000 ticks a second where nothing else is said, and a machine on which nothing costs anything. Up to 311
rr is 6 ms there and D 39 ms at nice 0, 43 at nice 1 and 35 at nice -1. Later rr is 6 x 2^20 ns, 0.29 ms more than six
ticks, and D 41.1 ms at nice 0, 45.2 at nice 1 and 37.4 at nice -1. What `modern` changes is in test_bfs_modern.py.
"""

import math
from pathlib import Path

import pytest

from tests.policies.bfs_scenes import FOR_EVER, SLEEPS, run
from tests.policies.schedules import Schedule, child, free_machine, hog, simulate, simulator, task

PUBLISHED = ["232", "311", "424"]
IN_JIFFIES = ["232", "311"]

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def rest_of(schedule: Schedule, cpu: int, after_ms: float) -> list[str]:
    """Who runs on a CPU from then on, in turn."""
    return [turn.name for turn in schedule.turns(math.inf, cpu, after_ms)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_equals_take_turns_of_rr(rules: str, tmp_path: Path) -> None:
    """Rules 1.3.2 and 1.3.3: renewed when used up, and behind all whose deadline is older."""
    schedule = run(tmp_path, rules, hog("a") + hog("b") + hog("c"))
    assert schedule.turns(36) == [(name, 6 * i, 6 * i + 6) for i, name in enumerate("abcabc")]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_rr_goes_by_the_cpus_online_at_load(rules: str, tmp_path: Path) -> None:
    """Rule 1.2.2: four of eight are, so that rr is 18 ms and not 24. CPU 4 comes too late to count."""
    tasks = hog("a", cpus=[0]) + hog("b", cpus=[0])
    hotplug = ["--offline", "4,5,6,7", "--hotplug", "5ms:+4"]
    machine = free_machine(tmp_path, cores=8)
    schedule = simulate(tmp_path, f"bfs:rules={rules}", tasks, 0.04, machine, *hotplug, strict=False)
    assert schedule.turns(36) == [("a", 0, 18), ("b", 18, 36)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_what_is_left_of_a_slice_survives_a_sleep(rules: str, tmp_path: Path) -> None:
    """Rules 1.3.3, 1.3.4 and 1.3.6: of its first slice the sleeper has used 2 ms when it wakes at 10.5, before the hog.

    It blocked at the moment of the tick at 2, which costs half a jiffy up to 311: nothing is left at the tick at 14. In
    424, where it costs 1 ns, 0.79 ms are left there.
    """
    sleeper = task("sleeper", "{ run_ms = 2 }", "{ sleep_us = 8500 }", FOR_EVER)
    (again, *_) = run(tmp_path, rules, sleeper + hog("hog")).turns_of("sleeper", after_ms=10)
    assert again == ("sleeper", 10.5, 14 if rules in IN_JIFFIES else 15)


def test_dither_ends_a_slice_that_began_just_after_a_tick(tmp_path: Path) -> None:
    """Rule 1.3.5, 424: what is left at the sixth tick, 0.29 ms, is less than half a jiffy, and more than 100 us."""
    schedule = run(tmp_path, "424", hog("a") + hog("b"))
    assert schedule.turns(12) == [("a", 0, 6), ("b", 6, 12)]
    # Not where the switch was later than half a jiffy after the tick: b has 0.19 ms left at 7, or 0.47 at 6.
    for rr_us, us, last in ((6000, 900, 8), (5600, 600, 7)):
        tasks = task("a", f"{{ run_us = {us} }}", SLEEPS) + hog("b") + hog("c")
        schedule = run(tmp_path, f"424+rr_interval_us={rr_us}", tasks)
        assert schedule.turns(last) == [("a", 0, us / 1000), ("b", us / 1000, last)]


def test_dither_is_renewed_where_the_task_is_kept(tmp_path: Path) -> None:
    """Rule 1.3.5, 424: at 0.9 a yields and goes on, so that 0.29 ms are enough to go on at 6.

    Nice 1 is behind what a had and before what it is renewed to.
    """
    yields = task("a", "{ run_us = 900 }", "{ yield = true }", FOR_EVER)
    assert run(tmp_path, "424", yields + hog("b", nice=1)).turns(7) == [("a", 0, 7)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_yield(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.10: up to 311 a yield renews the deadline, to 5 + 35 at nice -1, behind b's 39. Later it keeps it."""
    yields = task("a", "{ run_us = 5500 }", "{ yield = true }", FOR_EVER, nice=-1)
    assert run(tmp_path, rules, yields + hog("b")).turns(6) == [("a", 0, 5.5 if rules in IN_JIFFIES else 6)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_a_child_takes_half_of_the_slice_and_its_parent_steps_back(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: at 2.5 the slice, charged by two ticks, is 4 ms, of which each has 2.

    The deadlines are equal, so that the child runs, to its third tick; then the parent, which was charged 0.5 ms by the
    schedule, to its second.
    """
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER)
    schedule = run(tmp_path, rules, tasks + hog("later", nice=1))
    assert schedule.turns(7) == [("parent", 0, 2.5), ("child", 2.5, 5), ("parent", 5, 7)]


def test_424_halves_at_a_fork_and_gives_nothing_back(tmp_path: Path) -> None:
    """Rule 1.3.7: at 2.5 the slice is 4.29 ms, of which each has 2.15; the child leaves 1.85 of them.

    The parent has 1.65 after the schedule, 0.45 at the tick at 4, where it is one that began at 2.8, and none at 5.
    """
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", "{ run_us = 300 }")
    schedule = run(tmp_path, "424", tasks + hog("later", nice=1))
    assert schedule.turns(5) == [("parent", 0, 2.5), ("child", 2.5, 2.8), ("parent", 2.8, 5)]


def test_424_renews_a_child_whose_parent_has_too_little(tmp_path: Path) -> None:
    """Rule 1.3.7: when it was last charged, at 7, the parent had 191 us left, less than 200.

    So it has 0, and is renewed when it steps back, and so is the child: the other, behind both before, goes first.
    """
    first = task("first", "{ run_us = 900 }", SLEEPS)
    parent = task("parent", "{ run_us = 6150 }", '{ fork = "child" }', FOR_EVER)
    schedule = run(tmp_path, "424", first + parent + child("child", FOR_EVER) + hog("other", nice=1))
    assert schedule.turns(7.05) == [("first", 0, 0.9), ("parent", 0.9, 7.05)]
    assert schedule.turns(20, after_ms=7)[0].name == "other"


def test_a_schedule_at_the_moment_of_a_tick_costs_half_a_jiffy(tmp_path: Path) -> None:
    """Rule 1.3.4: with rr = 5 ms each has 1.5 of the 3 ms that are left at 2.

    The schedule at 2 takes 0.5 of the parent's, which therefore ends at its first tick.
    """
    tasks = task("parent", "{ run_ms = 2 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER)
    schedule = run(tmp_path, "311+rr_interval_us=5000", tasks + hog("later", nice=1))
    assert schedule.turns(5) == [("parent", 0, 2), ("child", 2, 4), ("parent", 4, 5)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_a_child_that_exits_gives_its_slice_back(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: the child leaves 1.7 of its 2 ms; the parent's 1.5 and these last from 2.8 to the tick at 6."""
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", "{ run_us = 300 }")
    schedule = run(tmp_path, rules, tasks + hog("later", nice=1))
    assert schedule.turns(6) == [("parent", 0, 2.5), ("child", 2.5, 2.8), ("parent", 2.8, 6)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_a_child_that_used_more_than_its_slice_takes_nothing_along(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: it exits at 4.8, before a tick, 0.3 ms past its 2. The parent's 1.5 last to the tick at 7."""
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", "{ run_us = 2300 }")
    schedule = run(tmp_path, rules, tasks + hog("later", nice=1))
    assert schedule.turns(7) == [("parent", 0, 2.5), ("child", 2.5, 4.8), ("parent", 4.8, 7)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_a_parent_never_gets_more_than_a_slice_back(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: the parent, renewed by its yield at 1.5, has 5.8 ms when the child's 3 come at 1.7.

    6 ms are used up at the tick at 8. All of 8.8 ms would have been at 11.
    """
    program = ["{ run_us = 500 }", '{ fork = "child" }', "{ run_ms = 1 }", "{ yield = true }", FOR_EVER]
    tasks = task("parent", *program) + child("child", "{ sleep_us = 1200 }") + hog("later", nice=1)
    schedule = run(tmp_path, rules, tasks)
    assert schedule.turns(8) == [("parent", 0, 0.5), ("parent", 0.5, 1.7), ("parent", 1.7, 8)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_a_child_that_was_renewed_gives_nothing_back(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: renewed at 5, the child preempts at 10.1, with 44 before 46, and exits with most of its slice.

    The parent, renewed at 7, goes on with its 3 ms to the tick at 14; nice 2 has 47, before the parent's 53 then.
    """
    program = ["{ run_us = 2600 }", "{ sleep_ms = 3 }"]
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", *program)
    schedule = run(tmp_path, rules, tasks + hog("later", nice=2))
    assert schedule.turns(7.1)[1:] == [("child", 2.5, 5), ("parent", 5, 7), ("child", 7, 7.1)]
    assert schedule.turns(14, after_ms=7.1) == [("parent", 7.1, 10.1), ("parent", 10.1, 14)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_parent_beside_an_idle_cpu_goes_on(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: the idle CPU takes the child."""
    tasks = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER)
    schedule = run(tmp_path, rules, tasks, cores=2)
    assert schedule.turns(40) == [("parent", 0, 40)]
    assert schedule.turns(40, 1)[-1] == ("child", 2.5, 40)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_parent_steps_back_beside_a_cpu_that_went(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: a CPU that the policy was told is gone is not idle, though the kernel waits for a task there."""
    kept = task("kept", "{ migrate_disable = [{ sleep_ms = 90 }] }", SLEEPS, cpus=[1])
    tasks = task("parent", "{ run_us = 3500 }", '{ fork = "child" }', FOR_EVER) + child("child", FOR_EVER) + kept
    machine = free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, f"bfs:rules={rules}", tasks, 0.04, machine, "--hotplug", "1ms:-1", strict=False)
    assert schedule.turns(40)[0] == ("parent", 0, 3.5)
    assert schedule.turns_of("child")[0].start == 3.5


@pytest.mark.parametrize("rules", PUBLISHED)
def test_for_a_thread_nobody_steps_back(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.7: its parent is its process's, so that it waits for the end of the half slice that is left, at 4."""
    parent = task("parent", "{ run_us = 2500 }", '{ fork = "child" }', FOR_EVER)
    schedule = run(tmp_path, rules, parent + task("child", FOR_EVER, start="fork", threads=True))
    assert schedule.turns(4) == [("parent", 0, 4)]
    assert schedule.turns_of("child")[0].start == 4


@pytest.mark.parametrize("rules", PUBLISHED)
@pytest.mark.parametrize("policy", ["other", "batch", "idle"])
def test_who_preempts_by_deadline(policy: str, rules: str, tmp_path: Path) -> None:
    """Rules 1.4.1, 1.4.2 and 1.4.4: at 9.3 it has its first deadline, and the hog one that was renewed at 6."""
    sleeper = task("sleeper", "{ sleep_us = 9300 }", "{ run_us = 100 }", SLEEPS, policy=policy)
    (ran,) = run(tmp_path, rules, sleeper + hog("hog", policy=policy)).turns_of("sleeper")
    at_once = policy == "other" or (policy == "batch" and rules == "424")
    assert ran.start == (9.3 if at_once else 12)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_later_deadline_preempts_nobody(rules: str, tmp_path: Path) -> None:
    """Rule 1.4: it was renewed at 6, and the hog not yet: woken at 7.1, it waits for the end of the hog's slice.

    Up to 311 that has half a jiffy less, for the schedule at 0, at which the hog blocked as soon as it ran.
    """
    sleeper = task("sleeper", "{ run_us = 6300 }", "{ sleep_us = 800 }", FOR_EVER)
    schedule = run(tmp_path, rules, task("hog", "{ sleep_us = 6500 }", FOR_EVER) + sleeper)
    ends = 12 if rules in IN_JIFFIES else 13
    assert schedule.turns(13, after_ms=6.5)[0] == ("hog", 6.5, ends)
    assert schedule.turns_of("sleeper", after_ms=6.5)[0].start == ends


@pytest.mark.parametrize("rules", PUBLISHED)
@pytest.mark.parametrize("how", ["pipe", "semaphore"])
def test_a_sync_wakeup_preempts_nobody(how: str, rules: str, tmp_path: Path) -> None:
    """Rule 1.3.6: a pipe wakes with the sync flag, a semaphore without. Both CPUs' tasks have been renewed once."""
    rr = 12 if rules in IN_JIFFIES else 6
    shared, wakes, waits = {
        "pipe": ('[[queue]]\nname = "it"\nkind = "pipe"\n', '{ send = "it", bytes = 8 }', '{ recv = "it" }'),
        "semaphore": ('[[semaphore]]\nname = "it"\n', '{ post = "it" }', '{ wait = "it" }'),
    }[how]
    waker = task("waker", f"{{ run_us = {rr + 1}300 }}", wakes, FOR_EVER)
    sleeper = task("sleeper", waits, "{ run_us = 100 }", SLEEPS)
    (ran,) = run(tmp_path, rules, shared + sleeper + waker + hog("other"), cores=2).turns_of("sleeper")
    assert ran.start == (rr + 1.3 if how == "semaphore" else 2 * rr)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_worse_nice_level_reschedules(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.11: the deadline moves behind the other's, to 63 or 66.1, and the CPU schedules at once.

    b is renewed at 8, 14, 20 and 26, to 65 or 67.1.
    """
    changes = task("a", "{ run_us = 1300 }", "{ nice = 5 }", FOR_EVER)
    assert run(tmp_path, rules, changes + hog("b")).turns(26) == [("a", 0, 1.3), ("b", 1.3, 26)]


@pytest.mark.parametrize(("nice", "until"), [(-1, 2.5), (0, 6), (1, 6)])
@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_better_nice_level_of_a_waiting_task_preempts(rules: str, nice: int, until: float, tmp_path: Path) -> None:
    """Rule 1.3.11: its deadline goes from 39, which is the other's too, to 35, and it is queued anew like a wake-up."""
    changes = task("a", "{ run_us = 2500 }", f'{{ nice = {nice}, of = "b" }}', FOR_EVER)
    schedule = run(tmp_path, rules, changes + hog("b"), 8)
    assert schedule.turns(8)[0] == ("a", 0, until)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_nice_level_of_a_real_time_task_moves_no_deadline(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.11: a still has its first deadline when it is of SCHED_OTHER again, before b's 66; renewed, 245."""
    changes = ['{ policy = "fifo:1" }', "{ nice = 19 }", '{ policy = "other" }']
    a = task("a", "{ run_us = 1300 }", *changes, FOR_EVER)
    schedule = run(tmp_path, rules, a + hog("b", nice=5), 50)
    assert schedule.turns(50) == [("a", 0, 6), ("b", 6, 50)]


def test_a_change_of_who_runs_renews_nothing(tmp_path: Path) -> None:
    """Rules 1.3.2 and 1.3.11, 311: a has 5.5 ms left when it wakes at 0.9, and 0.4 at the tick at 6.

    At 6.7 it gets nice -2. At the tick at 7 it is used up and renewed, to 7 + 32, which is behind b's 39.
    """
    a = task("a", "{ sleep_us = 900 }", "{ run_us = 5800 }", "{ nice = -2 }", FOR_EVER, nice=-1)
    schedule = run(tmp_path, "311", a + hog("b"))
    assert schedule.turns(13) == [("b", 0, 0.9), ("a", 0.9, 7), ("b", 7, 13)]


@pytest.mark.parametrize("change", ["{ nice = -1 }", '{ policy = "batch" }', "{ affinity = [0] }"])
def test_424_renews_no_batch_task_that_is_changed(change: str, tmp_path: Path) -> None:
    """Rules 1.3.3 and 1.3.13: a change at 3.3 is no switch, so that a's slice ends at 6 and b is next."""
    a = task("a", "{ run_us = 3300 }", change, FOR_EVER, policy="batch")
    schedule = run(tmp_path, "424", a + hog("other", cpus=[1]) + hog("b", cpus=[0]), cores=2)
    assert schedule.turns(12) == [("a", 0, 6), ("b", 6, 12)]


@pytest.mark.parametrize("rules", PUBLISHED)
@pytest.mark.parametrize("change", ['{ policy = "batch" }', "{ nice = -1 }"])
def test_232_reschedules_at_any_change(change: str, rules: str, tmp_path: Path) -> None:
    """Rules 1.3.11 and 1.3.12: b, of BATCH, waits with an earlier deadline, as it may not preempt.

    232 looks again at the change, 311 not before the slice ends. In 424 BATCH preempts.
    """
    waits = task("b", "{ sleep_us = 9300 }", "{ run_ms = 1 }", SLEEPS, policy="batch")
    changes = task("a", "{ run_us = 9500 }", change, FOR_EVER)
    (ran,) = run(tmp_path, rules, waits + changes).turns_of("b")
    assert ran.start == {"232": 9.5, "311": 12, "424": 9.3}[rules]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_worse_level_reschedules(rules: str, tmp_path: Path) -> None:
    """Rules 1.1.1 and 1.3.12: a task that becomes SCHED_IDLE is behind every other one at once."""
    changes = task("a", "{ run_us = 1300 }", '{ policy = "idle" }', FOR_EVER)
    assert run(tmp_path, rules, changes + hog("b")).turns(40) == [("a", 0, 1.3), ("b", 1.3, 40)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_batch_is_renewed_at_every_switch_from_4xx_on(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.3: a sleeps at 5. With its first deadline it is before b and c, with that of 5 behind both."""
    batch = task("a", "{ run_ms = 5 }", "{ sleep_us = 3500 }", FOR_EVER, policy="batch")
    turns = run(tmp_path, rules, batch + hog("c", nice=1) + hog("b", nice=1)).turns(40, after_ms=5)
    assert turns[0] == ("c", 5, 11)
    assert turns[1].name == ("b" if rules == "424" else "a")


@pytest.mark.parametrize("rules", PUBLISHED)
def test_iso_is_refractory_above_its_share(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.14: each tick of ISO adds 100 to the account; it is above 70 from 71 P on, with P = 5 HZ + 1 = 501.

    From then on it is NORMAL, behind the other, which has waited since the start. Its slices of 50 ms do not end there.
    A CPU that is offline at load does not count (rule 1.2.5).
    """
    tasks = hog("iso", policy="batch") + hog("normal")
    stopped = 10 * math.ceil(71 * 501 / 100)
    scheduler = f"bfs:rules={rules}+iso_policy=batch+rr_interval_us=50000"
    for cores, offline in ((1, []), (2, ["--offline", "1"])):
        machine = free_machine(tmp_path, cores=cores, hz=100)
        schedule = simulate(tmp_path, scheduler, tasks, 5, machine, *offline, strict=False)
        iso, normal = schedule.turns(5000)[:2]
        assert iso == ("iso", 0, stopped)
        assert normal[:2] == ("normal", stopped)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_burst_leaves_idle_who_was_not_kicked(rules: str, tmp_path: Path) -> None:
    """Rules 1.4.1, 1.4.3, 1.4.4 and 1.4.9: both kick their last CPU, which stays marked idle until it schedules.

    The second waits for the first, beside an idle CPU. With kick=claimed it finds that one.
    """
    on_1 = ["{ affinity = [1] }", "{ run_us = 100 }", "{ affinity = [] }"]
    works = [*on_1, '{ await = "now" }', "{ run_ms = 1 }", SLEEPS]
    signals = task("waker", "{ run_ms = 10 }", '{ signal = "now", all = true }', FOR_EVER, cpus=[0])
    tasks = '[[condition]]\nname = "now"\n' + signals + task("first", *works) + task("second", *works)
    strict = run(tmp_path, f"{rules}+kick=strict", tasks, 30, cores=3)
    assert strict.turns(12, 1, after_ms=10) == [("first", 10, 11), ("second", 11, 12)]
    assert not strict.turns(math.inf, 2, after_ms=10)
    claimed = run(tmp_path, f"{rules}+kick=claimed", tasks, 30, cores=3)
    assert claimed.turns(11, 1, after_ms=10) == [("first", 10, 11)]
    assert claimed.turns(11, 2, after_ms=10) == [("second", 10, 11)]


def test_three_hogs_on_two_cpus_stick(tmp_path: Path) -> None:
    """Rules 1.5.7 and 1.5.10, 424: a gives way to c and sticks to its CPU.

    So b, which is used up at the same tick, finds nothing that is plain, and goes on: all of one CPU, and two halves.
    """
    schedule = run(tmp_path, "424", hog("a") + hog("b") + hog("c"), 600, cores=2)
    assert sorted(round(schedule.ran_ms(name)) for name in "abc") == [300, 300, 600]


def test_a_cpu_with_nothing_else_takes_what_sticks_elsewhere(tmp_path: Path) -> None:
    """Rule 1.5.7, 424: a sticks to the first CPU from 6 on, until b is done at 9.5."""
    schedule = run(tmp_path, "424", hog("a") + task("b", "{ run_us = 9500 }") + hog("c"), cores=2)
    assert schedule.turns(12) == [("a", 0, 6)]
    assert schedule.turns(40, 1) == [("b", 0, 9.5), ("a", 9.5, 40)]


def test_a_task_that_is_taken_loses_its_mark(tmp_path: Path) -> None:
    """Rules 1.5.7 and 1.5.10, 424: a, which stuck to CPU 0 from 6 on, is taken at 9.5, and done at 10.

    So nobody sticks there when c becomes real-time at 10.5, and the other CPU, which is idle, is not kicked.
    """
    c = task("c", "{ run_us = 4500 }", '{ policy = "fifo:1" }', FOR_EVER)
    schedule = run(tmp_path, "424", task("a", "{ run_us = 6500 }") + task("b", "{ run_us = 9500 }") + c, cores=2)
    assert schedule.turns(12) == [("a", 0, 6)]
    assert schedule.turns(10, 1) == [("b", 0, 9.5), ("a", 9.5, 10)]
    assert [kick for kick in schedule.kicks if kick[0] >= 10] == []


def test_a_task_loses_its_mark_where_the_running_one_is_kept(tmp_path: Path) -> None:
    """Rule 1.5.10, 424: c, nice -20, preempts a, which sticks; renewed to 12.3 at 6, c goes on.

    So a, whose deadline is 41, is plain, and before b, which is renewed to 47 at 6 on the other CPU.
    """
    schedule = run(tmp_path, "424", hog("a") + hog("b") + hog("c", nice=-20), cores=2)
    assert schedule.turns(12, 1) == [("b", 0, 6), ("a", 6, 12)]


def test_a_task_loses_its_mark_to_the_next_that_sticks(tmp_path: Path) -> None:
    """Rule 1.5.10, 424: as before, but at 6 c gives way to d, nice -15, pinned here, and sticks in a's place."""
    tasks = hog("a") + hog("b") + hog("c", nice=-20) + hog("d", nice=-15, cpus=[0])
    schedule = run(tmp_path, "424", tasks, cores=2)
    assert schedule.turns(12) == [("c", 0, 6), ("d", 6, 12)]
    assert schedule.turns(12, 1) == [("b", 0, 6), ("a", 6, 12)]


def test_who_is_moved_while_it_runs_sticks_nowhere(tmp_path: Path) -> None:
    """Rules 1.3.13 and 1.5.10, 424: at 3.5 a, which may use the other two CPUs from then on, has to leave its own.

    c is renewed to 47 at 6, at the end of its slice, and a, with 41, is not left for b's CPU, whose slice ends at 8.
    """
    a = task("a", "{ run_us = 3500 }", "{ affinity = [1, 2] }", FOR_EVER)
    b = task("b", "{ sleep_ms = 2 }", FOR_EVER, cpus=[1])
    schedule = run(tmp_path, "424", a + b + hog("c", cpus=[2]), cores=3)
    assert schedule.turns(40)[0] == ("a", 0, 3.5)
    assert schedule.turns(9, 2) == [("c", 0, 6), ("a", 6, 9)]


def test_who_a_real_time_task_preempts_does_not_stick(tmp_path: Path) -> None:
    """Rule 1.5.10, 424: a, renewed at 6, gives way at 7.5 and is before b when that is renewed, with 4.8 ms left."""
    above = task("rt", "{ sleep_us = 7500 }", FOR_EVER, policy="fifo:1", cpus=[0])
    schedule = run(tmp_path, "424", hog("a") + hog("b") + above, cores=2)
    assert schedule.turns(40) == [("a", 0, 7.5), ("rt", 7.5, 40)]
    assert schedule.turns(17, 1) == [("b", 0, 12), ("a", 12, 17)]


@pytest.mark.parametrize("becomes", [False, True])
def test_who_stuck_to_a_cpu_that_a_real_time_task_takes_is_let_go(becomes: bool, tmp_path: Path) -> None:
    """Rule 1.5.10, 424: a sticks to CPU 0, where c, pinned and of nice -1, preempted it at 0.

    At 3.5 a real-time task preempts c, or c becomes one. At 6 b is renewed, and a's deadline is before its own.
    """
    c = ["{ run_us = 3500 }", '{ policy = "fifo:1" }', FOR_EVER] if becomes else [FOR_EVER]
    above = "" if becomes else task("rt", "{ sleep_us = 3500 }", FOR_EVER, policy="fifo:1", cpus=[0])
    tasks = hog("a") + hog("b") + task("c", *c, nice=-1, cpus=[0]) + above
    schedule = run(tmp_path, "424", tasks, cores=2)
    assert schedule.turns(40) == ([("c", 0, 40)] if becomes else [("c", 0, 3.5), ("rt", 3.5, 40)])
    assert schedule.turns(12, 1) == [("b", 0, 6), ("a", 6, 12)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_who_was_preempted_runs_on_an_idle_cpu(rules: str, tmp_path: Path) -> None:
    """Rule 1.9.4: a, renewed at 6 or 12, is preempted at 13.3 by a task for its CPU only."""
    preempts = task("pinned", "{ sleep_us = 13300 }", FOR_EVER, cpus=[0])
    tasks = preempts + task("a", "{ affinity = [0] }", "{ run_ms = 13 }", "{ affinity = [] }", FOR_EVER)
    schedule = run(tmp_path, rules, tasks, cores=2)
    assert schedule.turns(40)[-2:] == [("a", 0, 13.3), ("pinned", 13.3, 40)]
    assert schedule.turns(40, 1)[-1] == ("a", 13.3, 40)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_what_is_published_is_that_of_who_was_switched_in(rules: str, tmp_path: Path) -> None:
    """Rules 1.1.4 and 1.4: at 10.3 the hog runs again, with 45, after the first sleeper, which had 39 as the second."""
    sleepers = [
        task(name, f"{{ sleep_us = {at} }}", "{ run_us = 100 }", SLEEPS) for name, at in (("x", 9300), ("y", 10300))
    ]
    schedule = run(tmp_path, rules, "".join(sleepers) + hog("hog"))
    assert schedule.turns(10.4, after_ms=9) == [("x", 9.3, 9.4), ("hog", 9.4, 10.3), ("y", 10.3, 10.4)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_overdue_tasks_run_in_the_order_of_arrival(rules: str, tmp_path: Path) -> None:
    """Rules 1.5.1, 1.5.3 and 1.5.7: with rr = 1 ms both have been overdue for long when a real-time task ends.

    The first has the later deadline, 39 ms; the second has 6.
    """
    real_time = task("rt", "{ run_ms = 100 }", SLEEPS, policy="fifo:1")
    tasks = real_time + task("first", "{ run_us = 500 }", SLEEPS, nice=19) + task("second", "{ run_us = 500 }", SLEEPS)
    schedule = run(tmp_path, f"{rules}+rr_interval_us=1000", tasks, 200)
    expected = ["second", "first"] if rules == "424" else ["first", "second"]
    assert rest_of(schedule, 0, 100)[:2] == expected


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_who_may_still_use_its_cpu_keeps_its_place(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.13: with rr = 1 ms all three are overdue when a's CPUs change, and it may stay on its last one."""
    confines = '{ confine = "a", cpus = [0] }'
    real_time = task("rt", "{ run_ms = 50 }", confines, "{ run_ms = 50 }", SLEEPS, policy="fifo:1")
    tasks = real_time + task("other", FOR_EVER, policy="fifo:1", cpus=[1])
    tasks += "".join(task(name, "{ run_us = 500 }", SLEEPS) for name in "abc")
    machine = free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, f"bfs:rules={rules}+rr_interval_us=1000", tasks, 0.2, machine, strict=False)
    assert rest_of(schedule, 0, 100)[:3] == ["a", "b", "c"]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_who_has_to_leave_its_cpu_keeps_its_place(rules: str, tmp_path: Path) -> None:
    """Rules 1.3.9 and 1.3.13: with rr = 1 ms all three are overdue when they have to go, the last of them first."""
    confines = ", ".join(f'{{ confine = "{name}", cpus = [1] }}' for name in "cba")
    tasks = task("rt", "{ run_ms = 50 }", confines, FOR_EVER, policy="fifo:1", cpus=[0])
    tasks += task("other", "{ run_ms = 100 }", SLEEPS, policy="fifo:1", cpus=[1])
    tasks += "".join(task(name, "{ run_us = 500 }", SLEEPS, cpus=[0]) for name in "abc")
    machine = free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, f"bfs:rules={rules}+rr_interval_us=1000", tasks, 0.2, machine, strict=False)
    assert rest_of(schedule, 1, 100)[:3] == ["a", "b", "c"]


@pytest.mark.parametrize("cpus", [[0], [0, 1], [1]])
@pytest.mark.parametrize("rules", PUBLISHED)
def test_who_may_still_use_its_cpu_preempts_nobody(rules: str, cpus: list[int], tmp_path: Path) -> None:
    """Rules 1.3.6 and 1.3.13: a sync wake-up has left it waiting since its waker's task and the other were renewed.

    Its deadline is before both of theirs, so that where it has to leave CPU 0 it preempts on the other one.
    """
    rr = 12 if rules in IN_JIFFIES else 6
    last = ["{ affinity = [0] }", "{ run_us = 10 }", "{ affinity = [] }", '{ recv = "it" }', "{ run_us = 100 }", SLEEPS]
    waker = [f"{{ run_us = {rr + 1}300 }}", '{ send = "it", bytes = 8 }', FOR_EVER]
    tasks = '[[queue]]\nname = "it"\nkind = "pipe"\n' + task("sleeper", *last) + task("waker", *waker, cpus=[1])
    tasks += hog("other", cpus=[0])
    warden = [f"{{ run_us = {rr + 2}300 }}", f'{{ confine = "sleeper", cpus = {cpus} }}', FOR_EVER]
    tasks += task("warden", *warden, policy="fifo:1", cpus=[2])
    schedule = run(tmp_path, rules, tasks, 60, cores=3)
    (turn, *_) = schedule.turns_of("sleeper", after_ms=rr)
    if cpus == [1]:
        assert turn == ("sleeper", rr + 2.3, rr + 2.4)
        assert turn in schedule.turns(60, 1)
    else:
        assert 2 * rr <= turn.start <= 2 * rr + 1


@pytest.mark.parametrize("cpus", [[0], [0, 1], [1]])
def test_who_sticks_and_may_stay_sticks_on(cpus: list[int], tmp_path: Path) -> None:
    """Rules 1.3.13 and 1.5.7, 424: a sticks to CPU 0 since 6 when its CPUs change at 8.3. So b finds nothing at 9.

    Where a has to leave, its deadline is before b's.
    """
    warden = ["{ run_us = 8300 }", f'{{ confine = "a", cpus = {cpus} }}', FOR_EVER]
    tasks = hog("a") + hog("c", cpus=[0]) + task("x", "{ run_ms = 3 }", SLEEPS, cpus=[1])
    tasks += hog("b", cpus=[1]) + task("warden", *warden, policy="fifo:1", cpus=[2])
    schedule = run(tmp_path, "424", tasks, cores=3)
    assert schedule.turns(6) == [("a", 0, 6)]
    leaves = [("b", 3, 9), ("a", 9, 15)]
    assert schedule.turns(40, 1)[:3] == [("x", 0, 3), *(leaves if cpus == [1] else [("b", 3, 40)])]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_who_runs_is_behind_all_that_arrive_with_it(rules: str, tmp_path: Path) -> None:
    """Rules 1.3.3, 1.5.1 and 1.5.3: at 61.3, when p is overdue, x wakes, and y right after it, which preempts p.

    p, which is queued last, has 39. y has 35, so that it is overdue as well, and before p; x has 239.
    """
    p = task("p", "{ sleep_us = 60300 }", FOR_EVER)
    x = task("x", "{ sleep_us = 61300 }", FOR_EVER, nice=19)
    y = task("y", "{ sleep_ms = 1 }", "{ until_us = 61_300 }", "{ run_ms = 1 }", SLEEPS, nice=-1)
    schedule = run(tmp_path, rules, p + x + y, 70)
    assert schedule.turns(62.3, after_ms=60) == [("p", 60.3, 61.3), ("y", 61.3, 62.3)]


@pytest.mark.parametrize(("asleep_ms", "begins_ms"), [(5, 84), (80.2, 84), (90.3, 90.4)])
def test_311_counts_another_node_as_one_step(asleep_ms: float, begins_ms: float, tmp_path: Path) -> None:
    """Rules 1.4.2, 1.4.7, 1.5.3 and 1.5.9: two nodes of one domain, rr = 12 ms, D = T(u) = 78 ms.

    c ran on the other CPU, which is real-time's from then on, and has the deadline 78. a is renewed every 12 ms. c is
    picked when a's deadline, 78 + t, is no less than 78 + 78, and woken later preempts: by then it is 78 + 84.
    """
    sleeps = [f"{{ sleep_us = {round(asleep_ms * 1000)} }}", "{ run_ms = 1 }", SLEEPS]
    real_time = task("other", "{ sleep_us = 200 }", FOR_EVER, cpus=[1], policy="fifo:1")
    c = task("c", "{ affinity = [1] }", "{ run_us = 100 }", "{ affinity = [] }", *sleeps)
    tasks = hog("a", cpus=[0]) + real_time + c
    schedule = run(tmp_path, "311", tasks, 400, sockets=2)
    (ran,) = schedule.turns_of("c", after_ms=1)
    assert ran.start == begins_ms
    # Rule 1.9.6: at its wake-up the CPU is kicked only if it preempts.
    woken_ms = round(0.1 + asleep_ms, 6)
    assert ((woken_ms, 0) in schedule.kicks) == (begins_ms == woken_ms)


@pytest.mark.parametrize("rules", PUBLISHED)
def test_a_higher_level_preempts_a_lower_one(rules: str, tmp_path: Path) -> None:
    """Rules 1.1.1, 1.3.1 and 1.4: NORMAL takes a CPU from SCHED_IDLE at once, which then waits until it sleeps."""
    normal = task("normal", "{ sleep_us = 1700 }", "{ run_ms = 20 }", SLEEPS)
    schedule = run(tmp_path, rules, normal + hog("idle", policy="idle"))
    assert schedule.turns(40) == [("idle", 0, 1.7), ("normal", 1.7, 21.7), ("idle", 21.7, 40)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_232_lets_idleprio_wait_longer(rules: str, tmp_path: Path) -> None:
    """Rule 1.3.2: renewed at 6, a has the deadline 6 + 39, in 232 6 + 39 + 239, also when it is IDLEPRIO no more.

    b, which lost half a jiffy when it blocked at 0, is renewed at 13 to 52, and is then behind it, or before it.
    """
    changes = task("a", "{ run_us = 6500 }", '{ policy = "other" }', FOR_EVER, policy="idle")
    schedule = run(tmp_path, rules, changes + task("b", "{ sleep_ms = 8 }", FOR_EVER), 80)
    assert schedule.turns_of("b")[0] == ("b", 8, 80 if rules == "232" else 13)


@pytest.mark.parametrize("cpus", [[], [1]])
def test_who_waits_on_a_cpu_that_goes_runs_elsewhere(cpus: list[int], tmp_path: Path) -> None:
    """Rule 1.3.15, 424: with rr = 50 ms b waits on CPU 1 from 3 on, for a task that has to stay there after it is gone.

    It comes to CPU 0 when that one's slice ends, and runs when a's second does, at the 104th tick: b's deadline is 342,
    and a's was 394 since it was renewed at 52.
    """
    stays = task("stays", "{ sleep_ms = 3 }", "{ migrate_disable = [{ run_ms = 300 }] }", SLEEPS, nice=-10, cpus=[1])
    tasks = hog("a", cpus=[0]) + hog("b", cpus=cpus) + stays
    scheduler = "bfs:rules=424+rr_interval_us=50000"
    machine = free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, scheduler, tasks, 0.12, machine, "--hotplug", "10ms:-1", strict=False)
    assert schedule.turns(56, 1) == [("b", 0, 3), ("stays", 3, 56)]
    assert schedule.turns(120) == [("a", 0, 104), ("b", 104, 120)]


@pytest.mark.parametrize("rules", PUBLISHED)
def test_who_may_not_run_here_is_passed_over(rules: str, tmp_path: Path) -> None:
    """Rule 0.2: x, first in the queue, may not use CPU 0, and real-time tasks have its own. So y is next, then a."""
    real_time = "".join(task(f"rt{cpu}", FOR_EVER, cpus=[cpu], policy="fifo:1") for cpu in (1, 2))
    tasks = real_time + hog("a") + hog("x", cpus=[1, 2]) + hog("y")
    schedule = run(tmp_path, f"{rules}+rr_interval_us=6000", tasks, 40, cores=3)
    assert schedule.turns(18) == [("a", 0, 6), ("y", 6, 12), ("a", 12, 18)]


@pytest.mark.parametrize("rules", IN_JIFFIES)
def test_a_slice_ends_at_an_emulated_tick(rules: str, tmp_path: Path) -> None:
    """Rule 0.7: with 100 ticks a second a slice of 6 ms lasts 10, on a kernel with 1,000."""
    schedule = run(tmp_path, f"{rules}+emulated_hz=100", hog("a") + hog("b"))
    assert schedule.turns(30) == [("a", 0, 10), ("b", 10, 20), ("a", 20, 30)]
