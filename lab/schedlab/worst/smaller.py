# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenes that are smaller than one, the boldest first: fewer CPUs and groups, the same work by fewer or simpler tasks,
then what the search for disagreement leaves out.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from schedlab.search import shrink
from schedlab.search.case import Case, Group, Kind, Step, Steps, What
from schedlab.worst import shares
from schedlab.worst.scene import SHAPES, Scene

_TIMES = (What.RUN, What.SLEEP, What.TIMER)
_LEAST_US = 100


def scenes(scene: Scene) -> list[Scene]:
    """Each of them once."""
    return list(dict.fromkeys(other for other in _offered(scene) if other != scene))


def _offered(scene: Scene) -> Iterator[Scene]:
    at = SHAPES.index(scene.shape)
    for shape in SHAPES[:at]:
        yield replace(scene, shape=shape)
    # What a CPU less changes may have to be made up for by fewer tasks.
    for shape in dict.fromkeys((SHAPES[0], SHAPES[max(0, at - 1)])):
        for case in _fewer_tasks(scene.case):
            yield Scene(case, shape)
    for case in _simpler(scene.case):
        yield replace(scene, case=case)


def _fewer_tasks(case: Case) -> Iterator[Case]:
    """One task for each group; for one group; without one of the tasks of a group."""
    yield replace(case, groups=tuple(next(_one_run(group)) for group in case.groups))
    yield from _each(case, lambda group: iter([next(_one_run(group))]))
    yield from _each(case, lambda group: iter([replace(group, count=max(1, group.count - 1))]))


def _simpler(case: Case) -> Iterator[Case]:
    others = shrink.simpler(case)
    yield from (other for other in others if len(other.groups) < len(case.groups))
    yield from _joined(case)
    yield from _merged(case)
    for change in (_one_run, _alone, _fewer):
        yield from _each(case, change)
    yield from (other for other in others if len(other.groups) == len(case.groups))
    yield from _each(case, _shorter)


def _joined(case: Case) -> Iterator[Case]:
    """Groups that differ in their counts alone are one."""
    for (at, one), (then, other) in combinations(enumerate(case.groups), 2):
        if replace(one, count=1) == replace(other, count=1):
            made = replace(one, count=one.count + other.count)
            yield replace(case, groups=(*case.groups[:at], made, *case.groups[at + 1 : then], *case.groups[then + 1 :]))


def _merged(case: Case) -> Iterator[Case]:
    """One task that does the work of two groups."""
    for (at, one), (then, other) in combinations(enumerate(case.groups), 2):
        if (one.nice, one.policy) == (other.nice, other.policy):
            work_us = max(_LEAST_US, shares.work_us(Case("", (), (one, other))))
            made = replace(_plain(one), steps=(Step(What.RUN, work_us, work_us),))
            yield replace(case, groups=(*case.groups[:at], made, *case.groups[at + 1 : then], *case.groups[then + 1 :]))


def _each(case: Case, change: Callable[[Group], Iterator[Group]]) -> Iterator[Case]:
    for index, group in enumerate(case.groups):
        for other in change(group):
            if other.kind == Kind.ALONE and all(step.what != What.RUN or not step.most for step in other.steps):
                continue
            yield replace(case, groups=(*case.groups[:index], other, *case.groups[index + 1 :]))


def _one_run(group: Group) -> Iterator[Group]:
    """One task that does all its group's work at once, or as many that share it."""
    work_us = shares.work_us(Case("", (), (group,)))
    for tasks in dict.fromkeys((1, group.tasks)):
        each_us = max(_LEAST_US, work_us // tasks)
        yield replace(_plain(group), count=tasks, times=1, steps=(Step(What.RUN, each_us, each_us),))


def _alone(group: Group) -> Iterator[Group]:
    """Tasks that have nothing to do with each other."""
    if group.kind != Kind.ALONE:
        steps = group.steps + group.answer
        yield replace(_plain(group), count=group.count, times=group.times, steps=steps)
        yield replace(_plain(group), count=group.count, times=group.times, steps=group.answer)


def _plain(group: Group) -> Group:
    return Group(Kind.ALONE, 1, 1, (), nice=group.nice, policy=group.policy, threads=group.threads)


def _fewer(group: Group) -> Iterator[Group]:
    """Fewer tasks with as many rounds in all."""
    for by in (group.count, 2):
        if group.count % by == 0:
            yield replace(group, count=group.count // by, times=group.times * by)


def _shorter(group: Group) -> Iterator[Group]:
    """Every time of it is halved."""
    yield replace(group, steps=_halved(group.steps), answer=_halved(group.answer))


def _halved(steps: Steps) -> Steps:
    return tuple(
        Step(one.what, one.least // 2, one.most // 2) if one.what in _TIMES and one.least >= 2 * _LEAST_US else one
        for one in steps
    )
