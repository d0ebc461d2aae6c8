# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases that are simpler than one, the boldest change first. No clock and no chance take part."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from schedlab.search.case import Case, Group, Kind, Step, Steps, What

T = TypeVar("T")


def simpler(case: Case) -> list[Case]:
    """Each of them once."""
    return list(dict.fromkeys(other for other in _offered(case) if other != case))


def _offered(case: Case) -> Iterator[Case]:
    for groups in _without_some(case.groups):
        if groups:
            yield replace(case, groups=groups)
    yield replace(case, tunables=())
    for tunables in _without_some(case.tunables):
        yield replace(case, tunables=tunables)
    for change in (_smaller, _plainer, _fewer_steps, _rounder):
        for index, group in enumerate(case.groups):
            for other in change(group):
                yield replace(case, groups=(*case.groups[:index], other, *case.groups[index + 1 :]))


def _without_some(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Without its first half, its second half, and each."""
    half = len(items) // 2
    if half > 1:
        yield items[half:]
        yield items[:half]
    for index in reversed(range(len(items))):
        yield items[:index] + items[index + 1 :]


def _smaller(group: Group) -> Iterator[Group]:
    for count in (1, group.count // 2, group.count - 1):
        yield replace(group, count=max(1, count))
    for times in (group.times // 8, group.times // 2):
        yield replace(group, times=max(1, times))


def _plainer(group: Group) -> Iterator[Group]:
    yield replace(group, nice=0)
    yield replace(group, policy="other")
    yield replace(group, threads=False)
    yield replace(group, queue="pipe")
    yield replace(group, message_bytes=16)


def _fewer_steps(group: Group) -> Iterator[Group]:
    for steps in _without_some(group.steps):
        if group.kind != Kind.ALONE or _runs(steps):
            yield replace(group, steps=steps)
    for answer in _without_some(group.answer):
        if group.kind == Kind.PAIR or _runs(answer):
            yield replace(group, answer=answer)


def _runs(steps: Steps) -> bool:
    return any(step.what == What.RUN for step in steps)


def _rounder(group: Group) -> Iterator[Group]:
    for name in ("steps", "answer"):
        steps: Steps = getattr(group, name)
        for index, step in enumerate(steps):
            for other in _rounder_step(step):
                yield replace(group, **{name: (*steps[:index], other, *steps[index + 1 :])})
    yield replace(group, times=_round(group.times))


def _rounder_step(step: Step) -> Iterator[Step]:
    """A fixed time for a random one, then a round one."""
    match step.what:
        case What.RUN | What.SLEEP | What.TIMER if step.least != step.most:
            yield Step(step.what, step.most, step.most)
            yield Step(step.what, step.least, step.least)
        case What.RUN | What.SLEEP | What.TIMER:
            yield Step(step.what, _round(step.least), _round(step.most))


def _round(value: int) -> int:
    """To one digit."""
    power = 10 ** (len(str(value)) - 1)
    return max(1, (value + power // 2) // power * power)
