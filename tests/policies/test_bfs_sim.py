# SPDX-License-Identifier: GPL-2.0-or-later
"""BFS whole, in the simulator: what follows from its rules must be seen in the schedule."""

import math
from pathlib import Path

import pytest

from tests.policies.schedules import HOG, ONE_CPU, free_machine, hog, simulate, simulator, task

VERSIONS = ["232", "311", "424", "modern"]
TICK_MS = 1.0
# A slice begins just after a tick, with the switch, and ends at one. 6 ms are not quite used up at the sixth (232,
# 311); nor are 6 x 1.048576 ms (modern); 424 ends a slice half a tick early if it began just after a tick ("dither").
SLICE_MS = {"232": 7.0, "311": 7.0, "424": 6.0, "modern": 7.0}

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def offset_ms(version: str, nice: int) -> float:
    """D: a tenth more for every nice level, truncated; in jiffies or in ns."""
    ratio = 100 if version in ("232", "311") else 128
    for _ in range(nice + 20):
        ratio = ratio * 11 // 10
    return ratio * 6 // 100 if version in ("232", "311") else ratio * 6 * 8192 / 1e6


@pytest.mark.parametrize("version", VERSIONS)
def test_equals_take_turns_of_one_slice(version: str, tmp_path: Path) -> None:
    hogs = 4
    schedule = simulate(tmp_path, f"bfs:rules={version}", f'[[task]]\nname = "hog"\ncount = {hogs}\n{HOG}', 4)
    names = schedule.tasks("hog")
    assert len(names) == hogs
    for name in names:
        # The first round begins with what the parent gave; the last may be cut off.
        whole = schedule.on_cpu[name][2:-1]
        assert all(abs(end - start - SLICE_MS[version]) <= 0.1 for start, end in whole)
        assert max(schedule.gaps_ms(name)[2:]) <= (hogs - 1) * SLICE_MS[version] + 0.1
        assert schedule.ran_ms(name) == pytest.approx(4000 / hogs, rel=0.02)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("nice", [1, 5, 10, 19])
def test_share_beside_a_hog_at_nice_0(version: str, nice: int, tmp_path: Path) -> None:
    tasks = f'[[task]]\nname = "better"\n{HOG}[[task]]\nname = "worse"\nnice = {nice}\n{HOG}'
    schedule = simulate(tmp_path, f"bfs:rules={version}", tasks, 20)
    worse = schedule.ran_ms("worse")
    # Rule 1.9.8: the better one runs k slices, until the other's deadline is the earliest.
    k = max(1, math.ceil((offset_ms(version, nice) - offset_ms(version, 0)) / SLICE_MS[version]))
    assert worse / 20_000 == pytest.approx(1 / (k + 1), rel=0.03)


@pytest.mark.parametrize("version", VERSIONS)
def test_idle_priority_waits_until_the_floor(version: str, tmp_path: Path) -> None:
    """Rule 1.9.3, then what keeps the watchdog away: within 15 s it runs, for a slice."""
    tasks = f'[[task]]\nname = "normal"\n{HOG}[[task]]\nname = "background"\npolicy = "idle"\n{HOG}'
    schedule = simulate(tmp_path, f"bfs:rules={version}", tasks, 40)
    background = schedule.on_cpu_of("background")
    begins = [start for start, _ in background if start > 100]
    assert begins, "it never ran"
    assert begins[0] >= 5_000
    assert max(later - sooner for sooner, later in zip([0.0, *begins], begins, strict=False)) <= 15_000
    assert sum(end - start for start, end in background) <= 8 * 4 * SLICE_MS[version]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("machine", ["desktop-4", "desktop-8-smt", "server-2x8-smt"])
def test_no_cpu_idles_beside_a_waiting_task(version: str, machine: str, tmp_path: Path) -> None:
    """Rule 1.9.4."""
    tasks = (
        f'[[task]]\nname = "hog"\ncount = 5\n{HOG}'
        '[[task]]\nname = "sleeper"\ncount = 20\nprogram = [{ loop = ['
        "{ sleep_us = { uniform = [50, 5000] } }, { run_us = { uniform = [10, 2000] } } ] }]\n"
        '[[task]]\nname = "pinned"\ncount = 3\ncpus = [1]\nprogram = [{ loop = ['
        "{ sleep_us = 700 }, { run_us = 900 } ] }]\n"
    )
    simulate(tmp_path, f"bfs:rules={version}", tasks, 2, machine)


def test_modern_never_makes_a_light_sleeper_wait_for_a_round(tmp_path: Path) -> None:
    """Change 1 of the README: 424 lets it wait a round each time its slice is used up, modern at most a tick."""
    hogs = 8
    tasks = (
        f'[[task]]\nname = "hog"\ncount = {hogs}\n{HOG}'
        '[[task]]\nname = "sleeper"\nprogram = [{ loop = [{ sleep_ms = 5 }, { run_us = 100 }] }]\n'
    )
    worst = {}
    for version in ("424", "modern"):
        schedule = simulate(tmp_path, f"bfs:rules={version}", tasks, 20)
        (sleeper,) = schedule.tasks("sleeper")
        # After the start, in which all have the deadline of who started them.
        worst[version] = (
            max(
                gap
                for gap, span in zip(schedule.gaps_ms(sleeper), schedule.on_cpu[sleeper][1:], strict=True)
                if span[0] > 1_000
            )
            - 5
        )
    assert worst["424"] > (hogs - 1) * SLICE_MS["424"] / 2
    assert worst["modern"] <= TICK_MS + 0.2


def test_three_equals_share_two_cpus(tmp_path: Path) -> None:
    """Change 5 of the README."""
    tasks = f'[[task]]\nname = "hog"\ncount = 3\n{HOG}'
    schedule = simulate(tmp_path, "bfs:rules=modern", tasks, 5, "t5600")
    for name in schedule.tasks("hog"):
        assert schedule.ran_ms(name) == pytest.approx(5000 * 2 / 3, rel=0.03)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cpu_that_comes_back_takes_one_of_two_hogs(version: str, tmp_path: Path) -> None:
    """While one CPU is gone both stick to the other by turns; the slot must be that of who is in it."""
    machine = tmp_path / "two.toml"
    machine.write_text(ONE_CPU.format(hz=250).replace("cores_per_llc = 1", "cores_per_llc = 2"), "utf-8")
    tasks = f'[[task]]\nname = "hog"\ncount = 2\n{HOG}'
    gone = ["--hotplug", "180ms:-1,263ms:+1"]
    schedule = simulate(tmp_path, f"bfs:rules={version}", tasks, 1, str(machine), *gone, hz=250)
    assert schedule.ran_ms("hog", 300) >= 2 * 700 - 30


@pytest.mark.parametrize(
    ("caches", "ran_us", "goes_on_us", "cpu", "start_ms"),
    [
        (1, 300, 200, 0, 10.5),
        (1, 300, 2000, 0, 11),
        (2, 300, 2000, 1, 11),
        (1, 900, 200, 1, 10.9),
        (2, 900, 200, 1, 10.9),
    ],
)
def test_modern_believes_a_waker_for_a_moment(
    caches: int, ran_us: int, goes_on_us: int, cpu: int, start_ms: float, tmp_path: Path
) -> None:
    """Change 3 of the README: a pipe's writer, nice 1, that has run for less than 500 us is about to sleep.

    In one cache the reader is handed to its CPU, until it sleeps or the tick at 11; from another cache it waits for the
    tick where it was. After a longer run the reader preempts at once what has the latest deadline of its cache, which
    is the hog of the second CPU.
    """
    machine = free_machine(tmp_path, cores=2 // caches, llcs=caches)
    write = [
        f"{{ run_us = {ran_us} }}",
        '{ send = "it", bytes = 8 }',
        f"{{ run_us = {goes_on_us} }}",
        "{ sleep_s = 60 }",
    ]
    reader = ["{ affinity = [1] }", "{ run_us = 10 }", "{ affinity = [] }", '{ recv = "it" }', "{ run_ms = 1 }"]
    tasks = '[[queue]]\nname = "it"\nkind = "pipe"\n' + task("reader", *reader, "{ sleep_s = 60 }")
    tasks += task("writer", "{ sleep_ms = 10 }", *write, cpus=[0], nice=1) + hog("a", cpus=[0]) + hog("b", cpus=[1])
    schedule = simulate(tmp_path, "bfs:rules=modern+first_turn_us=0", tasks, 0.04, machine, strict=False)
    (turn, *_) = schedule.turns_of("reader", after_ms=8)
    assert turn.start == start_ms
    assert turn in schedule.turns(40, cpu)
