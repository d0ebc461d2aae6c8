# SPDX-License-Identifier: GPL-2.0-or-later
"""cpu.max under the policies that keep it: what both do alike, to the tick.

A group called "g" with a limit, 1,000 ticks a second, and a machine on which nothing costs anything.
"""

from pathlib import Path

import pytest

from tests.policies.limits import EEVDF, cgroup, limited, near, run, spans
from tests.policies.schedules import ROOT, hog, simulate, simulator, task

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")

POLICIES = ["bfs", EEVDF]


@pytest.mark.parametrize("scheduler", POLICIES)
def test_who_is_moved_into_a_group_without_time_waits(scheduler: str, tmp_path: Path) -> None:
    groups = limited("g", 20) + cgroup("free")
    boss = task("boss", "{ until_ms = 50 }", '{ cgroup = "g", of = "late" }')
    tasks = groups + hog("in", cgroup="g", cpus=[0]) + hog("late", cgroup="free", cpus=[1]) + boss
    schedule = run(tmp_path, scheduler, tasks, 150, cores=2)
    (first, second) = spans(schedule, "late")
    assert first == pytest.approx((0, 50), abs=1.1)
    assert second[0] == 100


@pytest.mark.parametrize("scheduler", POLICIES)
def test_a_limit_that_comes_later_counts_from_then_on(scheduler: str, tmp_path: Path) -> None:
    boss = task("boss", "{ until_ms = 150 }", '{ max_us = 20_000, of = "g" }')
    schedule = run(tmp_path, scheduler, cgroup("g") + hog("in", cgroup="g") + boss, 400)
    assert near(spans(schedule, "in"), [(0, 170), (250, 270), (350, 370)])


@pytest.mark.parametrize("scheduler", POLICIES)
def test_a_group_that_is_made_anew_has_its_limit_again(scheduler: str, tmp_path: Path) -> None:
    groups = limited("g", 20) + cgroup("free")
    boss = task(
        "boss",
        "{ until_ms = 50 }",
        '{ cgroup = "free", of = "in" }',
        '{ remove_cgroup = "g" }',
        "{ until_ms = 150 }",
        '{ make_cgroup = "g" }',
        '{ cgroup = "g", of = "in" }',
    )
    schedule = run(tmp_path, scheduler, groups + hog("in", cgroup="g") + boss, 400)
    assert near(spans(schedule, "in"), [(0, 20), (50, 170), (250, 270), (350, 370)])


@pytest.mark.parametrize("scheduler", POLICIES)
def test_a_limit_that_comes_and_goes_below_takes_nothing_from_the_one_above(scheduler: str, tmp_path: Path) -> None:
    groups = limited("g", 20) + cgroup("below", 'parent = "g"')
    comes, goes = '{ max_us = 90_000, of = "below" }', '{ max_us = "max", of = "below" }'
    pause = "{ sleep_us = 1_800 }"
    boss = task("boss", f"{{ loop = [{pause}, {comes}, {pause}, {goes}] }}", cpus=[1])
    schedule = run(tmp_path, scheduler, groups + hog("in", cgroup="below", cpus=[0]) + boss, 1000, cores=2)
    assert schedule.ran_ms("in") == pytest.approx(200, abs=1.5)


@pytest.mark.parametrize("scheduler", POLICIES)
def test_who_runs_less_than_a_tick_is_charged_for_it(scheduler: str, tmp_path: Path) -> None:
    """No tick finds it running: it sleeps from 200 µs before each to 200 µs after it."""
    tasks = limited("g", 20)
    tasks += task("in", "{ loop = [{ run_us = 200 }, { sleep_us = 50 }] }", cgroup="g", count=3)
    schedule = run(tmp_path, scheduler, tasks, 1000)
    assert schedule.ran_ms("in") == pytest.approx(200, abs=1.5)


@pytest.mark.parametrize("scheduler", POLICIES)
def test_the_way_to_a_task_is_charged_to_it(scheduler: str, tmp_path: Path) -> None:
    """On a machine on which something costs something: the kernel counts a task's time before it tells the policy."""
    tasks = limited("g", 2, 10) + task("in", "{ loop = [{ run_us = 50 }, { sleep_us = 20 }] }", cgroup="g", count=3)
    schedule = simulate(tmp_path, scheduler, tasks, 1, ROOT / "machines/guest-exact-1.toml", strict=False)
    assert schedule.ran_ms("in") == pytest.approx(200, abs=5)


@pytest.mark.parametrize("scheduler", POLICIES)
def test_who_waits_may_change_its_cpus(scheduler: str, tmp_path: Path) -> None:
    boss = task("boss", "{ until_ms = 50 }", '{ confine = "in", cpus = [1] }')
    schedule = run(tmp_path, scheduler, limited("g", 20) + hog("in", cgroup="g", cpus=[0]) + boss, 200, cores=2)
    assert [turn for turn in schedule.turns_of("in") if turn.end > 20.1] == [("in", 100, 120)]


@pytest.mark.parametrize("scheduler", POLICIES)
@pytest.mark.parametrize("api", ["6.12", "6.16"])
def test_before_6_17_the_kernel_tells_of_no_limit(scheduler: str, api: str, tmp_path: Path) -> None:
    schedule = run(tmp_path, scheduler, limited("g", 20) + hog("in", cgroup="g"), 300, "--api", api)
    assert schedule.ran_ms("in") == pytest.approx(300)


@pytest.mark.parametrize("scheduler", POLICIES)
def test_a_quota_of_all_cpus_is_no_limit(scheduler: str, tmp_path: Path) -> None:
    schedule = run(tmp_path, scheduler, limited("g", 200) + hog("in", cgroup="g", count=2), 300, cores=2)
    assert schedule.ran_ms("in") == pytest.approx(600)
