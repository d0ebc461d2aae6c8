# SPDX-License-Identifier: GPL-2.0-or-later
"""The hunt for a worst case: scenes drawn, changed and made small, what shares explain, and the files that are kept."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedlab.catalogue import described
from schedlab.errors import InputError
from schedlab.report import case_picture
from schedlab.report.case_picture import Captioned
from schedlab.report.shown_schedules import Panel
from schedlab.search import case_file
from schedlab.search.case import Case, Group, Kind, Step, What
from schedlab.search.draw import Dice
from schedlab.trace.schedule import Schedule, Stretch
from schedlab.worst import case_folder, change, scene, shares, smaller, waits
from schedlab.worst.case_folder import Saved
from schedlab.worst.chase import STILL, Chase, Find
from schedlab.worst.judge import SimulatedJudge
from schedlab.worst.scene import SHAPES, Scene, Shape

ROOT = Path(__file__).resolve().parents[2]


def run(us: int) -> Step:
    return Step(What.RUN, us, us)


def alone(count: int = 1, times: int = 1, us: int = 1_000, nice: int = 0) -> Group:
    return Group(Kind.ALONE, count, times, (run(us),), nice=nice)


def of(*groups: Group) -> Case:
    return Case("", (), groups)


def planted(score: Callable[[Scene], float]) -> Callable[[Sequence[Scene]], list[Find | None]]:
    return lambda scenes: [Find(one, score(one), score(one), 1.0) for one in scenes]


def nice_of_19_beside_others(one: Scene) -> float:
    """What a policy that starves one nice level would come to: the work of all others that are there."""
    groups = one.case.groups
    others = shares.work_us(replace(one.case, groups=tuple(group for group in groups if group.nice != 19)))
    return others / 1e6 if any(group.nice == 19 for group in groups) else 0.1


def test_what_is_planted_is_found_and_of_it_what_matters_is_left() -> None:
    chase = Chase(planted(nice_of_19_beside_others), 1, 1_000)
    chase.run()
    assert chase.whole
    assert chase.drawn
    assert chase.best
    assert chase.drawn.times > 1.0
    assert chase.best.times >= STILL * chase.drawn.times
    small = chase.best.scene
    assert small.case.tasks <= 3
    assert small.shape == Shape(1, 1)
    assert {group.nice for group in small.case.groups} == {0, 19}
    assert all(len(group.steps) <= 1 for group in small.case.groups)


def test_changing_finds_worse_than_drawing_alone() -> None:
    chase = Chase(planted(nice_of_19_beside_others), 2, 1_000)
    chase._draw()
    assert chase.best
    drawn = chase.best.times
    chase._worsen()
    assert chase.best.times > drawn


def test_the_same_seed_and_budget_find_the_same() -> None:
    def found(seed: int, budget: int) -> Find | None:
        chase = Chase(planted(nice_of_19_beside_others), seed, budget)
        chase.run()
        assert chase.judged <= budget
        return chase.best

    assert found(3, 400) == found(3, 400)
    assert found(3, 400) != found(4, 400)


def test_the_budget_is_kept_and_every_run_is_told() -> None:
    told: list[int] = []
    judged: list[Scene] = []

    def judge(scenes: Sequence[Scene]) -> list[Find | None]:
        judged.extend(scenes)
        return planted(nice_of_19_beside_others)(scenes)

    chase = Chase(judge, 1, 53, told.append)
    chase.run()
    assert sum(told) == chase.judged <= 53
    # One that comes up twice while scenes are changed counts and does not run again.
    assert len(judged) <= chase.judged


def test_what_does_not_count_is_not_found() -> None:
    chase = Chase(lambda scenes: [None] * len(scenes), 1, 40)
    chase.run()
    assert chase.best is None
    # Nothing is there to be changed or made small.
    assert chase.uncounted == chase.judged == 10


def test_an_interrupted_hunt_has_the_worst_so_far() -> None:
    left = iter(range(5))

    def judge(scenes: Sequence[Scene]) -> list[Find | None]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return planted(nice_of_19_beside_others)(scenes)

    chase = Chase(judge, 1, 1_000)
    with pytest.raises(KeyboardInterrupt):
        chase.run()
    assert chase.best
    assert chase.judged == 5 * 16


def drawn(count: int) -> list[Scene]:
    return [change.drawn(Dice(f"1 {number}")) for number in range(count)]


def changed(count: int) -> list[Scene]:
    pool, dice = drawn(8), Dice("2")
    for _ in range(count):
        pool.append(change.changed(dice, pool[dice.between(0, len(pool) - 1)], pool))
    return pool


def test_nothing_that_is_drawn_or_changed_says_nothing_of_a_policy() -> None:
    scenes = [*drawn(200), *changed(800)]
    assert {one.shape for one in scenes} == set(SHAPES)
    assert {group.policy for one in scenes for group in one.case.groups} == {"other", "batch"}
    assert max(one.case.tasks for one in scenes) == change.MOST_TASKS
    assert max(shares.work_us(one.case) for one in scenes) <= 1_500_000
    assert max(shares.span_us(one.case) for one in scenes) <= 3_000_000
    for one in scenes:
        for group in one.case.groups:
            needed = group.steps if group.kind == Kind.ALONE else group.answer
            assert group.kind == Kind.PAIR or any(step.what == What.RUN for step in needed)


def test_the_parser_takes_what_is_changed_and_what_is_smaller(tmp_path: Path) -> None:
    scenes = changed(80)
    scenes += [other for one in scenes[:6] for other in smaller.scenes(one)]
    files = []
    for number, one in enumerate(scenes):
        files.append(tmp_path / f"w{number}.toml")
        files[-1].write_text(case_file.text(one.case, ["a comment"], f"w{number}", "schedlab hunt"))
    entries = described.entries(workloads=files)["workloads"]
    assert [entry["error"] for entry in entries if "error" in entry] == []


def test_a_smaller_scene_never_grows() -> None:
    def size(one: Scene) -> tuple[int, ...]:
        return (SHAPES.index(one.shape), len(one.case.groups), one.case.tasks)

    for one in changed(60):
        for other in smaller.scenes(one):
            assert all(mine <= theirs for mine, theirs in zip(size(other), size(one), strict=True))


def test_the_work_of_two_groups_is_that_of_one_task() -> None:
    both = Scene(of(alone(3, times=2, us=700), alone(1, us=800)), Shape(1, 1))
    assert Scene(of(alone(us=5_000)), Shape(1, 1)) in smaller.scenes(both)
    alike = Scene(of(alone(3, us=700), alone(2, us=700)), Shape(1, 1))
    assert Scene(of(alone(5, us=700)), Shape(1, 1)) in smaller.scenes(alike)
    unlike = Scene(of(alone(3, times=2, us=700), alone(1, us=800, nice=5)), Shape(1, 1))
    assert all(shares.work_us(one.case) < 5_000 for one in smaller.scenes(unlike) if len(one.case.groups) == 1)


def test_a_scene_without_anything_smaller_has_none() -> None:
    assert smaller.scenes(Scene(of(alone(us=100)), Shape(1, 1))) == []


@pytest.mark.parametrize(
    ("groups", "cpus", "ticks"),
    [
        ([alone(2)], 1, 1.0),
        ([alone(5)], 1, 4.0),
        ([alone(5)], 2, 2.0),
        ([alone(1)], 4, 1.0),
        # A level is a quarter more weight.
        ([alone(1, nice=-1), alone(1)], 1, 1.25),
        ([alone(1, nice=19), alone(1)], 1, 1.25**19),
    ],
)
def test_a_wait_is_explained_by_the_weights_of_others(groups: list[Group], cpus: int, ticks: float) -> None:
    for name in ("starvation_max_us", "wakeup_latency_us", "waiting_us"):
        assert shares.explained(name, of(*groups), cpus) == pytest.approx(4_000 * ticks)


def test_a_nice_level_that_a_task_changes_to_counts() -> None:
    renices = Group(Kind.ALONE, 1, 1, (Step(What.NICE, 10, 10), run(100)))
    assert shares.wait_us(of(renices, alone()), 1) == pytest.approx(4_000 * 1.25**10)


def test_elapsed_time_is_explained_by_work_and_the_longest_chain() -> None:
    # 2 x 3 ms of work; 3 ms and 2 ms of sleep one after the other; 2 tasks with a round of 2 steps.
    sleeps = Group(Kind.ALONE, 2, 1, (run(3_000), Step(What.SLEEP, 1_000, 2_000)))
    assert shares.explained("elapsed_s", of(sleeps), 2) == pytest.approx(0.011 + 2 * 540e-6)
    # Those that want a lock hold it one after the other: 4 x 1 ms of work, and all of it is the chain; 4 rounds.
    lock = Group(Kind.LOCK, 4, 1, (), (run(1_000),))
    assert shares.explained("elapsed_s", of(lock), 2) == pytest.approx(0.008 + 4 * 530e-6)
    assert shares.explained("turnaround_us", of(lock), 2) is None
    # Messages without any work take time, and that says nothing of a policy.
    pair = Group(Kind.PAIR, 1, 1_000, ())
    assert shares.explained("elapsed_s", of(pair), 2) == pytest.approx(2 * (500 + 1_000 * 20) / 1e6)


def test_a_machine_is_the_measured_guest_with_another_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLAB_ROOT", str(ROOT))
    files = []
    for number, shape in enumerate(SHAPES):
        files.append(tmp_path / f"m{number}.toml")
        files[-1].write_text(scene.machine_text(shape, f"m{number}"))
    entries = described.entries(machines=files)["machines"]
    assert [entry["cpus"] for entry in entries] == [shape.cpus for shape in SHAPES]
    assert [shape.guest for shape in SHAPES] == ["1", "2", "2x1x1", "3", "4", "2x2x1"]


def schedule() -> Schedule:
    """Two tasks take turns of 10 ms; then one of them waits for 100 ms."""
    ms = 1_000_000
    turns = [(1, 0, 10), (2, 10, 20), (1, 20, 120), (2, 120, 130)]
    runs = [Stretch(pid, 0, start * ms, end * ms) for pid, start, end in turns]
    pauses = [Stretch(2, -1, 0, 10 * ms), Stretch(1, -1, 10 * ms, 20 * ms), Stretch(2, -1, 20 * ms, 120 * ms)]
    return Schedule(0, 130 * ms, {1: "a", 2: "b"}, runs, pauses)


def test_waits_are_numbers() -> None:
    assert waits.number(schedule(), ("starvation_max_us", "mean")) == 100_000
    assert waits.number(schedule(), ("waiting_us", "mean")) == 40_000
    assert waits.number(schedule(), ("waiting_us", "p50")) == 10_000
    assert waits.number(Schedule(0, 1), ("waiting_us", "p50")) is None


def test_the_picture_shows_the_longest_wait() -> None:
    found = case_picture.longest_wait(schedule())
    assert (found.start_ns, found.end_ns) == (10_000_000, 130_000_000)
    assert [run.pid for run in found.runs] == [2, 1, 2]
    assert case_picture.longest_wait(schedule(), frozenset({2})).end_ns == 21_000_000
    text = case_picture.svg([Captioned(Panel("o1", found), "o1 & others"), Captioned(Panel("cfs", found), "cfs")])
    assert text.count("<g transform") == 2
    assert "o1 &amp; others" in text


def test_a_picture_ends_where_too_much_runs() -> None:
    many = Schedule(0, 5_000, {1: "a"}, [Stretch(1, 0, at, at + 1) for at in range(5_000)])
    assert len(case_picture.window(many, 0, 5_000).runs) == 200


SAVED = {"policy": "o1", "against": "cfs", "metric": "elapsed_s", "guest": "2", "value": 0.5, "base": 0.1, "times": 5.0}


def kept(folder: Path, **other: object) -> Saved:
    saved = Saved(**{"folder": folder, **SAVED, **other})
    case_folder.write(saved, Scene(of(alone()), Shape(1, 2)), ["it is bad"], {"not_tried": "no reason"})
    return saved


@pytest.fixture
def real_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLAB_ROOT", str(ROOT))


@pytest.mark.usefixtures("real_root")
def test_a_case_is_read_as_it_was_written(tmp_path: Path) -> None:
    saved = kept(tmp_path)
    assert case_folder.read(tmp_path) == saved
    thrown = kept(tmp_path, against="", value=math.inf, times=math.inf, ends="runnable task stall", found={"seed": 1})
    assert case_folder.read(tmp_path) == thrown
    for name in ("case", "workload", "machine"):
        text = (tmp_path / f"{name}.toml").read_text()
        assert "GPL-2.0-or-later" in text.splitlines()[0]
    assert f"# ./schedlab hunt --replay {tmp_path}" in (tmp_path / "case.toml").read_text()


@pytest.mark.usefixtures("real_root")
@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ('policy = "o1"', "policy = 3", "key 'policy': expected a string"),
        ("value = 0.5", 'value = "much"', "key 'value': expected a number"),
        ("times = 5", "times = 0", "key 'times': expected more than 0, got 0"),
        ("base = 0.1\n", "", "key 'base': expected it, found none"),
        ("base = 0.1\n", "base = 0.1\nspeed = 3\n", "unknown key 'speed'; known: format, policy, against, "),
        ("format = 1", "format = 0", "key 'format': expected 1, got 0"),
        ("format = 1", "format = 2", "its format is 2, and this schedlab knows 1: update schedlab; "),
        ("format = 1", "format = ", "not valid TOML"),
    ],
)
def test_a_broken_case_is_named_with_its_key(tmp_path: Path, there: str, instead: str, message: str) -> None:
    kept(tmp_path)
    path = tmp_path / "case.toml"
    text = path.read_text()
    assert there in text
    path.write_text(text.replace(there, instead, 1))
    with pytest.raises(InputError) as error:
        case_folder.read(tmp_path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("real_root")
def test_a_case_without_its_workload_is_named(tmp_path: Path) -> None:
    kept(tmp_path).workload.unlink()
    with pytest.raises(InputError, match=r"workload\.toml: expected this file beside case\.toml"):
        case_folder.read(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "hunt: expected a policy, or --replay DIR"),
        (["bsf"], "unknown scheduler 'bsf'; did you mean bfs? known: bfs, cfs, default"),
        (["bfs,cfs"], "'bfs,cfs': expected one scheduler"),
        (["bfs", "--against", "bfs"], "schedulers 'bfs,bfs': 'bfs' is given twice"),
        (["bfs", "--budget", "0"], "--budget 0: expected 1 or more"),
        (["bfs", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["bfs", "--jobs", "0"], "--jobs 0: expected 1 or more"),
        (["bfs", "--metric", "elapsed"], "unknown metric 'elapsed'; did you mean elapsed_s? known: "),
        (["bfs", "--metric", "waiting_us.p98"], "--metric waiting_us.p98: expected waiting_us alone, or with .mean"),
        (["bfs", "--metric", "throughput_per_s"], "--metric throughput_per_s: more of it is no worse"),
        (["bfs", "--metric", "cpu_usage_pct"], "--metric cpu_usage_pct: neither more nor less of it is worse"),
        (
            ["bfs", "--metric", "round_trip_us.p99"],
            "--metric round_trip_us: shares say nothing of it: expected --against",
        ),
        (["bfs", "--replay", "here"], "--replay: the case says all: expected no POLICY"),
        (["--replay", "here", "--seed", "3"], "--replay: the case says all: expected no --seed"),
        (["--replay", "nowhere"], "nowhere/case.toml: cannot be read: No such file or directory"),
    ],
)
def test_bad_input_is_one_line(lab: Callable, arguments: list[str], message: str) -> None:
    done = lab("hunt", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"schedlab: {message}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_latency_counts_where_the_kernel_would_tell_it_too() -> None:
    aim = SimpleNamespace(measure=("wakeup_latency_us", "p99"))
    judge = SimulatedJudge(aim, None)
    sleeps = Group(Kind.ALONE, 1, 1, (run(100), Step(What.SLEEP, 100, 100)))
    herd = Group(Kind.HERD, 2, 1, (), (run(100),))
    assert [judge._is_told(of(group)) for group in (sleeps, herd, alone())] == [True, True, False]
    aim.measure = ("starvation_max_us", "mean")
    assert judge._is_told(of(alone()))
