# SPDX-License-Identifier: GPL-2.0-or-later
"""cpu.max under BFS's rules `modern` (schedulers/bfs/bandwidth.h): who runs for how long, to the tick.

A group called "g" with a limit, 1,000 ticks a second, and a machine on which nothing costs anything.
"""

from pathlib import Path

import pytest

from tests.policies import limits
from tests.policies.limits import FOR_EVER, cgroup, limited, near, spans
from tests.policies.schedules import Schedule, child, hog, simulator, task

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")


def run(folder: Path, tasks: str, duration_ms: int, *arguments: str, rules: str = "modern", **machine: int) -> Schedule:
    return limits.run(folder, f"bfs:rules={rules}", tasks, duration_ms, *arguments, **machine)


@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize(("quota_ms", "period_ms"), [(20, 100), (3, 10), (300, 500)])
def test_a_group_gets_its_quota_and_no_more(cores: int, quota_ms: int, period_ms: int, tmp_path: Path) -> None:
    tasks = limited("g", quota_ms, period_ms) + hog("in", count=4, cgroup="g") + hog("out", count=cores)
    duration_ms = 20 * period_ms
    schedule = run(tmp_path, tasks, duration_ms, cores=cores)
    # As many ticks too much as there are CPUs, in the last period alone.
    share_ms = min(quota_ms / period_ms, cores * 4 / (4 + cores)) * duration_ms
    assert share_ms - 2 <= schedule.ran_ms("in") <= share_ms + cores + 0.1
    # The others have all the rest.
    assert schedule.ran_ms("in") + schedule.ran_ms("out") == pytest.approx(cores * duration_ms)


def test_what_ran_ahead_is_taken_from_the_next_period(tmp_path: Path) -> None:
    """The example of bandwidth.h."""
    tasks = limited("g", 20) + hog("in", count=2, cgroup="g")
    schedule = run(tmp_path, tasks, 300, hz=250, cores=2)
    one, other = (spans(schedule, name) for name in schedule.tasks("in"))
    assert [sorted(turns) for turns in zip(one, other, strict=True)] == [
        [(0, 12), (0, 12)],
        [(100, 108), (100, 112)],
        [(200, 208), (200, 212)],
    ]


def test_who_waits_with_its_group_is_passed_over(tmp_path: Path) -> None:
    """Three of the group are queued when its time is up: the other has the CPU alone until the next period."""
    tasks = limited("g", 20) + hog("in", count=3, cgroup="g") + hog("out", nice=19)
    schedule = run(tmp_path, tasks, 100)
    (gap,) = [(start, end) for start, end in spans(schedule, "out") if end - start > 20]
    assert gap[1] == 100
    assert gap[0] < 40
    assert len([turn for turn in schedule.turns(100, after_ms=gap[0]) if turn.name == "in"]) == 0


def test_what_is_left_is_lost_without_a_burst_and_kept_with_one(tmp_path: Path) -> None:
    """It wakes in the fourth period. What it left of those before is a burst of 15 ms at most."""
    late = task("in", "{ sleep_ms = 350 }", FOR_EVER, cgroup="g")
    assert spans(run(tmp_path, limited("g", 20) + late, 700), "in") == [(350, 370), (400, 420), (500, 520), (600, 620)]
    burst = limited("g", 20, 100, "burst_us = 15_000")
    assert spans(run(tmp_path, burst + late, 700), "in") == [(350, 385), (400, 420), (500, 520), (600, 620)]


def test_a_burst_fills_up_again_by_what_is_not_used(tmp_path: Path) -> None:
    late = task(
        "in",
        "{ sleep_ms = 350 }",
        "{ run_ms = 35 }",
        "{ until_ms = 450 }",
        "{ run_ms = 10 }",
        "{ until_ms = 550 }",
        FOR_EVER,
        cgroup="g",
    )
    burst = limited("g", 20, 100, "burst_us = 15_000")
    assert spans(run(tmp_path, burst + late, 650), "in") == [(350, 385), (450, 460), (550, 580), (600, 620)]


def test_a_group_is_bounded_by_all_above_it(tmp_path: Path) -> None:
    """One of two below has a limit of its own. Two CPUs: 10 ms for it, and the other has the rest of 30."""
    groups = limited("above", 30) + limited("a", 10, 100, 'parent = "above"') + cgroup("b", 'parent = "above"')
    schedule = run(tmp_path, groups + hog("ina", cgroup="a") + hog("inb", cgroup="b"), 1000, cores=2)
    assert schedule.ran_ms("ina") == pytest.approx(100, abs=1.1)
    assert schedule.ran_ms("inb") == pytest.approx(200, abs=2.1)


def test_who_is_let_in_by_one_group_waits_for_the_next(tmp_path: Path) -> None:
    """Below 40 ms of 200 is 10 of 50: from 0 to 10, 50, 100 and 150 on, until the upper one is used up."""
    groups = limited("above", 20, 200) + limited("a", 10, 50, 'parent = "above"')
    schedule = run(tmp_path, groups + hog("in", cgroup="a"), 300)
    assert spans(schedule, "in") == [(0, 10), (50, 60), (200, 210), (250, 260)]


def test_who_waits_and_is_moved_out_runs_at_once(tmp_path: Path) -> None:
    groups = limited("g", 20) + cgroup("free")
    boss = task(
        "boss",
        "{ until_ms = 50 }",
        '{ cgroup = "free", of = "in" }',
        "{ until_ms = 130 }",
        '{ cgroup = "g", of = "in" }',
    )
    schedule = run(tmp_path, groups + hog("in", cgroup="g") + boss, 300)
    # It comes back to a group that has all its time left.
    assert spans(schedule, "in") == [(0, 20), (50, 150), (200, 220)]


def test_a_limit_that_is_lifted_or_raised_lets_in_who_waits(tmp_path: Path) -> None:
    boss = task(
        "boss",
        "{ until_ms = 40 }",
        '{ max_us = 60_000, of = "g" }',
        "{ until_ms = 350 }",
        '{ max_us = "max", of = "g" }',
    )
    schedule = run(tmp_path, limited("g", 20) + hog("in", cgroup="g") + boss, 500)
    # A limit begins a period. A change costs its CPU some nanoseconds, so that a tick comes just too early.
    assert near(spans(schedule, "in"), [(0, 20), (40, 101), (140, 200), (240, 300), (340, 500)])


def test_children_count(tmp_path: Path) -> None:
    parent = task("in", '{ fork = "child" }', FOR_EVER, cgroup="g")
    schedule = run(tmp_path, limited("g", 20) + parent + child("child", FOR_EVER), 500, cores=2)
    assert schedule.ran_ms("in") + schedule.ran_ms("child") == pytest.approx(100, abs=2.1)


def test_a_task_that_wakes_in_a_group_without_time_takes_no_cpu(tmp_path: Path) -> None:
    sleeper = task("sleeper", "{ loop = [{ sleep_ms = 7 }, { run_us = 100 }] }", cgroup="g")
    tasks = limited("g", 20) + hog("in", cgroup="g", cpus=[0]) + sleeper
    schedule = run(tmp_path, tasks, 100, cores=2)
    assert [span for span in schedule.on_cpu_of("sleeper") if span[0] > 22] == []


def test_who_may_not_leave_its_cpu_does_not_wait(tmp_path: Path) -> None:
    """What disabled its migration may hold what others wait for. It waits once it has enabled it again."""
    holder = task("in", "{ migrate_disable = [{ run_ms = 40 }] }", FOR_EVER, cgroup="g")
    for api in ("7.2", "6.18"):
        schedule = run(tmp_path, limited("g", 10) + holder, 500, "--api", api)
        (first, second) = spans(schedule, "in")[:2]
        assert first == pytest.approx((0, 41), abs=1.1)
        assert second[0] == pytest.approx(500 if second[0] > 450 else 400, abs=0.1)


def test_who_waits_on_a_cpu_that_goes_runs_on_another(tmp_path: Path) -> None:
    tasks = limited("g", 20) + hog("in", cgroup="g", count=2)
    schedule = run(tmp_path, tasks, 300, "--hotplug", "50ms:-1,250ms:+1", cores=2)
    assert [turn for turn in schedule.turns_of("in") if turn.start > 101 and turn in schedule.by_cpu[1]] == []
    assert schedule.ran_ms("in") == pytest.approx(60, abs=3)
    assert schedule.ran_ms("in", 100) == pytest.approx(40, abs=3)


def test_nobody_waits_as_long_as_the_kernel_lets_a_task_wait(tmp_path: Path) -> None:
    """Forty hogs that may run a millisecond a second have a turn each in 40 s, and are seen to run in between.

    The policy would be ejected otherwise, after 30 s.
    """
    schedule = run(tmp_path, limited("g", 1, 1000) + hog("in", cgroup="g", count=40), 65_000)
    assert schedule.ran_ms("in") == pytest.approx(65, abs=5)


@pytest.mark.parametrize("rules", ["232", "311", "424"])
def test_the_published_versions_know_no_groups(rules: str, tmp_path: Path) -> None:
    schedule = run(tmp_path, limited("g", 20) + hog("in", cgroup="g"), 300, rules=rules)
    assert schedule.ran_ms("in") == pytest.approx(300)
