# SPDX-License-Identifier: GPL-2.0-or-later
"""From a trace to tasks, and to a workload file."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from schedlab.capture import process_tree, trace_file, workload_file
from schedlab.capture.tasks import (
    Affinity,
    Change,
    Image,
    Nice,
    Policy,
    Post,
    Recording,
    Run,
    Sleep,
    Start,
    Step,
    Task,
    Until,
    Wait,
)
from schedlab.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
MS = 1_000_000


class Script:
    """Writes a trace as ftrace does, times in milliseconds; names are numbers here."""

    def __init__(self) -> None:
        self.lines = ["# schedlab: root=10\n", "# schedlab: cpus=2\n"]

    def add(self, ms: float, cpu: int, task: int, event: str, flags: str = "d..2.") -> "Script":
        return self.line(ms, cpu, task, f"sched_{event}", flags)

    def line(self, ms: float, cpu: int, task: int, event: str, flags: str = "d..2.") -> "Script":
        self.lines.append(f"  t-{task} [{cpu:03}] {flags} {ms / 1000:.6f}: {event}\n")
        return self

    def switch(
        self, ms: float, cpu: int, prev: int, state: str, new: int, prio: int = 120, prev_prio: int = 120
    ) -> "Script":
        prev_part = f"prev_comm=c{prev} prev_pid={prev} prev_prio={prev_prio} prev_state={state}"
        return self.add(ms, cpu, prev, f"switch: {prev_part} ==> next_comm=c{new} next_pid={new} next_prio={prio}")

    def waking(self, ms: float, cpu: int, waker: int, task: int, flags: str = "d..2.") -> "Script":
        return self.add(ms, cpu, waker, f"waking: comm=c{task} pid={task} prio=120 target_cpu=000", flags)

    def wakeup(self, ms: float, cpu: int, waker: int, task: int) -> "Script":
        return self.add(ms, cpu, waker, f"wakeup: comm=c{task} pid={task} prio=120 target_cpu=000")

    def exec(self, ms: float, cpu: int, task: int) -> "Script":
        return self.add(ms, cpu, task, f"process_exec: filename=/bin/c{task} pid={task} old_pid={task}")

    def fork(self, ms: float, cpu: int, task: int, child: int) -> "Script":
        return self.add(ms, cpu, task, f"process_fork: comm=c{task} pid={task} child_comm=c{task} child_pid={child}")

    def clone(self, ms: float, cpu: int, task: int, child: int, flags: int) -> "Script":
        text = f"task_newtask: pid={child} comm=c{task} clone_flags={flags:x} oom_score_adj=0"
        return self.line(ms, cpu, task, text).fork(ms, cpu, task, child)

    def follow(self, others: bool = False) -> Recording:
        return process_tree.follow(trace_file.parse(self.lines, "t"), others=others)


def parent_and_child() -> Script:
    """10 forks 11, waits for it twice; in between a timer interrupts 11 to wake 10, which does not depend on 11."""
    script = Script().exec(0, 0, 10).fork(2, 0, 10, 11).switch(3, 0, 10, "S", 0).switch(3, 1, 0, "R", 11)
    script.waking(8, 1, 11, 10).wakeup(8, 1, 11, 10).switch(8.5, 0, 0, "R", 10).switch(9.5, 0, 10, "S", 0)
    script.waking(12, 1, 11, 10, "d.h3.").wakeup(12, 1, 11, 10).switch(12, 0, 0, "R", 10).switch(13, 0, 10, "S", 0)
    script.waking(20, 1, 11, 10).wakeup(20, 1, 11, 10).switch(20, 0, 0, "R", 10).switch(21, 1, 11, "Z", 0)
    return script.switch(24, 0, 10, "Z", 0)


def steps(task: Task) -> list[Step]:
    return [step for step in task.steps if not (isinstance(step, Post) and not step.real)]


def test_who_waits_for_whom() -> None:
    recording = parent_and_child().follow()
    parent, child = recording.tasks
    assert steps(parent) == [
        *(Run(2 * MS), Start(child), Run(MS), Wait(5 * MS)),
        *(Run(MS), Sleep(round(2.5 * MS)), Run(MS), Wait(7 * MS), Run(4 * MS)),
    ]
    assert steps(child) == [Run(5 * MS), Post(parent, True), Run(12 * MS), Post(parent, True), Run(MS)]
    assert recording.elapsed_ns == 24 * MS
    assert (recording.voluntary, recording.involuntary, recording.interrupted) == (3, 0, 0)
    assert recording.remarks == []


def test_who_could_run_and_had_no_cpu_waited() -> None:
    # The child from its fork until it ran, and the parent once half a millisecond.
    assert parent_and_child().follow().waiting_ns == 1.5 * MS
    # A wake-up ahead of the block counts from the block. While it sleeps, nobody waits.
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(2, 0, 10, "R", 11).waking(3, 1, 12, 11)
    script.switch(4, 0, 11, "S", 10).switch(5, 0, 10, "S", 12).waking(6, 0, 12, 10).wakeup(6, 0, 12, 10)
    script.switch(9, 0, 12, "S", 10).switch(10, 0, 10, "R", 11).switch(11, 0, 11, "Z", 10).switch(12, 0, 10, "Z", 0)
    recording = script.follow()
    # 11: from 1 to 2, and from 4 to 10. 10: from 2 to 4, from 6 to 9, and from 10 to 11.
    assert recording.waiting_ns == (1 + 6 + 2 + 3 + 1) * MS


def interrupted_by_a_kernel_thread() -> Script:
    """10 wakes 9, a kernel thread, which preempts it and wakes it later, after a sleep of its own."""
    script = Script().exec(0, 0, 10).waking(2, 0, 10, 9).wakeup(2, 0, 10, 9).switch(2, 0, 10, "R+", 9)
    script.switch(3, 0, 9, "S", 10).switch(5, 0, 10, "S", 0).waking(6, 0, 0, 9, "d.h2.").wakeup(6, 0, 0, 9)
    script.switch(6, 0, 0, "R", 9).waking(7, 0, 9, 10).wakeup(7, 0, 9, 10).switch(8, 0, 9, "S", 10)
    return script.switch(9, 0, 10, "Z", 0)


def test_who_exits_has_ended_though_its_last_switch_came_after_the_trace() -> None:
    script = Script().exec(0, 0, 10).fork(2, 0, 10, 11).switch(3, 1, 0, "R", 11)
    whole = script.add(8, 0, 10, "process_exit: comm=c10 pid=10 prio=120 group_dead=true").waking(9, 0, 10, 9).follow()
    assert (whole.remarks, whole.elapsed_ns) == ([], 9 * MS)
    assert [task.ended for task in whole.tasks] == [True, False]
    script.lines = [line for line in script.lines if "process_exit" not in line]
    assert script.follow().remarks == ["the trace ends before the program does"]


def test_what_else_runs_is_left_out() -> None:
    recording = interrupted_by_a_kernel_thread().follow()
    (root,) = recording.tasks
    assert root.steps == [Run(4 * MS), Sleep(2 * MS), Run(MS)]
    assert (recording.voluntary, recording.involuntary, recording.interrupted) == (1, 0, 1)


def test_what_else_runs_sleeps_until_it_was_woken_by_whomever() -> None:
    recording = interrupted_by_a_kernel_thread().follow(others=True)
    root, other = recording.tasks
    assert root.steps == [Run(4 * MS), Sleep(2 * MS), Run(MS)]
    assert other.steps == [Until(2 * MS), Run(MS), Until(6 * MS), Run(2 * MS)]
    assert (recording.voluntary, recording.involuntary, recording.interrupted) == (3, 1, 0)
    other.comm = "kworker/1:2H"
    text = tomllib.loads(workload_file.text(recording, "t", "t"))
    described = {task["name"]: task for task in text["task"]}
    assert text["end"] == {"task": "c10_0"}
    assert described["kworker_1_2h_1"].keys() == {"name", "kernel", "cpus", "program"}, (
        "once, from the start, where it is bound"
    )
    assert described["kworker_1_2h_1"]["cpus"] == [1]


def test_what_ticks_wake_is_woken_at_the_replays_ticks() -> None:
    """Ticks of 4 ms, 1.5 ms after the start; the replay has them from the start on. One wake-up comes in between."""
    script = Script().exec(0, 0, 10)
    script.lines.insert(0, "# schedlab: hz=250\n")
    for ms in (5.52, 9.51, 12, 17.53):
        script.waking(ms, 0, 10, 9, "d.s2.").wakeup(ms, 0, 10, 9).switch(ms, 0, 10, "R", 9)
        script.switch(ms + 0.1, 0, 9, "S", 10)
    recording = script.switch(20, 0, 10, "Z", 0).follow(others=True)
    woken = [step.ns for step in recording.tasks[1].steps if isinstance(step, Until)]
    # A little before the tick, so that it preempts with it.
    assert woken == [4 * MS - 2_000, 8 * MS - 2_000, pytest.approx(10.5 * MS, abs=10_001), 16 * MS - 2_000]
    # Less what a timer of the simulator is late.
    assert "until_us = 3948" in workload_file.text(recording, "t", "t")


def test_waking_who_does_not_block_is_nothing() -> None:
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(1, 1, 0, "R", 11)
    script.waking(2, 1, 11, 10).wakeup(2, 1, 11, 10).switch(3, 0, 10, "Z", 0).switch(4, 1, 11, "Z", 0)
    recording = script.follow()
    assert recording.count(Wait) == 0
    assert steps(recording.tasks[1]) == [Run(MS), Run(2 * MS)]


def test_a_waker_may_be_ahead_of_the_block() -> None:
    """The other CPU begins to wake it before the switch away is in the trace, and ends after."""
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(1, 1, 0, "R", 11)
    script.waking(2.9, 1, 11, 10).switch(3, 0, 10, "S", 0).wakeup(3.1, 1, 11, 10).switch(4, 0, 0, "R", 10)
    recording = script.switch(5, 0, 10, "Z", 0).follow()
    assert steps(recording.root)[2:] == [Run(2 * MS), Wait(0), Run(MS)]


def test_without_sched_waking_the_wakeup_counts() -> None:
    script = Script().exec(0, 0, 10).switch(3, 0, 10, "S", 0).wakeup(5, 1, 99, 10).switch(6, 0, 0, "R", 10)
    assert steps(script.switch(7, 0, 10, "Z", 0).follow().root) == [Run(3 * MS), Sleep(2 * MS), Run(MS)]


def test_preemption_by_its_own_and_by_others() -> None:
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11)
    script.switch(2, 0, 10, "R+", 99).switch(3, 0, 99, "S", 10)  # by a kernel thread, and back
    script.switch(4, 0, 10, "R", 99).switch(5, 0, 99, "S", 11)  # and then it was the child's turn
    script.switch(6, 0, 11, "R", 10).switch(7, 0, 10, "X", 11).switch(8, 0, 11, "Z", 0)
    recording = script.follow()
    assert (recording.voluntary, recording.involuntary, recording.interrupted) == (0, 2, 1)
    assert [task.steps[-1] for task in recording.tasks] == [Run(3 * MS), Run(2 * MS)]


def test_a_number_may_come_back() -> None:
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(2, 0, 10, "R", 11).switch(3, 0, 11, "Z", 10)
    script.fork(4, 0, 10, 11).switch(5, 0, 10, "R", 11).switch(7, 0, 11, "Z", 10).switch(8, 0, 10, "Z", 0)
    assert [steps(task) for task in script.follow().tasks[1:]] == [[Run(MS)], [Run(2 * MS)]]


def test_nice_and_real_time() -> None:
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).fork(1, 0, 10, 12).switch(2, 0, 10, "R", 11, prio=125)
    script.lines.append(script.lines.pop().replace("prev_prio=120", "prev_prio=110"))
    script.switch(3, 0, 11, "R", 12, prio=59)
    recording = script.follow()
    assert recording.root.nice == -10
    assert [task.nice for task in recording.tasks] == [-10, 5, 0]
    assert [task.rt_priority for task in recording.tasks] == [0, 0, 40]
    assert recording.tasks[1].steps == [Run(MS), Nice(0)]
    made = tomllib.loads(workload_file.text(recording, "x", "c"))
    assert [task.get("nice") for task in made["task"]] == [-10, 5, None]
    assert made["task"][2]["policy"] == "fifo:40"


def test_the_root_by_name_by_number_and_not_at_all() -> None:
    lines = parent_and_child().lines[2:]
    read = trace_file.parse(lines, "t")
    assert process_tree.follow(read, "10").elapsed_ns == process_tree.follow(read, "c10").elapsed_ns == 24 * MS
    assert process_tree.follow(read, "c11").elapsed_ns == 18 * MS
    with pytest.raises(InputError, match="add --root"):
        process_tree.follow(read)
    with pytest.raises(InputError, match="--root make: no such task"):
        process_tree.follow(read, "make")


def test_cpus_are_counted_where_nobody_noted_them() -> None:
    read = trace_file.parse(parent_and_child().lines[2:], "t")
    assert process_tree.follow(read, "10").notes["cpus"] == "2"


def test_a_trace_without_switches_is_none() -> None:
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11)
    with pytest.raises(InputError, match="expected sched_switch events"):
        script.follow()


def actions(made: dict[str, Any], task: int) -> list[dict[str, Any]]:
    return made["task"][task]["program"]


def test_the_workload_file() -> None:
    made = tomllib.loads(workload_file.text(parent_and_child().follow(), "mine", 'say "hi"'))
    assert made["name"] == "mine"
    assert made["title"] == 'mine: say "hi"'
    assert (made["load"], made["loads"], made["end"]) == ("copies", [1], {"task": "c10_0"})
    assert made["semaphore"] == [{"name": "c10_0", "count": "copies"}]
    parent, child = made["task"]
    assert "start" not in parent
    assert child["start"] == "fork"
    # Less what the simulator charges for a fork, a timer and an exit.
    assert actions(made, 0) == [
        *({"run_us": 2000 - 150}, {"fork": "c11_1[me]"}, {"run_us": 1000}, {"wait": "c10_0[me]"}, {"run_us": 1000}),
        *({"sleep_us": 2500 - 50}, {"run_us": 1000}, {"wait": "c10_0[me]"}, {"run_us": 4000 - 100}),
    ]
    assert actions(made, 1) == [
        *({"run_us": 5000}, {"post": "c10_0[me]"}, {"run_us": 12000}, {"post": "c10_0[me]"}, {"run_us": 1000 - 100}),
    ]


def test_threads_are_threads_and_children_of_vfork_are_not() -> None:
    """10 starts a thread, 11, which starts another, 12, and, as posix_spawn does, a process, 13."""
    thread, vfork = 0x3D0F00, 0x4111
    script = Script().exec(0, 0, 10).clone(2, 0, 10, 11, thread).switch(3, 0, 10, "S", 11)
    script.clone(4, 0, 11, 12, thread).clone(6, 0, 11, 13, vfork).switch(7, 0, 11, "X", 12)
    script.switch(8, 0, 12, "X", 13).exec(8.5, 0, 13).switch(9, 0, 13, "Z", 10).switch(10, 0, 10, "Z", 0)
    recording = script.follow()
    assert [task.thread for task in recording.tasks] == [False, True, True, False]
    made = tomllib.loads(workload_file.text(recording, "x", "c"))
    assert [task.get("threads") for task in made["task"]] == [None, True, True, None]
    # Less what the simulator charges: 10 us to start a thread, as much to end it, 150 for a process.
    assert actions(made, 0)[0] == {"run_us": 2000 - 10}
    assert actions(made, 1) == [
        *({"run_us": 1000 - 10}, {"fork": "c12_2[me]"}, {"run_us": 2000 - 150}, {"fork": "c13_3[me]"}),
        {"run_us": 1000 - 10},
    ]
    # Lines that name the process of who ran say it, too.
    script.lines = [line for line in script.lines if "newtask" not in line]
    assert not any(task.thread for task in script.follow().tasks), "where nothing tells, they are processes"
    script.lines = [
        line.replace("t-12 ", "t-12 (     10) ").replace("t-13 ", "t-13 (     13) ") for line in script.lines
    ]
    assert [task.comm for task in script.follow().tasks if task.thread] == ["c12"]


def test_restricted_to_cpus() -> None:
    script = parent_and_child()
    script.lines[:0] = ["# schedlab: allowed=0,2-3\n"]
    made = tomllib.loads(workload_file.text(script.follow(), "x", "c"))
    assert "cpus" not in made["task"][0], "three of two CPUs are all of them"
    script.lines[:0] = ["# schedlab: allowed=1\n"]
    script.lines.remove("# schedlab: allowed=0,2-3\n")
    assert tomllib.loads(workload_file.text(script.follow(), "x", "c"))["task"][0]["cpus"] == [1]


def test_own_costs_are_the_simulators() -> None:
    source = (ROOT / "crates/machine/src/costs.rs").read_text()
    for name in ("FORK_NS", "EXEC_NS", "EXIT_NS", "THREAD_NS", "TIMER_SLACK_NS"):
        found = re.search(rf"^ +{name.lower()}: ([\d_]+),", source, re.MULTILINE)
        assert found, name
        assert int(found[1]) == getattr(workload_file, name)


def asked(script: Script, ms: float, task: int, what: str, ret: int = 0) -> Script:
    name = {"p": "attr", "l": "affinity", "w": "nice"}[what.split()[1][0]]
    script.line(ms, 0, task, f"schedlab_{name}: (syscalls.sys_enter_sched_set) {what}")
    return script.line(ms, 0, task, f"schedlab_asked: (syscalls.sys_exit_sched_set) ret={ret}")


def test_what_a_task_asks_for_is_asked_for_again() -> None:
    """For itself and for its child, which has its policy from its parent; what was refused is not there."""
    script = Script().exec(0, 0, 10)
    script.lines.insert(0, "# schedlab: attributes=yes\n")
    asked(script, 1, 10, "pid=0 len=8 m0=0x2")
    asked(script, 2, 10, "pid=0 policy=2 priority=7")
    script.fork(3, 0, 10, 11).switch(4, 0, 10, "R", 11, 92)
    asked(script, 5, 11, "pid=10 len=4 m0=0xffffffff00000003")
    asked(script, 6, 11, "pid=0 len=16 m0=0x1 m8=0x1", -22)
    script.switch(7, 0, 11, "Z", 10, 92)
    asked(script, 8, 10, "pid=0 policy=0 priority=0").switch(9, 0, 10, "Z", 0)
    recording = script.follow()
    assert recording.remarks == []
    child = recording.tasks[1]
    assert steps(recording.root) == [
        *(Run(MS), Affinity((1,)), Run(MS), Policy("rr:7"), Run(MS), Start(child), Run(2 * MS)),
        *(Policy("other"), Run(MS)),
    ]
    assert steps(child) == [Run(MS), Change(recording.root, Affinity((0, 1))), Run(2 * MS)]
    text = workload_file.text(recording, "asked", "a program")
    # Both CPUs are all there were.
    assert "{ affinity = [1] }" in text
    assert '{ confine = "c10_0[me]", cpus = [] }' in text
    assert '{ policy = "rr:7" }' in text
    assert '\npolicy = "rr:7"' in text
    script.lines.pop(0)
    assert ["SCHED_RR" in remark for remark in script.follow().remarks] == [True]


def test_what_a_task_asks_for_another_changes_that_one_wherever_it_is() -> None:
    """11 sleeps, and has not run when it is first reniced; a real-time task's level is not seen."""
    script = Script().exec(0, 0, 10)
    script.lines.insert(0, "# schedlab: attributes=yes\n")
    asked(script, 1, 10, "which=0 who=0 nice=3").fork(2, 0, 10, 11)
    asked(script, 3, 10, "which=0 who=11 nice=30")
    script.switch(3, 1, 0, "R", 11, 139).switch(4, 1, 11, "S", 0, prev_prio=139)
    asked(script, 5, 10, "pid=11 policy=1 priority=4 nice=0")
    script.waking(6, 0, 10, 11).wakeup(6, 0, 10, 11).switch(6, 1, 0, "R", 11, 95).switch(7, 1, 11, "S", 0, prev_prio=95)
    asked(script, 7, 10, "pid=11 policy=3 priority=0 nice=5")
    asked(script, 8, 10, "which=0 who=11 nice=-5", -13)
    # A whole group of processes shows when they run.
    asked(script, 8, 10, "which=1 who=11 nice=9")
    script.waking(9, 0, 10, 11).wakeup(9, 0, 10, 11).switch(9, 1, 0, "R", 11, 129)
    script.switch(10, 1, 11, "Z", 0, prev_prio=129)
    recording = script.switch(10, 0, 10, "Z", 0, prev_prio=123).follow()
    root, child = recording.tasks
    assert steps(root) == [
        *(Run(MS), Nice(3), Run(MS), Start(child), Run(MS), Change(child, Nice(19)), Run(2 * MS)),
        *(Change(child, Policy("fifo:4")), Run(MS), Post(child, True), Run(MS), Change(child, Policy("batch"))),
        *(Change(child, Nice(5)), Run(2 * MS), Post(child, True), Run(MS)),
    ]
    assert steps(child) == [Run(MS), Wait(2 * MS), Run(MS), Wait(2 * MS), Nice(9), Run(MS)]
    made = tomllib.loads(workload_file.text(recording, "x", "c"))
    assert made["task"][1]["nice"] == 3
    assert {"nice": 19, "of": "c11_1[me]"} in actions(made, 0)
    assert {"policy": "fifo:4", "of": "c11_1[me]"} in actions(made, 0)


def test_who_is_there_once_changes_the_tasks_of_every_copy() -> None:
    script = Script().exec(0, 0, 10).switch(1, 1, 0, "R", 9)
    asked(script, 2, 9, "which=0 who=10 nice=5")
    asked(script, 3, 10, "pid=9 len=8 m0=0x1").switch(4, 1, 9, "S", 0)
    recording = script.switch(5, 0, 10, "Z", 0).follow(others=True)
    root, other = recording.tasks
    assert other.steps[-2:] == [Change(root, Nice(5)), Run(2 * MS)]
    made = tomllib.loads(workload_file.text(recording, "x", "c"))
    change = {"nice": 5, "of": "c10_0[copy]"}
    assert {"for": "copy", "to": "copies", "do": [change]} in actions(made, 1)
    assert {"confine": "c9_1", "cpus": [0]} in actions(made, 0)


def test_moves_between_cgroups_are_counted() -> None:
    script = Script().exec(0, 0, 10)
    for task in (10, 99):
        script.line(1, 0, 10, f"cgroup_attach_task: dst_root=1 dst_id=2 dst_level=1 dst_path=/a b pid={task} comm=c")
    recording = script.switch(2, 0, 10, "Z", 0).follow()
    assert recording.remarks == ["1 times a task was moved to another cgroup, which is not replayed"]


def test_a_program_that_is_executed_is_one_in_the_replay() -> None:
    """The first is what is recorded; what an exec costs lies before it."""
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(2, 0, 10, "R", 11)
    script.exec(3, 0, 11).switch(5, 0, 11, "Z", 10).switch(6, 0, 10, "Z", 0)
    recording = script.follow()
    assert recording.count(Image) == 1
    child = recording.tasks[1]
    assert steps(child) == [Run(MS), Image(), Run(2 * MS)]
    made = tomllib.loads(workload_file.text(recording, "x", "c"))
    assert actions(made, 1) == [{"run_us": 1000 - 500}, {"exec": True}, {"run_us": 2000 - 100}]


def test_who_waits_for_a_packet_over_loopback_waits_for_its_sender() -> None:
    def packets(device: str, vector: int) -> Recording:
        script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(2, 0, 10, "S", 11)
        script.line(5, 0, 11, f"net_dev_queue: dev={device} skbaddr=00000000deadbeef len=67", "b....")
        script.line(5, 0, 11, f"softirq_entry: vec={vector} [action=X]", "..s1.")
        script.waking(5, 0, 11, 10, "d.s5.").wakeup(5, 0, 11, 10)
        script.line(5, 0, 11, f"softirq_exit: vec={vector} [action=X]", "..s1.")
        return script.switch(6, 0, 11, "Z", 10).switch(8, 0, 10, "Z", 0).follow()

    assert Wait(3 * MS) in packets("lo", 3).root.steps
    assert Sleep(3 * MS) in packets("eth0", 3).root.steps
    assert Sleep(3 * MS) in packets("lo", 1).root.steps


def test_a_packet_that_was_taken_in_wakes_nobody_later() -> None:
    script = Script().exec(0, 0, 10).fork(1, 0, 10, 11).switch(2, 0, 10, "S", 11)
    script.line(3, 0, 11, "net_dev_queue: dev=lo skbaddr=00000000deadbeef len=67", "b....")
    for ms in (3, 5):
        script.line(ms, 0, 11, "softirq_entry: vec=3 [action=NET_RX]", "..s1.")
        if ms == 5:  # from elsewhere
            script.waking(ms, 0, 11, 10, "d.s5.").wakeup(ms, 0, 11, 10)
        script.line(ms, 0, 11, "softirq_exit: vec=3 [action=NET_RX]", "..s1.")
    recording = script.switch(6, 0, 11, "Z", 10).switch(8, 0, 10, "Z", 0).follow()
    assert Sleep(3 * MS) in recording.root.steps
