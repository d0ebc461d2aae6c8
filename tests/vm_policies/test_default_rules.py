# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own EEVDF beside the policy `eevdf`: one file of scenes, traced in an exact guest and in the simulator.

What a scene must show follows from the numbers of docs/rules/eevdf.md, and both must show it. The guest has 250 ticks a
second, and each switch, tick and timer costs it some microseconds, which the bounds leave room for. The simulator has
no thread of the kernel's own here: its short slice ends the protection of who runs.
"""

import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from schedlab.campaign import arms
from schedlab.capture import trace_file
from schedlab.catalogue import workloads
from schedlab.decisions import from_kernel, from_simulator, traced_cell
from schedlab.decisions.moments import Side, Switch
from schedlab.decisions.traced_cell import Cell, Tracing
from schedlab.trace import simulated
from tests.policies.schedules import ROOT, Schedule, Turn

FILE = Path(__file__).with_name("eevdf.toml")
MACHINE = ROOT / "machines/guest-exact-1.toml"
SLICE_MS = 0.7
TICK_MS = 4.0
COSTS_MS = 0.1
ROUNDS = 5
ROUND_MS = 49
GROUPS = frozenset(
    "equal asks silent lowest ordinary long short running batch nicer zero"
    " leaves beside patient joins ahead middle owed brief yields gains waits gone stays wakes".split()
)


def _schedule(side: Side) -> Schedule:
    """Of the cell's tasks, since the start."""
    schedule = Schedule()
    began: tuple[str, float] | None = None
    for moment in side.moments:
        if isinstance(moment, Switch):
            at_ms = moment.at_ns / 1e6
            if began and began[0] in side.cell:
                group, _, number = began[0].removesuffix("]").partition("[")
                schedule.on_cpu[f"{group}-{number}"].append((began[1], at_ms))
            began = (moment.next, at_ms)
    return schedule


def _ran_ms(schedule: Schedule, name: str, after_ms: float, until_ms: float) -> float:
    return schedule.ran_ms(name, after_ms) - schedule.ran_ms(name, until_ms)


def _waited_ms(schedule: Schedule, name: str, due_ms: float) -> float:
    """How long after that it first had the CPU."""
    return next(start for start, _ in schedule.on_cpu_of(name) if start >= due_ms) - due_ms


def _turns(schedule: Schedule, names: list[str], after_ms: float) -> list[Turn]:
    """Of the tasks of these groups among them, by task: what others interrupt is one turn with what follows."""
    tasks = [task for name in names for task in schedule.tasks(name)]
    spans = [Turn(task, *span) for task in tasks for span in schedule.on_cpu[task] if span[0] >= after_ms]
    turns: list[Turn] = []
    for turn in sorted(spans, key=lambda span: span.start):
        if turns and turns[-1].name == turn.name:
            turns[-1] = turns[-1]._replace(end=turn.end)
        else:
            turns.append(turn)
    return turns


def _rounds(first_ms: float) -> list[float]:
    """When the rounds of a scene are there, by the time of the first."""
    return [first_ms + ROUND_MS * index for index in range(ROUNDS)]


def _assert_turns(schedule: Schedule, first_ms: float, *expected: tuple[str, float]) -> None:
    """Who has the CPU among these single tasks from a round's begin on, and how long each time, in most rounds."""
    names = sorted({name for name, _ in expected})
    rounds = [_turns(schedule, names, begin_ms)[: len(expected)] for begin_ms in _rounds(first_ms)]
    lasted = [[(turn.name, round(turn.end - turn.start, 3)) for turn in turns] for turns in rounds]
    wanted = [(f"{name}-0", pytest.approx(ms, abs=COSTS_MS)) for name, ms in expected]
    assert lasted.count(wanted) > ROUNDS / 2, lasted


def _quiet_machine(folder: Path) -> Path:
    lines = MACHINE.read_text(encoding="utf-8").splitlines()
    quiet = [line for line in lines if not line.startswith("kthread_period_ns")]
    assert len(quiet) == len(lines) - 1
    path = folder / MACHINE.name
    path.write_text("\n".join(quiet), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def schedules(can_boot: None, loader: Path) -> dict[str, Schedule]:
    workload = workloads.find(str(FILE))
    (arm,) = arms.parse("default", "vm")
    with tempfile.TemporaryDirectory() as folder:
        lines = traced_cell.traces(Cell(arm, workload, 1, 1, {}, 1), Tracing(), Path(folder))
        (arm,) = arms.parse("default", "sim")
        what = simulated.Traced(
            scheduler=arm.scheduler.path,
            workload=FILE,
            machine=_quiet_machine(Path(folder)),
            load=1,
            seed=1,
            tunables=arm.tunables,
            params={},
            built_in=arm.built_in,
            exact_costs=True,
            api=None,
        )
        with simulated.lines(what) as told:
            ours = from_simulator.side(simulated.events(told), GROUPS)
    kernel = from_kernel.side(trace_file.parse(lines[0], "the kernel's trace"), GROUPS)
    return {"kernel": _schedule(kernel), "simulator": _schedule(ours)}


WORLDS = pytest.mark.parametrize("world", ["kernel", "simulator"])


@pytest.fixture
def schedule(schedules: dict[str, Schedule], world: str) -> Schedule:
    return schedules[world]


@WORLDS
def test_equals_take_turns_of_a_slice(schedule: Schedule) -> None:
    """Rules 3.1, 3.4, 3.5, 3.10.1 and 3.10.4: a round's first turn, of two that are level, lasts 0.7 ms, on time.

    Later what wakes between them can leave one so far behind that it is picked again and again, up to a tick each time.
    """
    begin_ms = 250
    firsts = [_turns(schedule, ["equal"], round_ms)[0] for round_ms in _rounds(begin_ms)]
    lasted_ms = [turn.end - turn.start for turn in firsts]
    assert [ms == pytest.approx(SLICE_MS, abs=COSTS_MS) for ms in lasted_ms].count(True) > ROUNDS / 2, lasted_ms
    for round_ms in _rounds(begin_ms):
        shares = [_ran_ms(schedule, f"equal-{index}", round_ms, round_ms + 16) for index in range(2)]
        assert shares[0] == pytest.approx(shares[1], abs=TICK_MS + SLICE_MS)


@WORLDS
def test_a_requested_slice_leaves_the_shares(schedule: Schedule) -> None:
    """Rules 3.2, 3.6 and 3.10.3: whoever asks for 3 ms has the later deadlines, and as much in sum."""
    asks, silent = (_ran_ms(schedule, name, 500, 590) for name in ("asks", "silent"))
    assert asks == pytest.approx(silent, abs=3 + TICK_MS)


@WORLDS
def test_who_is_picked_again_has_no_timer(schedule: Schedule) -> None:
    """Rule 3.10.4: behind by most of 3 ms, the other one is picked again after its slice, and runs up to a tick."""
    both = [turn for turn in _turns(schedule, ["asks", "silent"], 500) if turn.end < 590]
    # A thread of the kernel's own in between has ended the turn, whenever it woke.
    turns = [turn for turn, later in pairwise(both) if turn.name == "silent-0" and later.start == turn.end]
    ends_ms = [turn.end for turn in turns if turn.end - turn.start > SLICE_MS + COSTS_MS]
    assert len(ends_ms) > 2
    for end_ms in ends_ms:
        ticks = (end_ms - ends_ms[0]) / TICK_MS
        assert ticks == pytest.approx(round(ticks), abs=COSTS_MS / TICK_MS)


@WORLDS
def test_idle_gives_way_at_the_wakeup(schedule: Schedule) -> None:
    """Rules 3.2 and 3.9: whatever the deadlines, and by weight it has one slice of these milliseconds at most."""
    assert _waited_ms(schedule, "ordinary", 760) < COSTS_MS
    assert _ran_ms(schedule, "lowest", 760, 765) < SLICE_MS + COSTS_MS


@WORLDS
def test_a_shorter_slice_preempts(schedule: Schedule) -> None:
    """Rules 3.9 and 3.10.3: the other one is protected for 20 ms, which 0.2 ms cancel."""
    assert _waited_ms(schedule, "short", 1_010) < COSTS_MS


@WORLDS
def test_batch_does_not_preempt(schedule: Schedule) -> None:
    """Rules 3.6 and 3.9: the same with BATCH waits for the deadline, 20 ms: who runs was alone when it was picked."""
    assert _waited_ms(schedule, "batch", 1_261) == pytest.approx(9, abs=COSTS_MS)


@WORLDS
def test_a_sleeper_above_its_share_comes_back_as_it_went(schedule: Schedule) -> None:
    """Rule 3.8: asleep with v = 2.5 where V = 1.6, and awake again before V has reached 2.5.

    It has kept v and d = 3. `beside`, from 0.7 on, has its slice, 2 ms, and then the sleeper the rest of its own.
    """
    _assert_turns(schedule, 1_500, ("leaves", 2.5), ("beside", 2), ("leaves", 0.5), ("beside", 2))


@WORLDS
def test_a_sleeper_gains_no_lag(schedule: Schedule) -> None:
    """Rule 3.8: it wakes when V, 2.85, has passed its v, 2.5. So it is placed anew, at 3.2 with d = 6.2.

    `patient` has its slice, from 0.7 to 3.7, and then the sleeper a whole one.
    """
    _assert_turns(schedule, 1_750, ("leaves", 2.5), ("patient", 3), ("leaves", 3))


@WORLDS
def test_who_joins_sees_the_sleepers(schedule: Schedule) -> None:
    """Rules 3.2, 3.8 and 3.9: V is 1.5 with the sleeper, whose v is 2.5, and 0.5 without.

    So d is 3.6, later than the 3.1 of `patient`; 2.6 would preempt it. It goes on up to 3.1, or to a tick after 2.6.
    """
    waited_ms = median(_waited_ms(schedule, "joins", due_ms) for due_ms in _rounds(2_002.9))
    assert 2.1 - COSTS_MS < waited_ms < 2.6 + COSTS_MS


@WORLDS
def test_a_sleeper_counts_for_the_protection(schedule: Schedule) -> None:
    """Rules 3.6 and 3.8: `long` asks for 20 ms, and is protected for the 3 ms of the sleeper, to the tick after."""
    rounds = [_turns(schedule, ["leaves", "long", "running"], begin_ms)[1:3] for begin_ms in _rounds(2_250)]
    lasted_ms = [runs.end - runs.start for runs, waits in rounds if (runs.name, waits.name) == ("long-0", "running-0")]
    assert len(lasted_ms) > ROUNDS / 2
    assert 3 - COSTS_MS < median(lasted_ms) < 3 + TICK_MS + COSTS_MS


@WORLDS
def test_a_sleeper_that_would_be_picked_is_taken_out_at_a_wakeup(schedule: Schedule) -> None:
    """Rules 3.8 and 3.9: the sleeper, with v = 0.9 and d = 3, is before both where V is 1.3. Without it `wakes` is."""
    waited_ms = [_waited_ms(schedule, "wakes", due_ms) for due_ms in _rounds(4_502.5)]
    assert median(waited_ms) < COSTS_MS


@WORLDS
def test_who_runs_is_protected(schedule: Schedule) -> None:
    """Rules 3.5, 3.6 and 3.9: `middle` runs with d = 13.4, and `owed` wakes, by a lag of 2.3, with d = 12.5.

    `middle` stays eligible, as `ahead` is far ahead. So it goes on, to its deadline if nothing reschedules before.
    """
    assert median(_waited_ms(schedule, "owed", due_ms) for due_ms in _rounds(2_513)) > 1


@WORLDS
def test_a_shorter_slice_ends_the_protection(schedule: Schedule) -> None:
    """Rule 3.9: the same with a request that is 0.1 ms shorter."""
    assert median(_waited_ms(schedule, "brief", due_ms) for due_ms in _rounds(2_763)) < COSTS_MS


@WORLDS
def test_a_timer_is_left_over(schedule: Schedule) -> None:
    """Rule 3.10.4: the timer set for `owed`, 6 ms after `ahead` gave way, ends the next turn of `ahead`.

    `owed` sleeps after 0.4 ms, so that nobody else competes, and when `middle` does there is a timer already.
    """
    _assert_turns(schedule, 2_500, ("ahead", 6), ("owed", 0.4), ("ahead", 5.6))


@WORLDS
def test_a_yield_forfeits_the_request(schedule: Schedule) -> None:
    """Rule 3.10.2: with v = 1.5 and V = 3.25 it goes to v = 6 and d = 11. So `gains` has its slice, and it the next.

    If only d moved, it would be the one that is eligible, and go on at once.
    """
    _assert_turns(schedule, 3_000, ("gains", 5), ("yields", 0.5), ("gains", 5), ("yields", 5))


@WORLDS
def test_who_is_not_eligible_forfeits_nothing(schedule: Schedule) -> None:
    """Rule 3.10.2: v = 2, V = 1.45: it gives way for a slice, and then has the 3 ms that its request had left."""
    _assert_turns(schedule, 3_250, ("yields", 2), ("waits", 3), ("yields", 3), ("waits", 3))


@WORLDS
def test_a_nice_level_is_a_share(schedule: Schedule) -> None:
    """Rules 3.2 and 3.4: 335 parts of 1,359, give or take a tick at either end."""
    assert _ran_ms(schedule, "nicer", 3_500, 3_900) == pytest.approx(400 * 335 / 1359, abs=2 * TICK_MS)
