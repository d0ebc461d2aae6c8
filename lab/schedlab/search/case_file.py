# SPDX-License-Identifier: GPL-2.0-or-later
"""A case's workload file. Its name tells the kinds of its groups and a part of the file's hash: equal work, equal name.

A round is timed as `turnaround_us`, a question until its answer as `round_trip_us`, and a wake-up by a timer or a post
as `wakeup_latency_us`.
"""

import hashlib
from collections.abc import Iterable

from schedlab.search.case import Case, Group, Kind, Step, Steps, What

_LICENCE = "# SPDX-License-Identifier: GPL-2.0-or-later\n"
_SOURCE = "schedlab agree --search"
_STAMP = "{ stamp = true }"
_TURNAROUND = '{ log = "turnaround_us", since = "stamp" }'
_WOKEN = '{ log = "wakeup_latency_us", since = "due" }'


def name(case: Case) -> str:
    kinds = "-".join(dict.fromkeys(group.kind for group in case.groups))
    return f"{kinds}-{hashlib.sha256(_body(case).encode()).hexdigest()[:8]}"


def text(case: Case, comments: Iterable[str] = (), called: str = "", source: str = _SOURCE) -> str:
    """The whole file; `comments` are lines for its head. A file that has a name of its own is `called` so."""
    head = _LICENCE + "".join(f"# {line}".rstrip() + "\n" for line in comments)
    return f'{head}name = "{called or name(case)}"\n{_body(case, source)}'


def _body(case: Case, source: str = _SOURCE) -> str:
    many = f"{case.tasks} task{'s' if case.tasks != 1 else ''}" if source != _SOURCE else f"{case.tasks} tasks"
    parts = [
        f'title = "{many}"\nsource = "{source}"\nload = "one"\nloads = [1]\n\n'
        '[params]\none = { default = 1, min = 1, max = 1, about = "" }\n'
    ]
    for index, group in enumerate(case.groups):
        parts += _shared(_letter(index), group)
    for index, group in enumerate(case.groups):
        parts += _tasks(_letter(index), group)
    parts.append('[metrics]\npromises = ["elapsed_s"]\n')
    return "\n".join(parts)


def _letter(index: int) -> str:
    return chr(ord("a") + index)


def _shared(name: str, group: Group) -> list[str]:
    """What the tasks of a group meet at."""
    match group.kind:
        case Kind.PAIR:
            ask = f'[[queue]]\nname = "{name}_ask"\nkind = "{group.queue}"\ncount = {group.count}\n'
            # A socket has both directions.
            other = f'back_of = "{name}_ask"\n' if group.queue != "pipe" else ""
            return [ask, ask.replace("_ask", "_answer") + other]
        case Kind.STREAM:
            return [f'[[queue]]\nname = "{name}_queue"\nkind = "{group.queue}"\n']
        case Kind.HERD:
            return [f'[[semaphore]]\nname = "{name}_go"\ncount = {group.count}\n']
        case Kind.LOCK:
            return [f'[[lock]]\nname = "{name}_lock"\n']
        case _:
            return []


def _tasks(name: str, group: Group) -> list[str]:
    count, own, answer = group.count, _actions(group.steps), _actions(group.answer)
    size = f"bytes = {group.message_bytes}"
    match group.kind:
        case Kind.ALONE:
            return [_task(f"{name}_alone", group, count, [_STAMP, *own, _TURNAROUND])]
        case Kind.PAIR:
            asks = [
                _STAMP,
                f'{{ send = "{name}_ask[me]", {size} }}',
                f'{{ recv = "{name}_answer[me]" }}',
                '{ log = "round_trip_us", since = "stamp" }',
                *own,
            ]
            answers = [f'{{ recv = "{name}_ask[me]" }}', *answer, f'{{ send = "{name}_answer[me]", {size} }}']
            return [_task(f"{name}_asks", group, count, asks), _task(f"{name}_answers", group, count, answers)]
        case Kind.STREAM:
            sends = [*own, _STAMP, f'{{ send = "{name}_queue", {size} }}']
            receives = [f'{{ recv = "{name}_queue" }}', *answer, '{ log = "turnaround_us", since = "message" }']
            return [
                _task(f"{name}_sends", group, count, sends),
                _task(f"{name}_receives", group, 1, receives, times=count * group.times),
            ]
        case Kind.HERD:
            posts = [*own, _STAMP, f'{{ for = "i", to = {count}, do = [{{ post = "{name}_go[i]" }}] }}']
            woken = [
                f'{{ wait = "{name}_go[me]" }}',
                '{ log = "wakeup_latency_us", since = "message" }',
                *answer,
                '{ log = "turnaround_us", since = "message" }',
            ]
            return [_task(f"{name}_posts", group, 1, posts), _task(f"{name}_waits", group, count, woken)]
        case Kind.LOCK:
            lock, unlock = f'{{ lock = "{name}_lock" }}', f'{{ unlock = "{name}_lock" }}'
            return [_task(f"{name}_locks", group, count, [_STAMP, lock, *answer, unlock, _TURNAROUND, *own])]
        case Kind.FAMILY:
            family = [
                _STAMP,
                f'{{ for = "i", to = {count}, do = [{{ fork = "{name}_child[i]" }}] }}',
                f"{{ repeat = {count}, do = [{{ reap = true }}] }}",
                _TURNAROUND,
                *own,
            ]
            # Threads cannot be reaped.
            return [
                _task(f"{name}_forks", group, 1, family, threads=False),
                _task(f"{name}_child", group, count, answer, start="fork", times=1, threads=False),
            ]


def _task(
    name: str,
    group: Group,
    count: int,
    actions: list[str],
    *,
    start: str = "signal",
    times: int | None = None,
    threads: bool | None = None,
) -> str:
    lines = [f'[[task]]\nname = "{name}"']
    if count != 1:
        lines.append(f"count = {count}")
    if start != "signal":
        lines.append(f'start = "{start}"')
    if group.threads if threads is None else threads:
        lines.append("threads = true")
    if group.nice:
        lines.append(f"nice = {group.nice}")
    if group.policy != "other":
        lines.append(f'policy = "{group.policy}"')
    rounds = group.times if times is None else times
    if rounds == 1:
        lines += ["program = [", *(f"    {action}," for action in actions), "]"]
    else:
        inner = [f"        {action}," for action in actions]
        lines += ["program = [", f"    {{ repeat = {rounds}, do = [", *inner, "    ] },", "]"]
    return "\n".join(lines) + "\n"


def _actions(steps: Steps) -> list[str]:
    return [action for step in steps for action in _action(step)]


def _action(step: Step) -> list[str]:
    time = str(step.least) if step.least == step.most else f"{{ uniform = [{step.least}, {step.most}] }}"
    match step.what:
        case What.RUN:
            return [f"{{ run_us = {time} }}"]
        case What.SLEEP:
            return [f"{{ sleep_us = {time} }}", _WOKEN]
        case What.TIMER:
            return [f"{{ timer_us = {step.least} }}", _WOKEN]
        case What.YIELD:
            return ["{ yield = true }"]
        case What.NICE:
            return [f"{{ nice = {step.least} }}"]
