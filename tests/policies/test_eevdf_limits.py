# SPDX-License-Identifier: GPL-2.0-or-later
"""cpu.max under EEVDF (schedulers/eevdf/bandwidth.h, rule 3.13.4): who runs for how long, to the tick.

A group called "g" with a limit, 1,000 ticks a second, and a machine on which nothing costs anything.
"""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.policies import limits
from tests.policies.limits import EEVDF, FOR_EVER, cgroup, limited, near, spans
from tests.policies.schedules import Schedule, child, hog, simulator, task

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")

SCHEDULERS = [f"{EEVDF}+rules=6.6", f"{EEVDF}+rules=6.12", EEVDF]


def run(
    folder: Path, tasks: str, duration_ms: int, *arguments: str, scheduler: str = EEVDF, **machine: int
) -> Schedule:
    return limits.run(folder, scheduler, tasks, duration_ms, *arguments, **machine)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize(("quota_ms", "period_ms"), [(20, 100), (3, 10), (300, 500)])
def test_a_group_gets_its_quota_and_no_more(
    scheduler: str, cores: int, quota_ms: int, period_ms: int, tmp_path: Path
) -> None:
    tasks = limited("g", quota_ms, period_ms) + hog("in", count=4, cgroup="g") + hog("out", count=cores)
    duration_ms = 20 * period_ms
    schedule = run(tmp_path, tasks, duration_ms, scheduler=scheduler, cores=cores)
    # A CPU may hold a slice of 5 ms that is not used up, or have run a tick too much. On one CPU the group has a half.
    share_ms = min(quota_ms / period_ms, cores / 2) * duration_ms
    most_ms = share_ms + cores * (5 if cores > 1 else 1) + 0.1
    assert share_ms * 0.95 - cores * 5 <= schedule.ran_ms("in") <= most_ms
    # The others have all the rest.
    assert schedule.ran_ms("in") + schedule.ran_ms("out") == pytest.approx(cores * duration_ms)


@pytest.mark.parametrize("scheduler", ["eevdf", "default"])
def test_the_first_period_ends_at_a_random_time(scheduler: str, tmp_path: Path) -> None:
    begins = set()
    for seed in range(4):
        tasks = limited("g", 20) + hog("in", cgroup="g")
        schedule = run(tmp_path, tasks, 300, "--seed", str(seed), scheduler=scheduler)
        (_, *ran) = spans(schedule, "in")
        assert [end - start for start, end in ran[:-1]] == pytest.approx([20] * (len(ran) - 1), abs=1.1)
        assert [later[0] - one[0] for one, later in pairwise(ran)] == pytest.approx([100] * (len(ran) - 1), abs=1.1)
        begins.add(round(ran[-1][0] % 100))
    assert len(begins) > 1


def test_what_ran_ahead_is_taken_from_the_next_period(tmp_path: Path) -> None:
    """The example of bandwidth.h."""
    tasks = limited("g", 20) + hog("in", count=2, cgroup="g")
    schedule = run(tmp_path, tasks, 300, hz=250, cores=2)
    one, other = (spans(schedule, name) for name in schedule.tasks("in"))
    assert [sorted(turns) for turns in zip(one, other, strict=True)] == [
        [(0, 8), (0, 16)],
        [(100, 108), (100, 112)],
        [(200, 208), (200, 212)],
    ]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_who_waits_with_its_group_is_passed_over(scheduler: str, tmp_path: Path) -> None:
    """Three of the group compete when its time is up: the other has the CPU alone until the next period."""
    tasks = limited("g", 20) + hog("in", count=3, cgroup="g") + hog("out", nice=19)
    schedule = run(tmp_path, tasks, 100, scheduler=scheduler)
    (gap,) = [(start, end) for start, end in spans(schedule, "out") if end - start > 20]
    assert gap[1] == 100
    assert gap[0] < 45
    assert len([turn for turn in schedule.turns(100, after_ms=gap[0]) if turn.name == "in"]) == 0


def test_what_is_left_is_lost_without_a_burst_and_kept_with_one(tmp_path: Path) -> None:
    """It wakes in the fourth period. Of those before, nobody fills the pool when it is not drawn from: a burst is full
    after one more.
    """
    late = task("in", "{ sleep_ms = 350 }", FOR_EVER, cgroup="g")
    assert near(
        spans(run(tmp_path, limited("g", 20) + late, 700), "in"), [(350, 370), (400, 420), (500, 520), (600, 620)]
    )
    burst = limited("g", 20, 100, "burst_us = 15_000")
    assert near(spans(run(tmp_path, burst + late, 700), "in"), [(350, 385), (400, 420), (500, 520), (600, 620)])


def test_a_group_is_bounded_by_all_above_it(tmp_path: Path) -> None:
    """One of two below has a limit of its own. Two CPUs: 10 ms for it, and the other has the rest of 30."""
    groups = limited("above", 30) + limited("a", 10, 100, 'parent = "above"') + cgroup("b", 'parent = "above"')
    schedule = run(tmp_path, groups + hog("ina", cgroup="a") + hog("inb", cgroup="b"), 1000, cores=2)
    assert schedule.ran_ms("ina") == pytest.approx(100, abs=1.1)
    assert schedule.ran_ms("inb") == pytest.approx(200, abs=6.1)


def test_who_is_let_in_by_one_group_waits_for_the_next(tmp_path: Path) -> None:
    """Below 40 ms of 200 is 10 of 50: from 0 to 10, 50, 100 and 150 on, until the upper one is used up."""
    groups = limited("above", 20, 200) + limited("a", 10, 50, 'parent = "above"')
    schedule = run(tmp_path, groups + hog("in", cgroup="a"), 300)
    assert near(spans(schedule, "in"), [(0, 10), (50, 60), (200, 210), (250, 260)])


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
    assert near(spans(schedule, "in"), [(0, 20), (50, 150), (200, 220)])


def test_who_is_moved_in_and_out_again_and_again_gets_no_more(tmp_path: Path) -> None:
    """No tick finds it in the group."""
    moves = (
        '{ until_us = 400 }, { loop = [{ cgroup = "g", of = "in" }, { sleep_us = 400 }, { cgroup = "free", of = "in" },'
    )
    boss = task("boss", moves + " { sleep_us = 600 }] }", cpus=[0])
    groups = limited("g", 20) + cgroup("free")
    schedule = run(tmp_path, groups + hog("in", cgroup="free", cpus=[1]) + boss, 1000, cores=2)
    # 600 ms outside, and 20 in each period inside.
    assert schedule.ran_ms("in") == pytest.approx(800, abs=10)


def test_a_limit_that_is_lifted_or_raised_lets_in_who_waits(tmp_path: Path) -> None:
    """A new quota is there at once; periods go on as they were."""
    boss = task(
        "boss",
        "{ until_ms = 40 }",
        '{ max_us = 30_000, of = "g" }',
        "{ until_ms = 250 }",
        '{ max_us = "max", of = "g" }',
    )
    schedule = run(tmp_path, limited("g", 20) + hog("in", cgroup="g") + boss, 400)
    assert near(spans(schedule, "in"), [(0, 20), (40, 70), (100, 130), (200, 230), (250, 400)])


def test_cpus_that_owe_are_paid_in_turn(tmp_path: Path) -> None:
    """Each run lasts a tick of 4 ms, and the group has 1 ms in 10: a CPU that were always paid first had all of it."""
    hogs = hog("one", cgroup="g", cpus=[0]) + hog("other", cgroup="g", cpus=[1])
    schedule = run(tmp_path, limited("g", 1, 10) + hogs, 4000, hz=250, cores=2)
    ran = [schedule.ran_ms(name) for name in ("one", "other")]
    assert sum(ran) == pytest.approx(400, abs=10)
    assert min(ran) > 180


def test_who_may_not_leave_its_cpu_does_not_wait(tmp_path: Path) -> None:
    """What disabled its migration may hold what others wait for. It waits once it has enabled it again."""
    holder = task("in", "{ migrate_disable = [{ run_ms = 40 }] }", FOR_EVER, cgroup="g")
    for api in ("7.2", "6.18"):
        schedule = run(tmp_path, limited("g", 10) + holder, 500, "--api", api)
        (first, second) = spans(schedule, "in")[:2]
        assert first == pytest.approx((0, 41), abs=1.1)
        assert second[0] == pytest.approx(400, abs=0.1)


def test_children_count(tmp_path: Path) -> None:
    parent = task("in", '{ fork = "child" }', FOR_EVER, cgroup="g")
    schedule = run(tmp_path, limited("g", 20) + parent + child("child", FOR_EVER), 500, cores=2)
    assert schedule.ran_ms("in") + schedule.ran_ms("child") == pytest.approx(100, abs=5.1)


def test_a_task_that_wakes_in_a_group_without_time_takes_no_cpu(tmp_path: Path) -> None:
    sleeper = task("sleeper", "{ loop = [{ sleep_ms = 7 }, { run_us = 100 }] }", cgroup="g")
    tasks = limited("g", 20) + hog("in", cgroup="g", cpus=[0]) + sleeper
    schedule = run(tmp_path, tasks, 100)
    assert [span for span in schedule.on_cpu_of("sleeper") if 22 < span[0] < 99.9] == []


def test_a_cpu_gives_back_what_it_does_not_need(tmp_path: Path) -> None:
    """Five sleepers draw 5 ms each on a CPU of their own, and need 0.1. Without the rest the hog had 75 ms."""
    short = [task(f"short{cpu}", "{ run_us = 100 }", cgroup="g", cpus=[cpu]) for cpu in range(1, 6)]
    schedule = run(tmp_path, limited("g", 100, 500) + hog("in", cgroup="g", cpus=[0]) + "".join(short), 490, cores=6)
    # Each keeps a millisecond.
    assert schedule.ran_ms("in") == pytest.approx(94.5, abs=1.1)


@pytest.mark.parametrize(("period_ms", "goes_on"), [(500, (11, 17)), (12, (12, 22))])
def test_what_is_given_back_is_given_out_again_after_5_ms(
    period_ms: int, goes_on: tuple[float, float], tmp_path: Path
) -> None:
    """Three others draw what the pool has left before the hog needs it, and at 6 ms give back 2 ms each.

    Nothing is done where a period begins so soon.
    """
    other = ("{ until_ms = 4 }", "{ run_ms = 2 }")
    others = "".join(task(f"other{cpu}", *other, cgroup="g", cpus=[cpu]) for cpu in (1, 2, 3))
    tasks = limited("g", 20, period_ms) + hog("in", cgroup="g", cpus=[0]) + others
    assert near(spans(run(tmp_path, tasks, 22, cores=4), "in"), [(0, 5), goes_on])


def test_who_waits_on_a_cpu_that_goes_runs_on_another(tmp_path: Path) -> None:
    tasks = limited("g", 20) + hog("in", cgroup="g", count=2)
    schedule = run(tmp_path, tasks, 300, "--hotplug", "50ms:-1,250ms:+1", cores=2)
    assert [turn for turn in schedule.turns_of("in") if turn.start > 101 and turn in schedule.by_cpu[1]] == []
    assert schedule.ran_ms("in", 100) == pytest.approx(40, abs=5)


def test_nobody_waits_as_long_as_the_kernel_lets_a_task_wait(tmp_path: Path) -> None:
    """Forty hogs that may run a millisecond a second: by the limit alone some wait for 27 s, and more of them were
    ejected after 30. Whoever has waited for 15 s runs as soon as the group has any time, or a tick finds it.
    """
    schedule = run(tmp_path, limited("g", 1, 1000) + hog("in", count=40, cgroup="g"), 65_000)
    for name in schedule.tasks("in"):
        begins = [0, *(start for start, _ in schedule.on_cpu[name]), 65_000]
        assert max(later - one for one, later in pairwise(begins)) < 25_000
