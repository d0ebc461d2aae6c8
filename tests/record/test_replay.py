# SPDX-License-Identifier: GPL-2.0-or-later
"""A real recording, replayed: as long and with as many switches as it had, in the order it had.

data/make-lib-et.trace is `make -s -j2` of e2fsprogs' lib/et in an emulated guest of 2 CPUs under Linux 7.2's EEVDF
without HRTICK, without the wake-ups of kernel threads. data/make-lib-et-all.trace is the same in an exact guest of
1 CPU, with HRTICK and all that ran.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab import checkout
from schedlab.capture import process_tree, replay, trace_file, workload_file
from schedlab.capture.tasks import Post, Recording, Start, Wait

DATA = Path(__file__).parent / "data" / "make-lib-et.trace"
ALL = DATA.with_name("make-lib-et-all.trace")
ROOT = Path(__file__).resolve().parents[2]
# What ran there: slices end at ticks.
RECORDED_UNDER = "eevdf:hrtick=off"
COMMAND = "make -s -j2 -C lib/et"
_FIRST_PID = 1_000  # in the simulator


@pytest.fixture(scope="module")
def recording() -> Recording:
    return process_tree.follow(trace_file.read(DATA))


@pytest.fixture(scope="module")
def file(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "make-lib-et.toml"
    path.write_text(workload_file.text(recording, "make-lib-et", COMMAND), encoding="utf-8")
    return path


def test_the_whole_tree_is_there(recording: Recording) -> None:
    assert recording.remarks == []
    assert all(task.ended for task in recording.tasks)
    assert recording.count(Start) == len(recording.tasks) - 1
    names = [task.comm for task in recording.tasks]
    assert names.count("cc1") == 5
    assert names.count("as") == 5
    assert recording.count(Wait) == sum(
        isinstance(step, Post) and step.real for task in recording.tasks for step in task.steps
    )


def test_the_replay_is_near_the_recording(recording: Recording, file: Path) -> None:
    figures = {figure.name: figure for figure in replay.replay(recording, file, RECORDED_UNDER)}
    assert abs(figures["elapsed_s"].change_pct) <= 10
    assert abs(figures["switches"].change_pct) <= 20
    assert abs(figures["cpu_s"].change_pct) <= 1
    assert figures["elapsed_s"].recorded == recording.elapsed_ns / 1e9


def test_where_slices_end_between_ticks_it_takes_what_else_ran(tmp_path: Path) -> None:
    """Whether hogs take turns of a slice or of a tick hangs on the kernel's threads, which disturb them at ticks."""
    missed_pct = {}
    for others in (False, True):
        recording = process_tree.follow(trace_file.read(ALL), others=others)
        path = tmp_path / "make-lib-et-all.toml"
        path.write_text(workload_file.text(recording, "make-lib-et-all", COMMAND), encoding="utf-8")
        figures = {figure.name: figure for figure in replay.replay(recording, path, "eevdf")}
        assert abs(figures["elapsed_s"].change_pct) <= 1
        missed_pct[others] = abs(figures["switches"].change_pct)
        assert (recording.interrupted == 0) == others
        assert any(task.comm == "rcu_preempt" for task in recording.tasks) == others
    assert missed_pct[True] <= 20 < missed_pct[False]


@pytest.mark.parametrize("scheduler", ["bfs", "cfs", "eevdf", "fifo", "rr"])
def test_every_scheduler_ends_it_and_does_the_same_work(recording: Recording, file: Path, scheduler: str) -> None:
    figures = {figure.name: figure for figure in replay.replay(recording, file, scheduler, "desktop-4")}
    assert abs(figures["cpu_s"].change_pct) <= 1


def test_waits_stay_waits_in_order(recording: Recording, file: Path, tmp_path: Path) -> None:
    """In the simulator's own trace every compiler waits for what it forks, as in the recording."""
    out = tmp_path / "sim.trace"
    runner = checkout.need_binary("schedlab-sim")
    command = [runner, "cell", "--scheduler", "fifo", "--workload", file, "--machine", "desktop-4", "--trace", out]
    subprocess.run([str(word) for word in command], check=True, capture_output=True, cwd=ROOT)
    ends: dict[int, float] = {}  # by process id, which counts tasks in the file's order
    for line in out.read_text().splitlines():
        found = re.search(r" (\d+\.\d+): sched_switch: prev_comm=\S+ prev_pid=(\d+) .* prev_state=[XZ]", line)
        if found:
            ends[int(found[2]) - _FIRST_PID] = float(found[1])
    assert sorted(ends) == list(range(len(recording.tasks)))
    checked = 0
    for driver in recording.tasks:
        children = [step.task for step in driver.steps if isinstance(step, Start)]
        if [child.comm for child in children] == ["cc1", "as"]:
            compiler, assembler = children
            assert ends[compiler.number] < ends[assembler.number] < ends[driver.number]
            checked += 1
    assert checked == 5


@pytest.mark.parametrize(("flags", "first"), [("4111", "child"), ("3d0f00", "parent")])
def test_a_thread_shares_its_starters_memory(flags: str, first: str, tmp_path: Path) -> None:
    """Under O(1) a child runs before its parent, which would copy its memory for it, but no thread does."""
    lines = [
        "# schedlab: root=10",
        "parent-10 [000] d..2. 1.000000: sched_process_exec: filename=/bin/parent pid=10 old_pid=10",
        f"parent-10 [000] d..2. 1.002000: task_newtask: pid=11 comm=parent clone_flags={flags} oom_score_adj=0",
        "parent-10 [000] d..2. 1.002000: sched_process_fork: comm=parent pid=10 child_comm=parent child_pid=11",
        "parent-10 [000] d..2. 1.003000: sched_switch: prev_comm=parent prev_pid=10 prev_prio=120 prev_state=R ==> "
        "next_comm=child next_pid=11 next_prio=120",
        "child-11 [000] d..2. 1.004000: sched_switch: prev_comm=child prev_pid=11 prev_prio=120 prev_state=X ==> "
        "next_comm=parent next_pid=10 next_prio=120",
        "parent-10 [000] d..2. 1.005000: sched_switch: prev_comm=parent prev_pid=10 prev_prio=120 prev_state=X ==> "
        "next_comm=swapper/0 next_pid=0 next_prio=120",
    ]
    recording = process_tree.follow(trace_file.parse(lines, "t"))
    file, out = tmp_path / "two.toml", tmp_path / "sim.trace"
    file.write_text(workload_file.text(recording, "two", "parent"), encoding="utf-8")
    command = [checkout.need_binary("schedlab-sim"), "cell", "--scheduler", "o1", "--workload", file, "--trace", out]
    command += ["--machine", workload_file.write_machine(tmp_path, 1)]
    subprocess.run([str(word) for word in command], check=True, capture_output=True, cwd=ROOT)
    ended = re.findall(r"prev_comm=(parent|child)\S* prev_pid=\d+ prev_prio=\d+ prev_state=[XZ]", out.read_text())
    assert ended[0] == first


def test_copies_run_side_by_side(recording: Recording, file: Path) -> None:
    runner = checkout.need_binary("schedlab-sim")
    command = [runner, "cell", "--scheduler", "cfs", "--workload", file, "--load", "3"]
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=ROOT)
    cpu_s = float(re.findall(r"cpu_s +(\S+)", done.stdout)[0])
    assert cpu_s == pytest.approx(3 * recording.cpu_ns / 1e9, rel=0.01)


def test_the_command(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    words = ["record", "--from", str(DATA), "-o", str(out), "--replay", RECORDED_UNDER]
    done = subprocess.run([sys.executable, "-m", "schedlab", *words], cwd=ROOT / "lab", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^elapsed_s .*at most 10 %: kept$", done.stdout, re.MULTILINE)
    assert re.search(r"^switches .*at most 20 %: kept$", done.stdout, re.MULTILINE)
    assert out.read_text() == file.read_text().replace("make-lib-et", "mine")
