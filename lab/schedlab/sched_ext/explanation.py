# SPDX-License-Identifier: GPL-2.0-or-later
"""A dump in three sentences: who waited and where, what the CPUs that it may use did, and what explains it.

The sentences claim what the dump shows and name what it does not show.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from schedlab.sched_ext import stall
from schedlab.sched_ext.dump import Task
from schedlab.sched_ext.stall import Doing, Stall

_EACH = 4  # CPUs told one by one
_POLICY_FRAME = re.compile(r"^bpf_prog_[0-9a-f]+_(\w+)\+")
_CLASSES = {"rt": "real-time", "dl": "deadline", "stop": "stop", "fair": "fair"}


def sentences(what: Stall, lockups: Sequence[str] = ()) -> tuple[str, str, str]:
    if what.verdict == stall.NOT_A_STALL:
        first, second, third = _of_an_error(what)
    else:
        first, second, third = _who(what), _meanwhile(what), _why(what)
    if lockups:
        third += f" The text also tells of {_and(lockups)}, which can be the cause or the consequence."
    return first, second, third


def _who(what: Stall) -> str:
    dump, task = what.dump, what.task
    if dump.watchdog_s is not None:
        longest = f"; the longest wait in the dump is that of {what.name}, {_s(task.runnable_s)}" if task else ""
        return f"The watchdog's own worker got no CPU for {_s(dump.watchdog_s)}{longest}."
    if what.verdict == stall.LOCKED_UP:
        longest = f" The longest wait in the dump is that of {what.name}, {_s(task.runnable_s)}." if task else ""
        return f"The kernel found CPUs held up: {dump.message}.{longest}"
    if not what.name:
        return "The text names no task that waited."
    waited = f"{what.name} could run for {_s(what.waited_s or 0.0)} and got no CPU"
    if task is None:
        cut = "the dump ends before that task" if dump.truncated else "the text does not list the task"
        cut = cut if dump.has_states else "the text has no CPU states, which the scheduler's own program prints"
        return f"{waited}; where it waited is not known: {cut}."
    return f"{waited}: {_place(task)}; {_allowed(task)}."


def _place(task: Task) -> str:
    return {
        "running": "it was running at that moment",
        "global": "it waited in the global DSQ",
        "local": f"it waited in the local DSQ of CPU {task.cpu}",
        "bypass": "it waited in a bypass DSQ, into which the kernel itself puts tasks",
        "user": f"it waited in the policy's DSQ {task.dsq or 0:#x}",
        "policy": "the policy had it, as enqueue() had taken it and put it into no DSQ",
        "queueing": "it was just being handed to enqueue()",
        "dispatching": "it was just being dispatched",
        "none": "it was in no queue, and not with the policy either",
    }.get(task.place, "the dump does not say where it waited")


def _allowed(task: Task) -> str:
    cpus = task.cpus
    if not cpus:
        return "which CPUs it may use the dump does not say"
    alone = " alone" if len(cpus) == 1 else ""
    disabled = {
        True: "its migration was disabled",
        False: "its migration was not disabled",
        None: "the dump does not say whether its migration was disabled",
    }[task.migration_disabled]
    return f"it may use {cpu_list(cpus)}{alone}, and {disabled}"


def _meanwhile(what: Stall) -> str:
    if not what.doing:
        return "What the CPUs that it may use did is not in the text."
    parts = []
    if idle := what.numbers(stall.IDLE):
        parts.append(f"{cpu_list(idle)} {_was(idle)} idle, with tasks of sched_ext on {_its(idle)} run queue")
    if absent := what.numbers(stall.ABSENT):
        parts.append(f"{cpu_list(absent)} {_was(absent)} idle without a task of sched_ext to run, or offline")
    if unknown := what.numbers(stall.UNKNOWN):
        parts.append(f"what {cpu_list(unknown)} did before is not in the dump")
    ran = [each for each in what.doing if each.cpu and each.state not in (stall.IDLE, stall.UNKNOWN)]
    parts += [f"CPU {each.number} ran {_running(what, each)}" for each in ran[:_EACH]]
    if len(ran) > _EACH:
        rest = ran[_EACH:]
        kinds = sorted({_CLASSES.get(each.cpu.sched_class, "sched_ext") for each in rest if each.cpu})
        parts.append(f"{len(rest)} more ran tasks of class {_and(kinds)}")
    return f"At that moment {'; '.join(parts)}."


def _was(numbers: Sequence[int]) -> str:
    return "was" if len(numbers) == 1 else "were"


def _its(numbers: Sequence[int]) -> str:
    return "its" if len(numbers) == 1 else "their"


def _running(what: Stall, each: Doing) -> str:
    assert each.cpu
    name = f"{each.cpu.name}[{each.cpu.pid}]"
    if each.higher:
        return f"{name} of class {_CLASSES[each.cpu.sched_class]}, for how long the dump does not say"
    if each.state == stall.WATCHDOG:
        return f"{name}, the watchdog's own worker, which hides what ran there before"
    task = what.dump.task(each.cpu.pid)
    told = ""
    if task and task.current:
        told = f", which last became runnable {_s(task.runnable_s)} before"
        told += " and has a slice that never ends" if task.endless else ""
    return f"{name} of sched_ext{told}"


def _why(what: Stall) -> str:
    higher = [each for each in what.doing if each.higher]
    names = _and([f"{each.cpu.name}[{each.cpu.pid}]" for each in higher[:_EACH] if each.cpu])
    where = "every CPU that it may use" if what.dump.watchdog_s is None else "every CPU that the dump lists"
    if what.verdict == stall.EXPLAINED_BY_REALTIME:
        kinds = {each.state for each in higher}
        kind = "A real-time task" if kinds == {stall.REALTIME} else "A task of a higher class"
        beside = [task for task in what.waiting_beside if task.runnable_s > (what.waited_s or 0) / 2]
        explains, more = "can explain it", ", but for how long the dump does not show"
        if beside:
            # Whatever else waited there as long tells that the CPU was taken all the time.
            count = f"{len(beside)} other task{'s' if len(beside) > 1 else ''} of sched_ext"
            explains, more = "explains it", f", and {count} waited there too, up to {_s(beside[0].runnable_s)}"
        return f"{kind} {explains}: {where} ran one ({names}){more}; no policy can give such a CPU to another task."
    if what.verdict == stall.EXPLAINED_IN_PART:
        others = cpu_list(what.numbers(stall.EXT, stall.WATCHDOG))
        return f"Real-time tasks explain it in part ({names}): {others} ran tasks of sched_ext all the same."
    if what.verdict == stall.FREE_CPU:
        return f"No real-time task explains it: {_free(what)}."
    if what.verdict == stall.PREFERRED_OTHERS:
        return f"No real-time task explains it: {_preferred(what)}."
    if what.verdict == stall.HIDDEN_BY_WATCHDOG:
        held = cpu_list(each.number for each in what.doing)
        return (
            f"No real-time task held {held} at that moment, as the watchdog's worker ran there{_not_taken(what.task)}; "
            "what ran before is not in the dump."
        )
    if what.verdict == stall.LOCKED_UP:
        return "What held those CPUs up explains the wait before any scheduler does; the dump does not say what it was."
    return "Whether a real-time task explains it, or the policy does, cannot be said from this text."


def _free(what: Stall) -> str:
    free = [each.number for each in what.doing if each.free]
    idle = f"{cpu_list(free)} {_was(free)} free for it"
    task = what.task
    if not what.numbers(stall.IDLE):
        idle += " unless offline"
    place = task.place if task else "unknown"
    if place == "policy":
        return f"{idle}, and only the policy could dispatch it, which forgot it or did not get to it"
    if place == "user" and task:
        return f"{idle}, and the policy did not move it there from DSQ {task.dsq or 0:#x}, or kicked no such CPU"
    if place == "local" and task:
        if task.cpu in free:
            return f"{idle} and had it in its local DSQ, so the policy had decided and the CPU did not reschedule"
        return f"{idle}, but the policy had put it into the local DSQ of CPU {task.cpu}, which no other CPU takes from"
    if place == "global":
        return f"{idle}, and an idle CPU takes from the global DSQ when it is kicked, so nobody kicked it"
    return f"{idle}"


def _not_taken(task: Task | None) -> str:
    if task and task.place == "user":
        return f", and the policy did not move this one there from DSQ {task.dsq or 0:#x}"
    return ", and the policy did not run this one instead" if task else ""


def _preferred(what: Stall) -> str:
    ext = what.numbers(stall.EXT, stall.WATCHDOG)
    text = (
        f"no CPU that it may use ran anything but tasks of sched_ext then ({cpu_list(ext)}), so the policy chose others"
    )
    if what.dump.watchdog_s is not None:
        text = f"{cpu_list(ext)} ran tasks of sched_ext, so the policy gave the worker no turn"
    pids = {each.cpu.pid for each in what.doing if each.cpu}
    endless = [task for task in what.dump.tasks if task.current and task.endless and task.pid in pids]
    if endless:
        names = _and([f"{task.name}[{task.pid}]" for task in endless[:_EACH]])
        text += f", and only a preemption ends the turn of {names}"
    return text


def _of_an_error(what: Stall) -> tuple[str, str, str]:
    dump = what.dump
    policy = dump.reason == "scx_bpf_error" or dump.kind == 1025
    who = "The policy gave up by itself" if policy else "The kernel threw the policy out for what it did"
    first = f"{who}: {dump.message or dump.reason}."
    frame = next((found[1] for line in dump.backtrace if (found := _POLICY_FRAME.match(line))), "")
    inside = f", in the policy's {frame}()" if frame else ", and the backtrace shows no function of the policy"
    second = f"It happened while {dump.by}[{dump.by_pid}] ran{inside}." if dump.by else "Where is not in the text."
    third = "It is no stall, so that no real-time task explains it"
    if what.task:
        third += f"; the longest wait in the dump is that of {what.name}, {_s(what.task.runnable_s)}"
    return first, second, f"{third}."


def next_step(what: Stall, source: str) -> str:
    """The usual next command."""
    if what.verdict == stall.NOT_A_STALL:
        return "schedlab check POLICY"
    if what.verdict == stall.EXPLAINED_BY_REALTIME:
        each = next(each for each in what.doing if each.cpu)
        return f"chrt -p {each.cpu.pid}" if each.cpu else ""
    if what.verdict == stall.NOT_KNOWN:
        # Our loaders print the dump, and as much of it as they are told.
        return "schedlab load NAME -- --exit-dump-len 1048576"
    return f"schedlab explain {source} --case POLICY"


def facts(what: Stall, lockups: Sequence[str] = ()) -> dict[str, Any]:
    """All of it as plain data."""
    dump, task = what.dump, what.task
    told = dump.stalled
    return {
        "scheduler": dump.ops,
        "reason": dump.reason,
        "message": dump.message,
        "kind": dump.kind,
        "by": {"name": dump.by, "pid": dump.by_pid} if dump.by else None,
        "verdict": what.verdict,
        "truncated": dump.truncated,
        "whole": dump.whole,
        "stalled": {"name": told[0], "pid": told[1], "waited_s": told[2]} if told else None,
        "task": _task_facts(task) if task else None,
        "cpus": [
            {
                "cpu": each.number,
                "state": each.state,
                "ran": {"name": each.cpu.name, "pid": each.cpu.pid, "class": each.cpu.sched_class}
                if each.cpu
                else None,
            }
            for each in what.doing
        ],
        "tasks": [_task_facts(each) for each in dump.tasks],
        "lockups": list(lockups),
        "backtrace": dump.backtrace,
    }


def _task_facts(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "pid": task.pid,
        "cpu": task.cpu,
        "running": task.current,
        "runnable_s": task.runnable_s,
        "place": task.place,
        "dsq": None if task.dsq is None else f"{task.dsq:#x}",
        "cpus": sorted(task.cpus) if task.cpus is not None else None,
        "migration_disabled": task.migration_disabled,
        "endless_slice": task.endless,
    }


def cpu_list(numbers: Iterable[int]) -> str:
    """CPU 1; CPUs 0-3 and 8."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
    one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"CPU{'' if one else 's'} {_and(words)}"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "none"


def _s(seconds: float) -> str:
    return f"{seconds:.3f} s"
