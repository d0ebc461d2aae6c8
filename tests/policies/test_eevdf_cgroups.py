# SPDX-License-Identifier: GPL-2.0-or-later
"""Control groups under EEVDF (schedulers/eevdf/cgroup.h): what each gets of a CPU where its tasks never sleep.

A machine on which nothing costs anything. What weights say holds to a few slices.
"""

from pathlib import Path

import pytest

from tests.policies.schedules import Schedule, free_machine, hog, simulate, simulator, task

pytestmark = pytest.mark.skipif(not simulator(), reason="schedlab-sim is not built")

SCHEDULERS = ["eevdf:rules=6.6", "eevdf:rules=6.12", "eevdf", "default"]


def cgroup(name: str, weight: int | None = None, parent: str = "") -> str:
    keys = [f"weight = {weight}"] if weight else []
    keys += [f'parent = "{parent}"'] if parent else []
    return "\n".join(["[[cgroup]]", f'name = "{name}"', *keys]) + "\n"


def run(folder: Path, tasks: str, duration_ms: int, scheduler: str = "eevdf", **machine: int) -> Schedule:
    return simulate(folder, scheduler, tasks, duration_ms / 1000, free_machine(folder, **machine), strict=False)


def shares(schedule: Schedule, *names: str, after_ms: float = 0) -> list[float]:
    """What each has of what all of them have."""
    ran = [schedule.ran_ms(name, after_ms) for name in names]
    return [one / sum(ran) for one in ran]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(("less", "more"), [(100, 300), (100, 100), (1, 10), (1000, 10_000)])
def test_groups_share_by_their_weights(scheduler: str, less: int, more: int, tmp_path: Path) -> None:
    tasks = cgroup("a", less) + cgroup("b", more) + hog("ina", cgroup="a") + hog("inb", cgroup="b")
    schedule = run(tmp_path, tasks, 4000, scheduler)
    assert shares(schedule, "ina", "inb")[0] == pytest.approx(less / (less + more), rel=0.03)


@pytest.mark.parametrize("scheduler", ["eevdf", "default"])
def test_many_tasks_have_no_more_than_the_one_of_another_group(scheduler: str, tmp_path: Path) -> None:
    tasks = cgroup("a") + cgroup("b") + hog("one", cgroup="a") + hog("many", cgroup="b", count=8)
    schedule = run(tmp_path, tasks, 4000, scheduler)
    assert shares(schedule, "one", "many")[0] == pytest.approx(0.5, abs=0.01)
    each = [schedule.ran_ms(name) for name in schedule.tasks("many")]
    assert max(each) - min(each) < 20


def test_without_groups_of_their_own_tasks_share_alone(tmp_path: Path) -> None:
    """The same tasks, all in one group."""
    tasks = cgroup("a") + hog("one", cgroup="a") + hog("many", cgroup="a", count=8)
    assert shares(run(tmp_path, tasks, 4000), "one", "many")[0] == pytest.approx(1 / 9, abs=0.005)


def test_nice_levels_count_within_a_group(tmp_path: Path) -> None:
    tasks = cgroup("a") + cgroup("b") + hog("nicer", cgroup="a", nice=5) + hog("zero", cgroup="a")
    schedule = run(tmp_path, tasks + hog("other", cgroup="b", nice=19), 4000)
    assert shares(schedule, "nicer", "zero", "other") == pytest.approx(
        [0.5 * 335 / 1359, 0.5 * 1024 / 1359, 0.5], abs=0.01
    )


def test_groups_below_groups_divide_what_these_have(tmp_path: Path) -> None:
    """300 of 400 for the user, of whom the one has 100 of 130 and the other 30, as systemd's slices are."""
    groups = cgroup("system", 100) + cgroup("user", 300) + cgroup("app", 100, "user") + cgroup("back", 30, "user")
    tasks = (
        hog("service", cgroup="system", count=3) + hog("program", cgroup="app", count=2) + hog("batch", cgroup="back")
    )
    schedule = run(tmp_path, groups + tasks, 6000)
    expected = [1 / 4, 3 / 4 * 100 / 130, 3 / 4 * 30 / 130]
    assert shares(schedule, "service", "program", "batch") == pytest.approx(expected, abs=0.01)


def test_a_group_whose_tasks_sleep_leaves_its_part_to_the_others(tmp_path: Path) -> None:
    """Of three equals one sleeps for the first second: a half for each of the others, then a third."""
    groups = cgroup("a") + cgroup("b") + cgroup("c")
    late = task("late", "{ until_ms = 1000 }", "{ run_ms = 100_000 }", cgroup="c")
    schedule = run(tmp_path, groups + hog("ina", cgroup="a") + hog("inb", cgroup="b", count=2) + late, 4000)
    after = shares(schedule, "ina", "inb", "late", after_ms=1000)
    assert after == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=0.01)
    before = [schedule.ran_ms(name) - schedule.ran_ms(name, 1000) for name in ("ina", "inb")]
    assert before == pytest.approx([500, 500], abs=5)


def test_who_is_moved_counts_where_it_is(tmp_path: Path) -> None:
    """It takes its part of the one group along to the other after a second, and leaves both after two."""
    mover = task("mover", "{ until_ms = 2 }", "{ loop = [{ run_ms = 1 }] }", cgroup="a")
    boss = task("boss", "{ until_ms = 1000 }", '{ cgroup = "b", of = "mover" }', "{ until_ms = 2000 }",
                '{ cgroup = "/", of = "mover" }')  # fmt: skip
    groups = cgroup("a") + cgroup("b")
    tasks = hog("ina", cgroup="a") + hog("inb", cgroup="b") + mover + boss
    schedule = run(tmp_path, groups + tasks, 3000)

    def between(start_ms: int, end_ms: int) -> list[float]:
        ran = [schedule.ran_ms(name, start_ms) - schedule.ran_ms(name, end_ms) for name in ("ina", "inb", "mover")]
        return [ms / (end_ms - start_ms) for ms in ran]

    assert between(50, 1000) == pytest.approx([1 / 4, 1 / 2, 1 / 4], abs=0.01)
    assert between(1050, 2000) == pytest.approx([1 / 2, 1 / 4, 1 / 4], abs=0.01)
    # Beside the group of the run's own, which has both others.
    assert between(2050, 3000) == pytest.approx([1 / 4, 1 / 4, 1 / 2], abs=0.01)


def test_a_weight_counts_from_when_it_is_changed(tmp_path: Path) -> None:
    boss = task("boss", "{ until_ms = 1000 }", '{ weight = 300, of = "b" }')
    groups = cgroup("a", 100) + cgroup("b", 100)
    schedule = run(tmp_path, groups + hog("ina", cgroup="a") + hog("inb", cgroup="b", count=2) + boss, 3000)
    before = [schedule.ran_ms(name) - schedule.ran_ms(name, 1000) for name in ("ina", "inb")]
    assert before == pytest.approx([500, 500], abs=5)
    assert shares(schedule, "ina", "inb", after_ms=1000)[0] == pytest.approx(1 / 4, abs=0.01)


def test_a_group_that_comes_again_has_its_weight_again(tmp_path: Path) -> None:
    boss = task("boss", "{ until_ms = 500 }", '{ cgroup = "a", of = "inb" }', '{ remove_cgroup = "b" }',
                "{ until_ms = 1000 }", '{ make_cgroup = "b" }', '{ cgroup = "b", of = "inb" }')  # fmt: skip
    groups = cgroup("a", 100) + cgroup("b", 300)
    schedule = run(tmp_path, groups + hog("ina", cgroup="a") + hog("inb", cgroup="b") + boss, 3000)
    meanwhile = [schedule.ran_ms(name, 550) - schedule.ran_ms(name, 1000) for name in ("ina", "inb")]
    assert meanwhile == pytest.approx([225, 225], abs=3)
    assert shares(schedule, "ina", "inb", after_ms=1050)[0] == pytest.approx(1 / 4, abs=0.01)


def test_a_group_on_two_cpus_has_a_part_of_its_weight_on_each(tmp_path: Path) -> None:
    """The example of cgroup.h: half the weight of a against all of b's beside four tasks of b."""
    groups = cgroup("a", 100) + cgroup("b", 300)
    tasks = hog("first", cgroup="a", cpus=[0]) + hog("second", cgroup="a", cpus=[1])
    schedule = run(tmp_path, groups + tasks + hog("inb", cgroup="b", count=4, cpus=[1]), 5000, cores=2)
    assert schedule.ran_ms("first") == pytest.approx(5000, abs=5)
    assert shares(schedule, "second", "inb", after_ms=1000)[0] == pytest.approx(1 / 7, abs=0.01)


def test_who_is_idle_in_its_own_group_gives_way_by_deadlines(tmp_path: Path) -> None:
    """SCHED_IDLE counts among the tasks of a group. Alone in its group it has what the group has, and keeps the CPU
    until a tick when another group's task wakes; a task of its own group takes the CPU at once.
    """
    groups = cgroup("a") + cgroup("b")
    lowest = hog("lowest", cgroup="a", policy="idle")
    schedule = run(tmp_path, groups + lowest + hog("other", cgroup="b"), 2000)
    assert shares(schedule, "lowest", "other")[0] == pytest.approx(0.5, abs=0.01)

    def wakes_at(group: str) -> float:
        waker = task("waker", "{ until_us = 100_300 }", "{ run_ms = 5 }", cgroup=group)
        # It begins when the waker sleeps, so that neither is owed anything; and a slice lasts for 20 ms.
        late = task("lowest", "{ until_ms = 10 }", "{ loop = [{ run_ms = 1 }] }", cgroup="a", policy="idle")
        slow = run(tmp_path, groups + late + waker, 200, "eevdf:base_slice_us=20000")
        return slow.on_cpu_of("waker")[-1][0]

    assert wakes_at("a") == pytest.approx(100.3, abs=0.1)
    # Where a tick finds who runs above its share and no longer protected.
    assert wakes_at("b") == pytest.approx(101, abs=0.1)


def test_groups_with_equal_tasks_do_what_tasks_alone_do(tmp_path: Path) -> None:
    """Each task has a group of its own: what the groups weigh is what the tasks weigh."""
    hogs = [hog(f"hog{index}") for index in range(4)]
    alone = run(tmp_path, "".join(hogs), 500)
    grouped = [hog(f"hog{index}", cgroup=f"g{index}") for index in range(4)]
    groups = "".join(cgroup(f"g{index}", 100) for index in range(4))
    within = run(tmp_path, groups + "".join(grouped), 500)
    for index in range(4):
        assert within.ran_ms(f"hog{index}") == pytest.approx(alone.ran_ms(f"hog{index}"), abs=2)
