# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel accounts for each task of a command, where there is no tracing.

CPU time and the number of blocks are exact for each thread. How long its runs and blocks were is not told: they count
as equal parts of its life.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from schedlab.capture.profile import Kind
from schedlab.capture.taskstats import Ended, Listener

METHOD = "accounting of each thread at its end (taskstats)"
REMARKS = (
    "accounted for each thread when it ends (taskstats): CPU time and number of blocks are exact; runs and blocks are "
    "means of a task's life",
    "NAME/2 is the second thread that a process NAME started, NAME+19 has nice 19",
)
# The runner's keeper has a thread of this name as long as the application's script runs.
_WATCH = "run"
# Where a process has more threads of one name, they are one kind together.
_TOLD_APART = 32
_PERIOD_S = 0.1
# The kernel's report of a task may come this late; PIDs are used again after seconds at the earliest.
_SAID_NS = 500_000_000


def account(command: Sequence[str]) -> tuple[dict[str, Kind], int]:
    """The kinds of the command's tasks, and its exit status. Its output goes to standard error."""
    listener = Listener()
    try:
        ended, root, status = _listen(listener, command)
    finally:
        listener.close()
    return _kinds(of_the_run(ended, root), os.getpriority(os.PRIO_PROCESS, 0)), status


def _listen(listener: Listener, command: Sequence[str]) -> tuple[list[Ended], int, int]:
    ended: list[Ended] = []
    with subprocess.Popen(list(command), stdout=sys.stderr, stdin=subprocess.DEVNULL) as child:
        try:
            while child.poll() is None:
                ended += listener.heard(_PERIOD_S)
        except BaseException:
            child.terminate()
            raise
    while heard := listener.heard(_PERIOD_S):
        ended += heard
    return ended, child.pid, child.returncode


def of_the_run(ended: Sequence[Ended], root: int) -> list[Ended]:
    """The tasks below the process `root`; of an application its timed script and what its server starts then."""
    mine = _below(ended, root, 0)
    watch = next((task for task in mine if task.name == _WATCH and task.id != task.group), None)
    if watch is None:
        return mine
    keeper = watch.group
    scripts = [task for task in mine if task.parent == keeper and task.id == task.group]
    script = min(scripts, key=lambda task: abs(task.began_ns - watch.began_ns))
    kept = set(_below(mine, keeper, 0))
    timed = set(_below(mine, script.group, script.began_ns))

    def counts(task: Ended) -> bool:
        if task.group == keeper:
            return False
        return task not in kept or task in timed or script.began_ns <= task.began_ns <= watch.at_ns

    return [task for task in mine if counts(task)]


def _below(ended: Sequence[Ended], root: int, began_ns: int) -> list[Ended]:
    """The tasks of process `root`, which began then, and of all below it.

    PIDs are used again, so tasks are looked at from the last one that ended backwards: the next process of the parent's
    PID that ends after the child is the parent, unless it surely began only after the child's end.
    """
    inside = {root: began_ns}
    found = []
    for task in reversed(ended):
        is_root = task.group == root and task.at_ns >= began_ns
        began = inside.get(task.parent)
        mine = is_root or (began is not None and began < task.at_ns + _SAID_NS)
        if task.id == task.group or not mine:
            inside.pop(task.group, None)
        if mine:
            inside.setdefault(task.group, task.began_ns - task.late_ns)
            found.append(task)
    return found[::-1]


def _kinds(ended: Sequence[Ended], nice: int) -> dict[str, Kind]:
    """By name. `nice` is the command's own, which names leave out."""
    found: dict[str, Kind] = {}
    for name, task in _named(ended, nice):
        kind = found.setdefault(name, Kind())
        kind.tasks += 1
        kind.cpu.append(task.cpu_ns)
        kind.blocks.append(task.blocks)
        kind.run += [task.cpu_ns // (task.blocks + 1)] * (task.blocks + 1)
        blocked_ns = max(0, task.life_ns - task.cpu_ns - task.waited_ns)
        kind.blocked += [blocked_ns // task.blocks] * task.blocks if task.blocks else []
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].cpu), item[0])))


def _named(ended: Sequence[Ended], nice: int) -> Iterable[tuple[str, Ended]]:
    """Each with its kind's name."""

    def plain(task: Ended) -> str:
        return task.name if task.nice == nice else f"{task.name}{task.nice:+d}"

    threads = Counter((task.group, plain(task)) for task in ended if task.id != task.group)
    number: Counter[tuple[int, str]] = Counter()
    for task in sorted(ended, key=lambda task: (task.began_ns, task.id)):
        name = plain(task)
        if task.id == task.group:
            yield name, task
            continue
        number[task.group, name] += 1
        told = threads[task.group, name] <= _TOLD_APART
        yield f"{name}/{number[task.group, name] if told else '*'}", task
