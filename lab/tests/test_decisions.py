# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: E501 - lines as the kernel writes them
"""Two runs' decisions: who had a CPU next, what differs first, and of what kind each difference is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.capture import trace_file
from schedlab.decisions import difference, from_kernel, from_simulator, kinds, moments
from schedlab.decisions.difference import Comparison
from schedlab.decisions.habits import Habits, habits
from schedlab.decisions.moments import (
    EXITED,
    IDLE,
    PREEMPTED,
    SLEPT,
    Births,
    Forked,
    Moment,
    Queued,
    Side,
    Switch,
    Woken,
)
from schedlab.decisions.turns import RUNS, turns
from schedlab.decisions.waiting import before
from schedlab.errors import InputError
from schedlab.trace import simulated

A, B, C = "a[0]", "b[0]", "c[0]"
CELL = frozenset({A, B, C})


def side(*told: Moment | tuple[str, ...], name: str = "kernel") -> Side:
    """Of a CPU, a microsecond a moment: (task) is woken, (from, how, to) is a switch."""
    made: list[Moment] = []
    for number, each in enumerate(told):
        at_ns = 1_000 * number
        match each:
            case (task,):
                made.append(Woken(at_ns, task, IDLE))
            case (prev, left, task):
                made.append(Switch(at_ns, 0, prev, left, task))
            case _:
                made.append(each)
    return Side(name, made, CELL)


def against(left: Side, right: Side) -> Comparison:
    return difference.compare(left, Side("simulator", right.moments, right.cell))


def test_a_turn_goes_on_after_outside_tasks_and_ends_with_sleep() -> None:
    rows = turns(
        side(
            (A,),
            (IDLE, PREEMPTED, A),
            (A, PREEMPTED, "kworker"),
            ("kworker", SLEPT, "rcu"),
            ("rcu", SLEPT, A),
            (A, SLEPT, IDLE),
            (A,),
            (IDLE, PREEMPTED, A),
            (A, PREEMPTED, "kworker"),
            ("kworker", SLEPT, B),
            (B, EXITED, C),
        )
    )
    assert [(s.task, s.left, s.followed_by, s.interrupted_by) for s in rows[0]] == [
        (A, SLEPT, IDLE, ["kworker", "rcu"]),
        (A, PREEMPTED, "kworker", []),
        (B, EXITED, C, []),
        (C, RUNS, "", []),
    ]


def test_the_same_decisions_at_other_times_and_between_outside_tasks_agree() -> None:
    kernel = side((A,), (B,), (IDLE, PREEMPTED, "runner"), ("runner", SLEPT, A), (A, SLEPT, B), (B, EXITED, IDLE))
    simulator = side((A,), (IDLE, PREEMPTED, A), (B,), (A, SLEPT, B), (B, EXITED, IDLE))
    found = against(kernel, simulator)
    assert (found.differences, found.same, found.agreed(), found.alone) == ([], 2, 2, (0, 0))


@pytest.mark.parametrize(
    ("left", "right", "kind", "agreed"),
    [
        # The woken task takes the CPU, or waits.
        (
            [(A,), (IDLE, PREEMPTED, A), (B,), (A, PREEMPTED, B), (B, SLEPT, A), (A, SLEPT, IDLE)],
            [(A,), (IDLE, PREEMPTED, A), (B,), (A, SLEPT, B), (B, SLEPT, IDLE)],
            "kernel preempts, simulator does not",
            1,
        ),
        (
            [(A,), (IDLE, PREEMPTED, A), (B,), (A, SLEPT, B), (B, SLEPT, IDLE)],
            [(A,), (IDLE, PREEMPTED, A), (B,), (A, PREEMPTED, B), (B, SLEPT, A)],
            "simulator preempts, kernel does not",
            1,
        ),
        (
            [
                (A,),
                (B,),
                (IDLE, PREEMPTED, A),
                (A, PREEMPTED, "rcu"),
                ("rcu", SLEPT, B),
                (B, SLEPT, A),
                (A, SLEPT, IDLE),
            ],
            [(A,), (B,), (IDLE, PREEMPTED, A), (A, SLEPT, B), (B, SLEPT, IDLE)],
            "an outside task preempts, and the task does not go on after it",
            1,
        ),
        (
            [(A,), (IDLE, PREEMPTED, A), (A, EXITED, IDLE)],
            [(A,), (IDLE, PREEMPTED, A), (A, SLEPT, IDLE)],
            "a task ends in one and sleeps in the other",
            1,
        ),
        # Two wait, and the last to come is taken.
        (
            [(A,), (B,), (IDLE, PREEMPTED, A), (A, SLEPT, B)],
            [(A,), (B,), (IDLE, PREEMPTED, B), (B, SLEPT, A)],
            "another task is picked: both wait, woken in the same order",
            0,
        ),
        (
            [(A,), (B,), (IDLE, PREEMPTED, A), (A, SLEPT, B)],
            [(B,), (A,), (IDLE, PREEMPTED, B), (B, SLEPT, A)],
            "another task is picked: both wait, but were woken in another order",
            0,
        ),
        (
            [(B,), (IDLE, PREEMPTED, B), (B, SLEPT, IDLE)],
            [(A,), (IDLE, PREEMPTED, A), (B,), (A, SLEPT, B)],
            "kernel picks a task that does not wait in simulator",
            0,
        ),
        (
            [(A,), (IDLE, PREEMPTED, A), (B,), (A, SLEPT, B)],
            [(A,), (B,), (IDLE, PREEMPTED, B), (B, SLEPT, A)],
            "simulator picks a task that does not wait in kernel",
            0,
        ),
    ],
)
def test_what_differs_first_and_of_what_kind_it_is(left: list, right: list, kind: str, agreed: int) -> None:
    found = against(side(*left), side(*right))
    assert kinds.counted(found) == {kind: 1}
    assert found.agreed() == agreed


def test_after_a_difference_the_two_meet_again() -> None:
    turns = [A, B, C] * 3
    kernel = [A, B, C, C, B, *turns]
    simulator = [A, B, C, *turns]

    def told(tasks: list[str]) -> list[tuple[str, ...]]:
        switches = []
        for prev, task in zip([IDLE, *tasks], tasks, strict=False):
            # One that picks the same task twice has slept.
            switches += [(prev, SLEPT, IDLE), (IDLE, PREEMPTED, task)] if prev == task else [(prev, SLEPT, task)]
        return [(A,), (B,), (C,), *switches]

    found = against(side(*told(kernel)), side(*told(simulator)))
    assert (len(found.differences), found.agreed(), found.same, found.alone) == (1, 3, 12, (2, 0))
    assert found.differences[0].numbers == (3, 3)


def test_the_two_meet_in_the_same_round() -> None:
    """Right's first round is like left's second, which comes a millisecond later, but for how it ends."""

    def rounds(first: list[str], last_left: str) -> Side:
        told: list[Moment] = []
        for begin_ns, tasks, ends in ((0, first, last_left), (1_000_000, [A, B, C], SLEPT)):
            for number, task in enumerate(tasks):
                at_ns = begin_ns + 1_000 * number
                left = ends if number == 2 else SLEPT
                told += [Switch(at_ns, 0, IDLE, PREEMPTED, task), Switch(at_ns, 0, task, left, IDLE)]
        return side((A,), (B,), (C,), *told)

    found = against(rounds([C, B, A], SLEPT), rounds([A, B, C], EXITED))
    assert (len(found.differences), found.same, found.alone) == (1, 3, (3, 3))


def test_each_cpu_has_its_decisions_and_the_earliest_difference_is_the_first() -> None:
    def run(of_cpu_0: str, of_cpu_1: str) -> Side:
        return side(
            (A,),
            (B,),
            (C,),
            Switch(10_000, 0, IDLE, PREEMPTED, A),
            Switch(20_000, 1, IDLE, PREEMPTED, of_cpu_1),
            Switch(30_000, 0, A, SLEPT, of_cpu_0),
        )

    assert not against(run(B, C), run(B, C)).differences
    found = against(run(B, C), run(C, B))
    assert [(each.cpu, each.left.task, each.right.task) for each in found.differences] == [(1, C, B), (0, B, C)]
    assert found.agreed() == 1


def test_who_waits_and_how_far_from_the_head() -> None:
    wrapped = 2**64 - 5
    told = side(
        (A,),
        Queued(1, A, "0x7", wrapped, 100),
        (B,),
        Queued(2, B, "0x7", 10, 100),
        (C,),
        Queued(3, C, "local", None, 100),
        (IDLE, PREEMPTED, C),
        (C, PREEMPTED, A),
    )
    ((_, now),) = before(told.moments, {6})
    assert [now.ahead(task) for task in (A, B, C)] == [0, 15, None]
    ((_, now),) = before(told.moments, {7})
    assert set(now.waits) == {A, B}
    assert now.running == {C: 0}


def test_habits_tell_what_one_difference_hides() -> None:
    told = side(
        *((A,), (B,), (C,), (IDLE, PREEMPTED, A)),
        (A, SLEPT, C),  # of two, who came last
        (A,),
        (C, PREEMPTED, A),  # who was woken just now
        (A, SLEPT, B),  # who has waited longest
        ("rcu",),
        (B, PREEMPTED, "rcu"),
    )
    assert habits(told) == Habits(wakeups=1, preempting=1, choices=4, of_first=2, of_last=2)


def test_tasks_are_numbered_by_their_births() -> None:
    births = Births()
    assert [births.name("parent", ""), births.name("parent", ""), births.name("child", "")] == [
        "parent[0]",
        "parent[1]",
        "child[0]",
    ]
    assert [births.name("child", "parent[1]"), births.name("child", "parent[1]")] == ["child[1.0]", "child[1.1]"]
    assert births.name("child", "child[1.1]") == "child[1.1.0]"
    assert [moments.is_of_the_start(task) for task in ("child[0]", "child[1.0]")] == [True, False]


# A runner forks two tasks, lets both of them go, and kills them at the end.
KERNEL = """\
# schedlab: dropped={dropped}
# tracer: nop
#
# entries-in-buffer/entries-written: {kept}/19   #P:1
   schedlab-host-100     [000] .....     1.000000: sched_process_fork: comm=schedlab-host pid=100 child_comm=schedlab-host child_pid=101
   schedlab-host-100     [000] d..2.     1.000010: sched_switch: prev_comm=schedlab-host prev_pid=100 prev_prio=120 prev_state=R+ ==> next_comm=schedlab-host next_pid=101 next_prio=120
   schedlab-host-101     [000] .....     1.000020: task_rename: pid=101 oldcomm=schedlab-host newcomm=server oom_score_adj=0
          server-101     [000] d..2.     1.000030: sched_switch: prev_comm=server prev_pid=101 prev_prio=120 prev_state=S ==> next_comm=schedlab-host next_pid=100 next_prio=120
   schedlab-host-100     [000] .....     1.000040: sched_process_fork: comm=schedlab-host pid=100 child_comm=schedlab-host child_pid=102
   schedlab-host-100     [000] d..3.     1.000045: sched_waking: comm=server pid=101 prio=120 target_cpu=000
   schedlab-host-100     [000] d..2.     1.000050: sched_switch: prev_comm=schedlab-host prev_pid=100 prev_prio=120 prev_state=S ==> next_comm=schedlab-host next_pid=102 next_prio=120
   schedlab-host-102     [000] .....     1.000060: task_rename: pid=102 oldcomm=schedlab-host newcomm=server oom_score_adj=0
          server-102     [000] d..2.     1.000070: sched_switch: prev_comm=server prev_pid=102 prev_prio=120 prev_state=S ==> next_comm=server next_pid=101 next_prio=120
          server-101     [000] d..2.     1.000080: sched_switch: prev_comm=server prev_pid=101 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] dNh4.     1.000085: sched_waking: comm=kworker/0:1 pid=9 prio=120 target_cpu=000
          <idle>-0       [000] d..2.     1.000090: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=schedlab-host next_pid=100 next_prio=120
   schedlab-host-100     [000] d..3.     1.000100: sched_waking: comm=server pid=102 prio=120 target_cpu=000
   schedlab-host-100     [000] d..4.     1.000102: schedlab_insert: (dispatch_enqueue+0x4/0x660) pid=102 dsq=0x7 slice=5000000 vtime=42
   schedlab-host-100     [000] d..2.     1.000110: sched_switch: prev_comm=schedlab-host prev_pid=100 prev_prio=120 prev_state=R+ ==> next_comm=server next_pid=102 next_prio=120
          server-102     [000] .....     1.000115: sched_process_fork: comm=server pid=102 child_comm=server child_pid=103
          server-102     [000] d..2.     1.000120: sched_switch: prev_comm=server prev_pid=102 prev_prio=120 prev_state=X ==> next_comm=schedlab-host next_pid=100 next_prio=120
   schedlab-host-100     [000] d..1.     1.000130: signal_generate: sig=9 errno=0 code=0 comm=server pid=101 grp=1 res=0
   schedlab-host-100     [000] d..3.     1.000140: sched_waking: comm=server pid=101 prio=120 target_cpu=000
"""


def read(text: str) -> trace_file.Trace:
    return trace_file.parse(text.splitlines(), "t", allow_lost=True)


def test_a_kernels_trace_from_the_start_signal_to_the_end() -> None:
    found = from_kernel.side(read(KERNEL.format(dropped=0, kept=19)), {"server"})
    assert found.cell == {"server[0]", "server[1]"}
    assert found.moments == [
        Woken(0, "server[1]", "schedlab-host-100", interrupt=False),
        Queued(2_000, "server[1]", "0x7", 42, 5_000_000),
        Switch(10_000, 0, "schedlab-host-100", PREEMPTED, "server[1]"),
        Switch(20_000, 0, "server[1]", EXITED, "schedlab-host-100"),
    ]


def test_the_trace_of_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="t: no task of the workload is in it: expected client"):
        from_kernel.side(read(KERNEL.format(dropped=0, kept=19)), {"client"})


@pytest.mark.parametrize(("dropped", "kept", "lost"), [(0, 19, 0), (3, 19, 3), (3, 12, 10)])
def test_what_a_trace_lost_is_counted(dropped: int, kept: int, lost: int) -> None:
    assert read(KERNEL.format(dropped=dropped, kept=kept)).lost == lost


IDS = {"swapper": 0, "parent": 1000, "child": 1001, "runner": 1002}


def line(time_ns: int, rest: str) -> str:
    return f"  x-1 [000] ..... 0.{time_ns:09d}: {rest}"


def switch(time_ns: int, prev: str, state: str, after: str) -> str:
    before = f"prev_comm={prev} prev_pid={IDS[prev]} prev_prio=120 prev_state={state}"
    return line(time_ns, f"sched_switch: {before} ==> next_comm={after} next_pid={IDS[after]} next_prio=120")


def woken(time_ns: int, name: str, new: str = "") -> str:
    return line(time_ns, f"sched_wakeup{new}: comm={name} pid={IDS[name]} prio=120 target_cpu=000")


def test_the_simulators_trace_with_a_task_that_is_forked_twice() -> None:
    text = [
        woken(5, "parent"),
        line(6, "scx_insert: comm=parent pid=1000 prio=120 dsq=0x7 slice_ns=5 vtime=3"),
        switch(7, "swapper", "R", "parent"),
        # Dated after the switch that it led to.
        line(8, "scx_insert: comm=parent pid=1000 prio=120 dsq=local cpu=0 slice_ns=5"),
        woken(9, "child", "_new"),
        switch(10, "parent", "S", "child"),
        switch(11, "child", "X", "parent"),
        woken(12, "child", "_new"),
        switch(13, "parent", "R+", "child"),
    ]
    found = from_simulator.side(simulated.events(text), {"parent", "child"})
    assert found.cell == {"parent[0]", "child[0.0]", "child[0.1]"}
    assert found.moments == [
        Woken(0, "parent[0]", IDLE),
        Queued(1, "parent[0]", "0x7", 3, 5),
        Switch(2, 0, IDLE, PREEMPTED, "parent[0]"),
        Forked(4, "child[0.0]", "parent[0]"),
        Switch(5, 0, "parent[0]", SLEPT, "child[0.0]"),
        Switch(6, 0, "child[0.0]", EXITED, "parent[0]"),
        Forked(7, "child[0.1]", "parent[0]"),
        Switch(8, 0, "parent[0]", PREEMPTED, "child[0.1]"),
    ]


def test_a_simulated_task_that_starts_the_others_is_outside() -> None:
    text = [
        woken(1, "runner"),
        switch(2, "swapper", "R", "runner"),
        woken(3, "parent", "_new"),
        switch(4, "runner", "R", "parent"),
        switch(5, "parent", "S", "runner"),
        woken(6, "parent"),
        switch(7, "runner", "S", "parent"),
    ]
    found = from_simulator.side(simulated.events(text), {"parent"})
    assert found.cell == {"parent[0]"}
    assert found.moments == [Woken(0, "parent[0]", "runner"), Switch(1, 0, "runner", SLEPT, "parent[0]")]


CELL_OF_TRACE = "bfs latt load=1 seed=1 cpus=4"


@pytest.fixture
def of_the_kernel(checkout: Path) -> Callable[[str], Path]:
    """The kernel's trace of the fake runner's cell, in which some events are lost or none."""

    def write(lost: str, cell: str = CELL_OF_TRACE) -> Path:
        record = json.dumps({"metrics": {"elapsed_s": 1.5}})
        notes = {"cell": cell, "kernel": "7.2.0", "place": "exact guest", "record": record, "untraced": record}
        head = "".join(f"# schedlab: {name}={value}\n" for name, value in notes.items())
        path = checkout / "kept.trace"
        path.write_text(head + KERNEL.format(dropped=lost, kept=19).replace("server", "client"))
        return path

    return write


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--from", "kept.trace"], 1, "kept.trace: void, 3 events are lost: expected none, try a larger --buffer-kib"),
        (["--from", "empty.trace"], 2, "empty.trace: expected 1 that --trace kept, found 0"),
        (["--from", "missing.trace"], 2, "missing.trace: cannot be read"),
        (["--around", "-1"], 2, "--around -1: expected 0 or more"),
        (["--load", "0"], 2, "--load 0: expected 1 to 1,000,000"),
        (["--from", "kept.trace", "--control"], 2, "kept.trace: expected 2 that --trace kept, found 1"),
    ],
)
def test_bad_input_and_lost_events_are_one_line(
    lab: Callable, of_the_kernel: Callable, arguments: list[str], status: int, message: str
) -> None:
    of_the_kernel("3")
    Path("empty.trace").touch()
    result = lab("decisions", "bfs", "-w", "latt", "-m", "desktop-4", *arguments)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert message in result.stderr
    assert result.returncode == status


def test_a_trace_of_another_cell_is_refused(lab: Callable, of_the_kernel: Callable) -> None:
    of_the_kernel("0")
    result = lab("decisions", "bfs", "-w", "latt", "-m", "desktop-4", "--from", "kept.trace", "--seed", "2")
    assert result.returncode == 2
    assert f"expected a trace of 'bfs latt load=1 seed=2 cpus=4', found one of '{CELL_OF_TRACE}'" in result.stderr
