# SPDX-License-Identifier: GPL-2.0-or-later
"""FIFO, round robin and multilevel feedback whole, in the simulator: their rules must be seen in the schedule."""

import itertools
from pathlib import Path

import pytest

from tests.policies.schedules import HOG, free_machine, hog, simulate, simulator, task

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")

TICK_MS = 1.0
SWITCH_MS = 0.1  # what switches and ticks may add
ALL = ["fifo", "rr", "mlfq", "mlfq:rules=textbook", "fifo:queues=percpu", "rr:queues=percpu"]


def hogs(count: int) -> str:
    return f'[[task]]\nname = "hog"\ncount = {count}\n{HOG}'


def jobs(count: int, ms: int) -> str:
    return f'[[task]]\nname = "job"\ncount = {count}\nprogram = [{{ run_ms = {ms} }}]\n'


def pinned(count: int, cpu: int) -> str:
    program = "program = [{ loop = [{ sleep_us = 700 }, { run_us = 900 } ] }]"
    return f'[[task]]\nname = "pinned"\ncount = {count}\ncpus = [{cpu}]\n{program}\n'


def test_fifo_runs_each_to_its_end(tmp_path: Path) -> None:
    schedule = simulate(tmp_path, "fifo", jobs(4, 200), 2)
    spans = schedule.on_cpu_of("job")
    assert len(spans) == 4, "each runs once"
    assert all(end - start == pytest.approx(200, abs=2) for start, end in spans)


def test_fifo_switches_between_equals_only_when_one_sleeps_or_yields(tmp_path: Path) -> None:
    """Rule 6.1.5.2."""
    yields = '[[task]]\nname = "{}"\nprogram = [{{ loop = [{{ run_ms = 7 }}, {{ yield = true }}] }}]\n'
    schedule = simulate(tmp_path, "fifo", yields.format("left") + yields.format("right"), 2)
    spans = [span for name in ("left", "right") for span in schedule.on_cpu_of(name)]
    for start, end in sorted(spans)[:-1]:
        assert end - start == pytest.approx(7, abs=SWITCH_MS)
    order = [name for name, _ in sorted(schedule.order(), key=lambda entry: entry[1])]
    assert all(one != other for one, other in itertools.pairwise(order)), "by turns"


def test_fifo_floor(tmp_path: Path) -> None:
    """Nobody waits longer than the limit and a tick for each in line; before the limit nothing is cut short."""
    limit_ms, count = 300, 4
    schedule = simulate(tmp_path, f"fifo:starvation_limit_ms={limit_ms}", hogs(count), 10)
    first = schedule.on_cpu_of("hog")[0]
    assert first[1] - first[0] == pytest.approx(limit_ms, abs=2 * TICK_MS)
    for name in schedule.on_cpu:
        if name.startswith("hog"):
            assert max(schedule.gaps_ms(name)) <= limit_ms + (count + 1) * (TICK_MS + SWITCH_MS)


def test_round_robin_takes_turns_of_100_ms(tmp_path: Path) -> None:
    """Rule 6.1.5.3."""
    count = 5
    schedule = simulate(tmp_path, "rr", hogs(count), 5)
    for name in schedule.tasks("hog"):
        assert all(end - start == pytest.approx(100, abs=TICK_MS) for start, end in schedule.on_cpu[name][:-1])
        assert max(schedule.gaps_ms(name)) <= (count - 1) * (100 + TICK_MS / 2)
        # The last turn is cut off.
        assert 1000 - 100 - TICK_MS <= schedule.ran_ms(name) <= 1000 + TICK_MS


def test_round_robin_floor_with_more_in_line_than_the_watchdog_allows(tmp_path: Path) -> None:
    """400 x 100 ms are 40 s; the kernel allows 30."""
    schedule = simulate(tmp_path, "rr", hogs(400), 60)
    assert schedule.record["metrics"]["starvation_max_us"] < 13e6
    assert len(schedule.tasks("hog")) == 400


@pytest.mark.parametrize("boost", [1, 3, 7])
def test_a_lift_decays_by_one_level_a_quantum(boost: int, tmp_path: Path) -> None:
    """Who wakes with a lift of n runs n quanta before an equal base does, one level a quantum."""
    waker = '[[task]]\nname = "waker"\nprogram = [{ sleep_ms = 500 }, { run_ms = 900 }]\n'
    schedule = simulate(tmp_path, f"mlfq:wake_boost={boost}+quantum_us=20000", waker + hogs(1), 2)
    after = [span for span in schedule.on_cpu_of("waker") if span[0] >= 500]
    assert after[0][0] == pytest.approx(500, abs=SWITCH_MS), "it preempts at once"
    # At its base it is behind the hog, which is at the head of that level.
    assert after[0][1] - after[0][0] == pytest.approx(20 * boost, abs=boost * TICK_MS / 2 + SWITCH_MS)
    # Then they take turns.
    assert all(end - start == pytest.approx(20, abs=TICK_MS) for start, end in after[1:-1])


def test_the_higher_base_runs_and_the_starved_get_one_long_quantum(tmp_path: Path) -> None:
    low = f'[[task]]\nname = "low"\nnice = 19\n{HOG}'
    schedule = simulate(tmp_path, "mlfq:quantum_us=20000", hogs(1) + low, 30)
    spans = [span for span in schedule.on_cpu_of("low") if span[0] > 100]
    assert len(spans) >= 5
    for start, end in spans:
        assert end - start == pytest.approx(60, abs=TICK_MS), "three quanta"
        assert start % 1000 <= 2 * TICK_MS, "found by the scan"
    gaps = [after[0] - before[1] for before, after in itertools.pairwise(spans)]
    assert all(4000 < gap <= 5000 + TICK_MS for gap in gaps)


def test_nobody_starves_longer_than_the_period_and_the_lifted_before(tmp_path: Path) -> None:
    """Rule 6.2.8.2."""
    count, quantum_ms = 12, 20
    low = f'[[task]]\nname = "low"\nnice = 19\ncount = {count}\n{HOG}'
    schedule = simulate(tmp_path, f"mlfq:quantum_us={quantum_ms * 1000}", hogs(1) + low, 40)
    bound_ms = 4000 + 1000 + count * 3 * (quantum_ms + TICK_MS)
    waits = [max(schedule.gaps_ms(name)) for name in schedule.tasks("low")]
    assert len(waits) == count
    assert 4000 < max(waits) <= bound_ms


def test_textbook_sinks_with_growing_quanta_and_comes_back_every_second(tmp_path: Path) -> None:
    schedule = simulate(tmp_path, "mlfq:rules=textbook", hogs(2), 4)
    for second in range(4):
        lengths = [
            end - start for start, end in schedule.on_cpu_of("hog") if second * 1000 <= start < (second + 1) * 1000
        ]
        # At the boost one of the two is running: its new first quantum belongs to a span that began before.
        expected = [8, 8, 16, 16, 32, 32, 64] if second == 0 else [8, 16, 16, 32, 32, 64]
        # The start, at which one task brings up the other, is not exact.
        exact = slice(2 if second == 0 else 0, len(expected))
        assert lengths[exact] == pytest.approx(expected[exact], abs=TICK_MS), second
        assert all(length == pytest.approx(64, abs=TICK_MS) for length in lengths[len(expected) : -1])


def test_textbook_lets_a_light_sleeper_pass_hogs(tmp_path: Path) -> None:
    """10 % of a CPU in pieces of 1 ms: sinks once in 8 pieces, and is back at the top each second."""
    sleeper = '[[task]]\nname = "sleeper"\nprogram = [{ loop = [{ sleep_ms = 9 }, { run_ms = 1 }] }]\n'
    schedule = simulate(tmp_path, "mlfq:rules=textbook", hogs(4) + sleeper, 10)
    (name,) = schedule.tasks("sleeper")
    waits = sorted(gap - 9 for gap in schedule.gaps_ms(name))
    assert waits[len(waits) // 2] <= SWITCH_MS, "half of its wake-ups preempt at once"


@pytest.mark.parametrize("scheduler", ALL)
@pytest.mark.parametrize("machine", ["t5600", "desktop-4", "desktop-8-smt", "server-2x8-smt"])
def test_no_cpu_idles_beside_a_waiting_task(scheduler: str, machine: str, tmp_path: Path) -> None:
    """Strict: also with tasks pinned to one CPU, affinities that change, and yields."""
    tasks = (
        f"{hogs(3)}"
        '[[task]]\nname = "sleeper"\ncount = 20\nprogram = [{ loop = ['
        "{ sleep_us = { uniform = [50, 5000] } }, { run_us = { uniform = [10, 2000] } } ] }]\n"
        f"{pinned(3, 1)}"
        '[[task]]\nname = "wanders"\ncount = 3\nprogram = [{ loop = [{ affinity = [0] }, { run_us = 400 },'
        " { yield = true }, { affinity = [1] }, { run_us = 300 }, { affinity = [] }, { sleep_us = 200 },"
        " { nice = 5 }, { run_us = 100 } ] }]\n"
    )
    simulate(tmp_path, scheduler, tasks, 2, machine)


@pytest.mark.parametrize("scheduler", ALL)
def test_survives_cpus_that_come_and_go(scheduler: str, tmp_path: Path) -> None:
    tasks = (
        f"{hogs(5)}"
        '[[task]]\nname = "sleeper"\ncount = 9\nprogram = [{ loop = ['
        "{ sleep_us = { uniform = [50, 5000] } }, { run_us = { uniform = [10, 2000] } } ] }]\n"
        f"{pinned(2, 2)}"
    )
    script = "10ms:-3,30ms:-2,31ms:+3,60ms:-1,75ms:+2,90ms:+1,100ms:-0,200ms:+0,300ms:-2"
    simulate(tmp_path, scheduler, tasks, 1, "desktop-4", "--hotplug", script)


@pytest.mark.parametrize("scheduler", ["fifo", "rr", "mlfq"])
def test_who_may_not_migrate_has_its_cpu_at_the_next_tick(scheduler: str, tmp_path: Path) -> None:
    """It wakes at 0.8. The kernel puts it into its CPU's own queue, where only that CPU finds it."""
    section = "{ migrate_disable = [{ run_us = 300 }, { sleep_us = 500 }, { run_us = 200 }] }"
    tasks = task("kept", section, "{ sleep_s = 60 }") + hog("hog")
    schedule = simulate(tmp_path, scheduler, tasks, 0.02, free_machine(tmp_path), strict=False)
    assert schedule.turns(1.2) == [("kept", 0, 0.3), ("hog", 0.3, 1), ("kept", 1, 1.2)]
