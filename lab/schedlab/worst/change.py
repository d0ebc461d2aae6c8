# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenes that are drawn, and scenes that differ from one a little. Whatever is changed, every task ends.

What says nothing of a policy cannot come up: no task is real-time or of SCHED_IDLE, which wait or starve others by
what they are; and all work is small enough that no machine here is overloaded for longer than a few seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from schedlab.search.case import Case, Group, Kind, Step, Steps, What
from schedlab.search.draw import NICE, Dice, Size, group, step
from schedlab.worst import shares, smaller
from schedlab.worst.scene import SHAPES, Scene

SIZE = Size(
    cpu_us=400_000,
    sleep_us=600_000,
    longest_run_us=100_000,
    longest_sleep_us=200_000,
    policies=("other",) * 9 + ("batch",),
)
# So many of those that are changed are smaller ones.
_SMALLER_PCT = 40
# Beside more tasks everybody waits longer, which says little; and nobody can follow them.
MOST_TASKS, _MOST_ROUNDS = 8, 4_000
# The guest emulates a second of work in some ten.
_MOST_WORK_US, _MOST_SPAN_US = 1_500_000, 3_000_000


def drawn(dice: Dice) -> Scene:
    groups = tuple(group(dice, SIZE) for _ in range(dice.between(1, 4)))
    return _fit(Scene(Case("", (), groups), dice.pick(SHAPES)))


def changed(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    """One to three things are otherwise; a group may come from another scene. Or it is smaller: what is left out no
    longer hides what is bad.
    """
    if dice.chance(_SMALLER_PCT) and (offers := smaller.scenes(scene)):
        at = min(dice.between(0, len(offers) - 1), dice.between(0, len(offers) - 1))
        return _fit(offers[at])
    for _ in range(dice.between(1, 3)):
        scene = dice.pick(_MOVES)(dice, scene, others)
    return _fit(scene)


def _fit(scene: Scene) -> Scene:
    """With fewer tasks where they are too many, and with fewer rounds where it is too much work."""
    case = _few(scene.case)
    while shares.work_us(case) > _MOST_WORK_US or shares.span_us(case) > _MOST_SPAN_US:
        groups = tuple(replace(one, times=one.times // 2) if one.times > 1 else one for one in case.groups)
        if groups == case.groups:
            # One round each is too much: the last group goes, or is one of its tasks.
            groups = groups[:-1] or (replace(groups[0], count=max(1, groups[0].count // 2)),)
        if groups == case.groups:
            break
        case = replace(case, groups=groups)
    return replace(scene, case=case)


def _few(case: Case) -> Case:
    """The last groups go, and of one that is too large some tasks."""
    groups = case.groups
    while len(groups) > 1 and sum(group.tasks for group in groups) > MOST_TASKS:
        groups = groups[:-1]
    first = groups[0]
    while first.tasks > MOST_TASKS:
        first = replace(first, count=first.count - 1)
    return replace(case, groups=(first, *groups[1:]))


def _shape(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    return replace(scene, shape=dice.pick(SHAPES))


def _more(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    if scene.case.tasks >= MOST_TASKS:
        return scene
    new = dice.pick(dice.pick(others).case.groups) if dice.chance(40) else group(dice, SIZE)
    return _with_groups(scene, (new, *scene.case.groups))


def _fewer(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    groups = scene.case.groups
    at = dice.between(0, len(groups) - 1)
    return _with_groups(scene, groups[:at] + groups[at + 1 :] or groups)


def _another(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    return _one_group(dice, scene, lambda one: group(dice, SIZE))


def _count(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    def other(one: Group) -> Group:
        count = dice.pick([one.count + 1, one.count - 1, one.count * 2])
        return replace(one, count=min(max(1, count), MOST_TASKS))

    return _one_group(dice, scene, other)


def _rounds(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    def other(one: Group) -> Group:
        times = dice.pick([one.times * 2, one.times * 2, one.times // 2, one.times + 1])
        return replace(one, times=min(max(1, times), _MOST_ROUNDS))

    return _one_group(dice, scene, other)


def _nice(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    return _one_group(dice, scene, lambda one: replace(one, nice=dice.pick(NICE)))


def _policy(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    return _one_group(dice, scene, lambda one: replace(one, policy=dice.pick(SIZE.policies)))


def _steps(dice: Dice, scene: Scene, others: Sequence[Scene]) -> Scene:
    """A step more, fewer, another one, or a time that is longer or shorter."""

    def other(one: Group) -> Group:
        name = "answer" if one.kind != Kind.ALONE and dice.chance(50) else "steps"
        steps: Steps = getattr(one, name)
        at = dice.between(0, max(0, len(steps) - 1))
        match dice.between(1, 6):
            case 1:
                steps = (*steps[:at], step(dice, SIZE), *steps[at:])
            case 2:
                steps = steps[:at] + steps[at + 1 :]
            case 3:
                steps = (*steps[:at], step(dice, SIZE), *steps[at + 1 :])
            case _:
                steps = tuple(_longer(dice, own) if index == at else own for index, own in enumerate(steps))
        return replace(one, **{name: steps[:4]})

    return _one_group(dice, scene, other)


def _longer(dice: Dice, one: Step) -> Step:
    longest = {
        What.RUN: _MOST_WORK_US,
        What.SLEEP: SIZE.longest_sleep_us,
        What.TIMER: SIZE.longest_sleep_us,
    }.get(one.what)
    if longest is None:
        return one
    by = dice.pick([50, 80, 110, 125, 200, 400])
    least, most = (min(max(5, time * by // 100), longest) for time in (one.least, one.most))
    if one.what == What.TIMER:
        least = most = max(100, most)
    return Step(one.what, least, most)


def _with_groups(scene: Scene, groups: tuple[Group, ...]) -> Scene:
    return replace(scene, case=replace(scene.case, groups=groups))


def _one_group(dice: Dice, scene: Scene, change: Callable[[Group], Group]) -> Scene:
    """What would leave a task without work stays as it was."""
    groups = scene.case.groups
    at = dice.between(0, len(groups) - 1)
    made = change(groups[at])
    needed = made.steps if made.kind == Kind.ALONE else made.answer
    if made.kind != Kind.PAIR and all(one.what != What.RUN for one in needed):
        return scene
    return _with_groups(scene, (*groups[:at], made, *groups[at + 1 :]))


_MOVES = [
    _shape,
    _more,
    _fewer,
    _another,
    _count,
    _count,
    _rounds,
    _rounds,
    _nice,
    _nice,
    _policy,
    _steps,
    _steps,
    _steps,
]
