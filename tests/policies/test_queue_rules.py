# SPDX-License-Identifier: GPL-2.0-or-later
"""The bindings of fifo, rr and mlfq, rule by rule: what a schedule must be by docs/rules/rt-and-mlfq.md.

One CPU and 1,000 ticks a second, and a machine on which nothing costs anything. A slice of rr is 100 ms; a quantum of
mlfq is 31.25 ms, of which less than half a tick is nothing: 31 ticks.
"""

from pathlib import Path

import pytest

from tests.policies.schedules import Schedule, child, free_machine, hog, simulate, simulator, task

FOR_EVER = "{ run_ms = 10_000 }"
SLEEPS = "{ sleep_s = 60 }"

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def run(folder: Path, scheduler: str, tasks: str, duration_ms: int = 500, **machine: int) -> Schedule:
    return simulate(folder, scheduler, tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False)


def real_time(at_us: int) -> str:
    """A real-time task that takes the CPU for a millisecond at that time."""
    return task("rt", f"{{ sleep_us = {at_us} }}", "{ run_ms = 1 }", SLEEPS, policy="fifo:1")


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq"])
def test_who_is_preempted_stays_at_the_head(scheduler: str, tmp_path: Path) -> None:
    """Rules 6.1.2 and 6.2.6: after the real-time task a goes on, before b, with what is left of its slice."""
    schedule = run(tmp_path, scheduler, real_time(10_500) + hog("a") + hog("b"))
    turns = schedule.turns(450)
    assert turns[:2] == [("a", 0, 10.5), ("rt", 10.5, 11.5)]
    # 21 or 90 ms less 0.5 are left, and half a tick is none.
    ends = {"fifo": 500, "rr": 101, "mlfq": 32}[scheduler]
    assert schedule.turns_of("a")[1] == ("a", 11.5, ends)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize(("scheduler", "until"), [("fifo", 100), ("rr", 100), ("mlfq", 42)])
def test_who_is_preempted_is_before_who_came_with_it(scheduler: str, until: int, kernel: bool, tmp_path: Path) -> None:
    """Rules 6.1.2 and 6.2.6: two come at 10. Who runs goes on after the kernel's thread, or the real-time task.

    mlfq's quantum is over 20.75 ms after 21, to a tick; rr's slice lasts.
    """
    both = "".join(task(name, "{ until_ms = 10 }", FOR_EVER) for name in "ab")
    above = {"kernel": True} if kernel else {"policy": "fifo:1"}
    tasks = both + task("above", "{ until_us = 20_500 }", "{ run_us = 500 }", SLEEPS, cpus=[0], **above)
    first, second, third, *_ = run(tmp_path, scheduler, tasks, 100).turns(100, after_ms=9)
    assert [first[1:], second] == [(10, 20.5), ("above", 20.5, 21)]
    assert third == (first.name, 21, until)


@pytest.mark.parametrize(("scheduler", "after"), [("fifo", 500), ("rr", 115), ("mlfq", 46)])
def test_a_yield_goes_to_the_tail(scheduler: str, after: int, tmp_path: Path) -> None:
    """Rules 6.1.2 and 6.2.6: behind both others, who came later. rr and mlfq keep the rest of it: 90 ms, or 21."""
    yields = task("a", "{ run_ms = 10 }", "{ yield = true }", FOR_EVER)
    later = task("b", "{ sleep_ms = 2 }", "{ run_ms = 5 }", SLEEPS) + task("c", "{ sleep_ms = 3 }", FOR_EVER)
    schedule = run(tmp_path, f"{scheduler}{':wake_boost=0' if scheduler == 'mlfq' else ''}", later + yields)
    assert schedule.turns(500)[:3] == [("a", 0, 10), ("b", 10, 15), ("c", 15, after)]
    again = {"fifo": [], "rr": [("a", 115, 205)], "mlfq": [("a", 46, 67)]}[scheduler]
    assert schedule.turns_of("a", after_ms=11)[:1] == again


@pytest.mark.parametrize(("scheduler", "until"), [("fifo", 150), ("rr", 100), ("mlfq:wake_boost=0", 31)])
def test_who_yields_alone_goes_on_as_before(scheduler: str, until: int, tmp_path: Path) -> None:
    """Rules 6.1.1 and 6.2.4: fifo has no slice, rr and mlfq have what is left of it. b wakes 10 ms after the yield."""
    yields = task("a", "{ run_ms = 10 }", "{ yield = true }", "{ run_ms = 140 }", SLEEPS)
    schedule = run(tmp_path, scheduler, task("b", "{ sleep_ms = 20 }", "{ run_ms = 200 }", SLEEPS) + yields)
    (turn, *_) = schedule.turns_of("b", after_ms=1)
    assert turn.start == until


@pytest.mark.parametrize("scheduler", ["fifo", "rr"])
def test_who_wakes_waits_behind_all(scheduler: str, tmp_path: Path) -> None:
    """Rules 6.1.1 and 6.1.2: equals do not preempt, and it is behind b, forked at 1 ms: it has slept since."""
    sleeper = task("sleeper", "{ sleep_us = 10_500 }", "{ run_ms = 5 }", SLEEPS)
    forks = task("a", "{ run_ms = 1 }", '{ fork = "b" }', "{ run_ms = 50 }", SLEEPS)
    schedule = run(tmp_path, scheduler, sleeper + forks + child("b", "{ run_ms = 50 }", SLEEPS))
    assert schedule.turns(106) == [("a", 0, 51), ("b", 51, 101), ("sleeper", 101, 106)]


def test_rr_takes_turns(tmp_path: Path) -> None:
    """Rule 6.1.1."""
    schedule = run(tmp_path, "rr", hog("a") + hog("b") + hog("c"))
    assert schedule.turns(400) == [(name, 100 * i, 100 * (i + 1)) for i, name in enumerate("abca")]


def test_mlfq_takes_turns_of_a_quantum(tmp_path: Path) -> None:
    """Rules 6.2.4 and 6.2.6."""
    schedule = run(tmp_path, "mlfq", hog("a") + hog("b"))
    assert schedule.turns(124) == [(name, 31 * i, 31 * (i + 1)) for i, name in enumerate("abab")]


def test_mlfq_has_a_quantum_of_two_clock_intervals(tmp_path: Path) -> None:
    """Rule 6.2.4: at 64 ticks a second it is two of them exactly, which is over at the second."""
    tasks = hog("a") + hog("b")
    schedule = simulate(tmp_path, "mlfq", tasks, 0.2, free_machine(tmp_path, hz=64), strict=False)
    assert schedule.turns(125) == [(name, 31.25 * i, 31.25 * (i + 1)) for i, name in enumerate("abab")]


@pytest.mark.parametrize("earlier_us", [0, 1])
@pytest.mark.parametrize(
    ("scheduler", "half_us", "end"), [("rr", 500, 101), ("mlfq", 250, 32), ("mlfq:rules=textbook", 500, 9)]
)
def test_less_than_half_a_tick_is_nothing(
    scheduler: str, half_us: int, end: int, earlier_us: int, tmp_path: Path
) -> None:
    """Rules 6.1.1, 6.2.4 and 6.2.7: where half a tick of 100, 31.25 or 8 ms is left at a tick, a goes on to the next.

    If it began a microsecond earlier, less than half a tick is left, and it ends there.
    """
    began_us = half_us - earlier_us
    schedule = run(tmp_path, scheduler, task("first", f"{{ run_us = {began_us} }}", SLEEPS) + hog("a") + hog("b"))
    assert schedule.turns_of("a")[0] == ("a", began_us / 1000, end - earlier_us)


@pytest.mark.parametrize(("busy", "cpu"), [([], 0), ([1], 2), ([1, 2], 0)])
@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq"])
def test_who_wakes_looks_for_an_idle_core(scheduler: str, busy: list[int], cpu: int, tmp_path: Path) -> None:
    """Rule 6.1.3, as the kernel chooses for other classes: its last CPU if all of the core is idle, else a whole core.

    Two cores of two threads, 0 with 1 and 2 with 3.
    """
    program = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }", "{ sleep_ms = 10 }", FOR_EVER]
    hogs = "".join(hog(f"hog{at}", cpus=[at]) for at in busy)
    schedule = run(tmp_path, scheduler, task("sleeper", *program) + hogs, 30, cores=2, threads=2)
    assert ("sleeper", 10.1, 30) in schedule.by_cpu[cpu]


def test_mlfq_lifts_who_wakes_for_a_quantum(tmp_path: Path) -> None:
    """Rules 6.2.2, 6.2.3 and 6.2.6: a level above the hog it preempts, and is an equal of it a quantum later.

    The hog, which was preempted, is then before it, with the rest of its own quantum: 20.75 ms.
    """
    sleeper = task("sleeper", "{ sleep_us = 10_500 }", FOR_EVER)
    schedule = run(tmp_path, "mlfq", sleeper + hog("hog"))
    expected = [("hog", 0, 10.5), ("sleeper", 10.5, 42), ("hog", 42, 63), ("sleeper", 63, 94), ("hog", 94, 125)]
    assert schedule.turns(125) == expected


@pytest.mark.parametrize("ran_us", [31_200, 31_500])
def test_mlfq_lifts_who_has_used_its_quantum_up(ran_us: int, tmp_path: Path) -> None:
    """Rules 6.2.2 and 6.2.3: at 250 ticks a second a quantum of 31.25 ms that is over when the wait begins is used.

    So the end of the wait lifts it above the hog, whether some of the quantum was left or not.
    """
    reader = task("reader", f"{{ run_us = {ran_us} }}", "{ sleep_ms = 20 }", FOR_EVER)
    schedule = run(tmp_path, "mlfq", reader + hog("hog"), hz=250)
    turns = schedule.turns(ran_us / 1000 + 20)
    assert turns == [("reader", 0, ran_us / 1000), ("hog", ran_us / 1000, ran_us / 1000 + 20)]


@pytest.mark.parametrize(("nice", "base"), [(19, 1), (1, 8), (4, 7)])
def test_mlfq_follows_a_new_nice_level(nice: int, base: int, tmp_path: Path) -> None:
    """Rules 6.2.1 and 6.2.6: from base 8 to a lower one at 10.5, a gives way to b, of base 8, at the next tick."""
    changes = task("a", "{ run_us = 10_500 }", f"{{ nice = {nice} }}", FOR_EVER)
    schedule = run(tmp_path, "mlfq", changes + hog("b"), 200)
    assert schedule.turns_of("b")[0].start == (31 if base == 8 else 11)


def test_mlfq_puts_who_is_preempted_at_the_head(tmp_path: Path) -> None:
    """Rules 6.2.1 and 6.2.6: nice -5, base 9, preempts a, which then goes on with its 20.75 ms, before b."""
    higher = task("higher", "{ sleep_us = 10_500 }", "{ run_ms = 5 }", SLEEPS, nice=-5)
    schedule = run(tmp_path, "mlfq:wake_boost=0", higher + task("b", "{ sleep_us = 500 }", FOR_EVER) + hog("a"))
    assert schedule.turns(67) == [("a", 0, 10.5), ("higher", 10.5, 15.5), ("a", 15.5, 36), ("b", 36, 67)]


def test_mlfq_lets_nice_19_starve_for_4_s(tmp_path: Path) -> None:
    """Rules 6.2.1, 6.2.5 and 6.2.6: base 1 does not run beside base 8.

    The look at 5 s is the first that finds it waiting for more than 4 s. It has three quanta, 93.75 ms.
    """
    schedule = run(tmp_path, "mlfq", hog("low", nice=19) + hog("hog"), 6000)
    assert schedule.turns(6000) == [("hog", 0, 5000), ("low", 5000, 5094), ("hog", 5094, 6000)]


def test_mlfq_looks_for_who_starves_at_multiples_of_the_period(tmp_path: Path) -> None:
    """Rules 6.2.5 and 6.2.7: where an instruction costs 1 us a look takes over half a ms, and does not delay the next.

    The 40th is the first that finds nice 19 waiting for over 3.95 s. It runs from the tick after that on.
    """
    machine = free_machine(tmp_path)
    free = machine.read_text("utf-8")
    machine.write_text(free.replace("policy_instruction_ps = 0", "policy_instruction_ps = 1_000_000"), "utf-8")
    tasks = hog("hog") + hog("low", nice=19)
    schedule = simulate(tmp_path, "mlfq:period_ms=100+starved_ms=3950", tasks, 4.5, machine, strict=False)
    assert 4000 < schedule.turns_of("low")[0].start < 4000 + 0.1 * 40


def test_the_textbook_queue(tmp_path: Path) -> None:
    """Rule 6.2.7: b, which slept, is at the top, and sinks by 8, 16 and 32 ms to the bottom, where a has been since 56.

    There a has 64 ms less the 2.5 that it used, b 64. At 1 s all are boosted: quanta of 8 and 16 ms again.
    """
    tasks = hog("a") + task("b", "{ sleep_us = 50_500 }", FOR_EVER)
    schedule = run(tmp_path, "mlfq:rules=textbook", tasks, 1200)
    # b could begin its sleep at 8, when a had used its first quantum.
    assert schedule.turns(241, after_ms=8) == [("a", 8, 58.5), ("b", 58.5, 115), ("a", 115, 177), ("b", 177, 241)]
    after = schedule.turns(1100, after_ms=946)
    assert after[:4] == [("a", 1008, 1016), ("b", 1016, 1032), ("a", 1032, 1048), ("b", 1048, 1080)]


@pytest.mark.parametrize("scheduler", ["fifo", "rr"])
def test_who_runs_at_once_has_its_place_in_the_order(scheduler: str, tmp_path: Path) -> None:
    """Rule 6.1.2: woken beside an idle CPU at 10, a is before b, of 11, when its CPU is taken away at 20."""
    hogs = task("hog", "{ run_ms = 50 }", SLEEPS, cpus=[0])
    late = [task(name, f"{{ sleep_ms = {at} }}", "{ run_ms = 30 }", SLEEPS) for name, at in (("b", 11), ("a", 10))]
    machine = free_machine(tmp_path, cores=2)
    schedule = simulate(tmp_path, scheduler, hogs + "".join(late), 0.2, machine, "--hotplug", "20ms:-1", strict=False)
    assert schedule.turns(110) == [("hog", 0, 50), ("a", 50, 70), ("b", 70, 100)]
    assert schedule.turns_of("a")[0] == ("a", 10, 20)


@pytest.mark.parametrize("scheduler", ["fifo", "rr"])
def test_who_ran_at_once_goes_on_before_who_came_later(scheduler: str, tmp_path: Path) -> None:
    """Rule 6.1.2: woken beside an idle CPU at 10, a is before b, of 11, when a real-time task has taken its CPU."""
    late = [task(name, f"{{ sleep_ms = {at} }}", "{ run_ms = 30 }", SLEEPS) for name, at in (("b", 11), ("a", 10))]
    above = task("rt", "{ sleep_ms = 20 }", "{ run_ms = 1 }", SLEEPS, policy="fifo:1", cpus=[1])
    schedule = run(tmp_path, scheduler, hog("hog", cpus=[0]) + "".join(late) + above, 80, cores=2)
    assert schedule.turns(71, 1, after_ms=5) == [("a", 10, 20), ("rt", 20, 21), ("a", 21, 41), ("b", 41, 71)]


@pytest.mark.parametrize("how", ["pipe", "semaphore"])
@pytest.mark.parametrize("boosted", ["pipe", "semaphore"])
def test_mlfq_boosts_by_what_was_waited_for(boosted: str, how: str, tmp_path: Path) -> None:
    """Rule 6.2.3: woken at 10.3, two levels up it preempts; without a boost it waits for the end of a quantum."""
    boosts = "event_boost=2+wake_boost=0" if boosted == "pipe" else "event_boost=0+wake_boost=2"
    shared, wakes, waits = {
        "pipe": ('[[queue]]\nname = "it"\nkind = "pipe"\n', '{ send = "it", bytes = 8 }', '{ recv = "it" }'),
        "semaphore": ('[[semaphore]]\nname = "it"\n', '{ post = "it" }', '{ wait = "it" }'),
    }[how]
    waker = task("waker", "{ run_us = 10_300 }", wakes, FOR_EVER, cpus=[0])
    sleeper = task("sleeper", waits, "{ run_ms = 1 }", SLEEPS)
    schedule = run(tmp_path, f"mlfq:{boosts}", shared + sleeper + waker + hog("hog", cpus=[1]), cores=2)
    assert schedule.turns_of("sleeper")[0].start == (10.3 if how == boosted else 31)


@pytest.mark.parametrize(("queues", "first"), [("shared", "c"), ("percpu", "d")])
@pytest.mark.parametrize("scheduler", ["fifo", "rr"])
def test_whose_turn_it_is_goes_by_queue(scheduler: str, queues: str, first: str, tmp_path: Path) -> None:
    """Rules 6.1.1 and 6.1.2: of all that wait c came first; of those that ran last on the CPU that is free at 30, d."""
    late = [
        task(
            name,
            f"{{ affinity = [{cpu}] }}",
            "{ run_us = 100 }",
            "{ affinity = [] }",
            f"{{ sleep_ms = {at} }}",
            FOR_EVER,
        )
        for name, cpu, at in (("c", 0, 11), ("d", 1, 12))
    ]
    hogs = task("a", "{ run_ms = 50 }", SLEEPS, cpus=[0]) + task("b", "{ run_us = 29_900 }", SLEEPS, cpus=[1])
    schedule = run(tmp_path, f"{scheduler}:queues={queues}", "".join(late) + hogs, 80, cores=2)
    (turn, *_) = schedule.turns(80, 1, after_ms=30)
    assert turn[:2] == (first, 30)


@pytest.mark.parametrize(("allowed", "cpu"), [([0, 1], 1), ([0, 1, 2], 2), ([0, 2], 2)])
def test_mlfq_preempts_where_the_level_is_lowest(allowed: list[int], cpu: int, tmp_path: Path) -> None:
    """Rules 6.2.1 and 6.2.6: of the CPUs that it may use. Its own runs base 15, the others 8 and 1: it is between."""
    on_0 = ["{ affinity = [0] }", "{ run_us = 100 }", f"{{ affinity = {allowed} }}"]
    sleeper = task("sleeper", *on_0, "{ sleep_ms = 10 }", "{ run_ms = 1 }", SLEEPS, nice=-10)
    hogs = [task(f"hog{at}", "{ sleep_ms = 1 }", FOR_EVER, nice=(-20, 0, 19)[at], cpus=[at]) for at in range(3)]
    schedule = run(tmp_path, "mlfq:wake_boost=0", sleeper + "".join(hogs), 60, cores=3)
    (turn, *_) = schedule.turns_of("sleeper", after_ms=5)
    assert turn == ("sleeper", 10.1, 11.1)
    assert turn in schedule.turns(60, cpu)


def test_mlfq_preempts_where_it_ran_last_if_that_is_lower(tmp_path: Path) -> None:
    """Rules 6.2.1 and 6.2.6: base 11 preempts base 8 of its own CPU, though another one runs base 1."""
    on_0 = ["{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }"]
    sleeper = task("sleeper", *on_0, "{ sleep_ms = 10 }", "{ run_ms = 1 }", SLEEPS, nice=-10)
    hogs = [task(f"hog{at}", "{ sleep_ms = 1 }", FOR_EVER, nice=(0, 19)[at], cpus=[at]) for at in range(2)]
    schedule = run(tmp_path, "mlfq:wake_boost=0", sleeper + "".join(hogs), 60, cores=2)
    assert ("sleeper", 10.1, 11.1) in schedule.turns(60)


def test_mlfq_knows_the_level_of_who_goes_on(tmp_path: Path) -> None:
    """Rules 6.2.2, 6.2.3 and 6.2.6: first, alone from 10 on, loses its lift at 41. So second's preempts it at 50.5."""
    tasks = task("first", "{ sleep_ms = 10 }", FOR_EVER) + task("second", "{ until_us = 50_500 }", FOR_EVER)
    schedule = run(tmp_path, "mlfq", tasks)
    assert schedule.turns(82, after_ms=10) == [("first", 10, 50.5), ("second", 50.5, 82)]


def test_the_textbook_queue_lifts_who_runs(tmp_path: Path) -> None:
    """Rule 6.2.7: at 1 s the hog is at the top, for 8 ms. Who wakes at 1,005.5, at the top as well, waits for them."""
    tasks = hog("hog") + task("sleeper", "{ until_us = 1_005_500 }", "{ run_ms = 1 }", SLEEPS)
    schedule = run(tmp_path, "mlfq:rules=textbook", tasks, 1100)
    assert schedule.turns_of("sleeper", after_ms=900) == [("sleeper", 1008, 1009)]
    assert [kick for kick in schedule.kicks if kick[0] > 900] == []


@pytest.mark.parametrize("later", [False, True])
def test_mlfq_has_a_level_for_sched_idle(later: bool, tmp_path: Path) -> None:
    """Rules 6.2.1 and 6.2.6: below that of nice 19, for a task that begins with it or that changes to it."""
    changes = task("idle", '{ policy = "idle" }', FOR_EVER)
    tasks = (changes if later else hog("idle", policy="idle")) + hog("low", nice=19)
    schedule = run(tmp_path, "mlfq", tasks, 1000)
    assert schedule.turns(1000)[-1] == ("low", 1 if later else 0, 1000)


def test_mlfq_lifts_who_starves_on_any_cpu(tmp_path: Path) -> None:
    """Rules 6.2.4 and 6.2.5: on both CPUs base 8 runs. Base 1 waits from 1 on; at 5 s one of them takes it.

    Nobody is kicked: a tick finds it.
    """
    low = task("low", "{ affinity = [0] }", "{ run_us = 100 }", "{ affinity = [] }", FOR_EVER, nice=19)
    hogs = "".join(task(f"hog{cpu}", "{ sleep_ms = 1 }", FOR_EVER, cpus=[cpu]) for cpu in (0, 1))
    schedule = run(tmp_path, "mlfq", low + hogs, 6000, cores=2)
    assert schedule.turns_of("low", after_ms=1) == [("low", 5000, 5094)]


@pytest.mark.parametrize(("scheduler", "limit_ms", "then"), [("fifo", 10, SLEEPS), ("rr", 100, FOR_EVER)])
def test_who_makes_way_for_who_may_not_migrate_keeps_its_place(
    scheduler: str, limit_ms: int, then: str, tmp_path: Path
) -> None:
    """Rules 6.1.1 and 6.1.2: b goes on before c, which has waited for the limit, until the tick after that.

    The kernel itself puts who may not migrate behind b, which makes way at a tick. Under rr, b's turn follows a's.
    """
    tick = limit_ms + 1
    program = f"{{ migrate_disable = [{{ sleep_us = {limit_ms * 1000 + 600} }}, {{ run_us = 500 }}] }}"
    forks = task("a", "{ run_us = 500 }", '{ fork = "b" }', "{ run_us = 200 }", '{ fork = "c" }', then)
    tasks = task("stays", program, SLEEPS) + forks + child("b", FOR_EVER) + child("c", FOR_EVER)
    schedule = run(tmp_path, f"{scheduler}:starvation_limit_ms={limit_ms}", tasks)
    turns = schedule.turns(500, after_ms=tick)
    assert turns[:2] == [("stays", tick, tick + 0.5), ("b", tick + 0.5, tick + 1)]
    assert turns[2][:2] == ("c", tick + 1)


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq:wake_boost=0"])
def test_who_is_moved_while_it_runs_goes_to_the_tail(scheduler: str, tmp_path: Path) -> None:
    """Rule 6.1.2: it may use CPU 1 alone from 12 on, where b has waited since 5, seven after it."""
    moved = task("moved", "{ affinity = [0] }", "{ run_ms = 12 }", "{ affinity = [1] }", FOR_EVER)
    a = task("a", "{ run_ms = 20 }", SLEEPS, cpus=[1])
    b = task("b", "{ until_ms = 5 }", "{ run_ms = 5 }", SLEEPS, cpus=[1])
    schedule = run(tmp_path, scheduler, moved + a + b, 30, cores=2)
    assert schedule.turns(30, 1) == [("a", 0, 20), ("b", 20, 25), ("moved", 25, 30)]


def test_nobody_starves_beside_tasks_that_change_their_cpu(tmp_path: Path) -> None:
    """With six there is always one that began before it on its CPU, and none of them waits for a second."""
    there_and_back = "{ loop = [{ run_ms = 60 }, { affinity = [0] }, { run_ms = 60 }, { affinity = [1] }] }"
    tasks = task("hopper", "{ affinity = [1] }", there_and_back, count=6)
    late = task("late", "{ until_ms = 100 }", "{ run_ms = 1 }", SLEEPS, cpus=[1])
    schedule = run(tmp_path, "fifo", tasks + late, 6000, cores=2)
    assert schedule.turns_of("late")[0].start < 1100


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq"])
def test_whose_idle_cpu_goes_to_a_real_time_task_runs_elsewhere(scheduler: str, tmp_path: Path) -> None:
    """Rules 6.1.3 and 6.2.2: both wake at 10, the real-time task after it and on the CPU that it was placed on."""
    above = task("rt", "{ sleep_ms = 10 }", "{ run_ms = 50 }", SLEEPS, policy="fifo:1", cpus=[0])
    schedule = run(tmp_path, scheduler, task("a", "{ sleep_ms = 10 }", "{ run_ms = 5 }", SLEEPS) + above, 70, cores=2)
    assert schedule.turns(70, 0, after_ms=5)[:1] == [("rt", 10, 60)]
    assert schedule.turns_of("a", after_ms=5) == [("a", 10, 15)]


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq"])
def test_a_kernel_thread_whose_cpu_a_real_time_task_has_preempts_elsewhere(scheduler: str, tmp_path: Path) -> None:
    """It woke on CPU 0 last, whose task has become a real-time task meanwhile."""
    above = task("above", "{ run_ms = 5 }", '{ policy = "fifo:1" }', "{ run_ms = 50 }", SLEEPS, cpus=[0])
    thread = task("thread", "{ sleep_ms = 10 }", "{ run_ms = 1 }", SLEEPS, kernel=True)
    schedule = run(tmp_path, scheduler, thread + above + hog("b", cpus=[1]), 30, cores=2)
    assert schedule.turns_of("thread", after_ms=5) == [("thread", 10, 11)]


def test_nobody_starves_beside_two_who_came_together(tmp_path: Path) -> None:
    """Preempted in turns by a kernel thread, they would go on in turns, and the third is first after a second."""
    tasks = "".join(task(name, f"{{ until_ms = {at} }}", FOR_EVER) for name, at in (("a", 10), ("b", 10), ("c", 20)))
    tasks += task("thread", "{ loop = [{ sleep_us = 1_300 }] }", kernel=True)
    schedule = run(tmp_path, "fifo", tasks, 4000)
    assert schedule.turns_of("c", after_ms=1)[0].start < 3000


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq:wake_boost=0"])
def test_who_yields_goes_on_on_a_cpu_that_came_back(scheduler: str, tmp_path: Path) -> None:
    """Rule 6.1.3: at 8 a goes to the tail, behind b, which is pinned. CPU 1, away from 1 to 3, is idle, and takes a."""
    yields = ["{ affinity = [0] }", "{ run_ms = 8 }", "{ affinity = [] }", "{ yield = true }", FOR_EVER]
    tasks = task("a", *yields) + hog("b", cpus=[0])
    hotplug = ("--hotplug", "1ms:-1,3ms:+1")
    schedule = simulate(tmp_path, scheduler, tasks, 0.03, free_machine(tmp_path, cores=2), *hotplug, strict=False)
    assert schedule.turns(30)[-1] == ("b", 8, 30)
    assert schedule.turns(30, 1)[-1] == ("a", 8, 30)
